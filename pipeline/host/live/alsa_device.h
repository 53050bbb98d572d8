// An ALSA capture device: opens it, recovers it after failures, and counts every lost sample.
#pragma once

#include <alsa/asoundlib.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "pipeline/host/live/alsa_open.h"

namespace runnel::pipeline {

// Counters. Written by the thread that reads the device, readable from any.
struct AlsaTroubles {
  std::atomic<std::int64_t> overruns{0}, suspends{0}, unplugs{0}, replugs{0};
  std::atomic<std::int64_t> lost{0};  // samples
};

// Not thread-safe, except for troubles(). Samples are counted from the start of the stream: position() is the
// index of the next one, and jumps where samples were lost. How many are missing is computed from two times:
// that of the last read, with the number of samples captured by then, and that of the restart. Both are the
// device's own time stamps if it has them.
class AlsaDevice {
 public:
  AlsaDevice() = default;
  ~AlsaDevice();
  AlsaDevice(const AlsaDevice&) = delete;
  AlsaDevice& operator=(const AlsaDevice&) = delete;

  // Opens and negotiates. Errors: not_found, io_error; each names the device and the setting that it refused.
  Status open(const AlsaSettings& settings) noexcept;
  Status start() noexcept;

  // Up to `most` frames, waiting up to kWaitMilliseconds for them. 0: nothing yet, call again, unless gone().
  // No allocation, lock or system call but those of the device, except to recover it after a failure. Fails
  // when kMaxRecoveries attempts to recover gave no sample, or when the device gives none for
  // kSilentSeconds.
  Result<std::int64_t> read(std::byte* to, std::int64_t most) noexcept;
  // The device was unplugged, and `replug` seconds have passed.
  [[nodiscard]] bool gone() const noexcept { return gone_; }

  [[nodiscard]] std::int64_t position() const noexcept { return position_; }
  [[nodiscard]] std::int32_t rate() const noexcept { return shape_.rate; }
  [[nodiscard]] std::int32_t channels() const noexcept { return shape_.channels; }
  [[nodiscard]] SampleCode code() const noexcept { return shape_.code; }
  [[nodiscard]] std::size_t frame_bytes() const noexcept {
    return bytes_of(shape_.code) * static_cast<std::size_t>(shape_.channels);
  }
  [[nodiscard]] std::int64_t period_frames() const noexcept {
    return static_cast<std::int64_t>(shape_.period);
  }
  [[nodiscard]] std::int64_t buffer_frames() const noexcept {
    return static_cast<std::int64_t>(shape_.buffer);
  }
  [[nodiscard]] const AlsaTroubles& troubles() const noexcept { return troubles_; }

  static constexpr int kMaxRecoveries = 5;
  static constexpr int kWaitMilliseconds = 100;
  static constexpr int kSilentSeconds = 5;

 private:
  Status refused(const char* what, int error) const noexcept;
  Status open_device() noexcept;
  Status set_software() noexcept;
  Status recover(int error) noexcept;
  Status restart() noexcept;
  Status unplugged() noexcept;
  Status come_back() noexcept;
  Status wait() noexcept;
  void count_lost() noexcept;
  void remember_position() noexcept;
  [[nodiscard]] std::int64_t captured_until_restart() const noexcept;

  snd_pcm_t* pcm_ = nullptr;
  AlsaSettings settings_;
  AlsaShape shape_;
  bool mmap_ = false, away_ = false, gone_ = false;  // away: unplugged, may be plugged in again
  double left_ = 0;                                  // when it was unplugged
  std::int64_t position_ = 0;
  int recoveries_ = 0;  // since the last sample
  int silent_waits_ = 0;
  AlsaTroubles troubles_;
  // The times at which `reference_` samples had been captured: the device's stamp, CLOCK_MONOTONIC, and the
  // lead of CLOCK_BOOTTIME, which also runs while the machine sleeps, over CLOCK_MONOTONIC.
  std::int64_t reference_ = 0;
  double device_time_ = 0, host_time_ = 0, asleep_ = 0;
};

}  // namespace runnel::pipeline
