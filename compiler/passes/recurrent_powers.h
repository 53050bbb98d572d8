// SVDF and LSTM layers with power-of-two scales (powers_of_two.h).
#pragma once

#include <functional>

#include "base/status.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler {

// An integer SVDF or LSTM in TensorFlow Lite's arithmetic becomes one with powers of two. `graph` gets
// new weights, one power of two for each matrix from its largest element, and new biases; `before` gives
// tensors as they were, `exponent` that of activations. Errors: unsupported for an SVDF whose activation has
// no form (an activation other than ReLU).
Status fold_recurrent(Graph& graph, Node& node, const std::function<const Tensor&(TensorId)>& before,
                      const std::function<int(TensorId)>& exponent);

// The smallest exponent with which integers from -most to most reach `size`.
int exponent_for(double size, std::int32_t most);

}  // namespace runnel::compiler
