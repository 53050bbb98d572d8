#include "pipeline/nodes/host/live/browser/remote_sound.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/checked.h"
#include "base/cpu.h"
#include "pipeline/host/live/sample_code.h"

namespace runnel::pipeline {
namespace {

constexpr std::int64_t kMostFirst = std::int64_t{1} << 40;  // 265 days at 48 kHz
constexpr std::int64_t kLongestLoss = 3600;                 // seconds at once

}  // namespace

Result<std::uint64_t> RemoteSound::begin(const Speaker& speaker) {
  if (speaker.rate < kLeastRate || speaker.rate > kMostRate || speaker.rate % kRateStep != 0)
    return Status(Code::invalid_argument)
           << "a microphone of " << speaker.rate << " Hz, expected a multiple of " << kRateStep << " from "
           << kLeastRate << " to " << kMostRate << " Hz";
  if (speaker.first < 0 || speaker.first > kMostFirst)
    return Status(Code::invalid_argument)
           << "a first sample number of " << speaker.first << ", expected 0 to " << kMostFirst;
  const std::lock_guard lock(mutex_);
  if (speaking_ && !speaker.takes_over && speaker.session != speaker_.session)
    return Status(Code::unsupported, "another page has the microphone");
  if (running_) finish_run();
  if (!resampler_ || resampler_rate_ != speaker.rate) {
    resampler_.reset();
    memory_ = std::make_unique<HeapMemory>();
    resampler_rate_ = 0;
    features::ResamplerSpec spec;
    spec.in_rate = speaker.rate;
    spec.out_rate = rate_;
    RUNNEL_ASSIGN(resampler_, features::Resampler::make(spec, best_isa(), *memory_));
    resampler_rate_ = speaker.rate;
  }
  const std::int64_t common = std::gcd<std::int64_t, std::int64_t>(speaker.rate, rate_);
  up_ = rate_ / common;
  down_ = speaker.rate / common;
  const bool back = facts_.speakers > 0 && speaker.session == speaker_.session &&
                    speaker.rate == speaker_.rate && !waits_for_first_ && speaker.first - base_ >= heard_;
  speaker_ = speaker;
  speaking_ = true;
  ++turn_;
  if (back) {
    // Where the same speaker's sample of this number lies.
    waits_for_first_ = false;
    start_run(speaker.first - base_, position_ + 1);
    facts_.exact_lost += pending_lost_;
    ++facts_.gaps;
  } else {
    waits_for_first_ = true;
  }
  ++facts_.speakers;
  return turn_;
}

// Begins at the sample `input` after base_, or at the first point after it that both rates share and that is
// not before this position.
void RemoteSound::start_run(std::int64_t input, std::int64_t least_position) {
  std::int64_t start = ceil_div(input, down_);
  start = std::max(start, ceil_div(least_position - origin_, up_));
  skip_ = start * down_ - input;
  heard_ = input;
  const std::int64_t position = origin_ + start * up_;
  pending_lost_ += position - position_;
  position_ = position;
  resampler_->reset();
  running_ = true;
}

// What the resampler still holds.
void RemoteSound::finish_run() {
  out_.resize(resampler_->max_flush_outputs() + 1);
  for (std::size_t count = 1; count > 0;) {
    count = resampler_->flush(out_);
    append(std::span(out_).first(count));
  }
  running_ = false;
}

void RemoteSound::append(std::span<const float> samples) {
  if (samples.empty()) return;
  const auto count = static_cast<std::int64_t>(samples.size());
  position_ += count;
  if (static_cast<double>(waiting_ + samples.size()) > kMostWaiting * rate_) {
    if (pending_lost_ == 0) ++facts_.gaps;
    pending_lost_ += count;
    facts_.overload_lost += count;
    return;
  }
  waiting_ += samples.size();
  pieces_.push_back({std::exchange(pending_lost_, 0), {samples.begin(), samples.end()}});
}

bool RemoteSound::push(std::uint64_t turn, std::span<const std::int16_t> samples, Time now) {
  const std::lock_guard lock(mutex_);
  if (turn != turn_ || !speaking_) return false;
  if (samples.empty()) return true;
  if (std::exchange(waits_for_first_, false)) {
    // Of a new session; the first of all begins the clock.
    std::int64_t paused = 0;
    if (facts_.speakers > 1) {
      const double seconds = std::chrono::duration<double>(now - last_).count() -
                             static_cast<double>(samples.size()) / speaker_.rate;
      paused = std::max<std::int64_t>(1, std::llround(seconds * rate_));
    }
    origin_ = position_ + paused;
    facts_.estimated_lost += paused;
    if (paused > 0) ++facts_.gaps;
    base_ = speaker_.first;
    start_run(0, origin_);
  }
  last_ = now;
  heard_ += static_cast<std::int64_t>(samples.size());
  const auto dropped =
      static_cast<std::size_t>(std::min<std::int64_t>(skip_, static_cast<std::int64_t>(samples.size())));
  skip_ -= static_cast<std::int64_t>(dropped);
  const std::span<const std::int16_t> rest = samples.subspan(dropped);
  if (rest.empty()) return true;
  in_.resize(rest.size());
  to_float(SampleCode::s16, reinterpret_cast<const std::byte*>(rest.data()), in_);
  out_.resize(resampler_->max_outputs(in_.size()) + 1);
  append(std::span(out_).first(resampler_->push(in_, out_).outputs));
  arrived_.notify_one();
  return true;
}

bool RemoteSound::lose(std::uint64_t turn, std::int64_t samples) {
  const std::lock_guard lock(mutex_);
  if (turn != turn_ || !speaking_) return false;
  if (samples <= 0 || waits_for_first_) return true;
  samples = std::min(samples, kLongestLoss * speaker_.rate);
  if (running_) finish_run();
  const std::int64_t before = pending_lost_;
  start_run(heard_ + samples, position_ + 1);
  facts_.exact_lost += pending_lost_ - before;
  ++facts_.gaps;
  return true;
}

bool RemoteSound::end(std::uint64_t turn) {
  const std::lock_guard lock(mutex_);
  if (turn != turn_ || !speaking_) return false;
  speaking_ = false;
  if (running_) finish_run();
  arrived_.notify_one();
  return true;
}

bool RemoteSound::wait(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return arrived_.wait_for(lock, patience, [&] { return waiting_ > 0; });
}

std::size_t RemoteSound::take(std::span<float> out, std::int64_t& lost) {
  const std::lock_guard lock(mutex_);
  lost = 0;
  std::size_t count = 0;
  while (!pieces_.empty() && count < out.size()) {
    Piece& piece = pieces_.front();
    if (piece.lost > 0) {
      if (count > 0) break;  // a gap begins a block
      lost = std::exchange(piece.lost, 0);
    }
    const std::size_t some = std::min(out.size() - count, piece.samples.size() - given_);
    std::copy_n(piece.samples.begin() + static_cast<std::ptrdiff_t>(given_), some,
                out.begin() + static_cast<std::ptrdiff_t>(count));
    count += some;
    given_ += some;
    if (given_ == piece.samples.size()) {
      pieces_.pop_front();
      given_ = 0;
    }
  }
  waiting_ -= count;
  return count;
}

RemoteSound::Facts RemoteSound::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

}  // namespace runnel::pipeline
