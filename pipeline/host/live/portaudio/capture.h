// Capture through PortAudio: its thread brings samples, which go into the ring.
#pragma once

#include <portaudio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "pipeline/host/live/capture_ring.h"
#include "pipeline/host/live/portaudio/open.h"

namespace runnel::pipeline {

// Counters. Written by PortAudio's thread (replugs, unplugs: by the processing thread), readable from any.
struct PortAudioTroubles {
  std::atomic<std::int64_t> overruns{0}, unplugs{0}, replugs{0};
  std::atomic<std::int64_t> lost{0};     // samples that the device did not give
  std::atomic<std::int64_t> dropped{0};  // samples for which the ring had no room
};

// Samples are counted from the start of the stream: position() is the index of the next one, and jumps where
// samples were lost. How many are missing is computed from the time stamps of the blocks before and after the
// loss; at least one, so that a loss is always a gap. The callback neither allocates nor locks nor waits.
class PortAudioCapture {
 public:
  PortAudioCapture() = default;
  ~PortAudioCapture() { stop(); }
  PortAudioCapture(const PortAudioCapture&) = delete;
  PortAudioCapture& operator=(const PortAudioCapture&) = delete;

  // The ring holds `milliseconds`; without room, the oldest samples in it are dropped or the new ones.
  Status open(const PortAudioSettings& settings, double milliseconds, bool drop_oldest) noexcept;
  // `samples`: how many to capture, lost ones included; 0: until stopped.
  Status start(std::int64_t samples) noexcept;
  void ask_to_stop() noexcept { stopping_.store(true, std::memory_order_relaxed); }
  void stop() noexcept { stream_.close(); }

  // For the processing thread. active(): more samples may come. What became false is so for good, unless
  // come_back() succeeds.
  CaptureRing& ring() noexcept { return ring_; }
  [[nodiscard]] bool active() const noexcept;
  // It ended although nobody asked it to: the device is not there any more.
  [[nodiscard]] bool unplugged() const noexcept {
    return !complete_.load(std::memory_order_relaxed) && !stopping_.load(std::memory_order_relaxed);
  }
  void count_unplug() noexcept { ++troubles_.unplugs; }
  // One attempt to open an unplugged device again. False: it is not there. Error: mismatch when it has come
  // back with another rate or other channels.
  Result<bool> come_back() noexcept;

  [[nodiscard]] std::int64_t position() const noexcept { return position_.load(std::memory_order_acquire); }
  [[nodiscard]] std::int32_t rate() const noexcept { return rate_; }
  [[nodiscard]] std::int32_t channels() const noexcept { return channels_; }
  [[nodiscard]] std::int64_t slot_frames() const noexcept { return slot_frames_; }
  [[nodiscard]] double latency() const noexcept { return stream_.latency(); }
  [[nodiscard]] const PortAudioTroubles& troubles() const noexcept { return troubles_; }
  [[nodiscard]] std::size_t largest_backlog() const noexcept {
    return largest_backlog_.load(std::memory_order_relaxed);
  }

 private:
  static int call(const void* input, void* output, unsigned long frames, const PaStreamCallbackTimeInfo* time,
                  PaStreamCallbackFlags flags, void* user) noexcept;
  int take(const float* input, std::int64_t frames, double time, PaStreamCallbackFlags flags) noexcept;
  void count_lost(double time) noexcept;
  void put(const float* input, std::int64_t frames, std::int64_t first) noexcept;

  PortAudioStream stream_;
  PortAudioSettings settings_;
  CaptureRing ring_;
  bool drop_oldest_ = false;
  std::int32_t rate_ = 0, channels_ = 0;
  std::int64_t slot_frames_ = 0;
  std::int64_t last_sample_ = 0;  // position to stop at; 0: never
  std::atomic<std::int64_t> position_{0};
  std::atomic<bool> stopping_{false}, complete_{false};
  std::atomic<std::size_t> largest_backlog_{0};
  PortAudioTroubles troubles_;
  // Of the callback: when the sample `position_` would have come, in seconds; below 0: there was none yet.
  double expected_ = -1;
  bool came_back_ = false;
};

}  // namespace runnel::pipeline
