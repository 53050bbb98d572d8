// Reduces several channels to one: their mean, or a selected one.
#pragma once

#include "pipeline/node.h"

namespace runnel::pipeline {

class Downmix final : public Node {
 public:
  static const NodeType type;

  std::int32_t channel = -1;  // -1: the mean of all

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;

 private:
  std::int32_t channels_ = 1;
};

}  // namespace runnel::pipeline
