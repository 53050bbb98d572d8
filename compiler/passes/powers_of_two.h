// Models with any scales and zero points (multiplier and shift) as models with power-of-two scales (shift
// only).
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler {

// Every int8 and int16 tensor with a scale gets the smallest power of two that holds all its values, and zero
// point 0, inputs and outputs of the graph among them; weights get one per output channel, from their largest
// element; weights, biases, constants, limits and tables are computed again. Operators in TensorFlow Lite's
// arithmetic become those of ESP-DL's arithmetic, rounding half_even. Test vectors are dropped: they are
// those of another model. Float parts stay. A graph without scales is left as it is. Errors: unsupported
// naming an operator that has no form with shifts.
Status to_powers_of_two(Graph& graph);

// How far `folded` is from `graph`, for one output.
struct Difference {
  double largest = 0, rms = 0;  // of the differences, in the output's own unit
  double signal_rms = 0;        // of the output of `graph`
  std::int64_t values = 0;
};
// Per output, over the test vectors of `graph`, or without any over `calls` calls with random inputs (uniform
// over what the input's scale, or that of the quantize after it, can hold; floats without one: -1 to 1), one
// after the other. Errors: those of running the graphs.
Result<std::vector<Difference>> compare(const Graph& graph, const Graph& folded, int calls,
                                        std::uint32_t seed);

}  // namespace runnel::compiler
