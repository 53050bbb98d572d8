#include "pipeline/nodes/host/alsa_device.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>

namespace runnel::pipeline {
namespace {

double seconds(const timespec& time) { return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec); }

double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return seconds(time);
}

double time_asleep() { return now(CLOCK_BOOTTIME) - now(CLOCK_MONOTONIC); }

// alsa-lib tells its inner troubles on stderr; a failure has its one sentence without them.
void say_nothing(const char*, int, const char*, int, const char*, ...) {}

constexpr timespec kMoment{0, 1000000};
constexpr timespec kBetweenAttempts{0, 250000000};

}  // namespace

snd_pcm_format_t alsa_format(SampleCode code) noexcept {
  switch (code) {
    case SampleCode::s16: return SND_PCM_FORMAT_S16_LE;
    case SampleCode::s32: return SND_PCM_FORMAT_S32_LE;
    case SampleCode::s24: return SND_PCM_FORMAT_S24_LE;
    case SampleCode::s24_3: return SND_PCM_FORMAT_S24_3LE;
    case SampleCode::float32: break;
  }
  return SND_PCM_FORMAT_FLOAT_LE;
}

AlsaDevice::~AlsaDevice() {
  if (pcm_ != nullptr) snd_pcm_close(pcm_);
}

Status AlsaDevice::refused(const char* what, int error) const noexcept {
  const Code code = error == -ENOENT || error == -ENODEV || error == -ENXIO ? Code::not_found : Code::io_error;
  return Status(code) << "device " << settings_.name << ": cannot " << what << ": " << snd_strerror(error);
}

Status AlsaDevice::set_format(snd_pcm_hw_params_t* params) noexcept {
  int error = -EINVAL;
  for (const SampleCode code : kSampleCodes) {
    if (settings_.format != "auto" && settings_.format != name_of(code)) continue;
    error = snd_pcm_hw_params_set_format(pcm_, params, alsa_format(code));
    if (error < 0) continue;
    code_ = code;
    return {};
  }
  Status status(Code::io_error);
  status << "device " << settings_.name << ": gives no samples of format " << (settings_.format == "auto" ? "s16, s32, s24, s24_3 or float" : settings_.format) << ": "
         << snd_strerror(error);
  return status;
}

Status AlsaDevice::set_hardware() noexcept {
  snd_pcm_hw_params_t* params = nullptr;
  snd_pcm_hw_params_alloca(&params);
  auto rate = static_cast<unsigned>(settings_.rate), channels = static_cast<unsigned>(settings_.channels);
  mmap_ = settings_.access == "mmap";
  const snd_pcm_access_t access = mmap_ ? SND_PCM_ACCESS_MMAP_INTERLEAVED : SND_PCM_ACCESS_RW_INTERLEAVED;
  if (const int error = snd_pcm_hw_params_any(pcm_, params); error < 0) return refused("be configured", error);
  if (const int error = snd_pcm_hw_params_set_access(pcm_, params, access); error < 0) return refused(mmap_ ? "give interleaved samples through mmap" : "give interleaved samples", error);
  RUNNEL_TRY(set_format(params));
  if (const int error = snd_pcm_hw_params_set_channels_near(pcm_, params, &channels); error < 0) return refused("set the channels", error);
  if (const int error = snd_pcm_hw_params_set_rate_near(pcm_, params, &rate, nullptr); error < 0) return refused("set the rate", error);
  period_ = std::max<snd_pcm_uframes_t>(1, static_cast<snd_pcm_uframes_t>(settings_.period * 1e-3 * rate));
  if (const int error = snd_pcm_hw_params_set_period_size_near(pcm_, params, &period_, nullptr); error < 0) return refused("set the period", error);
  buffer_ = std::max<snd_pcm_uframes_t>(2 * period_, static_cast<snd_pcm_uframes_t>(settings_.buffer * 1e-3 * rate));
  if (const int error = snd_pcm_hw_params_set_buffer_size_near(pcm_, params, &buffer_); error < 0) return refused("set the buffer", error);
  if (const int error = snd_pcm_hw_params(pcm_, params); error < 0) return refused("be configured", error);
  rate_ = static_cast<std::int32_t>(rate);
  channels_ = static_cast<std::int32_t>(channels);
  return {};
}

Status AlsaDevice::set_software() noexcept {
  snd_pcm_sw_params_t* params = nullptr;
  snd_pcm_sw_params_alloca(&params);
  if (const int error = snd_pcm_sw_params_current(pcm_, params); error < 0) return refused("be configured", error);
  snd_pcm_sw_params_set_avail_min(pcm_, params, period_);
  // Devices without time stamps are served by our own clock.
  snd_pcm_sw_params_set_tstamp_mode(pcm_, params, SND_PCM_TSTAMP_ENABLE);
  snd_pcm_sw_params_set_tstamp_type(pcm_, params, SND_PCM_TSTAMP_TYPE_MONOTONIC);
  if (const int error = snd_pcm_sw_params(pcm_, params); error < 0) return refused("be configured", error);
  return {};
}

Status AlsaDevice::open_device() noexcept {
  snd_lib_error_set_handler(say_nothing);
  const int error = snd_pcm_open(&pcm_, settings_.name.c_str(), SND_PCM_STREAM_CAPTURE, SND_PCM_NONBLOCK);
  snd_lib_error_set_handler(nullptr);
  if (error < 0) {
    pcm_ = nullptr;
    return refused("open", error);
  }
  RUNNEL_TRY(set_hardware());
  return set_software();
}

Status AlsaDevice::open(const AlsaSettings& settings) noexcept {
  settings_ = settings;
  return open_device();
}

Status AlsaDevice::start() noexcept {
  if (const int error = snd_pcm_start(pcm_); error < 0) return refused("start", error);
  remember_position();
  return {};
}

