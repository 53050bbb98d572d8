// The module `pipewire_sink`: a stream of PipeWire's that plays, for the sink pipewire.
#include <pipewire/pipewire.h>
#include <poll.h>
#include <spa/param/audio/format-utils.h>
#include <spa/utils/result.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "base/host/late_library.h"
#include "pipeline/host/live/sound_output.h"
#include "pipeline/host/live/wake.h"

namespace runnel::pipewire {
namespace {

using pipeline::SoundOutput;

// Room for four of PipeWire's largest cycles.
constexpr std::int64_t kRingFrames = std::int64_t{1} << 15;
constexpr auto kPatience = std::chrono::seconds(5);
constexpr int kWaitMilliseconds = 100;
// In a graph that computes as fast as it can: waits until a cycle may be silent after all.
constexpr int kFreewheelWaits = 50;

class Output final : public SoundOutput {
 public:
  Output() = default;
  ~Output() override {
    leaving_.store(true, std::memory_order_release);
    filled_.up();
    if (loop_ != nullptr) pw_thread_loop_stop(loop_);
    if (stream_ != nullptr) pw_stream_destroy(stream_);
    if (loop_ != nullptr) pw_thread_loop_destroy(loop_);
  }

  Status open(const Settings& settings) override {
    static std::once_flag once;
    std::call_once(once, [] { pw_init(nullptr, nullptr); });
    settings_ = settings;
    stride_ = static_cast<std::int64_t>(sizeof(float)) * settings.channels;
    ring_.resize(static_cast<std::size_t>(kRingFrames * settings.channels));
    return connect();
  }

  Status write(const float* samples, std::int64_t frames) override {
    begun_ = std::chrono::steady_clock::now();
    while (frames > 0 && !stopped()) {
      const std::int64_t put = put_some(samples, frames);
      samples += put * settings_.channels;
      frames -= put;
      if (put == 0) RUNNEL_TRY(wait_for_player());
    }
    return {};
  }

