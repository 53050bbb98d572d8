// A stream of PipeWire's with a thread of its own: what capturing and playing share.
#pragma once

#include <pipewire/pipewire.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/status.h"
#include "pipeline/host/live/wake.h"

namespace runnel::pipewire {

// How long a stream without a link made by hand waits for its first cycle.
inline constexpr auto kPatience = std::chrono::seconds(5);
inline constexpr int kWaitMilliseconds = 100;

// Before any other call of PipeWire's; once for the process, and never undone: others in it may use PipeWire
// too.
void begin();

// Owned and called by one thread; what is virtual runs in threads of PipeWire's.
class Stream {
 public:
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

 protected:
  struct Wanted {
    pw_direction direction = PW_DIRECTION_INPUT;
    const char* thread = "";
    const char* category = "";            // Capture, Playback
    const char* icon = "";                // in patch bays
    const char* media = "";               // what it does, as people read it
    std::string name, target;             // target "none": others make the links
    bool monitor = false;                 // what a sink plays
    std::int32_t rate = 0, channels = 0;  // of float32 samples, interleaved
  };

  Stream() = default;
  // After leave(), which each class calls in its own destructor: until then the threads call process().
  ~Stream() = default;
  void leave();

  // Once. Errors: io_error.
  Status connect(const Wanted& wanted);
  // Why there will be no more cycles, or ok.
  [[nodiscard]] Status failure();
  // The beginning of a sentence about the target.
  [[nodiscard]] Status about_target(Code code) const;
  // Sleeps until wake() or so long.
  void wait(int milliseconds) const;
  void wake() const { wake_.up(); }
  // From any thread: the stream failed; the first reason counts.
  void fail(std::string why);
  // Whether cycles are computed: false without a link.
  [[nodiscard]] bool streaming() const noexcept { return streaming_.load(std::memory_order_acquire); }

  // In the real-time thread: no allocation, no lock.
  virtual void process() = 0;
  // In PipeWire's other thread.
  virtual void negotiated(const spa_pod* /*format*/) {}
  virtual void drained() {}

  // For process(). Null: no clock yet.
  [[nodiscard]] const spa_io_clock* clock() const noexcept {
    return position_ == nullptr ? nullptr : &position_->clock;
  }
  // Whether the stream was without cycles since the last call: it lost its link, or was moved.
  bool was_interrupted() noexcept { return interrupted_.exchange(false, std::memory_order_acq_rel); }
  [[nodiscard]] bool freewheels() const noexcept {
    return position_ != nullptr && (position_->clock.flags & SPA_IO_CLOCK_FLAG_FREEWHEEL) != 0;
  }
  // In a graph that computes as fast as it can (freewheeling), which is no real time: waits for `there`,
  // which is looked at after each go_on(), for some seconds at most. Otherwise returns at once.
  template <typename There>
  void wait_if_freewheeling(const There& there) const;
  // The other thread has done something for which process() may wait.
  void go_on() const { other_.up(); }

  pw_thread_loop* loop_ = nullptr;
  pw_stream* stream_ = nullptr;

 private:
  void changed(pw_stream_state before, pw_stream_state now, const char* error);
  void wait_for_other() const;

  std::string target_;
  pw_stream_events events_{};
  spa_io_position* position_ = nullptr;  // of the real-time thread
  pipeline::Wake wake_, other_;
  std::atomic<bool> leaving_{false}, streaming_{false}, interrupted_{false};
  std::mutex mutex_;
  std::string broken_;  // under mutex_
};

// Waits of a cycle in a graph that is not real time, until it goes on without.
inline constexpr int kFreewheelWaits = 50;

template <typename There>
void Stream::wait_if_freewheeling(const There& there) const {
  if (!freewheels()) return;
  for (int i = 0; i < kFreewheelWaits && !there() && !leaving_.load(std::memory_order_acquire); ++i)
    wait_for_other();
}

}  // namespace runnel::pipewire
