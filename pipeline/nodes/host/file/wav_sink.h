// Writes a WAV file.
#pragma once

#include "pipeline/node.h"
#include "pipeline/nodes/host/file/sound_file.h"

namespace runnel::pipeline {

class WavSink final : public Node {
 public:
  static const NodeType type;

  std::string_view path;
  std::string_view encoding = "int16";

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status finish() noexcept override;

 private:
  SoundFile file_;
};

}  // namespace runnel::pipeline
