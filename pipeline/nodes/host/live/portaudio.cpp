#include "pipeline/nodes/host/live/portaudio.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&PortAudio::device>(
        "device", "",
        "device of PortAudio to capture from, as API: NAME or by its name alone; "
        "`runnel devices` lists them"),
    parameter<&PortAudio::rate>("rate", "Hz", 1000, 768000,
                                "requested sample rate; the device's nearest one is used"),
    parameter<&PortAudio::channels>("channels", "", 1, 64,
                                    "requested channels; a device with fewer gives what it has"),
    parameter<&PortAudio::period>("period", "ms", 1, 1000, "interval at which the device brings samples"),
    parameter<&PortAudio::buffer>("buffer", "ms", 2, 10000,
                                  "of the system: how long its thread may stall before samples are lost"),
    parameter<&PortAudio::duration>(
        "duration", "s", 0, 1e9, "when to stop; 0: when the program is stopped or the device is unplugged"),
    parameter<&PortAudio::replug>("replug", "s", 0, 1e9,
                                  "how long to wait for a device that was unplugged; 0: the stream ends"),
    parameter<&PortAudio::queue>("queue", "ms", 10, 600000,
                                 "how long processing may stall before overload= decides"),
    text_parameter<&PortAudio::overload>(
        "overload", "drop-newest|drop-oldest|skip-inference",
        "what happens when processing does not keep up and the queue is full: its newest or oldest samples "
        "are dropped; skip-inference: from a queue that is half full on, models are skipped"),
};

constexpr double kLookEvery = 0.5;         // polling interval of process(), in periods of the device
constexpr double kSilentSeconds = 5;       // without a sample: the device does not work
constexpr double kBetweenAttempts = 0.25;  // s

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

}  // namespace

const NodeType PortAudio::type = {
    .name = "portaudio",
    .help = "Captures from a sound device through PortAudio.",
    .input = {},
    .output = {static_cast<Kinds>(Kind::audio), "float32 in [-1, 1), the device's rate and channels"},
    .parameters = kParameters,
    .make = make_node<PortAudio>,
};

Status PortAudio::prepare(NodeContext& context) noexcept {
  stop_ = context.stop;
  PortAudioSettings settings;
  settings.name = device;
  settings.rate = rate;
  settings.channels = channels;
  settings.period = period;
  settings.buffer = buffer;
  RUNNEL_TRY(capture_.open(settings, queue, overload == "drop-oldest"));
  rate = capture_.rate();
  channels = capture_.channels();
  reader_.make(capture_.ring(), capture_.slot_frames(), channels);
  Format& output = context.output;
  output.kind = Kind::audio;
  output.dtype = DType::float32;
  output.channels = channels;
  output.clock.sample_rate = rate;
  output.source = device;
  context.max_output = context.max_input;
  return {};
}

Status PortAudio::start() noexcept {
  started_ = true;
  heard_ = now();
  return capture_.start(std::llround(duration * rate));
}

bool PortAudio::refill(Output& out) noexcept {
  return reader_.refill(out, [this](const std::byte* bytes, std::span<float> samples) {
    // Infinities and NaN of a broken driver become 0, as with other sources.
    std::memcpy(samples.data(), bytes, samples.size_bytes());
    for (float& sample : samples) sample = std::isfinite(sample) ? sample : 0;
    heard_ = now();
  });
}

void PortAudio::wait() noexcept {
  const double start = now();
  sleep(std::min(kLookEvery * static_cast<double>(capture_.slot_frames()) / rate, 0.1));
  waited_ += std::llround((now() - start) * 1e9);
}

// No more samples come from the device as it is; sets `ended` when none will come at all.
Status PortAudio::inactive(bool& ended) noexcept {
  ended = true;
  if (!capture_.unplugged()) return {};
  if (!away_) {
    away_ = true;
    left_ = now();
    capture_.count_unplug();
  }
  const auto stopped = [&] { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); };
  if (gone_ || replug <= 0 || stopped()) {
    gone_ = true;
    return {};
  }
  RUNNEL_ASSIGN(const bool back, capture_.come_back());
  ended = false;
  if (back) {
    away_ = false;
    heard_ = now();
  } else if (now() - left_ > replug) {
    gone_ = ended = true;
  } else {
    sleep(std::min(kBetweenAttempts, replug));
  }
  return {};
}

Status PortAudio::silent() noexcept {
  if (now() - heard_ <= kSilentSeconds) return {};
  return Status(Code::io_error) << "device " << device << ": gave no sample for "
                                << static_cast<int>(kSilentSeconds) << " seconds";
}

Status PortAudio::process(const Block&, Output& out) noexcept {
  if (!started_) RUNNEL_TRY(start());
  if (overload == "skip-inference") reader_.look_at_queue();
  while (out.count < out.capacity) {
    if (reader_.empty()) {
      // In this order: once the stream is inactive, all that it put into the ring is visible.
      const bool active = capture_.active();
      if (!refill(out)) {
        if (out.count > 0) break;
        bool ended = false;
        if (!active) RUNNEL_TRY(inactive(ended));
        if (ended) {
          // Samples dropped or lost after the last one in the ring.
          out.lost = capture_.position() - reader_.position();
          out.end = true;
          return {};
        }
        if (active) RUNNEL_TRY(silent());
        if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) capture_.ask_to_stop();
        if (active) wait();
        continue;
      }
    }
    if (!reader_.give(out)) break;
  }
  if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) capture_.ask_to_stop();
  return {};
}

Text PortAudio::note() const noexcept {
  Text text;
  const auto add = [&text](std::string_view what) -> Text& {
    return text << (text.view().empty() ? "" : "; ") << what;
  };
  const PortAudioTroubles& troubles = capture_.troubles();
  if (gone_) add("device ") << device << " was unplugged";
  if (troubles.overruns > 0)
    add("device ") << device << " lost samples " << troubles.overruns.load()
                   << (troubles.overruns == 1 ? " time" : " times");
  if (troubles.lost > 0) add("in all ") << troubles.lost.load() << " samples of the device were lost";
  if (troubles.replugs > 0)
    add("device ") << device << " was unplugged and came back " << troubles.replugs.load()
                   << (troubles.replugs == 1 ? " time" : " times");
  if (troubles.dropped > 0)
    add("processing did not keep up: ")
        << troubles.dropped.load() << " samples were dropped (overload=" << overload << ")";
  return text;
}

CaptureFacts PortAudio::capture_facts() const {
  const double ms = 1e3 / rate;
  const PortAudioTroubles& troubles = capture_.troubles();
  return {.period = capture_.slot_frames(),
          .period_ms = static_cast<double>(capture_.slot_frames()) * ms,
          .buffer_ms = capture_.latency(),
          .device_lost = troubles.lost,
          .overload_lost = troubles.dropped,
          .overruns = troubles.overruns,
          .unplugs = troubles.unplugs,
          .replugs = troubles.replugs,
          .largest_backlog_ms = static_cast<double>(capture_.largest_backlog()) *
                                static_cast<double>(capture_.slot_frames()) * ms};
}

}  // namespace runnel::pipeline
