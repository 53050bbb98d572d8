#include "pipeline/host/live/alsa_device.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>

#include "pipeline/host/live/alsa_library.h"

namespace runnel::pipeline {
namespace {

double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return seconds(time);
}

double time_asleep() { return now(CLOCK_BOOTTIME) - now(CLOCK_MONOTONIC); }

constexpr timespec kMoment{0, 1000000};
constexpr timespec kBetweenAttempts{0, 250000000};

}  // namespace

AlsaDevice::~AlsaDevice() {
  if (pcm_ != nullptr) alsa().snd_pcm_close(pcm_);
}

Status AlsaDevice::refused(const char* what, int error) const noexcept {
  return alsa_refuses(settings_.name, what, error);
}

Status AlsaDevice::set_software() noexcept {
  snd_pcm_sw_params_t* params = nullptr;
  RUNNEL_ALSA_ALLOCA(snd_pcm_sw_params, params);
  if (const int error = alsa().snd_pcm_sw_params_current(pcm_, params); error < 0)
    return refused("be configured", error);
  alsa().snd_pcm_sw_params_set_avail_min(pcm_, params, shape_.period);
  // For devices without time stamps, our own clock is used.
  alsa().snd_pcm_sw_params_set_tstamp_mode(pcm_, params, SND_PCM_TSTAMP_ENABLE);
  alsa().snd_pcm_sw_params_set_tstamp_type(pcm_, params, SND_PCM_TSTAMP_TYPE_MONOTONIC);
  if (const int error = alsa().snd_pcm_sw_params(pcm_, params); error < 0)
    return refused("be configured", error);
  return {};
}

Status AlsaDevice::open_device() noexcept {
  mmap_ = settings_.access == "mmap";
  RUNNEL_ASSIGN(shape_, open_alsa(settings_, SND_PCM_STREAM_CAPTURE, pcm_));
  return set_software();
}

Status AlsaDevice::open(const AlsaSettings& settings) noexcept {
  settings_ = settings;
  return open_device();
}

Status AlsaDevice::start() noexcept {
  if (const int error = alsa().snd_pcm_start(pcm_); error < 0) return refused("start", error);
  remember_position();
  return {};
}

// Called after every read: how many samples the device had captured, and when. A device that has failed
// meanwhile reports nothing; then the previous report stays valid.
void AlsaDevice::remember_position() noexcept {
  snd_pcm_uframes_t available = 0;
  snd_htimestamp_t stamp{};
  if (alsa().snd_pcm_htimestamp(pcm_, &available, &stamp) < 0) return;
  host_time_ = now(CLOCK_MONOTONIC);
  asleep_ = time_asleep();
  device_time_ = seconds(stamp);
  reference_ = position_ + static_cast<std::int64_t>(available);
}

// The index of the first sample after the restart.
std::int64_t AlsaDevice::captured_until_restart() const noexcept {
  snd_pcm_status_t* status = nullptr;
  RUNNEL_ALSA_ALLOCA(snd_pcm_status, status);
  snd_htimestamp_t trigger{};
  if (alsa().snd_pcm_status(pcm_, status) == 0) alsa().snd_pcm_status_get_trigger_htstamp(status, &trigger);
  const bool stamped = device_time_ > 0 && seconds(trigger) >= device_time_;
  double elapsed = stamped ? seconds(trigger) - device_time_ : now(CLOCK_MONOTONIC) - host_time_;
  // A difference below a millisecond only comes from reading the two clocks in sequence.
  if (const double slept = time_asleep() - asleep_; slept > 1e-3) elapsed += slept;
  return reference_ + std::llround(elapsed * shape_.rate);
}

void AlsaDevice::count_lost() noexcept {
  const std::int64_t lost = std::max<std::int64_t>(0, captured_until_restart() - position_);
  troubles_.lost += lost;
  position_ += lost;
  // Until the first sample, time counts from the restart.
  remember_position();
}

// snd_pcm_recover() can loop indefinitely on devices whose resume does nothing (alsa-lib 1.2.8), so the
// device is restarted instead; attempts without a sample in between are counted.
Status AlsaDevice::recover(int error) noexcept {
  if (error == -ENODEV || alsa().snd_pcm_state(pcm_) == SND_PCM_STATE_DISCONNECTED) return unplugged();
  if (error != -EPIPE && error != -ESTRPIPE) return refused("read", error);
  if (++recoveries_ > kMaxRecoveries)
    return refused("be recovered: it failed repeatedly without giving a sample", error);
  ++(error == -EPIPE ? troubles_.overruns : troubles_.suspends);
  return restart();
}

Status AlsaDevice::restart() noexcept {
  int result = 0;
  for (int attempt = 0; attempt < kMaxRecoveries; ++attempt) {
    alsa().snd_pcm_drop(pcm_);
    result = alsa().snd_pcm_prepare(pcm_);
    if (result >= 0) result = alsa().snd_pcm_start(pcm_);
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

// One attempt to reopen a device that was unplugged; its format must be the same as before.
Status AlsaDevice::come_back() noexcept {
  const AlsaShape before = shape_;
  if (pcm_ != nullptr) alsa().snd_pcm_close(pcm_);
  pcm_ = nullptr;
  if (!open_device().ok() || alsa().snd_pcm_start(pcm_) < 0) {
    shape_ = before;
    nanosleep(&kBetweenAttempts, nullptr);
    gone_ = now(CLOCK_MONOTONIC) - left_ > settings_.replug;
    return {};
  }
  if (shape_.rate != before.rate || shape_.channels != before.channels || shape_.code != before.code) {
    return Status(Code::io_error) << "device " << settings_.name << " came back with " << shape_.rate
                                  << " Hz, " << shape_.channels << " channels, " << name_of(shape_.code)
                                  << ": expected " << before.rate << " Hz, " << before.channels
                                  << " channels, " << name_of(before.code);
  }
  away_ = false;
  if (++recoveries_ > kMaxRecoveries)
    return Status(Code::io_error) << "device " << settings_.name
                                  << ": returned repeatedly without giving a sample";
  ++troubles_.replugs;
  count_lost();
  return {};
}

// Waits for samples, an error, or the timeout.
Status AlsaDevice::wait() noexcept {
  const int result = alsa().snd_pcm_wait(pcm_, kWaitMilliseconds);
  if (result < 0) return recover(result);
  if (result > 0) {
    // Some plug-ins report samples although there are none.
    if (alsa().snd_pcm_avail_update(pcm_) == 0) nanosleep(&kMoment, nullptr);
    return {};
  }
  if (++silent_waits_ * kWaitMilliseconds > kSilentSeconds * 1000) {
    return Status(Code::io_error) << "device " << settings_.name << ": gave no sample for " << kSilentSeconds
                                  << " seconds";
  }
  return {};
}

Result<std::int64_t> AlsaDevice::read(std::byte* to, std::int64_t most) noexcept {
  if (away_) {
    RUNNEL_TRY(come_back());
    return std::int64_t{0};
  }
  const auto wanted = static_cast<snd_pcm_uframes_t>(most);
  const snd_pcm_sframes_t read =
      mmap_ ? alsa().snd_pcm_mmap_readi(pcm_, to, wanted) : alsa().snd_pcm_readi(pcm_, to, wanted);
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
