// Tables for functions of one value where a file brings none.
#pragma once

#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "compiler/espdl/source.h"
#include "kernels/requantize.h"

namespace runnel::compiler::espdl_source {

// Sigmoid, Tanh, Swish, HardSwish, HardSigmoid, Gelu, Elu, LeakyRelu, Exp, Log, Sqrt, Neg, Abs.
bool is_function(std::string_view op);

// One entry for every integer of the input type: 256 (int8), or 65537 over [-32768, 32768] (int16), which gives what ESP-DL
// computes per element: the function in float32 of the real value, divided by the output's scale, rounded and saturated.
// The entries have the type `to`. Errors: invalid_data for attributes of the wrong type, unsupported for unknown variants.
Result<std::vector<std::byte>> make_table(const Node& node, DType from, int from_exponent, DType to, int to_exponent,
                                          kernels::Rounding rounding);

}  // namespace runnel::compiler::espdl_source
