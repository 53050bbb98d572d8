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
  samples_.resize(static_cast<std::size_t>(capture_.slot_frames() * channels));
  Format& output = context.output;
  output.kind = Kind::audio;
  output.dtype = DType::float32;
  output.channels = channels;
  output.clock.sample_rate = rate;
  output.source = device;
  context.max_output = context.max_input;
  return {};
}

// Takes the next slot. False when the ring is empty, or when the slot follows a gap and earlier samples must
// be given first.
bool Alsa::refill(Output& out) noexcept {
  CaptureRing& ring = capture_.ring();
  const CaptureRing::Slot* slot = ring.take();
  if (slot == nullptr) return false;
  held_ = slot->count;
  given_ = 0;
  to_float(capture_.device().code(), slot->data,
           std::span(samples_).first(static_cast<std::size_t>(held_ * channels)));
  const std::int64_t lost = slot->first - position_;
  ring.release();
  if (lost == 0) return true;
  pending_lost_ = lost;
  return out.count == 0;
}

// With hysteresis: from half full until nearly empty.
void Alsa::look_at_queue() noexcept {
  if (overload != "skip-inference") return;
  const std::size_t filled = capture_.ring().filled(), slots = capture_.ring().slots();
  overloaded_ = 2 * filled >= slots || (overloaded_ && 8 * filled > slots);
}

void Alsa::give(Output& out) noexcept {
  const std::int64_t count = std::min(out.capacity - out.count, held_ - given_);
  std::copy_n(samples_.data() + given_ * channels, count * channels, out.as<float>() + out.count * channels);
  out.count += count;
  given_ += count;
  position_ += count;
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
  look_at_queue();
  while (out.count < out.capacity) {
    if (held_ == given_) {
      // In this order: once the thread has finished, all that it put into the ring is visible.
      const bool finished = capture_.finished();
      if (!refill(out)) {
        if (out.count > 0) break;
        if (finished) {
          RUNNEL_TRY(capture_.failure());
          // Samples dropped or lost after the last one in the ring.
          out.lost = capture_.device().position() - position_;
          out.end = true;
          return {};
        }
        if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) capture_.ask_to_stop();
        wait();
        continue;
      }
    }
    if (pending_lost_ > 0) {
      if (out.count > 0) break;
      out.lost = pending_lost_;
      position_ += pending_lost_;
      pending_lost_ = 0;
    }
    give(out);
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
