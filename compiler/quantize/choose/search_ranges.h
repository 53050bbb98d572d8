// Ranges of all tensors together, by the error of the outputs.
#pragma once

#include "compiler/quantize/choose/quantization_noise.h"
#include "compiler/quantize/plan.h"

namespace runnel::compiler::quantizer {

// Tries a finer and a coarser grid for every group of tensors (and the gates of recurrent operators) in turn,
// and keeps what makes the outputs better, until nothing does or `passes` are over. Ranges of the outputs
// themselves stay. Returns the error reached. Errors: those of the runs.
Result<double> search_ranges(const Graph& graph, const ReferenceOutputs& reference, int passes,
                             const Progress& progress, Plan& plan);

// Shifts to the left that the target does not have are avoided: ranges of results grow until their operators
// have none.
void avoid_left_shifts(const Graph& graph, Plan& plan);

}  // namespace runnel::compiler::quantizer
