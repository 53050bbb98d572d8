// Plays sound on a device.
#pragma once

#include <alsa/asoundlib.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "pipeline/host/live/alsa_open.h"
#include "pipeline/node.h"
#include "pipeline/nodes/host/live/live_sink.h"

namespace runnel::pipeline {

// Waits for the device, so that a recording is played in real time. Playback starts when half of the device's
// buffer is full or the stream has ended, and ends when all samples were played. When samples are late, the
// device falls silent: this underrun is counted, and playback restarts at half a buffer.
class AlsaSink final : public Node, public LiveSink {
 public:
  static const NodeType type;

  std::string_view device = "default";
  std::string_view format = "auto";
  double period = 10;   // ms
  double buffer = 200;  // ms

  ~AlsaSink() override;
  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status finish() noexcept override;
  Text note() const noexcept override;
  [[nodiscard]] std::int64_t underruns() const noexcept override { return underruns_; }

 private:
  Status write(const std::byte* from, std::int64_t frames) noexcept;
  Status recover(int error) noexcept;

  snd_pcm_t* pcm_ = nullptr;
  AlsaShape shape_;
  std::vector<std::byte> bytes_;  // of one block
  std::int64_t underruns_ = 0;
  int recoveries_ = 0;  // since the last frame that the device took
};

}  // namespace runnel::pipeline
