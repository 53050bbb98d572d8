// A source that declares mono sound and never gives any, for graphs that are only negotiated.
#pragma once

#include <vector>

#include "pipeline/node.h"

namespace runnel::pipeline {

class Promise final : public Node {
 public:
  static const NodeType type;  // sound sample_rate=16000

  std::int64_t sample_rate = 16000;

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
};

// `nodes` and `more`.
std::vector<const NodeType*> with_nodes(NodeTable nodes, std::initializer_list<const NodeType*> more);

}  // namespace runnel::pipeline
