// What sinks that play to a device tell about themselves.
#pragma once

#include <cstdint>

namespace runnel::pipeline {

class LiveSink {
 public:
  // How often the device fell silent because sound did not come in time.
  [[nodiscard]] virtual std::int64_t underruns() const noexcept = 0;

 protected:
  ~LiveSink() = default;
};

}  // namespace runnel::pipeline
