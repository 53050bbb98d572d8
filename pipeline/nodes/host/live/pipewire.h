// Sound of a PipeWire node.
#pragma once

#include "pipeline/nodes/host/live/sound_input_source.h"

namespace runnel::pipeline {

// A stream of PipeWire's, which the session manager or the user connects, and may connect elsewhere while it
// runs. Cycles that were lost become gaps. A daemon that goes away is an error.
class PipeWire final : public SoundInputSource {
 public:
  static const NodeType type;

  PipeWire() noexcept {
    rate = 16000;
    channels = 1;
  }

  std::string_view target;
  std::string_view label = "runnel";
  bool monitor = false;

  Status prepare(NodeContext& context) noexcept override;
};

}  // namespace runnel::pipeline
