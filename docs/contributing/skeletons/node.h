// Envelope of samples: the peak of each channel, with an exponential decay.
//
// y[t] = max(|x[t]|, decay * y[t - 1]), y[-1] = 0.
//
// Copy to pipeline/nodes/audio/NAME.h. First line: what the node computes; then the formula and its source.
#pragma once

#include "pipeline/node.h"

namespace runnel::pipeline {

class Envelope final : public Node {
 public:
  static const NodeType type;

  float decay = 0.999f;  // per sample, 0 to 1

  Status prepare(NodeContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;

 private:
  std::span<float> peaks_;  // one per channel: the only state
};

}  // namespace runnel::pipeline
