#include "pipeline/nodes/host/live/alsa_sink.h"

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "pipeline/host/live/alsa_library.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&AlsaSink::device>("device", "", "ALSA device to play on"),
    text_parameter<&AlsaSink::format>("format", "auto|s16|s32|s24|s24_3|float",
                                      "samples of the device: integers of 16, 32, 24 in 32, and 24 bits in 3 "
                                      "bytes, or float; auto: the first of these that it has"),
    parameter<&AlsaSink::period>("period", "ms", 1, 1000, "how often the device asks for samples"),
    parameter<&AlsaSink::buffer>("buffer", "ms", 2, 10000,
                                 "of the device: how long the program may stall before it falls silent"),
};

constexpr int kMaxRecoveries = 5;
constexpr int kWaitMilliseconds = 100;
constexpr int kSilentWaits = 50;  // 5 s
constexpr timespec kMoment{0, 1000000};

}  // namespace

const NodeType AlsaSink::type = {
    .name = "alsa",
    .help = "Plays on a sound device.",
    .input = {static_cast<Kinds>(Kind::audio), "float32; values outside [-1, 1) saturate"},
    .output = {},
    .parameters = kParameters,
    .make = make_node<AlsaSink>,
};

AlsaSink::~AlsaSink() {
  if (pcm_ != nullptr) alsa().snd_pcm_close(pcm_);
}

Status AlsaSink::prepare(NodeContext& context) noexcept {
  const std::int64_t rate = context.input.clock.rate();
  if (rate == 0 || rate > 768000)
    return Status(Code::unsupported) << "device " << device
                                     << " plays a whole number of samples per second, up to 768000";
  AlsaSettings settings;
  settings.name = device;
  settings.rate = static_cast<std::int32_t>(rate);
  settings.channels = context.input.channels;
  settings.period = period;
  settings.buffer = buffer;
  settings.format = format;
  RUNNEL_ASSIGN(shape_, open_alsa(settings, SND_PCM_STREAM_PLAYBACK, pcm_));
  if (shape_.channels != settings.channels) {
    return Status(Code::mismatch) << context.input_label << " gives " << settings.channels
                                  << " channels, device " << device << " plays " << shape_.channels;
  }
  if (shape_.rate != settings.rate) return wants_rate(context, "alsa", shape_.rate);
  snd_pcm_sw_params_t* params = nullptr;
  RUNNEL_ALSA_ALLOCA(snd_pcm_sw_params, params);
  int error = alsa().snd_pcm_sw_params_current(pcm_, params);
  if (error >= 0)
    error = alsa().snd_pcm_sw_params_set_start_threshold(pcm_, params,
                                                         std::max<snd_pcm_uframes_t>(1, shape_.buffer / 2));
  if (error >= 0) error = alsa().snd_pcm_sw_params_set_avail_min(pcm_, params, shape_.period);
  if (error >= 0) error = alsa().snd_pcm_sw_params(pcm_, params);
  if (error < 0) return alsa_refuses(device, "be configured", error);
  bytes_.resize(static_cast<std::size_t>(context.max_input * shape_.channels) * bytes_of(shape_.code));
  return {};
}

// Prepares the device, so that playback can start again.
Status AlsaSink::recover(int error) noexcept {
  if (error != -EPIPE && error != -ESTRPIPE) return alsa_refuses(device, "play", error);
  if (++recoveries_ > kMaxRecoveries)
    return alsa_refuses(device, "be recovered: it failed repeatedly without taking a sample", error);
  ++underruns_;
  alsa().snd_pcm_drop(pcm_);
  if (const int result = alsa().snd_pcm_prepare(pcm_); result < 0)
    return alsa_refuses(device, "start again", result);
  return {};
}

Status AlsaSink::write(const std::byte* from, std::int64_t frames) noexcept {
  const auto frame_bytes = static_cast<std::int64_t>(bytes_of(shape_.code)) * shape_.channels;
  int silent = 0;
  while (frames > 0) {
    const snd_pcm_sframes_t written =
        alsa().snd_pcm_writei(pcm_, from, static_cast<snd_pcm_uframes_t>(frames));
    if (written > 0) {
      from += written * frame_bytes;
      frames -= written;
      recoveries_ = silent = 0;
      continue;
    }
    if (written < 0 && written != -EAGAIN) {
      RUNNEL_TRY(recover(static_cast<int>(written)));
      continue;
    }
    const int ready = alsa().snd_pcm_wait(pcm_, kWaitMilliseconds);
    if (ready < 0) RUNNEL_TRY(recover(ready));
    if (ready == 0 && ++silent > kSilentWaits)
      return Status(Code::io_error) << "device " << device << ": took no sample for 5 seconds";
    // Some plug-ins report room although there is none.
    if (ready > 0 && alsa().snd_pcm_avail_update(pcm_) == 0) nanosleep(&kMoment, nullptr);
  }
  return {};
}

Status AlsaSink::process(const Block& in, Output&) noexcept {
  from_float(shape_.code, std::span(in.as<float>(), static_cast<std::size_t>(in.count * shape_.channels)),
             bytes_.data());
  return write(bytes_.data(), in.count);
}

Status AlsaSink::finish() noexcept {
  if (alsa().snd_pcm_state(pcm_) == SND_PCM_STATE_PREPARED &&
      alsa().snd_pcm_avail_update(pcm_) < static_cast<snd_pcm_sframes_t>(shape_.buffer))
    alsa().snd_pcm_start(pcm_);
  // The buffer is played within its own duration; otherwise the device is not playing.
  const int most_waits =
      10 + static_cast<int>(1000 * shape_.buffer / static_cast<snd_pcm_uframes_t>(shape_.rate)) /
               kWaitMilliseconds;
  for (int i = 0; i < most_waits && alsa().snd_pcm_state(pcm_) == SND_PCM_STATE_RUNNING; ++i) {
    const snd_pcm_sframes_t room = alsa().snd_pcm_avail_update(pcm_);
    if (room < 0 || room >= static_cast<snd_pcm_sframes_t>(shape_.buffer)) break;
    const double left =
        static_cast<double>(static_cast<snd_pcm_sframes_t>(shape_.buffer) - room) / shape_.rate;
    if (alsa().snd_pcm_wait(pcm_, 1) < 0) break;
    const timespec time{0, static_cast<long>(std::min(left, 0.1) * 1e9)};
    nanosleep(&time, nullptr);
  }
  // Plug-ins that write files complete them here. A sound card has played everything by now, or is not
  // playing and need not be waited for.
  alsa().snd_pcm_drain(pcm_);
  alsa().snd_pcm_drop(pcm_);
  return {};
}

Text AlsaSink::note() const noexcept {
  Text text;
  if (underruns_ > 0)
    text << "device " << device << " fell silent " << underruns_ << (underruns_ == 1 ? " time" : " times")
         << ": sound did not come in time";
  return text;
}

}  // namespace runnel::pipeline
