// Functions of one value: which operator of runnel each is.
#pragma once

#include <string_view>

#include "base/status.h"
#include "compiler/espdl/source.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler::espdl_source {

// Sigmoid, Tanh, Swish, HardSwish, HardSigmoid, Gelu, Elu, LeakyRelu, Exp, Log, Sqrt, Neg, Abs, Mish,
// Softplus, Erf.
bool is_function(std::string_view op);

// Its name in a file; empty for operators that are no functions.
std::string_view function_named(OpCode code);

struct FunctionCode {
  OpCode code = OpCode::none;
  Options options;
};
// Errors: invalid_data for attributes of the wrong type, unsupported for unknown variants.
Result<FunctionCode> function_of(const Node& node);

}  // namespace runnel::compiler::espdl_source
