// What hosts know of every operator, a row per operator: what importers, graph passes, the
// quantizer and docs/operators.md ask. How it computes is in inference/ops/, which devices link without this.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "inference/op_code.h"
#include "inference/operator_table.h"

namespace runnel {

enum class Family : std::uint8_t {
  product,        // of matrices and windows: conv, matmul, attention
  pair,           // arithmetic of two numbers whose shapes broadcast
  comparison,     // of two numbers whose shapes broadcast, to bool
  logic,          // of two bools whose shapes broadcast
  element,        // of one number; further inputs are tables for all of them
  function,       // of one number, given by a formula: abs to erf
  choice,         // between numbers, or of their positions
  pool,           // over windows of the spatial axes
  movement,       // of numbers, to other places
  reduction,      // over axes
  normalization,  // over an axis: softmax, layer_norm
  recurrence,     // along time, with a hidden state
  state,          // read from and written to the session
  outside         // computed by the application or by a back end
};

// Which rule gives the shapes of the outputs (compiler/ir/shapes.cpp).
enum class Shapes : std::uint8_t {
  as_input,  // that of the first input
  broadcast,
  along_axis,
  reduce,
  pool,
  recurrent,
  given,    // by the graph
  outside,  // by the graph, any number of outputs
  // Of one operator each.
  conv,
  fully_connected,
  matmul,
  transposed_conv,
  attention,
  lut,
  prelu,
  where,
  arg_max,
  top_k,
  reshape,
  transpose,
  slice,
  concat,
  split,
  pad,
  gather,
  depth_to_space,
  space_to_depth,
  insert_zeros,
  svdf,
  streaming_cache,
  read_variable
};

// When no output is below zero, whatever a fused activation does.
enum class Sign : std::uint8_t {
  unknown,
  never_negative,
  as_first,    // where the first input is not
  as_second,   // where the second one is not
  as_any,      // where one of the inputs is not
  as_all,      // where none of the inputs is
  of_options,  // depends on the first input and on options
};

// Whether zeros in all computed inputs give zeros.
enum class Zeros : std::uint8_t {
  unknown,
  zero,                      // yes
  zero_with_zero_constants,  // where constant inputs are zeros, too
  of_constants               // depends on the bias, or on the table
};

// Multiply-adds (inference/host/cost.h).
enum class Products : std::uint8_t {
  none,
  weights,  // per output: all weights of its channel
  inner,    // per output: the last axis of the first input
  taps,     // per output: the weights that meet it, in the mean
  gates,    // per frame: all weights of x and h
  filters   // per row of x: all weights over features and over time
};

// What quantization of a float operator means (compiler/quantize).
enum class QuantizerRole : std::uint8_t {
  real,       // stays float32 (or works on plain integers)
  weighted,   // convolution, fully connected: constant weights with scales of their own
  passive,    // moves values: the result has the input's scale
  concat,     // all inputs get the result's scale
  value,      // one input and a scale of its own for the result: pools, reductions, activations
  function,   // the same, by a table where the target wants one
  pair,       // two inputs, each with its scale
  softmax,    // integers in, float32 out
  shares,     // the same, but to integers: parts of 1, whose scale is given
  recurrent,  // GRU, LSTM
  attention,  // queries, keys and values with their scales; tables of distances are constants
  norm        // one input, factors and offsets are constants
};

// One arithmetic of an operator, in words for docs/operators.md.
struct ArithmeticFacts {
  Arithmetic arithmetic = Arithmetic::espdl;
  std::string_view inputs;  // in order; empty: no such arithmetic
  std::string_view types;   // i8: int8, i16: int16, f32: float32; power-of-two scales unless it says "scales"
  std::string_view stream;  // how it follows time
  std::string_view numbers;  // how it computes and rounds
};

struct OperatorTraits {
  OpCode code = OpCode::none;
  Family family = Family::outside;
  Shapes shapes = Shapes::as_input;
  Sign sign = Sign::unknown;
  Zeros zeros = Zeros::unknown;
  Products products = Products::none;
  bool spatial = false;  // works along height and width of [N, H, W, C]; its options name both
  bool moves = false;  // every output element is one of an input, or padding of the same scale and zero point
  // With power-of-two scales, and with scales and zero points as TensorFlow Lite has them.
  QuantizerRole role = QuantizerRole::real, affine_role = QuantizerRole::real;
  ArithmeticFacts arithmetics[6] = {};
};

// The rows, by code. Where they are written: inference/host/operators/, a file per family or a few.
std::span<const OperatorTraits> all_operator_traits() noexcept;

// Of a code above `none`.
const OperatorTraits& traits_of(OpCode code) noexcept;

inline bool is_function(OpCode code) noexcept { return traits_of(code).family == Family::function; }
inline bool is_pair(OpCode code) noexcept { return traits_of(code).family == Family::pair; }
// Computes every output element from the one element of the first input in the same place.
inline bool is_elementwise(OpCode code) noexcept {
  return traits_of(code).family == Family::element || is_function(code);
}

// Null when the operator has no such arithmetic.
const ArithmeticFacts* arithmetic_facts(OpCode code, Arithmetic arithmetic) noexcept;

// docs/operators.md: a row per operator of the table, sorted by name and arithmetic. `missing` receives the
// operators that have no facts, one per line.
std::string operators_markdown(OperatorTable table, std::string& missing);

}  // namespace runnel
