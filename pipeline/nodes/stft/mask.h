// Complex spectra times a mask.
#pragma once

#include "pipeline/node.h"

namespace runnel::pipeline {

// Multiplies a spectrum with a mask. A frame of the input is a spectrum of 2 K values and, after it, a mask
// of K values; the output is the masked spectrum.
class Mask final : public Node {
 public:
  static const NodeType type;

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;

 private:
  std::size_t bins_ = 0;
};

}  // namespace runnel::pipeline
