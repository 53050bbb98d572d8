// The module `pipewire`: a stream of PipeWire's that captures, for the node pipewire.
#include <pipewire/pipewire.h>
#include <poll.h>
#include <spa/param/audio/format-utils.h>
#include <spa/utils/result.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "base/host/late_library.h"
#include "bridges/pipewire/devices.h"
#include "pipeline/host/live/capture_ring.h"
#include "pipeline/host/live/sound_input.h"
#include "pipeline/host/live/wake.h"

namespace runnel::pipewire {
namespace {

using pipeline::CaptureRing;
using pipeline::SampleCode;
using pipeline::SoundInput;

// The largest cycle of PipeWire's, and what may wait while processing stalls: about 3 s of cycles of 21 ms.
constexpr std::size_t kMostFrames = 8192;
constexpr std::size_t kSlots = 128;
constexpr std::size_t kMostChannels = 64;
constexpr auto kPatience = std::chrono::seconds(5);
constexpr int kWaitMilliseconds = 100;
// In a graph that computes as fast as it can: waits until samples are dropped after all.
constexpr int kFreewheelWaits = 50;

class Input final : public SoundInput {
 public:
  Input() = default;
  ~Input() override {
    leaving_.store(true, std::memory_order_release);
    released_.up();
    if (loop_ != nullptr) pw_thread_loop_stop(loop_);
    if (stream_ != nullptr) pw_stream_destroy(stream_);
    if (loop_ != nullptr) pw_thread_loop_destroy(loop_);
  }

  Result<Shape> open(const Settings& settings) override {
    settings_ = settings;
    begin();
    RUNNEL_TRY(connect());
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (shape_.rate == 0 || ring_.filled() == 0) {
      take_shape();
      RUNNEL_TRY(failure());
      if (settings_.stop != nullptr && settings_.stop->load(std::memory_order_relaxed))
        return failed(Code::io_error) << "gave no sound before the program was stopped";
      // Somebody makes the links by hand, in their own time.
      if (settings_.what != "none" && std::chrono::steady_clock::now() > until)
        return failed(Code::not_found) << "gave no sound for 5 seconds: is the node there, and a session "
                                          "manager that links to it?";
      wait(kWaitMilliseconds);
    }
    shape_.period = period_.load(std::memory_order_relaxed);
    return shape_;
  }

  Result<std::vector<pipeline::CaptureDevice>> devices() override {
    begin();
    return list_devices();
  }

  Result<Piece> next(int milliseconds) override {
    Piece piece;
    const CaptureRing::Slot* slot = ring_.take();
    if (slot == nullptr) {
      RUNNEL_TRY(failure());
      wait(milliseconds);
      slot = ring_.take();
    }
    if (slot == nullptr) return piece;
    const auto bytes = static_cast<std::size_t>(slot->count) * frame_bytes();
    std::memcpy(samples_.data(), slot->data, bytes);
    piece.data = samples_.data();
    piece.frames = slot->count;
    piece.lost = slot->first - position_;
    position_ = slot->first + slot->count;
    ring_.release();
    released_.up();
    return piece;
  }

 private:
  // Never undone: others in this process may use PipeWire too.
  static void begin() {
    static std::once_flag once;
    std::call_once(once, [] { pw_init(nullptr, nullptr); });
  }

  [[nodiscard]] std::size_t frame_bytes() const {
    return sizeof(float) * static_cast<std::size_t>(shape_.channels);
  }

