// The centre of gravity of a spectrum.
#pragma once

#include "pipeline/node.h"

namespace runnel::pipeline {

// Spectral centroid of frames x of magnitudes or powers: sum of f[k] x[k] over sum of x[k], in Hz, with f[k]
// equally spaced from low_freq to high_freq (A. Klapuri, M. Davy, Signal Processing Methods for Music
// Transcription, 2006, chapter 5). 0 where the sum of x is not above 0.
class SpectralCentroid final : public Node {
 public:
  static const NodeType type;

  float low_freq = 0, high_freq = 8000;  // Hz, of the first and the last value of a frame

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;

 private:
  std::size_t bins_ = 0;
};

}  // namespace runnel::pipeline
