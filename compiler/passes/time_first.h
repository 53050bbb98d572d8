// Time before the other axes, where histories need it.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace runnel::compiler {

// The frames of a history must be contiguous: all dimensions before time must be 1. Where
// that is not so (a two-dimensional convolution with time as width, a sum of channel-first tensors), the
// nodes in `refused` and those after them that can follow work on transposed tensors, with kernels, strides
// and padding turned likewise. Padding of time and of other axes at once becomes two paddings. Integers stay
// the same numbers; sums of floats may come in another order. `time_axes`: per tensor, -1: no stream. False:
// nothing to do.
bool put_time_first(Graph& graph, const std::vector<int>& time_axes, const std::vector<int>& refused);

}  // namespace runnel::compiler
