#include "pipeline/nodes/host/live/sound_input_source.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <span>

#include "base/host/late_library.h"

namespace runnel::pipeline {
namespace {

constexpr int kWaitMilliseconds = 100;

}  // namespace

Status SoundInputSource::open(NodeContext& context, std::string_view module, SoundInput::Settings settings,
                              std::string_view source) noexcept {
  stop_ = context.stop;
  try {
    RUNNEL_ASSIGN(const auto* const opened,
                  open_module<decltype(make_sound_input)>(module, "the node " + std::string(module)));
    input_ = opened->function();
    settings.rate = rate;
    settings.channels = channels;
    settings.stop = stop_;
    RUNNEL_ASSIGN(shape_, input_->open(settings));
  } catch (const std::exception&) {
    return out_of_memory("live sound");
  }
  Format& output = context.output;
  output.kind = Kind::audio;
  output.dtype = DType::float32;
  output.channels = shape_.channels;
  output.clock.sample_rate = shape_.rate;
  output.source = source;
  context.max_output = context.max_input;
  return {};
}

CaptureFacts SoundInputSource::capture_facts() const {
  const double ms = 1e3 * shape_.period / std::max(shape_.rate, 1);
  return {.period = shape_.period, .period_ms = ms, .buffer_ms = ms, .device_lost = lost_, .overruns = gaps_};
}

// The next piece; waits for it.
Status SoundInputSource::fetch() noexcept {
  const auto start = std::chrono::steady_clock::now();
  given_ = 0;
  piece_ = {};
  while (piece_.frames == 0 && !piece_.end) {
    const bool stopped = stop_ != nullptr && stop_->load(std::memory_order_relaxed);
    try {
      // What has come before is heard.
      if (stopped && !closed_) input_->close();
      closed_ = closed_ || stopped;
      RUNNEL_ASSIGN(piece_, input_->next(closed_ ? 0 : kWaitMilliseconds));
      if (closed_ && piece_.frames == 0) piece_.end = true;
    } catch (const std::exception&) {
      return out_of_memory("a block of sound");
    }
  }
  lost_ += piece_.lost;
  if (piece_.lost > 0) ++gaps_;
  waited_ +=
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  return {};
}

Status SoundInputSource::process(const Block&, Output& out) noexcept {
  if (given_ == piece_.frames) RUNNEL_TRY(fetch());
  out.lost = piece_.lost;
  piece_.lost = 0;
  if (piece_.end && piece_.frames == 0) {
    out.end = true;
    return {};
  }
  out.count = std::min(out.capacity, piece_.frames - given_);
  const std::size_t frame_bytes = bytes_of(shape_.code) * static_cast<std::size_t>(shape_.channels);
  to_float(shape_.code, piece_.data + static_cast<std::size_t>(given_) * frame_bytes,
           std::span(out.as<float>(), static_cast<std::size_t>(out.count * shape_.channels)));
  given_ += out.count;
  return {};
}

}  // namespace runnel::pipeline
