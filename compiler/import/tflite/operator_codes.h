// TensorFlow Lite's numbers of operators, types, activations and paddings, as far as the importer names them.
#pragma once

#include <cstdint>

namespace runnel::compiler::tflite_source {

enum class Builtin : std::int32_t {
  ADD = 0,
  AVERAGE_POOL_2D = 1,
  CONCATENATION = 2,
  CONV_2D = 3,
  DEPTHWISE_CONV_2D = 4,
  DEQUANTIZE = 6,
  FULLY_CONNECTED = 9,
  LOGISTIC = 14,
  MAX_POOL_2D = 17,
  MUL = 18,
  RELU = 19,
  RELU_N1_TO_1 = 20,
  RELU6 = 21,
  RESHAPE = 22,
  SOFTMAX = 25,
  SVDF = 27,
  TANH = 28,
  CUSTOM = 32,
  PAD = 34,
  TRANSPOSE = 39,
  MEAN = 40,
  SUB = 41,
  DIV = 42,
  SQUEEZE = 43,
  UNIDIRECTIONAL_SEQUENCE_LSTM = 44,
  STRIDED_SLICE = 45,
  EXP = 47,
  SPLIT = 49,
  MAXIMUM = 55,
  MINIMUM = 57,
  NEG = 59,
  SLICE = 65,
  EXPAND_DIMS = 70,
  LOG = 73,
  SUM = 74,
  SQRT = 75,
  RSQRT = 76,
  REDUCE_MAX = 82,
  PACK = 83,
  UNPACK = 88,
  REDUCE_MIN = 89,
  LEAKY_RELU = 98,
  SQUARED_DIFFERENCE = 99,
  ABS = 101,
  SPLIT_V = 102,
  QUANTIZE = 114,
  HARD_SWISH = 117,
  BATCH_MATMUL = 126,
  CALL_ONCE = 129,
  VAR_HANDLE = 142,
  READ_VARIABLE = 143,
  ASSIGN_VARIABLE = 144
};

enum class FusedActivation : std::int8_t { none = 0, relu = 1, relu_n1_to_1 = 2, relu6 = 3, tanh = 4 };

}  // namespace runnel::compiler::tflite_source
