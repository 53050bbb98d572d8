#pragma once

#include "driver/i2s_common.h"

typedef struct {
  uint32_t sample_rate_hz;
} i2s_std_clk_config_t;
typedef struct {
  i2s_data_bit_width_t data_bit_width;
  i2s_slot_mode_t slot_mode;
} i2s_std_slot_config_t;
typedef struct {
  int mclk, bclk, ws, dout, din;
} i2s_std_gpio_config_t;
typedef struct {
  i2s_std_clk_config_t clk_cfg;
  i2s_std_slot_config_t slot_cfg;
  i2s_std_gpio_config_t gpio_cfg;
} i2s_std_config_t;
#define I2S_STD_CLK_DEFAULT_CONFIG(rate) \
  { .sample_rate_hz = rate }
#define I2S_STD_PHILIPS_SLOT_DEFAULT_CONFIG(bits, mono_or_stereo) \
  { .data_bit_width = bits, .slot_mode = mono_or_stereo }

#ifdef __cplusplus
extern "C"
#endif
    esp_err_t
    i2s_channel_init_std_mode(i2s_chan_handle_t handle, const i2s_std_config_t* config);
