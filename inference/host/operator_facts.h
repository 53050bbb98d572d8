// What people want to know of every operator, as one table (docs/operators.md).
#pragma once

#include <string>
#include <string_view>

#include "inference/operator.h"

namespace runnel {

struct OperatorFacts {
  std::string_view name;  // as in the definition
  int version = 1;
  std::string_view inputs;  // in order
  std::string_view
      types;  // i8: int8, i16: int16, f32: float32, with power-of-two scales where they are quantized
  std::string_view stream;  // how it follows time
  std::string_view arithmetic;
};

// Null when nothing is known of the operator.
const OperatorFacts* operator_facts(std::string_view name, int version);

// The page: one row per operator of the table, sorted by name and version. `missing` receives the operators
// without facts, one per line.
std::string operators_markdown(OperatorTable table, std::string& missing);

}  // namespace runnel
