// The statistics of sinks that play to a device.
#pragma once

#include <cstdint>

namespace runnel::pipeline {

class LiveSink {
 public:
  // Underruns: how often the device fell silent because samples were late.
  [[nodiscard]] virtual std::int64_t underruns() const noexcept = 0;

 protected:
  ~LiveSink() = default;
};

}  // namespace runnel::pipeline
