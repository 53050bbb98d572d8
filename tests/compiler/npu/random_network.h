// Small random networks of int8 layers that the NPU computes, with power-of-two scales or any. For tests.
#pragma once

#include <cstdint>

#include "compiler/ir/graph.h"

namespace runnel::test {

struct NetworkChoice {
  bool affine = false;
  bool stream = false;        // time is axis 1 of the input, and every layer can be streamed
  bool newest = false;        // also what only the U85 computes
  bool transformers = false;  // also layer normalization, and on the U85 attention over a window
};

// The same seed gives the same network.
compiler::Graph random_network(const NetworkChoice& choice, std::uint32_t seed);

}  // namespace runnel::test
