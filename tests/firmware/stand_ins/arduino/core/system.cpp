#include "Arduino.h"
#include "PDM.h"

SerialStandIn Serial;
PdmStandIn PDM;

int PdmStandIn::read(void* to, int bytes) {
  const int taken = bytes < waiting_ ? bytes : waiting_;
  memcpy(to, reinterpret_cast<const char*>(samples_) + taken_, static_cast<size_t>(taken));
  taken_ += taken;
  waiting_ -= taken;
  return taken;
}

bool PdmStandIn::interrupt() {
  taken_ = 0;
  waiting_ = 2 * stand_in_samples(samples_, static_cast<int>(sizeof samples_ / sizeof samples_[0]));
  const bool more = waiting_ > 0;
  if (more) receive_();
  return more;
}

// The interrupt comes between two turns of the loop; what it leaves is taken afterwards.
void stand_in_main() {
  setup();
  while (PDM.interrupt()) {
    for (int i = 0; i < 4; ++i) loop();
  }
}
