// Gaussian noise added to samples.
#pragma once

#include "pipeline/node.h"

namespace runnel::pipeline {

class Dither final : public Node {
 public:
  static const NodeType type;

  float deviation = 0.00003F;  // of samples in [-1, 1)
  std::int32_t seed = 0;

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;

 private:
  std::size_t channels_ = 1;
};

}  // namespace runnel::pipeline
