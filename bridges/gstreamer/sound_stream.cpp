#include "bridges/gstreamer/sound_stream.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace runnel::gstreamer {

bool SoundStream::open(runnel_program* program, const Settings& settings) {
  close();
  runnel_node* node = nullptr;
  if (runnel_prepare(program, nullptr, &node) != RUNNEL_OK) return false;
  node_.reset(node);
  const runnel_facts facts = runnel_facts_of(program);
  rate_ = facts.sample_rate;
  channels_ = facts.channels;
  tolerance_ = static_cast<GstClockTimeDiff>(settings.tolerance);
  zeros_ = settings.zeros;
  return true;
}

void SoundStream::close() noexcept {
  node_.reset();
  begun_ = false;
  times_.clear();
  events_ = lost_ = 0;
}

bool SoundStream::begin(const Place& place) {
  begun_ = true;
  next_ = 0;
  expected_ = GST_CLOCK_TIME_IS_VALID(place.time) ? place.time : 0;
  if (!GST_CLOCK_TIME_IS_VALID(place.stream_time) ||
      place.stream_time <= static_cast<GstClockTime>(tolerance_))
    return true;
  // The clock of the whole recording, so that the decisions after a seek name places in it.
  next_ = samples_in(static_cast<GstClockTimeDiff>(place.stream_time), rate_);
  return runnel_lost(node_.get(), static_cast<std::uint64_t>(next_)) == RUNNEL_OK;
}

bool SoundStream::give(const void* samples, bool floats, std::size_t frames) {
  const runnel_code code =
      floats ? runnel_push_float(node_.get(), static_cast<const float*>(samples), frames)
             : runnel_push_int16(node_.get(), static_cast<const std::int16_t*>(samples), frames);
  next_ += static_cast<std::int64_t>(frames);
  expected_ += duration_of(static_cast<std::int64_t>(frames), rate_);
  fetch();
  return code == RUNNEL_OK;
}

bool SoundStream::lose(std::int64_t samples) {
  lost_ += static_cast<std::uint64_t>(samples);
  if (listener_.lost) listener_.lost(next_, samples);
  if (!zeros_) {
    if (runnel_lost(node_.get(), static_cast<std::uint64_t>(samples)) != RUNNEL_OK) return false;
    next_ += samples;
    expected_ += duration_of(samples, rate_);
    return true;
  }
  // Given here rather than by the library, which waits for the next samples: a decision may need them now.
  const std::vector<float> silence(static_cast<std::size_t>(std::min(samples, rate_) * channels_));
  for (; samples > 0; samples -= rate_) {
    if (!give(silence.data(), true, static_cast<std::size_t>(std::min(samples, rate_)))) return false;
  }
  return true;
}

// Compares the time of a block with the end of the one before it.
bool SoundStream::jump(const Place& place) {
  if (!GST_CLOCK_TIME_IS_VALID(place.time)) return true;
  const GstClockTimeDiff ahead = GST_CLOCK_DIFF(expected_, place.time);
  const bool far = ahead > tolerance_ || ahead < -tolerance_;
  if (ahead > kLongestGap || (far && ahead < 0)) return finish() && begin(place);
  const std::int64_t samples = samples_in(ahead, rate_);
  if (samples > 0 && (far || place.discontinuous) && !lose(samples)) return false;
  expected_ = place.time;
  return true;
}

bool SoundStream::push(const void* samples, bool floats, std::size_t frames, const Place& place) {
  if (!(begun_ ? jump(place) : begin(place))) return false;
  times_.add(next_, expected_, rate_);
  return give(samples, floats, frames);
}

bool SoundStream::skip_until(GstClockTime time) {
  if (!begun_) return true;
  const GstClockTimeDiff ahead = GST_CLOCK_DIFF(expected_, time);
  if (ahead > kLongestGap) return finish();
  const std::int64_t samples = samples_in(ahead, rate_);
  if (samples <= 0) return true;
  if (!lose(samples)) return false;
  expected_ = time;
  return true;
}

bool SoundStream::finish() {
  if (!begun_) return true;
  const bool ended = runnel_end(node_.get()) == RUNNEL_OK;
  fetch();
  abandon();
  return ended;
}

void SoundStream::abandon() noexcept {
  if (node_ != nullptr && begun_) runnel_reset(node_.get());
  begun_ = false;
  times_.clear();
}

void SoundStream::fetch() {
  runnel_text text;
  while (runnel_poll_text(node_.get(), &text) == 1) {
    if (listener_.read) listener_.read(text);
  }
  runnel_event event;
  while (runnel_poll(node_.get(), &event) == 1) {
    ++events_;
    if (listener_.heard) listener_.heard(event, runnel_line(node_.get()));
  }
}

}  // namespace runnel::gstreamer
