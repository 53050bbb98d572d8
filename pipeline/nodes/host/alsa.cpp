#include "pipeline/nodes/host/alsa.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Alsa::device>("device", "", "ALSA device to capture from"),
    parameter<&Alsa::rate>("rate", "Hz", 1000, 768000, "wanted sample rate; the nearest one the device has is taken"),
    parameter<&Alsa::channels>("channels", "", 1, 64, "wanted channels; the nearest number the device has is taken"),
    parameter<&Alsa::period>("period", "ms", 1, 1000, "how often samples come"),
    parameter<&Alsa::buffer>("buffer", "ms", 2, 10000, "how long the program may stall before samples are lost"),
    parameter<&Alsa::duration>("duration", "s", 0, 1e9, "when to stop; 0: when the program is stopped or the device is unplugged"),
};

double seconds(const snd_htimestamp_t& time) { return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec); }

double monotonic_now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return seconds(time);
}

// alsa-lib tells its inner troubles on stderr; a failure has its one sentence without them.
void say_nothing(const char*, int, const char*, int, const char*, ...) {}

}  // namespace

const NodeType Alsa::type = {
    .name = "alsa",
    .help = "Captures from a sound device.",
    .input = {},
    .output = {static_cast<Kinds>(Kind::audio), "float32 in [-1, 1), the device's rate and channels"},
    .parameters = kParameters,
    .make = make_node<Alsa>,
};

Alsa::~Alsa() {
  if (pcm_ != nullptr) snd_pcm_close(pcm_);
}

Status Alsa::refused(const char* what, int error) const noexcept {
  const Code code = error == -ENOENT || error == -ENODEV || error == -ENXIO ? Code::not_found : Code::io_error;
  return Status(code) << "device " << name_ << ": cannot " << what << ": " << snd_strerror(error);
}

Status Alsa::set_hardware() noexcept {
  snd_pcm_hw_params_t* params = nullptr;
  snd_pcm_hw_params_alloca(&params);
  unsigned actual_rate = static_cast<unsigned>(rate), actual_channels = static_cast<unsigned>(channels);
  if (const int error = snd_pcm_hw_params_any(pcm_, params); error < 0) return refused("be configured", error);
  if (const int error = snd_pcm_hw_params_set_access(pcm_, params, SND_PCM_ACCESS_RW_INTERLEAVED); error < 0) return refused("give interleaved samples", error);
  if (const int error = snd_pcm_hw_params_set_format(pcm_, params, SND_PCM_FORMAT_S16); error < 0) return refused("give 16-bit samples", error);
  if (const int error = snd_pcm_hw_params_set_channels_near(pcm_, params, &actual_channels); error < 0) return refused("set the channels", error);
  if (const int error = snd_pcm_hw_params_set_rate_near(pcm_, params, &actual_rate, nullptr); error < 0) return refused("set the rate", error);
  period_frames_ = std::max<snd_pcm_uframes_t>(1, static_cast<snd_pcm_uframes_t>(period * 1e-3 * actual_rate));
  if (const int error = snd_pcm_hw_params_set_period_size_near(pcm_, params, &period_frames_, nullptr); error < 0) return refused("set the period", error);
  buffer_frames_ = std::max<snd_pcm_uframes_t>(2 * period_frames_, static_cast<snd_pcm_uframes_t>(buffer * 1e-3 * actual_rate));
  if (const int error = snd_pcm_hw_params_set_buffer_size_near(pcm_, params, &buffer_frames_); error < 0) return refused("set the buffer", error);
  if (const int error = snd_pcm_hw_params(pcm_, params); error < 0) return refused("be configured", error);
  rate = static_cast<std::int32_t>(actual_rate);
  channels = static_cast<std::int32_t>(actual_channels);
  return {};
}

Status Alsa::set_software() noexcept {
  snd_pcm_sw_params_t* params = nullptr;
  snd_pcm_sw_params_alloca(&params);
  if (const int error = snd_pcm_sw_params_current(pcm_, params); error < 0) return refused("be configured", error);
  snd_pcm_sw_params_set_avail_min(pcm_, params, period_frames_);
  // Devices without time stamps are served by our own clock.
  snd_pcm_sw_params_set_tstamp_mode(pcm_, params, SND_PCM_TSTAMP_ENABLE);
  snd_pcm_sw_params_set_tstamp_type(pcm_, params, SND_PCM_TSTAMP_TYPE_MONOTONIC);
  if (const int error = snd_pcm_sw_params(pcm_, params); error < 0) return refused("be configured", error);
  return {};
}

Status Alsa::prepare(PrepareContext& context) noexcept {
  name_ = device;
  stop_ = context.stop;
  snd_lib_error_set_handler(say_nothing);
  const int error = snd_pcm_open(&pcm_, name_.c_str(), SND_PCM_STREAM_CAPTURE, SND_PCM_NONBLOCK);
  snd_lib_error_set_handler(nullptr);
  if (error < 0) {
    pcm_ = nullptr;
    return refused("open", error);
  }
  RUNNEL_TRY(set_hardware());
  RUNNEL_TRY(set_software());
  last_sample_ = std::llround(duration * rate);
  samples_.resize(static_cast<std::size_t>(context.max_input * channels));
  Format& format = context.output;
  format.kind = Kind::audio;
  format.dtype = DType::float32;
  format.channels = channels;
  format.clock.sample_rate = rate;
  format.source = device;
  context.max_output = context.max_input;
  return {};
}

