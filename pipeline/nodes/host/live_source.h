// What sources that capture from a device tell about themselves.
#pragma once

#include <cstdint>

namespace runnel::pipeline {

// Losses are samples, counted where they were lost.
struct CaptureFacts {
  double period_ms = 0, buffer_ms = 0;       // of the device
  std::int64_t device_lost = 0;              // never read from the device
  std::int64_t overload_lost = 0;            // read, and dropped because processing did not keep up
  std::int64_t overruns = 0, suspends = 0, unplugs = 0, replugs = 0;
  double largest_backlog_ms = 0;             // that ever waited for processing
};

// Such a source looks at the stop flag itself and ends when it has given what was captured before.
class LiveSource {
 public:
  [[nodiscard]] virtual CaptureFacts capture_facts() const = 0;
  // Time that its process() has spent waiting for samples.
  [[nodiscard]] virtual std::int64_t waited_nanoseconds() const noexcept = 0;

 protected:
  ~LiveSource() = default;
};

}  // namespace runnel::pipeline
