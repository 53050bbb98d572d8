// Weights and biases of one layer, chosen for its results on real inputs.
#pragma once

#include <span>

#include "base/status.h"
#include "compiler/quantize/calibrate/clips.h"
#include "compiler/quantize/plan.h"
#include "compiler/quantize/round/gram_matrix.h"

namespace runnel::compiler::quantizer {

// The layer whose results on the inputs that the sums were made of come closest to the float ones.
// methods.round: integers are chosen together (in the order of a Cholesky factor, then one by one until none
// improves), from the least squares weights; else each is the nearest one of the float weights.
// methods.correct_bias: the bias is the one of least error; else it is the float one.
Layer fit_layer(const Graph& graph, const Node& node, const Plan& plan, const GramMatrix& gram,
                const Methods& methods);

// A matrix of a recurrent operator, [rows of the gram] by [channels], rounded for its products in the same
// way; powers of two, one for the whole matrix.
Layer fit_matrix(const Tensor& weights, DType type, const GramMatrix& gram, double hold);

// Fits every layer, and the matrices of recurrent operators, in the order of execution, each to the inputs
// that the layers before it give as integers. Errors: those of the runs.
Status fit_layers(const Graph& graph, const Clips& clips, std::span<const std::size_t> which,
                  const Methods& methods, const Options& options, Plan& plan);

}  // namespace runnel::compiler::quantizer
