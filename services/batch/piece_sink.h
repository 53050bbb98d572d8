// A sink that keeps the frames of a piece of a recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/node.h"

namespace runnel::batch {

class PieceSink final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;
  pipeline::Format format;
  std::vector<std::byte> bytes;
  std::int64_t drop = 0;  // leading frames to drop

  Status prepare(pipeline::NodeContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;
};

}  // namespace runnel::batch
