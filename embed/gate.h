// Activity gate of samples.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "embed/runnel.h"

namespace runnel::embed {

// Mean square around the mean of each channel, summed over channels, in squared units of the samples. 16-bit
// samples are summed exactly.
float activity(const void* samples, std::size_t frames, std::size_t channels, DType type) noexcept;

// Open during activity, and for `hold` samples after it.
class EnergyGate {
 public:
  void set(runnel_gate settings) noexcept { settings_ = settings; }
  void reset() noexcept { quiet_ = settings_.hold; }
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h; with its settings
    archive.value(settings_.threshold);
    archive.expect(settings_.threshold >= 0, "the threshold of the gate");
    archive.value(settings_.hold);
    archive.value(quiet_);
  }
  // Whether to process the next block.
  bool opens(const void* samples, std::size_t frames, std::size_t channels, DType type) noexcept;

 private:
  runnel_gate settings_ = {0, 0};
  std::uint64_t quiet_ = 0;  // samples since the last activity
};

}  // namespace runnel::embed
