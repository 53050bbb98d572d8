// The capture thread: moves samples from a device into the ring.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "pipeline/host/live/alsa_device.h"
#include "pipeline/host/live/capture_ring.h"

namespace runnel::pipeline {

// What happens to samples for which the ring has no room.
enum class Overload : std::uint8_t {
  block,        // the thread waits; what the device's own buffer cannot hold is lost there
  drop_oldest,  // the oldest samples in the ring are dropped
  drop_newest,  // the new samples are dropped
};

// Per block the thread calls the device and touches the ring: no allocation, no lock, no other system call
// (Overload::block waits by sleeping while the ring is full). It runs under SCHED_FIFO with its memory locked
// where the system allows that.
class AlsaCapture {
 public:
  AlsaCapture() = default;
  ~AlsaCapture() { stop(); }
  AlsaCapture(const AlsaCapture&) = delete;
  AlsaCapture& operator=(const AlsaCapture&) = delete;

  // The ring holds `milliseconds`. `samples`: how many to capture, lost ones included; 0: until stop().
  Status open(const AlsaSettings& settings, double milliseconds, Overload overload) noexcept;
  Status start(std::int64_t samples, bool realtime) noexcept;
  // The thread ends at its next block; the ring keeps what it has.
  void ask_to_stop() noexcept { stopping_.store(true, std::memory_order_relaxed); }
  void stop() noexcept;

  // For the processing thread. finished(): no more samples will come; then failure() gives the reason, and
  // device() may be used.
  CaptureRing& ring() noexcept { return ring_; }
  [[nodiscard]] bool running() const noexcept { return thread_.joinable(); }
  [[nodiscard]] bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }
  [[nodiscard]] const Status& failure() const noexcept { return failure_; }
  [[nodiscard]] const AlsaDevice& device() const noexcept { return device_; }
  [[nodiscard]] std::int64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t largest_backlog() const noexcept {
    return largest_backlog_.load(std::memory_order_relaxed);
  }
  // Frames per slot of the ring, at most.
  [[nodiscard]] std::int64_t slot_frames() const noexcept { return slot_frames_; }
  // What the system did not allow; may be empty.
  [[nodiscard]] std::string_view not_allowed() const noexcept { return not_allowed_; }

 private:
  void become_realtime() noexcept;
  void run() noexcept;
  CaptureRing::Slot* next_slot() noexcept;

  AlsaDevice device_;
  CaptureRing ring_;
  CaptureRing::Slot spare_;  // for samples that are dropped immediately
  std::vector<std::byte> spare_bytes_;
  Overload overload_ = Overload::block;
  std::int64_t slot_frames_ = 0;
  std::int64_t last_sample_ = 0;  // position to stop at; 0: never
  std::thread thread_;
  std::atomic<bool> stopping_{false}, finished_{false};
  std::atomic<std::int64_t> dropped_{0};
  std::atomic<std::size_t> largest_backlog_{0};
  Status failure_;
  std::string_view not_allowed_;
};

}  // namespace runnel::pipeline
