// As the documentation of Mbed OS and of STM32's drivers describes it; only what an example needs.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>

#include "stand_in.h"

using namespace std::chrono_literals;

namespace rtos::ThisThread {
void sleep_for(std::chrono::milliseconds time);
}
using namespace rtos;

extern "C" {
typedef struct {
  void* Instance;
} SAI_HandleTypeDef;
typedef enum { HAL_OK, HAL_ERROR } HAL_StatusTypeDef;
HAL_StatusTypeDef HAL_SAI_Receive_DMA(SAI_HandleTypeDef* sai, uint8_t* to, uint16_t count);
void HAL_SAI_RxHalfCpltCallback(SAI_HandleTypeDef* sai);
void HAL_SAI_RxCpltCallback(SAI_HandleTypeDef* sai);
void HAL_SAI_ErrorCallback(SAI_HandleTypeDef* sai);
}

#define printf stand_in_printf
#define main mbed_main
int mbed_main();
