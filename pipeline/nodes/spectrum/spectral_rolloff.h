// The frequency below which most of a spectrum lies.
#pragma once

#include "pipeline/node.h"

namespace runnel::pipeline {

// Spectral roll-off of frames x of magnitudes or powers: the lowest f[k] with x[0] + ... + x[k] at least
// `part` times the sum of x, in Hz, with f[k] equally spaced from low_freq to high_freq (G. Tzanetakis, P.
// Cook, Musical Genre Classification of Audio Signals, 2002, section III.A). 0 where the sum of x is not
// above 0.
class SpectralRolloff final : public Node {
 public:
  static const NodeType type;

  float part = 0.85F;                    // of the sum of a frame, 0 to 1
  float low_freq = 0, high_freq = 8000;  // Hz, of the first and the last value of a frame

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;

 private:
  std::size_t bins_ = 0;
};

}  // namespace runnel::pipeline