// Called behind every read: what the device had captured, and when.
void Alsa::remember_position() noexcept {
  snd_pcm_uframes_t available = 0;
  snd_htimestamp_t stamp{};
  host_time_ = monotonic_now();
  if (snd_pcm_htimestamp(pcm_, &available, &stamp) < 0) {
    available = 0;
    stamp = {};
  }
  device_time_ = seconds(stamp);
  reference_ = position_ + static_cast<std::int64_t>(available);
}

// Samples that would have been captured by the time the device was started again.
std::int64_t Alsa::captured_until_restart() const noexcept {
  snd_pcm_status_t* status = nullptr;
  snd_pcm_status_alloca(&status);
  snd_htimestamp_t trigger{};
  if (snd_pcm_status(pcm_, status) == 0) snd_pcm_status_get_trigger_htstamp(status, &trigger);
  const bool stamped = device_time_ > 0 && seconds(trigger) >= device_time_;
  const double elapsed = stamped ? seconds(trigger) - device_time_ : monotonic_now() - host_time_;
  return reference_ + std::llround(elapsed * rate);
}

// After an overrun or a suspend. snd_pcm_recover() can spin for ever on devices whose resume does nothing (alsa-lib 1.2.8), so the device
// is simply started afresh; attempts without a sample in between are counted.
Status Alsa::recover(int error, bool& gone) noexcept {
  if (error == -ENODEV || snd_pcm_state(pcm_) == SND_PCM_STATE_DISCONNECTED) {
    gone = true;
    return {};
  }
  if (error != -EPIPE && error != -ESTRPIPE) return refused("read", error);
  if (++recoveries_ > kMostRecoveries) return refused("be brought back: it failed again and again without giving a sample", error);
  ++overruns_;
  snd_pcm_drop(pcm_);
  int result = snd_pcm_prepare(pcm_);
  if (result >= 0) result = snd_pcm_start(pcm_);
  if (result == -ENODEV) {
    gone = true;
    return {};
  }
  if (result < 0) return refused("start again", result);
  const std::int64_t lost = std::max<std::int64_t>(1, captured_until_restart() - position_);
  pending_lost_ += lost;
  position_ += lost;
  // Until a sample comes, time runs from the restart.
  remember_position();
  return {};
}

// Until samples are there, something is wrong, or a while has passed.
Status Alsa::wait(bool& gone) noexcept {
  const int result = snd_pcm_wait(pcm_, kWaitMilliseconds);
  if (result < 0) return recover(result, gone);
  if (result > 0) {
    // Some plug-ins say so although nothing is there.
    const timespec moment{0, 1000000};
    if (snd_pcm_avail_update(pcm_) == 0) nanosleep(&moment, nullptr);
    return {};
  }
  if (++silent_waits_ * kWaitMilliseconds > kSilentSeconds * 1000) {
    return Status(Code::io_error) << "device " << name_ << ": gave no sample for " << kSilentSeconds << " seconds";
  }
  return {};
}

Status Alsa::process(const Block&, Output& out) noexcept {
  if (snd_pcm_state(pcm_) == SND_PCM_STATE_PREPARED) {
    if (const int error = snd_pcm_start(pcm_); error < 0) return refused("start", error);
    remember_position();
  }
  // Some plug-ins give nothing to who asks for more than the buffer holds.
  const std::int64_t most = std::min(out.capacity, static_cast<std::int64_t>(buffer_frames_));
  while (out.count == 0) {
    const std::int64_t wanted = last_sample_ > 0 ? std::min(most, last_sample_ - position_) : most;
    out.end = gone_ || wanted <= 0 || (stop_ != nullptr && stop_->load(std::memory_order_relaxed));
    if (out.end) break;
    const snd_pcm_sframes_t read = snd_pcm_readi(pcm_, samples_.data(), static_cast<snd_pcm_uframes_t>(wanted));
    if (read > 0) {
      out.count = read;
      position_ += read;
      recoveries_ = silent_waits_ = 0;
      remember_position();
    } else if (read == 0 || read == -EAGAIN) {
      RUNNEL_TRY(wait(gone_));
    } else {
      RUNNEL_TRY(recover(static_cast<int>(read), gone_));
    }
  }
  out.lost = pending_lost_;
  pending_lost_ = 0;
  float* to = out.as<float>();
  for (std::int64_t i = 0; i < out.count * channels; ++i) to[i] = static_cast<float>(samples_[static_cast<std::size_t>(i)]) / 32768.0F;
  return {};
}

Text Alsa::note() const noexcept {
  Text text;
  if (gone_) text << "device " << name_ << " was unplugged";
  if (gone_ && overruns_ > 0) text << "; ";
  if (overruns_ > 0) text << "device " << name_ << " had to be started again " << overruns_ << (overruns_ == 1 ? " time" : " times");
  return text;
}

}  // namespace runnel::pipeline
