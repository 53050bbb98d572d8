// Bare samples from the standard input.
#pragma once

#include "pipeline/nodes/host/live/pcm_source.h"

namespace runnel::pipeline {

class StdinSource final : public PcmSource {
 public:
  static const NodeType type;

 protected:
  Status open(NodeContext& context) noexcept override;
  Result<std::size_t> read(std::span<std::byte> room) noexcept override { return input_.read(room); }
};

}  // namespace runnel::pipeline
