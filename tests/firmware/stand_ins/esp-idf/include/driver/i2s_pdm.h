#pragma once

#include "driver/i2s_common.h"

typedef struct {
  uint32_t sample_rate_hz;
} i2s_pdm_rx_clk_config_t;
typedef struct {
  i2s_data_bit_width_t data_bit_width;
  i2s_slot_mode_t slot_mode;
} i2s_pdm_rx_slot_config_t;
typedef struct {
  int clk, din;
} i2s_pdm_rx_gpio_config_t;
typedef struct {
  i2s_pdm_rx_clk_config_t clk_cfg;
  i2s_pdm_rx_slot_config_t slot_cfg;
  i2s_pdm_rx_gpio_config_t gpio_cfg;
} i2s_pdm_rx_config_t;
#define I2S_PDM_RX_CLK_DEFAULT_CONFIG(rate) \
  { .sample_rate_hz = rate }
#define I2S_PDM_RX_SLOT_DEFAULT_CONFIG(bits, mono_or_stereo) \
  { .data_bit_width = bits, .slot_mode = mono_or_stereo }

#ifdef __cplusplus
extern "C"
#endif
    esp_err_t
    i2s_channel_init_pdm_rx_mode(i2s_chan_handle_t handle, const i2s_pdm_rx_config_t* config);
