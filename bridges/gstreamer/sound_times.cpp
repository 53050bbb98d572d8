#include "bridges/gstreamer/sound_times.h"

#include <algorithm>
#include <cstddef>

namespace runnel::gstreamer {
namespace {

// Decisions look back over some seconds; deviations come with single buffers.
constexpr std::size_t kMost = 1024;

}  // namespace

std::int64_t samples_in(GstClockTimeDiff time, std::int64_t rate) noexcept {
  const auto size = static_cast<guint64>(time < 0 ? -time : time);
  const auto samples =
      static_cast<std::int64_t>(gst_util_uint64_scale_round(size, static_cast<guint64>(rate), GST_SECOND));
  return time < 0 ? -samples : samples;
}

GstClockTime duration_of(std::int64_t samples, std::int64_t rate) noexcept {
  return gst_util_uint64_scale_round(static_cast<guint64>(samples), GST_SECOND, static_cast<guint64>(rate));
}

void SoundTimes::add(std::int64_t sample, GstClockTime time, std::int64_t rate) {
  rate_ = rate;
  // Time stamps are rounded to nanoseconds, which is less than a sample.
  if (!anchors_.empty() && sample_at(time) == sample) return;
  anchors_.push_back({sample, time});
  if (anchors_.size() > kMost) anchors_.pop_front();
}

GstClockTime SoundTimes::time_of(std::int64_t sample) const noexcept {
  if (anchors_.empty()) return GST_CLOCK_TIME_NONE;
  const auto later = std::find_if(anchors_.begin() + 1, anchors_.end(),
                                  [sample](const Anchor& anchor) { return anchor.sample > sample; });
  const Anchor& anchor = *(later - 1);
  if (sample >= anchor.sample) return anchor.time + duration_of(sample - anchor.sample, rate_);
  const GstClockTime earlier = duration_of(anchor.sample - sample, rate_);
  return earlier <= anchor.time ? anchor.time - earlier : GST_CLOCK_TIME_NONE;
}

std::int64_t SoundTimes::sample_at(GstClockTime time) const noexcept {
  const Anchor& last = anchors_.back();
  return last.sample + samples_in(GST_CLOCK_DIFF(last.time, time), rate_);
}

}  // namespace runnel::gstreamer
