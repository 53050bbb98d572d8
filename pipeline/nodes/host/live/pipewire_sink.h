// Plays to a PipeWire node.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "pipeline/host/live/sound_output.h"
#include "pipeline/node.h"
#include "pipeline/nodes/host/live/live_sink.h"

namespace runnel::pipeline {

// A stream of PipeWire's, which the session manager or the user connects, and may connect elsewhere while it
// runs. Waits for the graph, so that a recording is played in real time, and for a link while there is none.
// Playback ends when all samples were played.
class PipeWireSink final : public Node, public LiveSink {
 public:
  static const NodeType type;

  std::string_view target;
  std::string_view label = "runnel";

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status finish() noexcept override;
  Text note() const noexcept override;
  [[nodiscard]] std::int64_t underruns() const noexcept override;

 private:
  std::unique_ptr<SoundOutput> output_;
};

}  // namespace runnel::pipeline
