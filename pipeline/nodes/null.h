// A sink that drops everything: for timing, and to end a branch.
#pragma once

#include "pipeline/node.h"

namespace runnel::pipeline {

class Null final : public Node {
 public:
  static const NodeType type;

  Status prepare(NodeContext&) noexcept override { return {}; }
  Status process(const Block&, Output&) noexcept override { return {}; }
};

}  // namespace runnel::pipeline
