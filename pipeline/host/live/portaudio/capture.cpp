#include "pipeline/host/live/portaudio/capture.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "pipeline/host/live/portaudio/library.h"

namespace runnel::pipeline {
namespace {

// Longer than any jitter of time stamps: the machine slept, or the system did not call.
constexpr double kSilence = 0.5;

// When the first sample of a block was captured. Some systems give no stamps; then our own clock serves.
double time_of(const PaStreamCallbackTimeInfo* time) noexcept {
  if (time != nullptr && time->inputBufferAdcTime > 0) return time->inputBufferAdcTime;
  if (time != nullptr && time->currentTime > 0) return time->currentTime;
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Status PortAudioCapture::open(const PortAudioSettings& settings, double milliseconds,
                              bool drop_oldest) noexcept {
  settings_ = settings;
  drop_oldest_ = drop_oldest;
  RUNNEL_TRY(stream_.open_capture(settings, &PortAudioCapture::call, this));
  rate_ = stream_.rate();
  channels_ = stream_.channels();
  slot_frames_ = stream_.period_frames();
  const double slots = std::ceil(milliseconds * 1e-3 * rate_ / static_cast<double>(slot_frames_));
  ring_.make(static_cast<std::size_t>(std::max(slots, 2.0)),
             static_cast<std::size_t>(slot_frames_ * channels_) * sizeof(float));
  return {};
}

Status PortAudioCapture::start(std::int64_t samples) noexcept {
  last_sample_ = samples;
  return stream_.start();
}

bool PortAudioCapture::active() const noexcept {
  return stream_.get() != nullptr && portaudio().Pa_IsStreamActive(stream_.get()) == 1;
}

Result<bool> PortAudioCapture::come_back() noexcept {
  // PortAudio lists devices anew when nobody uses it any more.
  stream_.close();
  came_back_ = true;
  if (!stream_.open_capture(settings_, &PortAudioCapture::call, this).ok()) {
    stream_.close();
    return false;
  }
  if (stream_.rate() != rate_ || stream_.channels() != channels_) {
    return Status(Code::mismatch) << "device " << settings_.name << " came back with " << stream_.rate()
                                  << " Hz, " << stream_.channels() << " channels: expected " << rate_
                                  << " Hz, " << channels_ << " channels";
  }
  if (!stream_.start().ok()) {
    stream_.close();
    return false;
  }
  ++troubles_.replugs;
  return true;
}

int PortAudioCapture::call(const void* input, void*, unsigned long frames,
                           const PaStreamCallbackTimeInfo* time, PaStreamCallbackFlags flags,
                           void* user) noexcept {
  auto& self = *static_cast<PortAudioCapture*>(user);
  return self.take(static_cast<const float*>(input), static_cast<std::int64_t>(frames), time_of(time), flags);
}

void PortAudioCapture::count_lost(double time) noexcept {
  const std::int64_t lost = std::max<std::int64_t>(1, std::llround((time - expected_) * rate_));
  troubles_.lost += lost;
  position_.store(position_.load(std::memory_order_relaxed) + lost, std::memory_order_release);
}

int PortAudioCapture::take(const float* input, std::int64_t frames, double time,
                           PaStreamCallbackFlags flags) noexcept {
  if (stopping_.load(std::memory_order_relaxed)) return paComplete;
  // Before the first block there is nothing to lose.
  if (expected_ >= 0) {
    const bool overflow = (flags & paInputOverflow) != 0, silence = time - expected_ > kSilence;
    if (came_back_ || overflow || silence) {
      if (!came_back_) ++troubles_.overruns;
      count_lost(time);
    }
  }
  came_back_ = false;
  expected_ = time + static_cast<double>(frames) / rate_;
  const std::int64_t first = position_.load(std::memory_order_relaxed);
  std::int64_t wanted = frames;
  if (last_sample_ > 0) wanted = std::clamp<std::int64_t>(last_sample_ - first, 0, frames);
  // Null: the system has no input for us now.
  if (input == nullptr) {
    troubles_.lost += wanted;
  } else {
    for (std::int64_t done = 0; done < wanted; done += slot_frames_)
      put(input + done * channels_, std::min(slot_frames_, wanted - done), first + done);
  }
  position_.store(last_sample_ > 0 ? std::min(first + frames, std::max(first, last_sample_)) : first + frames,
                  std::memory_order_release);
  if (last_sample_ == 0 || first + frames < last_sample_) return paContinue;
  complete_.store(true, std::memory_order_relaxed);
  return paComplete;
}

// Into the ring, or not: then the gap before the next slot shows it.
void PortAudioCapture::put(const float* input, std::int64_t frames, std::int64_t first) noexcept {
  CaptureRing::Slot* slot = ring_.writable();
  if (slot == nullptr && drop_oldest_) {
    troubles_.dropped += ring_.drop_oldest();
    // The oldest slot cannot be dropped while it is being read.
    slot = ring_.writable();
  }
  if (slot == nullptr) {
    troubles_.dropped += frames;
    return;
  }
  slot->first = first;
  slot->count = frames;
  std::memcpy(slot->data, input, static_cast<std::size_t>(frames * channels_) * sizeof(float));
  ring_.put();
  if (const std::size_t filled = ring_.filled(); filled > largest_backlog_.load(std::memory_order_relaxed))
    largest_backlog_ = filled;
}

}  // namespace runnel::pipeline
