// The module `pipewire`: a stream of PipeWire's that captures, for the node pipewire.
#include <pipewire/pipewire.h>
#include <spa/param/audio/format-utils.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/host/late_library.h"
#include "bridges/pipewire/devices.h"
#include "bridges/pipewire/stream.h"
#include "pipeline/host/live/capture_ring.h"
#include "pipeline/host/live/sound_input.h"

namespace runnel::pipewire {
namespace {

using pipeline::CaptureRing;
using pipeline::SampleCode;
using pipeline::SoundInput;

// The largest cycle of PipeWire's, and what may wait while processing stalls: about 3 s of cycles of 21 ms.
constexpr std::size_t kMostFrames = 8192;
constexpr std::size_t kSlots = 128;
constexpr std::size_t kMostChannels = 64;

class Input final : public SoundInput, private Stream {
 public:
  Input() = default;
  ~Input() override { leave(); }

  Result<Shape> open(const Settings& settings) override {
    begin();
    Wanted wanted;
    wanted.direction = PW_DIRECTION_INPUT;
    wanted.thread = "runnel";
    wanted.category = "Capture";
    wanted.icon = "audio-input-microphone";
    wanted.media = "what runnel listens to";
    wanted.name = settings.name;
    wanted.target = settings.what;
    wanted.monitor = settings.monitor;
    wanted.rate = settings.rate;
    wanted.channels = settings.channels;
    RUNNEL_TRY(connect(wanted));
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (shape_.rate == 0 || ring_.filled() == 0) {
      take_shape();
      RUNNEL_TRY(failure());
      if (settings.stop != nullptr && settings.stop->load(std::memory_order_relaxed))
        return about_target(Code::io_error) << "gave no sound before the program was stopped";
      // Somebody makes the links by hand, in their own time.
      if (settings.what != "none" && std::chrono::steady_clock::now() > until)
        return about_target(Code::not_found) << "gave no sound for 5 seconds: is the node there, and a "
                                                "session manager that links to it?";
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
    if (slot == nullptr && milliseconds > 0) {
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
    go_on();
    return piece;
  }

  // The ring has no room for more than it has, so what waits has an end.
  void close() override { closed_.store(true, std::memory_order_release); }

 private:
  [[nodiscard]] std::size_t frame_bytes() const {
    return sizeof(float) * static_cast<std::size_t>(shape_.channels);
  }

  void negotiated(const spa_pod* param) override {
    spa_audio_info_raw info{};
    if (spa_format_audio_raw_parse(param, &info) < 0 || info.rate == 0 || info.channels == 0 ||
        info.channels > kMostChannels)
      return;
    const std::lock_guard lock(mutex_);
    if (rate_ != 0) {
      // What has begun keeps its shape.
      if (info.rate != static_cast<std::uint32_t>(rate_) ||
          info.channels != static_cast<std::uint32_t>(channels_))
        fail("the stream changed to another rate or number of channels");
      wake();
      return;
    }
    rate_ = static_cast<std::int32_t>(info.rate);
    channels_ = static_cast<std::int32_t>(info.channels);
    ring_.make(kSlots, kMostFrames * sizeof(float) * info.channels);
    samples_.resize(kMostFrames * sizeof(float) * info.channels);
    ready_.store(true, std::memory_order_release);
    wake();
  }

  void take_shape() {
    const std::lock_guard lock(mutex_);
    shape_.rate = rate_;
    shape_.channels = channels_;
    shape_.code = SampleCode::float32;
  }

  // In PipeWire's real-time thread: no allocation, no lock.
  void process() override {
    pw_buffer* const buffer = pw_stream_dequeue_buffer(stream_);
    if (buffer == nullptr) return;
    const spa_data& data = buffer->buffer->datas[0];
    if (data.data != nullptr && ready_.load(std::memory_order_acquire) &&
        !closed_.load(std::memory_order_acquire)) {
      const std::size_t stride = sizeof(float) * static_cast<std::size_t>(channels_);
      const std::size_t offset = std::min<std::size_t>(data.chunk->offset, data.maxsize);
      const std::size_t bytes = std::min<std::size_t>(data.chunk->size, data.maxsize - offset);
      take(static_cast<const std::byte*>(data.data) + offset, std::min(bytes / stride, kMostFrames), stride);
    }
    pw_stream_queue_buffer(stream_, buffer);
  }

  // Null: no room.
  CaptureRing::Slot* room() {
    CaptureRing::Slot* slot = ring_.writable();
    wait_if_freewheeling([this, &slot] {
      if (slot == nullptr) slot = ring_.writable();
      return slot != nullptr;
    });
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
    wake();
  }

  // Frames that the graph computed without us since the last cycle: after an overrun, a pause, a move.
  std::int64_t lost_before() {
    if (clock() == nullptr) return 0;
    const spa_io_clock& now = *clock();
    std::int64_t lost = 0;
    const double scale = now.rate.denom == 0 ? 1 : static_cast<double>(rate_) * now.rate.num / now.rate.denom;
    period_.store(static_cast<std::int32_t>(std::lround(static_cast<double>(now.duration) * scale)),
                  std::memory_order_relaxed);
    const bool interrupted = was_interrupted();
    if (last_frames_ > 0) {
      const bool same = now.id == last_id_ && now.position >= last_position_;
      if (same) lost = std::llround(static_cast<double>(now.position - last_position_) * scale);
      // Another driver has a clock of its own, and the clock of one that nobody needed stood still: by the
      // time that passed. A stream that was unplugged has lost something in any case.
      if (!same || (interrupted && lost == 0 && !freewheels())) {
        const double passed =
            static_cast<double>(now.nsec - std::min(now.nsec, last_nanoseconds_)) * 1e-9 * rate_;
        const std::int64_t missing = std::llround(passed) - last_frames_;
        if (interrupted)
          lost = std::max<std::int64_t>(missing, 1);
        else if (missing > period_.load(std::memory_order_relaxed))
          lost = missing;
      }
    }
    last_id_ = now.id;
    last_position_ = now.position + now.duration;
    last_nanoseconds_ = now.nsec;
    return lost;
  }

  Shape shape_;
  CaptureRing ring_;
  std::vector<std::byte> samples_;
  std::int64_t position_ = 0;  // index of the next sample to give
  std::mutex mutex_;
  std::int32_t rate_ = 0, channels_ = 0;  // under mutex_, and constant once ready
  std::atomic<bool> ready_{false}, closed_{false};
  std::atomic<std::int32_t> period_{0};
  // Of the real-time thread.
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
