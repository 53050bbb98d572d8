// Kinds of operators, by code.
#pragma once

#include "inference/model/model_generated.h"

namespace runnel::compiler {

// A function of one value: abs to erf.
constexpr bool is_function(fb::OpCode code) noexcept {
  return code >= fb::OpCode::abs && code <= fb::OpCode::erf;
}
// A function of pairs of numbers whose shapes broadcast.
constexpr bool is_pair(fb::OpCode code) noexcept {
  switch (code) {
    case fb::OpCode::add:
    case fb::OpCode::sub:
    case fb::OpCode::mul:
    case fb::OpCode::div:
    case fb::OpCode::max:
    case fb::OpCode::min:
    case fb::OpCode::mod:
    case fb::OpCode::pow:
    case fb::OpCode::squared_difference:
      return true;
    default:
      return false;
  }
}

}  // namespace runnel::compiler
