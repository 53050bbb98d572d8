// 16 bits where 8 are not enough, and floats where 16 are not.
#pragma once

#include "compiler/quantize/quantize.h"

namespace runnel::compiler::quantizer {

// Operators of `made` become int16, those that leave the largest error alone first, until the error of the
// outputs is at most options.max_error. Where all of them as int16 are not enough, operators become float32,
// each time those that gain most in what there is then; afterwards as many as can return to 8 bits. Together
// they have at most the share options.budget of the multiply-adds. The error is measured on clips that
// weights are fitted to and on a quarter that is held back; the larger one counts and becomes made.error.
// ESP-DL has no float form of layers, products of matrices and maximum pools: for its targets they stay
// integers. Weights are fitted again. The notes name what became float. Errors: unsupported when the error is
// still larger; those of the runs.
Status assign_mixed_precision(const Clips& clips, const std::vector<std::size_t>& which,
                              const Options& options, Quantized& made);

}  // namespace runnel::compiler::quantizer
