// As the reference of Arduino's core for ESP32 describes it; only declared.
#pragma once

#include "Arduino.h"

enum i2s_mode_t { I2S_MODE_STD, I2S_MODE_TDM, I2S_MODE_PDM_TX, I2S_MODE_PDM_RX };
enum i2s_data_bit_width_t { I2S_DATA_BIT_WIDTH_16BIT = 16, I2S_DATA_BIT_WIDTH_32BIT = 32 };
enum i2s_slot_mode_t { I2S_SLOT_MODE_MONO = 1, I2S_SLOT_MODE_STEREO = 2 };

class I2SClass {
 public:
  void setPins(int8_t clock, int8_t word, int8_t out, int8_t in = -1, int8_t master = -1);
  bool begin(i2s_mode_t mode, uint32_t rate, i2s_data_bit_width_t bits, i2s_slot_mode_t slots,
             int8_t mask = -1);
  size_t readBytes(char* to, size_t bytes);
};
