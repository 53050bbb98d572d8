// Transposed convolutions that an exporter has decomposed.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/ir/graph.h"

namespace runnel::compiler {

// Where insert_zeros is read by nothing but convolutions of stride 1, each of them becomes a transposed
// convolution of its input, with the kernel reversed: no zeros are stored or multiplied, and it can be
// streamed. The numbers stay the same. Leaves alone what does not fit (other readers, other exponents,
// padding of more than the kernel). Shapes must be known.
void fold_inserted_zeros(Graph& graph);

// The data of weights [N][kh][kw][C] with their kernel positions in reverse order.
std::vector<std::byte> turned_round(const Tensor& weights);

}  // namespace runnel::compiler
