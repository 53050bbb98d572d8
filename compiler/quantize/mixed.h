// 16 bits where 8 are not enough.
#pragma once

#include "compiler/quantize/quantize.h"

namespace runnel::compiler::quantizer {

// Operators of `made` become int16, the most sensitive first, until the error of the outputs is at most options.max_error or the multiply-adds that may
// become int16 (options.budget) are used up. Weights are fitted anew. Errors: unsupported when the error is still larger; those of the runs.
Status widen(const Clips& clips, const std::vector<std::size_t>& which, const Options& options, Quantized& made);

}  // namespace runnel::compiler::quantizer
