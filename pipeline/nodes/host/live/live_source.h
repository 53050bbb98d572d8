// The statistics of live sources.
#pragma once

#include <cstdint>

namespace runnel::pipeline {

// Losses are samples, counted where they were lost.
struct CaptureFacts {
  std::int64_t period = 0;  // samples per period of the device; 0: not a device, samples come at any time
  double period_ms = 0, buffer_ms = 0;  // of the device
  std::int64_t device_lost = 0;         // never read from the device
  std::int64_t overload_lost = 0;       // read, and dropped because processing did not keep up
  std::int64_t overruns = 0, suspends = 0, unplugs = 0, replugs = 0;
  double largest_backlog_ms = 0;  // of samples waiting for processing
};

// A live source checks the stop flag itself and ends when it has given the samples captured before.
class LiveSource {
 public:
  [[nodiscard]] virtual CaptureFacts capture_facts() const = 0;
  // Total time that process() has waited for samples.
  [[nodiscard]] virtual std::int64_t waited_nanoseconds() const noexcept = 0;
  // Whether models should be skipped now: processing does not keep up, and overload=skip-inference is set.
  [[nodiscard]] virtual bool overloaded() const noexcept { return false; }

 protected:
  ~LiveSource() = default;
};

}  // namespace runnel::pipeline
