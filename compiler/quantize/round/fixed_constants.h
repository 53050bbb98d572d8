// Constants of operators in fixed point.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/quantize/options.h"

namespace runnel::compiler::quantizer {

// Biases of attention by distance, as scores in fixed point (kernels::kScoreUnit).
Tensor fixed_bias(const Tensor& bias);

// Factors of a layer normalization as int16, fine enough for the offsets beside them, and these in the unit
// that follows.
struct FixedNormConstants {
  Tensor gain, offset;  // offset: empty where there is none
};
FixedNormConstants fixed_norm_constants(const Tensor& gain, const Tensor* offset, Scheme scheme);

}  // namespace runnel::compiler::quantizer
