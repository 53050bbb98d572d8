// One stream of sound through a program: samples of buffers in; decisions and texts out, with their times.
#pragma once

#include <gst/gst.h>

#include <cstddef>
#include <cstdint>
#include <functional>

#include "bridges/gstreamer/settings.h"
#include "bridges/gstreamer/sound_times.h"

namespace runnel::gstreamer {

// What a stream gives. Called by SoundStream's functions, in the order of the stream; `line` is a line of
// JSON without newline. Pointers are valid during the call.
struct Listener {
  std::function<void(const runnel_event& event, const char* line)> heard;
  std::function<void(const runnel_text& text)> read;
  std::function<void(std::int64_t first, std::int64_t lost)> lost;  // samples [first, first + lost)
};

// Sample numbers are those of stream time: a stream that begins at 30 s begins with sample 30 * rate, unless
// it begins within the tolerance of 0. Not thread-safe.
class SoundStream {
 public:
  explicit SoundStream(Listener listener) : listener_(std::move(listener)) {}

  // Begins a stream of `program`, which must outlive it. False: runnel_last_failure() says why.
  bool open(runnel_program* program, const Settings& settings);
  void close() noexcept;
  [[nodiscard]] bool is_open() const noexcept { return node_ != nullptr; }

  // Where and when a block of samples is. `time`: presentation; none: right after the block before it.
  // `stream_time`: of the same moment, used by the first block of a stream; none: 0.
  struct Place {
    GstClockTime time = GST_CLOCK_TIME_NONE;
    GstClockTime stream_time = GST_CLOCK_TIME_NONE;
    bool discontinuous = false;
  };
  // Takes `frames` samples of all channels, interleaved, of 16-bit integers or floats. A jump of the time is
  // a gap of the exact length; a jump back, or one of more than kLongestGap, ends the stream and begins a new
  // one. False: runnel_last_failure() says why.
  bool push(const void* samples, bool floats, std::size_t frames, const Place& place);
  // Nothing comes until `time`: a gap of the exact length. Ignored before the first sample.
  bool skip_until(GstClockTime time);
  // Ends the stream: gives what is still inside. The next samples begin a new one.
  bool finish();
  // Drops what is inside. The next samples begin a new stream.
  void abandon() noexcept;

  [[nodiscard]] const SoundTimes& times() const noexcept { return times_; }
  [[nodiscard]] std::int64_t rate() const noexcept { return rate_; }
  // Of all streams since open().
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }
  [[nodiscard]] std::uint64_t lost_samples() const noexcept { return lost_; }

  static constexpr GstClockTimeDiff kLongestGap = 3600 * static_cast<GstClockTimeDiff>(GST_SECOND);

 private:
  bool begin(const Place& place);
  bool jump(const Place& place);
  bool lose(std::int64_t samples);
  bool give(const void* samples, bool floats, std::size_t frames);
  void fetch();

  Listener listener_;
  Node node_;
  std::int64_t rate_ = 1, channels_ = 1;
  GstClockTimeDiff tolerance_ = 0;
  bool zeros_ = false;
  bool begun_ = false;
  std::int64_t next_ = 0;      // number of the next sample
  GstClockTime expected_ = 0;  // its time, by the last buffer
  SoundTimes times_;
  std::uint64_t events_ = 0, lost_ = 0;
};

}  // namespace runnel::gstreamer
