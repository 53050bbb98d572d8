// What sources whose samples come in their own time tell about themselves.
#pragma once

#include <cstdint>

namespace runnel::pipeline {

// Losses are samples, counted where they were lost.
struct CaptureFacts {
  std::int64_t period =
      0;  // samples that the device gives at once; 0: no device, they are given as they come
  double period_ms = 0, buffer_ms = 0;  // of the device
  std::int64_t device_lost = 0;         // never read from the device
  std::int64_t overload_lost = 0;       // read, and dropped because processing did not keep up
  std::int64_t overruns = 0, suspends = 0, unplugs = 0, replugs = 0;
  double largest_backlog_ms = 0;  // that ever waited for processing
};

// Such a source looks at the stop flag itself and ends when it has given what was captured before.
class LiveSource {
 public:
  [[nodiscard]] virtual CaptureFacts capture_facts() const = 0;
  // Time that its process() has spent waiting for samples.
  [[nodiscard]] virtual std::int64_t waited_nanoseconds() const noexcept = 0;
  // Whether models should be skipped now, because processing does not keep up and the source was told to do
  // that about it.
  [[nodiscard]] virtual bool overloaded() const noexcept { return false; }

 protected:
  ~LiveSource() = default;
};

}  // namespace runnel::pipeline
