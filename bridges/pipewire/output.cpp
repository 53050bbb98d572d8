// The module `pipewire_sink`: a stream of PipeWire's that plays, for the sink pipewire.
#include <pipewire/pipewire.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <vector>

#include "base/host/late_library.h"
#include "bridges/pipewire/stream.h"
#include "pipeline/host/live/sound_output.h"

namespace runnel::pipewire {
namespace {

using pipeline::SoundOutput;
using Time = std::chrono::steady_clock::time_point;

// Room for four of PipeWire's largest cycles.
constexpr std::int64_t kRingFrames = std::int64_t{1} << 15;

class Output final : public SoundOutput, private Stream {
 public:
  Output() = default;
  ~Output() override { leave(); }

  Status open(const Settings& settings) override {
    begin();
    settings_ = settings;
    stride_ = static_cast<std::int64_t>(sizeof(float)) * settings.channels;
    ring_.resize(static_cast<std::size_t>(kRingFrames * settings.channels));
    Wanted wanted;
    wanted.direction = PW_DIRECTION_OUTPUT;
    wanted.thread = "runnel-sink";
    wanted.category = "Playback";
    wanted.icon = "audio-speakers";
    wanted.media = "what runnel plays";
    wanted.name = settings.name;
    wanted.target = settings.what;
    wanted.rate = settings.rate;
    wanted.channels = settings.channels;
    return connect(wanted);
  }

  Status write(const float* samples, std::int64_t frames) override {
    begun_ = std::chrono::steady_clock::now();
    while (frames > 0) {
      const std::int64_t put = put_some(samples, frames);
      samples += put * settings_.channels;
      frames -= put;
      if (put > 0) continue;
      if (given_up()) break;
      RUNNEL_TRY(wait_for_player());
    }
    return {};
  }

  Status drain() override {
    begun_ = std::chrono::steady_clock::now();
    ending_.store(true, std::memory_order_release);
    go_on();
    while (!given_up() && read_.load(std::memory_order_acquire) < written_.load(std::memory_order_relaxed))
      RUNNEL_TRY(wait_for_player());
    // What the graph has taken is played by now, or in the cycle that comes.
    pw_thread_loop_lock(loop_);
    const bool plays = pw_stream_get_state(stream_, nullptr) == PW_STREAM_STATE_STREAMING;
    if (plays) pw_stream_flush(stream_, true);
    pw_thread_loop_unlock(loop_);
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (plays && !drained_.load(std::memory_order_acquire) && !given_up() &&
           std::chrono::steady_clock::now() < until) {
      RUNNEL_TRY(failure());
      wait(kWaitMilliseconds);
    }
    return failure();
  }

  [[nodiscard]] std::int64_t underruns() const noexcept override {
    return underruns_.load(std::memory_order_relaxed);
  }

 private:
  // Whether the program was stopped and nobody plays what waits, or not in time: it is dropped then.
  [[nodiscard]] bool given_up() {
    if (settings_.stop == nullptr || !settings_.stop->load(std::memory_order_relaxed)) return false;
    const Time now = std::chrono::steady_clock::now();
    if (!stopped_) stopped_ = now;
    return !streaming() || now - *stopped_ > kPatience;
  }

  Status wait_for_player() {
    RUNNEL_TRY(failure());
    wait(kWaitMilliseconds);
    // Once it has been linked, it may be without a link for as long as somebody wants.
    if (settings_.what == "none" || cycles_.load(std::memory_order_relaxed) > 0 ||
        std::chrono::steady_clock::now() - begun_ < kPatience)
      return {};
    return about_target(Code::not_found)
           << "took no sound for 5 seconds: is the node there, and a session manager that links to it?";
  }

