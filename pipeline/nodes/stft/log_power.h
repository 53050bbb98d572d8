// Logarithms of the powers of complex spectra, for a model that masks them.
#pragma once

#include "features/simd/kernels.h"
#include "pipeline/node.h"

namespace runnel::pipeline {

// ln(max(re^2 + im^2, floor)) of each of the K bins of a spectrum. With `keep`, a frame is the spectrum and
// after it the K logarithms, and the spectrum passes by a model (Format::beside): `infer` gives the spectrum
// and the model's factors, as `mask` takes them.
class LogPower final : public Node {
 public:
  static const NodeType type;

  float floor = 1.1920929e-7F;  // of the powers, above 0
  bool keep = true;

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;

 private:
  const features::Kernels* kernels_ = nullptr;
  std::size_t bins_ = 0;
};

}  // namespace runnel::pipeline
