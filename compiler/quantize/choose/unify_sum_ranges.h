// Sums whose operands and result have one scale.
#pragma once

#include "base/status.h"
#include "compiler/quantize/choose/quantization_noise.h"
#include "compiler/quantize/plan.h"

namespace runnel::compiler::quantizer {

// Sums of two computed tensors of one shape, with power-of-two scales, come to share one range where that
// makes the error of the outputs worse by at most `slack` of it: with equal scales a sum is computed along by
// the convolution before it, without any rounding. Their tensors then are one group of the plan. Gives
// how many sums share a range afterwards. Errors: those of the runs.
Result<int> unify_sum_ranges(const Graph& graph, const ReferenceOutputs& reference, double slack,
                             const Progress& progress, Plan& plan);

}  // namespace runnel::compiler::quantizer