  // As many frames as there is room for.
  std::int64_t put_some(const float* samples, std::int64_t frames) {
    const std::int64_t written = written_.load(std::memory_order_relaxed);
    const std::int64_t room = kRingFrames - (written - read_.load(std::memory_order_acquire));
    const std::int64_t count = std::min(room, frames);
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t at = (written + done) % kRingFrames;
      const std::int64_t piece = std::min(count - done, kRingFrames - at);
      std::memcpy(ring_.data() + at * settings_.channels, samples + done * settings_.channels,
                  static_cast<std::size_t>(piece * stride_));
      done += piece;
    }
    written_.store(written + count, std::memory_order_release);
    if (count > 0) go_on();
    return count;
  }

  // In PipeWire's real-time thread: no allocation, no lock.
  void process() override {
    pw_buffer* const buffer = pw_stream_dequeue_buffer(stream_);
    if (buffer == nullptr) return;
    spa_data& data = buffer->buffer->datas[0];
    if (data.data != nullptr) {
      std::int64_t wanted = data.maxsize / stride_;
      if (buffer->requested > 0) wanted = std::min(wanted, static_cast<std::int64_t>(buffer->requested));
      fill(static_cast<float*>(data.data), wanted);
      data.chunk->offset = 0;
      data.chunk->stride = static_cast<std::int32_t>(stride_);
      data.chunk->size = static_cast<std::uint32_t>(wanted * stride_);
    }
    pw_stream_queue_buffer(stream_, buffer);
    wake();
  }

  void drained() override {
    drained_.store(true, std::memory_order_release);
    wake();
  }

  void fill(float* to, std::int64_t wanted) {
    wait_if_freewheeling([this, wanted] {
      return written_.load(std::memory_order_acquire) - read_.load(std::memory_order_relaxed) >= wanted ||
             ending_.load(std::memory_order_acquire);
    });
    const std::int64_t read = read_.load(std::memory_order_relaxed);
    const std::int64_t there = written_.load(std::memory_order_acquire) - read;
    const bool ending = ending_.load(std::memory_order_acquire);
    // It begins with a whole cycle, and begins anew after it was linked elsewhere or fell silent.
    if (there >= wanted || (ending && there > 0)) plays_ = true;
    const std::int64_t count = plays_ ? std::min(there, wanted) : 0;
    if (plays_ && (was_late() || (count < wanted && !ending))) {
      underruns_.fetch_add(1, std::memory_order_relaxed);
      plays_ = count == wanted;
    }
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t at = (read + done) % kRingFrames;
      const std::int64_t piece = std::min(count - done, kRingFrames - at);
      std::memcpy(to + done * settings_.channels, ring_.data() + at * settings_.channels,
                  static_cast<std::size_t>(piece * stride_));
      done += piece;
    }
    std::memset(to + count * settings_.channels, 0, static_cast<std::size_t>((wanted - count) * stride_));
    read_.store(read + count, std::memory_order_release);
    cycles_.fetch_add(1, std::memory_order_relaxed);
  }

  // Whether the graph has computed cycles without us (an xrun); not after a pause or a move, which are
  // wanted.
  bool was_late() {
    if (clock() == nullptr) return false;
    const spa_io_clock& now = *clock();
    const bool same = now.id == last_id_ && last_position_ > 0;
    const bool late =
        same && now.position > last_position_ && now.position - last_position_ <= 4 * now.duration;
    last_id_ = now.id;
    last_position_ = now.position + now.duration;
    return late;
  }

  Settings settings_;
  std::int64_t stride_ = 0;  // bytes of a frame
  std::vector<float> ring_;
  std::atomic<std::int64_t> written_{0}, read_{0};  // frames since the start; frame i is at i % kRingFrames
  std::atomic<std::int64_t> underruns_{0}, cycles_{0};
  std::atomic<bool> ending_{false}, drained_{false};
  Time begun_;
  std::optional<Time> stopped_;
  // Of the real-time thread.
  std::uint32_t last_id_ = 0;
  std::uint64_t last_position_ = 0;
  bool plays_ = false;
};

}  // namespace
}  // namespace runnel::pipewire

namespace runnel::pipeline {

std::unique_ptr<SoundOutput> make_sound_output() { return std::make_unique<pipewire::Output>(); }

}  // namespace runnel::pipeline

RUNNEL_MODULE(runnel::pipeline::make_sound_output)
