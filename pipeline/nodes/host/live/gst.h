// Sound of a GStreamer pipeline.
#pragma once

#include "pipeline/nodes/host/live/sound_input_source.h"

namespace runnel::pipeline {

// Runs the pipeline in threads of GStreamer's own. Sound that is missing according to its time stamps becomes
// a gap. An error that the pipeline reports is one sentence.
class Gst final : public SoundInputSource {
 public:
  static const NodeType type;

  std::string_view pipeline;

  Status prepare(NodeContext& context) noexcept override;
};

}  // namespace runnel::pipeline