  Status drain() override {
    begun_ = std::chrono::steady_clock::now();
    ending_.store(true, std::memory_order_release);
    filled_.up();
    while (!stopped() && read_.load(std::memory_order_acquire) < written_.load(std::memory_order_relaxed))
      RUNNEL_TRY(wait_for_player());
    // What the graph has taken is played by now, or in the cycle that comes.
    pw_thread_loop_lock(loop_);
    const bool plays = pw_stream_get_state(stream_, nullptr) == PW_STREAM_STATE_STREAMING;
    if (plays) pw_stream_flush(stream_, true);
    pw_thread_loop_unlock(loop_);
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (plays && !drained_.load(std::memory_order_acquire) && !stopped() &&
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
  [[nodiscard]] bool stopped() const {
    return settings_.stop != nullptr && settings_.stop->load(std::memory_order_relaxed);
  }

  Status failure() {
    const std::lock_guard lock(mutex_);
    return broken_.empty() ? Status() : Status(Code::io_error) << "PipeWire: " << broken_;
  }

  void wait(int milliseconds) const {
    pollfd one{wake_.descriptor(), POLLIN, 0};
    poll(&one, 1, milliseconds);
    wake_.clear();
  }

  Status wait_for_player() {
    RUNNEL_TRY(failure());
    wait(kWaitMilliseconds);
    // Once it has been linked, it may be without a link for as long as somebody wants.
    if (settings_.what == "none" || cycles_.load(std::memory_order_relaxed) > 0 ||
        std::chrono::steady_clock::now() - begun_ < kPatience)
      return {};
    Status status(Code::not_found);
    status << "PipeWire";
    if (!settings_.what.empty()) status << " node " << settings_.what;
    return status
           << ": took no sound for 5 seconds: is the node there, and a session manager that links to it?";
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
    if (count > 0) filled_.up();
    return count;
  }

  Status connect() {
    loop_ = pw_thread_loop_new("runnel-sink", nullptr);
    if (loop_ == nullptr) return Status(Code::io_error) << "PipeWire: cannot make a thread";
    pw_properties* const properties =
        pw_properties_new(PW_KEY_MEDIA_TYPE, "Audio", PW_KEY_MEDIA_CATEGORY, "Playback", PW_KEY_MEDIA_ROLE,
                          "DSP", PW_KEY_NODE_NAME, settings_.name.c_str(), PW_KEY_NODE_DESCRIPTION,
                          settings_.name.c_str(), PW_KEY_APP_NAME, "runnel", PW_KEY_APP_ICON_NAME,
                          "audio-speakers", PW_KEY_MEDIA_NAME, "what runnel plays", nullptr);
    if (!settings_.what.empty() && settings_.what != "none")
      pw_properties_set(properties, PW_KEY_TARGET_OBJECT, settings_.what.c_str());
    events_.version = PW_VERSION_STREAM_EVENTS;
    events_.state_changed = [](void* self, pw_stream_state before, pw_stream_state now, const char* error) {
      static_cast<Output*>(self)->changed(before, now, error);
    };
    events_.io_changed = [](void* self, std::uint32_t id, void* area, std::uint32_t) {
      if (id == SPA_IO_Position) static_cast<Output*>(self)->clock_ = static_cast<spa_io_position*>(area);
    };
    events_.process = [](void* self) { static_cast<Output*>(self)->process(); };
    events_.drained = [](void* self) {
      static_cast<Output*>(self)->drained_.store(true, std::memory_order_release);
      static_cast<Output*>(self)->wake_.up();
    };
    stream_ = pw_stream_new_simple(pw_thread_loop_get_loop(loop_), settings_.name.c_str(), properties,
                                   &events_, this);
    if (stream_ == nullptr)
      return Status(Code::io_error) << "PipeWire: cannot connect to the daemon: " << std::strerror(errno);
    std::array<std::uint8_t, 1024> room{};
    spa_pod_builder builder{};
    spa_pod_builder_init(&builder, room.data(), room.size());
    spa_audio_info_raw info{};
    info.format = SPA_AUDIO_FORMAT_F32_LE;
    info.rate = static_cast<std::uint32_t>(settings_.rate);
    info.channels = static_cast<std::uint32_t>(settings_.channels);
    info.flags = SPA_AUDIO_FLAG_UNPOSITIONED;
    if (settings_.channels <= 2) {
      info.flags = SPA_AUDIO_FLAG_NONE;
      info.position[0] = settings_.channels == 1 ? SPA_AUDIO_CHANNEL_MONO : SPA_AUDIO_CHANNEL_FL;
      info.position[1] = SPA_AUDIO_CHANNEL_FR;
    }
    const spa_pod* formats[] = {spa_format_audio_raw_build(&builder, SPA_PARAM_EnumFormat, &info)};
    auto flags =
        static_cast<unsigned>(PW_STREAM_FLAG_MAP_BUFFERS) | static_cast<unsigned>(PW_STREAM_FLAG_RT_PROCESS);
    if (settings_.what != "none") flags |= static_cast<unsigned>(PW_STREAM_FLAG_AUTOCONNECT);
    const int result = pw_stream_connect(stream_, PW_DIRECTION_OUTPUT, PW_ID_ANY,
                                         static_cast<pw_stream_flags>(flags), formats, 1);
    if (result < 0)
      return Status(Code::io_error) << "PipeWire: cannot connect to the daemon: " << spa_strerror(result);
    if (pw_thread_loop_start(loop_) < 0) return Status(Code::io_error) << "PipeWire: cannot start a thread";
    return {};
  }

  // In PipeWire's thread.
  void changed(pw_stream_state before, pw_stream_state now, const char* error) {
    std::string why;
    if (now == PW_STREAM_STATE_ERROR)
      why = error == nullptr ? "the stream failed" : error;
    else if (now == PW_STREAM_STATE_UNCONNECTED && before != PW_STREAM_STATE_UNCONNECTED)
      why = "the daemon is gone";
    if (why.empty()) return;
    const std::lock_guard lock(mutex_);
    if (broken_.empty()) broken_ = why;
    wake_.up();
  }

  // In PipeWire's real-time thread: no allocation, no lock.
  void process() {
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
    wake_.up();
  }

  // A graph that runs as fast as it can (freewheeling) is no real time: it waits for us.
  void wait_for_samples(std::int64_t wanted) const {
    if (clock_ == nullptr || (clock_->clock.flags & SPA_IO_CLOCK_FLAG_FREEWHEEL) == 0) return;
    for (int i = 0; i < kFreewheelWaits; ++i) {
      const bool enough =
          written_.load(std::memory_order_acquire) - read_.load(std::memory_order_relaxed) >= wanted;
      if (enough || ending_.load(std::memory_order_acquire) || leaving_.load(std::memory_order_acquire))
        return;
      pollfd one{filled_.descriptor(), POLLIN, 0};
      poll(&one, 1, kWaitMilliseconds);
      filled_.clear();
    }
  }

  void fill(float* to, std::int64_t wanted) {
    wait_for_samples(wanted);
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
    if (clock_ == nullptr) return false;
    const spa_io_clock& now = clock_->clock;
    const bool same = now.id == last_id_ && last_position_ > 0;
    const bool late =
        same && now.position > last_position_ && now.position - last_position_ <= 4 * now.duration;
    last_id_ = now.id;
    last_position_ = now.position + now.duration;
    return late;
  }

  Settings settings_;
  std::int64_t stride_ = 0;  // bytes of a frame
  pw_thread_loop* loop_ = nullptr;
  pw_stream* stream_ = nullptr;
  pw_stream_events events_{};
  pipeline::Wake wake_, filled_;
  std::vector<float> ring_;
  std::atomic<std::int64_t> written_{0}, read_{0};  // frames since the start; frame i is at i % kRingFrames
  std::atomic<std::int64_t> underruns_{0}, cycles_{0};
  std::atomic<bool> ending_{false}, drained_{false}, leaving_{false};
  std::chrono::steady_clock::time_point begun_;
  std::mutex mutex_;
  std::string broken_;  // under mutex_: why it plays no more
  // Of the real-time thread.
  spa_io_position* clock_ = nullptr;
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
