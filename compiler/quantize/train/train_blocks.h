// Weights, and with them the scales, of whole blocks.
#pragma once

#include <span>

#include "base/status.h"
#include "compiler/quantize/calibrate/clips.h"
#include "compiler/quantize/choose/quantization_noise.h"
#include "compiler/quantize/options.h"
#include "compiler/quantize/plan.h"

namespace runnel::compiler::quantizer {

// Block by block (blocks.h), in the order of execution: weights and biases, and with methods.tqt the
// exponents of weights and activations, are trained until the block's results on the inputs that the integer
// model before it gives come closest to the float ones. No labels are needed. A fifth of the clips
// chooses among the stages of the training; what does not make the outputs of `reference` better is not
// taken. The same for every number of threads, and for the same options.seed. Errors: those of the runs.
Status train_blocks(const Graph& graph, const Clips& clips, std::span<const std::size_t> which,
                    const ReferenceOutputs& reference, const Methods& methods, const Options& options,
                    Plan& plan);

}  // namespace runnel::compiler::quantizer
