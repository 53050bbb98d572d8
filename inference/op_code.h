// Names of operators and of their options, with the numbers that a model file uses.
//
// The numbers are part of the file format: append only. inference/op_code.cpp holds them equal to the schema
// (inference/model/model.fbs), whose generated header only the readers and writers of files include.
#pragma once

#include <cstdint>

namespace runnel {

// docs/operators.md says what each computes. `hard_tanh` is `clip`, `identity` is `reshape`.
enum class OpCode : std::uint16_t {
  none = 0,
  conv,
  fully_connected,
  matmul,
  add,
  sub,
  mul,
  div,
  max,
  min,
  average_pool,
  max_pool,
  lut,
  relu,
  clip,
  prelu,
  requantize,
  quantize,
  dequantize,
  reshape,
  transpose,
  slice,
  concat,
  split,
  pad,
  reduce_mean,
  reduce_sum,
  reduce_max,
  reduce_min,
  softmax,
  log_softmax,
  mod,
  pow,
  abs,
  neg,
  exp,
  log,
  sqrt,
  sigmoid,
  tanh,
  swish,
  hard_sigmoid,
  hard_swish,
  gelu,
  elu,
  leaky_relu,
  mish,
  softplus,
  erf,
  equal,
  greater,
  greater_or_equal,
  less,
  less_or_equal,
  logical_and,
  logical_or,
  logical_xor,
  logical_not,
  where,
  cast,
  arg_max,
  top_k,
  reduce_l1,
  reduce_l2,
  reduce_prod,
  reduce_log_sum,
  reduce_log_sum_exp,
  reduce_sum_square,
  gru,
  lstm,
  layer_norm,
  rms_norm,
  lp_norm,
  resize,
  depth_to_space,
  space_to_depth,
  gather,
  scatter_nd,
  reverse_sequence,
  insert_zeros,
  transposed_conv,
  expand,
  streaming_cache,
  custom,
  svdf,
  delegate,
  read_variable,
  assign_variable,
  attention,
  squared_difference,
  swoosh,
};
inline constexpr int kOpCodes = static_cast<int>(OpCode::swoosh) + 1;

// What is done to a result before it is stored. relu6, relu_n1_to_1: the limits are 0 and 6, -1 and 1;
// operators with free scales only.
enum class Activation : std::uint8_t { none = 0, relu, relu6, relu_n1_to_1 };
enum class PadMode : std::uint8_t { zero = 0, reflect, edge };
// Of recurrent operators: which way they read time.
enum class Direction : std::uint8_t { forward = 0, reverse, bidirectional };
enum class ResizeMode : std::uint8_t { nearest = 0, linear };
// Where output i of n reads an input of m elements: i*m/n; (i + 1/2)*m/n - 1/2; i*(m - 1)/(n - 1).
enum class ResizeCoordinates : std::uint8_t { asymmetric = 0, half_pixel, align_corners };
enum class ScatterReduction : std::uint8_t { none = 0, add, mul, max, min };
inline constexpr int kScatterReductions = 5;

// Which arithmetic an operator computes with. With the code it names one definition; docs/operators.md has
// all of them.
//
// The number is the operator's `version` in a model file, so that one number can have two names: the code
// decides which of them is meant. Append only.
enum class Arithmetic : std::uint8_t {
  // The arithmetic of most operators: scales are powers of two, results are shifted and rounded in ESP-DL's
  // order (github.com/espressif/esp-dl). Also float32 and plain integers.
  espdl = 1,
  exact = 2,   // add, sub, mul: powers of two, the exact result rounded once
  tflite = 3,  // any scale and zero point, as TensorFlow Lite's reference kernels compute
  only = 1,    // of an operator that has one arithmetic, which is not ESP-DL's

  floored = 2,      // mod: the result has the sign of b, not of a
  fixed_point = 2,  // attention, layer_norm: integers with any scales, computed without floats

  hybrid =
      3,  // conv, fully_connected: float32 activations, int8 weights; the input is quantized while running
  multipliers = 4,  // conv, fully_connected: multiplier and shift of each channel come as inputs (CMSIS-NN's)

  // Reductions over windows of time.
  windows = 2,              // as espdl
  tflite_windows = 4,       // as tflite
  pool_windows = 5,         // reduce_mean rounded as average_pool does, espdl
  tflite_pool_windows = 6,  // the same, tflite

  // Recurrent operators that keep their state from call to call.
  stateful_tflite = 3,  // lstm
  stateful_shifts = 4,  // lstm, scales are powers of two
  shifts = 2,           // svdf, scales are powers of two; its other arithmetic (`only`) is TensorFlow Lite's
};

// How a stream of frames becomes runs of a model (inference/model/usage.h).
enum class UsageKind : std::uint8_t { stream = 0, step, window, whole };

// The name in the schema: "conv". Static text; empty for a number that this build does not know.
const char* name_of(OpCode code) noexcept;
// "tflite"; empty for a pair that no operator of this library has.
const char* name_of(OpCode code, Arithmetic arithmetic) noexcept;
const char* name_of(Activation activation) noexcept;
const char* name_of(Direction direction) noexcept;
const char* name_of(ResizeCoordinates coordinates) noexcept;
const char* name_of(ScatterReduction reduction) noexcept;

}  // namespace runnel
