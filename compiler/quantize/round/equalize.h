// Changes to a float graph that leave its results as they are and make it easier to quantize.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/quantize/calibrate/clips.h"
#include "compiler/quantize/options.h"

namespace runnel::compiler::quantizer {

// One change: results of `makers` times a factor per channel, which their `readers` divide by again. Nodes by
// name.
struct Scaling {
  std::vector<std::string> makers, readers;
  std::vector<double> factors;
};
// Errors: mismatch for nodes that there are not, that have no weights, or have another number of channels
// than there are factors.
Status apply(const Scaling& scaling, Graph& graph);

// Factors per channel move from weighted operators into the ones that read them, through what treats channels
// alike (ReLU, pools, sums of such tensors): small channels use more of the range. How strong a family of
// tensors is evened out is chosen by `error_of`, the error of a graph's quantized form; nothing is changed
// that makes it worse. Gives the changes, in their order. Errors: those of the runs.
Result<std::vector<Scaling>> equalize(const Clips& clips, std::span<const std::size_t> which,
                                      const Options& options,
                                      const std::function<Result<double>(const Graph&)>& error_of,
                                      Graph& graph);

// Layers of which few weights are much larger than the others become two: one with half of each large weight
// and one with the rest, and their sum.
void split_layers(Graph& graph, const Options& options);

}  // namespace runnel::compiler::quantizer