// Called behind every read: what the device had captured, and when. A device that has failed meanwhile tells nothing: then what it told the time
// before still holds.
void AlsaDevice::remember_position() noexcept {
  snd_pcm_uframes_t available = 0;
  snd_htimestamp_t stamp{};
  if (snd_pcm_htimestamp(pcm_, &available, &stamp) < 0) return;
  host_time_ = now(CLOCK_MONOTONIC);
  asleep_ = time_asleep();
  device_time_ = seconds(stamp);
  reference_ = position_ + static_cast<std::int64_t>(available);
}

// Samples that would have been captured by the time the device was started again.
std::int64_t AlsaDevice::captured_until_restart() const noexcept {
  snd_pcm_status_t* status = nullptr;
  snd_pcm_status_alloca(&status);
  snd_htimestamp_t trigger{};
  if (snd_pcm_status(pcm_, status) == 0) snd_pcm_status_get_trigger_htstamp(status, &trigger);
  const bool stamped = device_time_ > 0 && seconds(trigger) >= device_time_;
  double elapsed = stamped ? seconds(trigger) - device_time_ : now(CLOCK_MONOTONIC) - host_time_;
  // Below a millisecond it is only the two clocks read one after the other.
  if (const double slept = time_asleep() - asleep_; slept > 1e-3) elapsed += slept;
  return reference_ + std::llround(elapsed * rate_);
}

void AlsaDevice::count_lost() noexcept {
  const std::int64_t lost = std::max<std::int64_t>(0, captured_until_restart() - position_);
  troubles_.lost += lost;
  position_ += lost;
  // Until a sample comes, time runs from the restart.
  remember_position();
}

// snd_pcm_recover() can spin for ever on devices whose resume does nothing (alsa-lib 1.2.8), so the device is simply started afresh; attempts
// without a sample in between are counted.
Status AlsaDevice::recover(int error) noexcept {
  if (error == -ENODEV || snd_pcm_state(pcm_) == SND_PCM_STATE_DISCONNECTED) return unplugged();
  if (error != -EPIPE && error != -ESTRPIPE) return refused("read", error);
  if (++recoveries_ > kMostRecoveries) return refused("be brought back: it failed again and again without giving a sample", error);
  ++(error == -EPIPE ? troubles_.overruns : troubles_.suspends);
  return restart();
}

Status AlsaDevice::restart() noexcept {
  int result = 0;
  for (int attempt = 0; attempt < kMostRecoveries; ++attempt) {
    snd_pcm_drop(pcm_);
    result = snd_pcm_prepare(pcm_);
    if (result >= 0) result = snd_pcm_start(pcm_);
    if (result == -ENODEV) return unplugged();
    if (result >= 0) {
      count_lost();
      return {};
    }
    nanosleep(&kMoment, nullptr);
  }
  return refused("start again", result);
}

Status AlsaDevice::unplugged() noexcept {
  ++troubles_.unplugs;
  away_ = settings_.replug > 0;
  gone_ = !away_;
  left_ = now(CLOCK_MONOTONIC);
  return {};
}

// One attempt to get a device back that was unplugged; it must then give what it gave before.
Status AlsaDevice::come_back() noexcept {
  const std::int32_t rate = rate_, channels = channels_;
  const SampleCode code = code_;
  if (pcm_ != nullptr) snd_pcm_close(pcm_);
  pcm_ = nullptr;
  if (!open_device().ok() || snd_pcm_start(pcm_) < 0) {
    nanosleep(&kBetweenAttempts, nullptr);
    gone_ = now(CLOCK_MONOTONIC) - left_ > settings_.replug;
    return {};
  }
  if (rate_ != rate || channels_ != channels || code_ != code) {
    return Status(Code::io_error) << "device " << settings_.name << " came back with " << rate_ << " Hz, " << channels_ << " channels, " << name_of(code_) << ": expected " << rate
                                  << " Hz, " << channels << " channels, " << name_of(code);
  }
  away_ = false;
  if (++recoveries_ > kMostRecoveries) return Status(Code::io_error) << "device " << settings_.name << ": comes back again and again without giving a sample";
  ++troubles_.replugs;
  count_lost();
  return {};
}

// Until samples are there, something is wrong, or a while has passed.
Status AlsaDevice::wait() noexcept {
  const int result = snd_pcm_wait(pcm_, kWaitMilliseconds);
  if (result < 0) return recover(result);
  if (result > 0) {
    // Some plug-ins say so although nothing is there.
    if (snd_pcm_avail_update(pcm_) == 0) nanosleep(&kMoment, nullptr);
    return {};
  }
  if (++silent_waits_ * kWaitMilliseconds > kSilentSeconds * 1000) {
    return Status(Code::io_error) << "device " << settings_.name << ": gave no sample for " << kSilentSeconds << " seconds";
  }
  return {};
}

Result<std::int64_t> AlsaDevice::read(std::byte* to, std::int64_t most) noexcept {
  if (away_) {
    RUNNEL_TRY(come_back());
    return std::int64_t{0};
  }
  const auto wanted = static_cast<snd_pcm_uframes_t>(most);
  const snd_pcm_sframes_t read = mmap_ ? snd_pcm_mmap_readi(pcm_, to, wanted) : snd_pcm_readi(pcm_, to, wanted);
  if (read > 0) {
    position_ += read;
    recoveries_ = silent_waits_ = 0;
    remember_position();
    return static_cast<std::int64_t>(read);
  }
  RUNNEL_TRY(read == 0 || read == -EAGAIN ? wait() : recover(static_cast<int>(read)));
  return std::int64_t{0};
}

}  // namespace runnel::pipeline
