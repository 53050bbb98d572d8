// While the thread sleeps, DMA fills the next half of the buffer with the recording.
#include "mbed.h"

extern "C" {
SAI_HandleTypeDef hsai_BlockA1;
bool initialised = false;
void MX_SAI1_Init(void) { initialised = true; }
}

namespace {

std::int16_t* samples = nullptr;
int half = 0;
bool second = false;

}  // namespace

HAL_StatusTypeDef HAL_SAI_Receive_DMA(SAI_HandleTypeDef*, uint8_t* to, uint16_t count) {
  if (!initialised || count % 2 != 0) return HAL_ERROR;
  samples = reinterpret_cast<std::int16_t*>(to);
  half = count / 2;
  return HAL_OK;
}

void rtos::ThisThread::sleep_for(std::chrono::milliseconds) {
  if (stand_in_samples(samples + (second ? half : 0), half) < half) {
    HAL_SAI_ErrorCallback(&hsai_BlockA1);
    return;
  }
  if (second)
    HAL_SAI_RxCpltCallback(&hsai_BlockA1);
  else
    HAL_SAI_RxHalfCpltCallback(&hsai_BlockA1);
  second = !second;
}

void stand_in_main() { mbed_main(); }
