/* The driver of ESP-IDF 5, as its documentation describes it; only what an example needs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "esp_err.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct i2s_channel_obj_t* i2s_chan_handle_t;
typedef enum { I2S_NUM_0, I2S_NUM_1, I2S_NUM_AUTO } i2s_port_t;
typedef enum { I2S_ROLE_MASTER, I2S_ROLE_SLAVE } i2s_role_t;
typedef enum {
  I2S_DATA_BIT_WIDTH_16BIT = 16,
  I2S_DATA_BIT_WIDTH_24BIT = 24,
  I2S_DATA_BIT_WIDTH_32BIT = 32
} i2s_data_bit_width_t;
typedef enum { I2S_SLOT_MODE_MONO = 1, I2S_SLOT_MODE_STEREO = 2 } i2s_slot_mode_t;
#define I2S_GPIO_UNUSED -1

typedef struct {
  i2s_port_t id;
  i2s_role_t role;
  uint32_t dma_desc_num, dma_frame_num;
  bool auto_clear;
} i2s_chan_config_t;
#define I2S_CHANNEL_DEFAULT_CONFIG(number, kind) \
  { .id = number, .role = kind, .dma_desc_num = 6, .dma_frame_num = 240, .auto_clear = false }

typedef struct {
  void* dma_buf;
  size_t size;
} i2s_event_data_t;
typedef bool (*i2s_isr_callback_t)(i2s_chan_handle_t handle, i2s_event_data_t* event, void* user);
typedef struct {
  i2s_isr_callback_t on_recv, on_recv_q_ovf, on_sent, on_send_q_ovf;
} i2s_event_callbacks_t;

esp_err_t i2s_new_channel(const i2s_chan_config_t* config, i2s_chan_handle_t* sender,
                          i2s_chan_handle_t* receiver);
esp_err_t i2s_channel_register_event_callback(i2s_chan_handle_t handle,
                                              const i2s_event_callbacks_t* callbacks, void* user);
esp_err_t i2s_channel_enable(i2s_chan_handle_t handle);
esp_err_t i2s_channel_read(i2s_chan_handle_t handle, void* to, size_t size, size_t* read,
                           uint32_t milliseconds);

#ifdef __cplusplus
}
#endif
