// Changes to a float graph that leave its results as they are and make it easier to quantize.
#pragma once

#include <span>

#include "compiler/quantize/clips.h"
#include "compiler/quantize/options.h"

namespace runnel::compiler::quantizer {

// Factors per channel move from one weighted operator into the next one where between them stands nothing that minds: no other reader, and at most a ReLU. A channel's
// factor balances the weights behind it and the values in it, so that small channels use more of the range. Errors: those of the runs.
Status equalize(const Clips& clips, std::span<const std::size_t> which, const Options& options, Graph& graph);

// Layers of which few weights are much larger than the others become two: one with half of each large weight and one with the rest, and their sum.
void split_layers(Graph& graph, const Options& options);

}  // namespace runnel::compiler::quantizer
