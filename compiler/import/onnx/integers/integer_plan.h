// Which operators become integer ones, and with which tensors.
#pragma once

#include <optional>
#include <vector>

#include "compiler/import/onnx/integers/integer_form.h"
#include "compiler/import/onnx/integers/value_table.h"

namespace runnel::compiler {

// Weights as integers with a zero point of 0 and one scale, or one per output channel.
struct IntegerWeights {
  std::vector<std::int32_t> values;
  std::vector<float> scales;
  bool wide = false;  // not all within int8: one zero point for weights of 8 bits is not in the middle
};

// A float operator between dequantize and quantize.
struct Plan {
  enum class Kind { table, weighted, pair, single, concat };
  Kind kind = Kind::table;
  std::size_t quantize = 0, op = 0;  // nodes; op: not of tables
  std::optional<std::size_t> clip;   // a clip between the two
  std::vector<TensorId> inputs;      // integers; constants are there, too
  TensorId output = kAbsent;         // integers
  bool powers_only = false;          // has no form with multipliers
  IntegerWeights weights;            // weighted
  Pointwise piece;                   // table
};

// Plans for all quantize nodes that have one. Constant operands with a grid get integer twins in `graph`.
std::vector<Plan> find_plans(Graph& graph, const Grids& grids);

// 2^exponent == scale; nothing for other scales.
std::optional<int> exponent_of(float scale);

}  // namespace runnel::compiler
