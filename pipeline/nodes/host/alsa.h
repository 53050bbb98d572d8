// Live capture through ALSA.
#pragma once

#include <alsa/asoundlib.h>

#include <string>
#include <vector>

#include "pipeline/node.h"

namespace runnel::pipeline {

// Gives float32 (16-bit samples / 32768) at the device's rate, as soon as some samples are there. Overruns become gaps: how many samples
// are missing is computed from the time of the last read, when so and so many samples had been captured, and the time at which the
// device was started again; both from the device's own time stamps where it has them. A device that fails again and again without
// giving a sample in between, or gives none for kSilentSeconds, is an error; one that is unplugged ends the stream.
class Alsa final : public Node {
 public:
  static const NodeType type;

  std::string_view device = "default";
  std::int32_t rate = 16000;
  std::int32_t channels = 1;
  double period = 10;                // ms
  double buffer = 200;               // ms
  double duration = 0;               // s; 0: until stopped

  ~Alsa() override;
  Status prepare(PrepareContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Text note() const noexcept override;

 private:
  static constexpr int kMostRecoveries = 5;
  static constexpr int kWaitMilliseconds = 100;
  static constexpr int kSilentSeconds = 5;

  Status refused(const char* what, int error) const noexcept;
  Status set_hardware() noexcept;
  Status set_software() noexcept;
  Status recover(int error, bool& gone) noexcept;
  Status wait(bool& gone) noexcept;
  void remember_position() noexcept;
  [[nodiscard]] std::int64_t captured_until_restart() const noexcept;

  snd_pcm_t* pcm_ = nullptr;
  std::string name_;
  std::vector<std::int16_t> samples_;
  const std::atomic<bool>* stop_ = nullptr;
  snd_pcm_uframes_t period_frames_ = 0, buffer_frames_ = 0;
  std::int64_t last_sample_ = 0;     // position at which `duration` is over; 0: never
  std::int64_t position_ = 0;        // samples delivered and lost so far
  std::int64_t pending_lost_ = 0;
  int recoveries_ = 0;               // since the last sample
  int silent_waits_ = 0;
  std::int64_t overruns_ = 0;
  bool gone_ = false;
  // At these times (device's stamp, CLOCK_MONOTONIC) `reference_` samples had been captured.
  std::int64_t reference_ = 0;
  double device_time_ = 0, host_time_ = 0;
};

}  // namespace runnel::pipeline
