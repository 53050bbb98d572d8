// Where the samples of a stream lie on GStreamer's clock.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <deque>

namespace runnel::gstreamer {

// Maps sample numbers to presentation times. A clock that drifts gives a new anchor with each deviation, so
// that times never differ from those of the buffers. Not thread-safe.
class SoundTimes {
 public:
  void clear() noexcept { anchors_.clear(); }
  [[nodiscard]] bool empty() const noexcept { return anchors_.empty(); }
  // Sample `sample` is presented at `time`; later calls have larger samples. `rate` in Hz is the same for
  // all.
  void add(std::int64_t sample, GstClockTime time, std::int64_t rate);
  // GST_CLOCK_TIME_NONE for an empty map, and for times below 0.
  [[nodiscard]] GstClockTime time_of(std::int64_t sample) const noexcept;
  // The nearest sample to a time, by the last anchor. The map must not be empty.
  [[nodiscard]] std::int64_t sample_at(GstClockTime time) const noexcept;

 private:
  struct Anchor {
    std::int64_t sample = 0;
    GstClockTime time = 0;
  };
  std::int64_t rate_ = 1;
  std::deque<Anchor> anchors_;  // the latest kMost
};

// A length in nanoseconds as samples, rounded to the nearest; negative ones too.
std::int64_t samples_in(GstClockTimeDiff time, std::int64_t rate) noexcept;
// The reverse; at least 0 samples.
GstClockTime duration_of(std::int64_t samples, std::int64_t rate) noexcept;

}  // namespace runnel::gstreamer
