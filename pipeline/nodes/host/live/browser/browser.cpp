#include "pipeline/nodes/host/live/browser/browser.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <span>

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    parameter<&Browser::rate>("rate", "Hz", 1000, 192000,
                              "sample rate of the output; the browser's own is resampled"),
    parameter<&Browser::duration>("duration", "s", 0, 1e9, "ends after so much sound; 0: until stopped"),
};

constexpr std::chrono::milliseconds kWait(100);

}  // namespace

const NodeType Browser::type = {
    .name = "browser",
    .help = "Takes the microphone of a browser that has the live page open.",
    .input = {},
    .output = {static_cast<Kinds>(Kind::audio), "float32, mono, in [-1, 1)"},
    .parameters = kParameters,
    .make = make_node<Browser>,
};

Status Browser::prepare(NodeContext& context) noexcept {
  stop_ = context.stop;
  try {
    sound_ = std::make_shared<RemoteSound>(rate);
  } catch (const std::exception&) {
    return out_of_memory("the sound of a browser");
  }
  Format& output = context.output;
  output.kind = Kind::audio;
  output.dtype = DType::float32;
  output.channels = 1;
  output.clock.sample_rate = rate;
  output.source = "browser";
  context.max_output = context.max_input;
  return {};
}

Status Browser::process(const Block&, Output& out) noexcept {
  const auto most = duration > 0 ? static_cast<std::int64_t>(duration * rate) : std::int64_t{-1};
  const auto room = most < 0 ? out.capacity : std::min(out.capacity, most - position_);
  const auto start = std::chrono::steady_clock::now();
  while (room > 0 && !sound_->wait(kWait)) {
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) break;
  }
  waited_ +=
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  if (room > 0)
    out.count = static_cast<std::int64_t>(
        sound_->take(std::span(out.as<float>(), static_cast<std::size_t>(room)), out.lost));
  position_ += out.lost + out.count;
  out.end = out.count == 0;
  return {};
}

CaptureFacts Browser::capture_facts() const {
  const RemoteSound::Facts facts = sound_->facts();
  return {.device_lost = facts.exact_lost + facts.estimated_lost,
          .overload_lost = facts.overload_lost,
          .overruns = facts.gaps};
}

Text Browser::note() const noexcept {
  Text text;
  if (sound_ == nullptr) return text;
  const RemoteSound::Facts facts = sound_->facts();
  if (facts.gaps == 0) return text;
  text << "browser: " << facts.speakers << " turns of a microphone, " << facts.gaps
       << " gaps: " << facts.exact_lost << " samples lost by count, " << facts.estimated_lost
       << " by the clock, " << facts.overload_lost << " as processing did not keep up";
  return text;
}

}  // namespace runnel::pipeline
