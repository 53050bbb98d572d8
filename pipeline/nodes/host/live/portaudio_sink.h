// Plays sound on a device through PortAudio.
#pragma once

#include <cstdint>
#include <string_view>

#include "pipeline/host/live/portaudio/open.h"
#include "pipeline/node.h"
#include "pipeline/nodes/host/live/live_sink.h"

namespace runnel::pipeline {

// Waits for the device, so that a recording is played in real time, and ends when all samples were played.
// When samples are late, the device falls silent: this underrun is counted, and playback goes on.
class PortAudioSink final : public Node, public LiveSink {
 public:
  static const NodeType type;

  std::string_view device = "default";
  double period = 10;   // ms
  double buffer = 200;  // ms

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status finish() noexcept override;
  Text note() const noexcept override;
  [[nodiscard]] std::int64_t underruns() const noexcept override { return underruns_; }

 private:
  PortAudioStream stream_;
  bool started_ = false;
  std::int64_t underruns_ = 0;
};

}  // namespace runnel::pipeline
