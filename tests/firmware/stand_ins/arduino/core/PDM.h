// As Arduino's reference describes it: the recording is what the microphone gives, in pieces that do not fit
// anything.
#pragma once

#include "Arduino.h"

class PdmStandIn {
 public:
  void onReceive(void (*receive)()) { receive_ = receive; }
  int begin(int channels, int rate) { return channels == 1 && rate == 16000; }
  int available() { return waiting_; }
  int read(void* to, int bytes);
  // Plays the interrupt; false: the recording has ended.
  bool interrupt();

 private:
  void (*receive_)() = nullptr;
  int waiting_ = 0, taken_ = 0;
  int16_t samples_[237];
};
extern PdmStandIn PDM;