  [[nodiscard]] Status failed(Code code) const {
    Status status(code);
    status << "PipeWire";
    if (!settings_.what.empty()) status << " node " << settings_.what;
    return status << ": ";
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

  Status connect() {
    loop_ = pw_thread_loop_new("runnel", nullptr);
    if (loop_ == nullptr) return Status(Code::io_error) << "PipeWire: cannot make a thread";
    pw_properties* const properties =
        pw_properties_new(PW_KEY_MEDIA_TYPE, "Audio", PW_KEY_MEDIA_CATEGORY, "Capture", PW_KEY_MEDIA_ROLE,
                          "DSP", PW_KEY_NODE_NAME, settings_.name.c_str(), PW_KEY_NODE_DESCRIPTION,
                          settings_.name.c_str(), PW_KEY_APP_NAME, "runnel", PW_KEY_APP_ICON_NAME,
                          "audio-input-microphone", PW_KEY_MEDIA_NAME, "what runnel listens to", nullptr);
    if (!settings_.what.empty() && settings_.what != "none")
      pw_properties_set(properties, PW_KEY_TARGET_OBJECT, settings_.what.c_str());
    if (settings_.monitor) pw_properties_set(properties, PW_KEY_STREAM_CAPTURE_SINK, "true");
    events_.version = PW_VERSION_STREAM_EVENTS;
    events_.state_changed = [](void* self, pw_stream_state before, pw_stream_state now, const char* error) {
      static_cast<Input*>(self)->changed(before, now, error);
    };
    events_.io_changed = [](void* self, std::uint32_t id, void* area, std::uint32_t) {
      if (id == SPA_IO_Position) static_cast<Input*>(self)->clock_ = static_cast<spa_io_position*>(area);
    };
    events_.param_changed = [](void* self, std::uint32_t id, const spa_pod* param) {
      if (id == SPA_PARAM_Format && param != nullptr) static_cast<Input*>(self)->negotiated(param);
    };
    events_.process = [](void* self) { static_cast<Input*>(self)->process(); };
    stream_ = pw_stream_new_simple(pw_thread_loop_get_loop(loop_), settings_.name.c_str(), properties,
                                   &events_, this);
    if (stream_ == nullptr)
      return Status(Code::io_error) << "PipeWire: cannot connect to the daemon: " << std::strerror(errno);
    std::array<std::uint8_t, 1024> room{};
    spa_pod_builder builder{};
    spa_pod_builder_init(&builder, room.data(), room.size());
    spa_audio_info_raw wanted{};
    wanted.format = SPA_AUDIO_FORMAT_F32_LE;
    wanted.rate = static_cast<std::uint32_t>(settings_.rate);
    wanted.channels = static_cast<std::uint32_t>(settings_.channels);
    wanted.flags = SPA_AUDIO_FLAG_UNPOSITIONED;
    if (settings_.channels == 1) {
      wanted.flags = SPA_AUDIO_FLAG_NONE;
      wanted.position[0] = SPA_AUDIO_CHANNEL_MONO;
    }
    const spa_pod* formats[] = {spa_format_audio_raw_build(&builder, SPA_PARAM_EnumFormat, &wanted)};
    auto flags =
        static_cast<unsigned>(PW_STREAM_FLAG_MAP_BUFFERS) | static_cast<unsigned>(PW_STREAM_FLAG_RT_PROCESS);
    if (settings_.what != "none") flags |= static_cast<unsigned>(PW_STREAM_FLAG_AUTOCONNECT);
    const int result = pw_stream_connect(stream_, PW_DIRECTION_INPUT, PW_ID_ANY,
                                         static_cast<pw_stream_flags>(flags), formats, 1);
    if (result < 0)
      return Status(Code::io_error) << "PipeWire: cannot connect to the daemon: " << spa_strerror(result);
    if (pw_thread_loop_start(loop_) < 0) return Status(Code::io_error) << "PipeWire: cannot start a thread";
    return {};
  }

  // In PipeWire's thread, as the next one.
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

  void negotiated(const spa_pod* param) {
    spa_audio_info_raw info{};
    if (spa_format_audio_raw_parse(param, &info) < 0 || info.rate == 0 || info.channels == 0 ||
        info.channels > kMostChannels)
      return;
    const std::lock_guard lock(mutex_);
    if (rate_ != 0) {
      // What has begun keeps its shape.
      if (info.rate != static_cast<std::uint32_t>(rate_) ||
          info.channels != static_cast<std::uint32_t>(channels_))
        broken_ = "the stream changed to another rate or number of channels";
      wake_.up();
      return;
    }
    rate_ = static_cast<std::int32_t>(info.rate);
    channels_ = static_cast<std::int32_t>(info.channels);
    ring_.make(kSlots, kMostFrames * sizeof(float) * info.channels);
    samples_.resize(kMostFrames * sizeof(float) * info.channels);
    ready_.store(true, std::memory_order_release);
    wake_.up();
  }

  void take_shape() {
    const std::lock_guard lock(mutex_);
    shape_.rate = rate_;
    shape_.channels = channels_;
    shape_.code = SampleCode::float32;
  }

  // In PipeWire's real-time thread: no allocation, no lock.
  void process() {
    pw_buffer* const buffer = pw_stream_dequeue_buffer(stream_);
    if (buffer == nullptr) return;
    const spa_data& data = buffer->buffer->datas[0];
    if (data.data != nullptr && ready_.load(std::memory_order_acquire)) {
      const std::size_t stride = sizeof(float) * static_cast<std::size_t>(channels_);
      const std::size_t offset = std::min<std::size_t>(data.chunk->offset, data.maxsize);
      const std::size_t bytes = std::min<std::size_t>(data.chunk->size, data.maxsize - offset);
      take(static_cast<const std::byte*>(data.data) + offset, std::min(bytes / stride, kMostFrames), stride);
    }
    pw_stream_queue_buffer(stream_, buffer);
  }

  // A graph that runs as fast as it can (freewheeling) is no real time: it waits for us. Null: no room.
  CaptureRing::Slot* room() {
    CaptureRing::Slot* slot = ring_.writable();
    if (clock_ == nullptr || (clock_->clock.flags & SPA_IO_CLOCK_FLAG_FREEWHEEL) == 0) return slot;
    for (int i = 0; i < kFreewheelWaits && slot == nullptr && !leaving_.load(std::memory_order_acquire);
         ++i) {
      pollfd one{released_.descriptor(), POLLIN, 0};
      poll(&one, 1, kWaitMilliseconds);
      released_.clear();
      slot = ring_.writable();
    }
    return slot;
  }

  void take(const std::byte* samples, std::size_t frames, std::size_t stride) {
    if (frames == 0) return;
    captured_ += lost_before();
    last_frames_ = static_cast<std::int64_t>(frames);
    if (CaptureRing::Slot* const slot = room(); slot != nullptr) {
      slot->first = captured_;
      slot->count = last_frames_;
      std::memcpy(slot->data, samples, frames * stride);
      ring_.put();
    }
    captured_ += last_frames_;
    wake_.up();
  }

  // Frames that the graph computed without us since the last cycle: after an overrun, a pause, a move.
  std::int64_t lost_before() {
    if (clock_ == nullptr) return 0;
    const spa_io_clock& now = clock_->clock;
    std::int64_t lost = 0;
    const double scale = now.rate.denom == 0 ? 1 : static_cast<double>(rate_) * now.rate.num / now.rate.denom;
    period_.store(static_cast<std::int32_t>(std::lround(static_cast<double>(now.duration) * scale)),
                  std::memory_order_relaxed);
    if (last_frames_ > 0) {
      if (now.id == last_id_ && now.position >= last_position_) {
        lost = std::llround(static_cast<double>(now.position - last_position_) * scale);
      } else {
        // Another driver has a clock of its own: by the time that passed, if that is more than a cycle.
        const double passed =
            static_cast<double>(now.nsec - std::min(now.nsec, last_nanoseconds_)) * 1e-9 * rate_;
        const std::int64_t missing = std::llround(passed) - last_frames_;
        if (missing > period_.load(std::memory_order_relaxed)) lost = missing;
      }
    }
    last_id_ = now.id;
    last_position_ = now.position + now.duration;
    last_nanoseconds_ = now.nsec;
    return lost;
  }

  Settings settings_;
  pw_thread_loop* loop_ = nullptr;
  pw_stream* stream_ = nullptr;
  pw_stream_events events_{};
  pipeline::Wake wake_, released_;
  Shape shape_;
  CaptureRing ring_;
  std::vector<std::byte> samples_;
  std::int64_t position_ = 0;  // index of the next sample to give
  std::mutex mutex_;
  std::string broken_;                    // under mutex_: why there is no more sound
  std::int32_t rate_ = 0, channels_ = 0;  // under mutex_, and constant once ready
  std::atomic<bool> ready_{false}, leaving_{false};
  std::atomic<std::int32_t> period_{0};
  // Of the real-time thread.
  spa_io_position* clock_ = nullptr;
  std::int64_t captured_ = 0, last_frames_ = 0;
  std::uint32_t last_id_ = 0;
  std::uint64_t last_position_ = 0, last_nanoseconds_ = 0;
};

}  // namespace
}  // namespace runnel::pipewire

namespace runnel::pipeline {

std::unique_ptr<SoundInput> make_sound_input() { return std::make_unique<pipewire::Input>(); }

}  // namespace runnel::pipeline

RUNNEL_MODULE(runnel::pipeline::make_sound_input)
