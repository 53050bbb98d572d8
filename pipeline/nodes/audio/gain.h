// Samples times a factor.
#pragma once

#include "pipeline/node.h"

namespace runnel::pipeline {

class Gain final : public Node {
 public:
  static const NodeType type;

  float db = 0;

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;

 private:
  float factor_ = 1;
  std::size_t channels_ = 1;
};

}  // namespace runnel::pipeline
