// Functions of one value as tables.
#pragma once

#include <optional>

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "kernels/elementwise/functions.h"

namespace runnel::compiler::quantizer {

// The function of one value that a node computes; nothing for other nodes.
std::optional<kernels::FunctionSpec> function_of(const Node& node);

// The table of an `lut` operator for the function that `node` is, between these scales: 256 entries for int8,
// `wide_entries` for int16, 2^n + 1. Errors: unsupported for what is no function.
Result<Tensor> make_function_table(const Node& node, const Tensor& x, const Tensor& y,
                                   kernels::Rounding rounding, int wide_entries = 257);

}  // namespace runnel::compiler::quantizer
