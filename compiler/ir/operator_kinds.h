// Kinds of operators, by code.
#pragma once

#include "inference/op_code.h"

namespace runnel::compiler {

// A function of one value: abs to erf.
constexpr bool is_function(OpCode code) noexcept { return code >= OpCode::abs && code <= OpCode::erf; }
// A function of pairs of numbers whose shapes broadcast.
constexpr bool is_pair(OpCode code) noexcept {
  switch (code) {
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
    case OpCode::div:
    case OpCode::max:
    case OpCode::min:
    case OpCode::mod:
    case OpCode::pow:
    case OpCode::squared_difference:
      return true;
    default:
      return false;
  }
}

}  // namespace runnel::compiler
