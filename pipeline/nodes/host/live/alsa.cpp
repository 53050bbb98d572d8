#include "pipeline/nodes/host/live/alsa.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Alsa::device>("device", "", "ALSA device to capture from; `runnel devices` lists them"),
    parameter<&Alsa::rate>("rate", "Hz", 1000, 768000,
                           "requested sample rate; the device's nearest one is used"),
    parameter<&Alsa::channels>("channels", "", 1, 64,
                               "requested channels; the device's nearest number is used"),
    text_parameter<&Alsa::format>("format", "auto|s16|s32|s24|s24_3|float",
                                  "samples of the device: integers of 16, 32, 24 in 32, and 24 bits in 3 "
                                  "bytes, or float; auto: the first of these that it has"),
    text_parameter<&Alsa::access>("access", "read|mmap", "how samples are read from the device"),
    parameter<&Alsa::period>("period", "ms", 1, 1000, "interval of reads"),
    parameter<&Alsa::buffer>("buffer", "ms", 2, 10000,
                             "of the device: how long the capture thread may stall before samples are lost"),
    parameter<&Alsa::duration>("duration", "s", 0, 1e9,
                               "when to stop; 0: when the program is stopped or the device is unplugged"),
    parameter<&Alsa::replug>("replug", "s", 0, 1e9,
                             "how long to wait for a device that was unplugged; 0: the stream ends"),
    parameter<&Alsa::queue>("queue", "ms", 10, 600000,
                            "how long processing may stall before overload= decides"),
    text_parameter<&Alsa::overload>(
        "overload", "block|drop-oldest|drop-newest|skip-inference",
        "what happens when processing does not keep up and the queue is full: capture waits and the device "
        "loses samples, or the oldest or newest ones of the queue are dropped; skip-inference: from a queue "
        "that is half full on, models are skipped"),
    switch_parameter<&Alsa::realtime>(
        "realtime", "capture with real-time priority and locked memory where the system allows it"),
};

// Polling interval of process(), in periods of the device.
constexpr double kLookEvery = 0.5;

}  // namespace

const NodeType Alsa::type = {
    .name = "alsa",
    .help = "Captures from a sound device.",
    .input = {},
    .output = {static_cast<Kinds>(Kind::audio), "float32 in [-1, 1), the device's rate and channels"},
    .parameters = kParameters,
    .make = make_node<Alsa>,
};

Status Alsa::prepare(NodeContext& context) noexcept {
  stop_ = context.stop;
  AlsaSettings settings;
  settings.name = device;
  settings.rate = rate;
  settings.channels = channels;
  settings.period = period;
  settings.buffer = buffer;
  settings.format = format;
  settings.access = access;
  settings.replug = replug;
  RUNNEL_TRY(capture_.open(settings, queue,
                           overload == "drop-oldest"   ? Overload::drop_oldest
                           : overload == "drop-newest" ? Overload::drop_newest
                                                       : Overload::block));
  rate = capture_.device().rate();
  channels = capture_.device().channels();
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

bool Alsa::refill(Output& out) noexcept {
  return reader_.refill(out, [this](const std::byte* bytes, std::span<float> samples) {
    to_float(capture_.device().code(), bytes, samples);
  });
}

void Alsa::wait() noexcept {
  const auto start = std::chrono::steady_clock::now();
  const double seconds = std::min(kLookEvery * static_cast<double>(capture_.slot_frames()) / rate, 0.1);
  const timespec time{0, static_cast<long>(seconds * 1e9)};
  nanosleep(&time, nullptr);
  waited_ +=
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
}

Status Alsa::process(const Block&, Output& out) noexcept {
  if (!capture_.running()) RUNNEL_TRY(capture_.start(std::llround(duration * rate), realtime));
  if (overload == "skip-inference") reader_.look_at_queue();
  while (out.count < out.capacity) {
    if (reader_.empty()) {
      // In this order: once the thread has finished, all that it put into the ring is visible.
      const bool finished = capture_.finished();
      if (!refill(out)) {
        if (out.count > 0) break;
        if (finished) {
          RUNNEL_TRY(capture_.failure());
          // Samples dropped or lost after the last one in the ring.
          out.lost = capture_.device().position() - reader_.position();
          out.end = true;
          return {};
        }
        if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) capture_.ask_to_stop();
        wait();
        continue;
      }
    }
    if (!reader_.give(out)) break;
  }
  if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) capture_.ask_to_stop();
  return {};
}

Text Alsa::note() const noexcept {
  Text text;
  const auto add = [&text](std::string_view what, std::int64_t count) -> Text& {
    if (count == 0) return text;
    return text << (text.view().empty() ? "" : "; ") << what;
  };
  const AlsaTroubles& troubles = capture_.device().troubles();
  const std::int64_t restarts = troubles.overruns + troubles.suspends;
  add(capture_.not_allowed(), capture_.not_allowed().empty() ? 0 : 1);
  if (capture_.finished() && capture_.device().gone()) add("device ", 1) << device << " was unplugged";
  if (restarts > 0)
    add("device ", 1) << device << " had to be started again " << restarts
                      << (restarts == 1 ? " time" : " times") << " and lost " << troubles.lost.load()
                      << " samples";
  if (troubles.replugs > 0)
    add("device ", 1) << device << " was unplugged and came back " << troubles.replugs.load()
                      << (troubles.replugs == 1 ? " time" : " times");
  if (capture_.dropped() > 0)
    add("processing did not keep up: ", 1)
        << capture_.dropped() << " samples were dropped (overload=" << overload << ")";
  return text;
}

CaptureFacts Alsa::capture_facts() const {
  const AlsaDevice& from = capture_.device();
  const double ms = 1e3 / from.rate();
  return {.period = from.period_frames(),
          .period_ms = static_cast<double>(from.period_frames()) * ms,
          .buffer_ms = static_cast<double>(from.buffer_frames()) * ms,
          .device_lost = from.troubles().lost,
          .overload_lost = capture_.dropped(),
          .overruns = from.troubles().overruns,
          .suspends = from.troubles().suspends,
          .unplugs = from.troubles().unplugs,
          .replugs = from.troubles().replugs,
          .largest_backlog_ms = static_cast<double>(capture_.largest_backlog()) *
                                static_cast<double>(capture_.slot_frames()) * ms};
}

}  // namespace runnel::pipeline
