#include "compiler/import/tflite/operators.h"

#include <algorithm>
#include <array>

#include "compiler/import/tflite/builder.h"

namespace runnel::compiler::tflite_source {

// The conversions, by kind: convert/*.cpp.
Status convert_conv(Builder& builder, const Operator& op);
Status convert_depthwise(Builder& builder, const Operator& op);
Status convert_fully_connected(Builder& builder, const Operator& op);
Status convert_pool(Builder& builder, const Operator& op);
Status convert_binary(Builder& builder, const Operator& op);
Status convert_squared_difference(Builder& builder, const Operator& op);
Status convert_prelu(Builder& builder, const Operator& op);
Status convert_function(Builder& builder, const Operator& op);
Status convert_rsqrt(Builder& builder, const Operator& op);
Status convert_relu(Builder& builder, const Operator& op);
Status convert_softmax(Builder& builder, const Operator& op);
Status convert_reduce(Builder& builder, const Operator& op);
Status convert_batch_matmul(Builder& builder, const Operator& op);
Status convert_quantize(Builder& builder, const Operator& op);
Status convert_reshape(Builder& builder, const Operator& op);
Status convert_expand_dims(Builder& builder, const Operator& op);
Status convert_squeeze(Builder& builder, const Operator& op);
Status convert_transpose(Builder& builder, const Operator& op);
Status convert_pad(Builder& builder, const Operator& op);
Status convert_strided_slice(Builder& builder, const Operator& op);
Status convert_slice(Builder& builder, const Operator& op);
Status convert_concatenation(Builder& builder, const Operator& op);
Status convert_split(Builder& builder, const Operator& op);
Status convert_pack(Builder& builder, const Operator& op);
Status convert_unpack(Builder& builder, const Operator& op);
Status convert_svdf(Builder& builder, const Operator& op);
Status convert_lstm(Builder& builder, const Operator& op);
Status convert_ethos_u(Builder& builder, const Operator& op);
namespace {

constexpr std::string_view kByte = "f32 i8 u8", kAll = "f32 i8 u8 i16", kAny = "any",
                           kState = "i8 i16 f32: frames that a stream keeps";
constexpr std::string_view kLayer = "f32 i8 u8 i16, i8 weights beside f32",
                           kChoice = "f32; i8 u8 i16 of one scale";

// Without a function: part of what surrounds it (variables.h).
constexpr std::array kRows = {
    OperatorRow{Builtin::CONV_2D, "CONV_2D", convert_conv, kLayer},
    OperatorRow{Builtin::DEPTHWISE_CONV_2D, "DEPTHWISE_CONV_2D", convert_depthwise, kLayer},
    OperatorRow{Builtin::FULLY_CONNECTED, "FULLY_CONNECTED", convert_fully_connected, kLayer},
    OperatorRow{Builtin::BATCH_MATMUL, "BATCH_MATMUL", convert_batch_matmul, kByte},
    OperatorRow{Builtin::AVERAGE_POOL_2D, "AVERAGE_POOL_2D", convert_pool, kAll},
    OperatorRow{Builtin::MAX_POOL_2D, "MAX_POOL_2D", convert_pool, kAll},
    OperatorRow{Builtin::ADD, "ADD", convert_binary, kAll, OpCode::add},
    OperatorRow{Builtin::SUB, "SUB", convert_binary, kAll, OpCode::sub},
    OperatorRow{Builtin::MUL, "MUL", convert_binary, kAll, OpCode::mul},
    OperatorRow{Builtin::DIV, "DIV", convert_binary, kByte, OpCode::div},
    OperatorRow{Builtin::MAXIMUM, "MAXIMUM", convert_binary, kChoice, OpCode::max},
    OperatorRow{Builtin::MINIMUM, "MINIMUM", convert_binary, kChoice, OpCode::min},
    OperatorRow{Builtin::SQUARED_DIFFERENCE, "SQUARED_DIFFERENCE", convert_squared_difference, kAll},
    OperatorRow{Builtin::PRELU, "PRELU", convert_prelu, kAll},
    OperatorRow{Builtin::LOGISTIC, "LOGISTIC", convert_function, kAll, OpCode::sigmoid},
    OperatorRow{Builtin::TANH, "TANH", convert_function, kAll, OpCode::tanh},
    OperatorRow{Builtin::HARD_SWISH, "HARD_SWISH", convert_function, kByte, OpCode::hard_swish},
    OperatorRow{Builtin::LEAKY_RELU, "LEAKY_RELU", convert_function, kAll, OpCode::leaky_relu},
    OperatorRow{Builtin::ELU, "ELU", convert_function, kByte, OpCode::elu},
    OperatorRow{Builtin::EXP, "EXP", convert_function, kByte, OpCode::exp},
    OperatorRow{Builtin::LOG, "LOG", convert_function, kByte, OpCode::log},
    OperatorRow{Builtin::SQRT, "SQRT", convert_function, kByte, OpCode::sqrt},
    OperatorRow{Builtin::ABS, "ABS", convert_function, kByte, OpCode::abs},
    OperatorRow{Builtin::NEG, "NEG", convert_function, kByte, OpCode::neg},
    OperatorRow{Builtin::RSQRT, "RSQRT", convert_rsqrt, kByte},
    OperatorRow{Builtin::RELU, "RELU", convert_relu, kAll},
    OperatorRow{Builtin::RELU6, "RELU6", convert_relu, kAll},
    OperatorRow{Builtin::RELU_N1_TO_1, "RELU_N1_TO_1", convert_relu, kAll},
    OperatorRow{Builtin::SOFTMAX, "SOFTMAX", convert_softmax, kAll},
    OperatorRow{Builtin::MEAN, "MEAN", convert_reduce, kAll},
    OperatorRow{Builtin::SUM, "SUM", convert_reduce, kAll},
    OperatorRow{Builtin::REDUCE_MAX, "REDUCE_MAX", convert_reduce, kChoice},
    OperatorRow{Builtin::REDUCE_MIN, "REDUCE_MIN", convert_reduce, kChoice},
    OperatorRow{Builtin::QUANTIZE, "QUANTIZE", convert_quantize, "f32 i8 u8 i16 i32"},
    OperatorRow{Builtin::DEQUANTIZE, "DEQUANTIZE", convert_quantize, "i8 u8 i16 i32 to f32"},
    OperatorRow{Builtin::RESHAPE, "RESHAPE", convert_reshape, kAny},
    OperatorRow{Builtin::SQUEEZE, "SQUEEZE", convert_squeeze, kAny},
    OperatorRow{Builtin::EXPAND_DIMS, "EXPAND_DIMS", convert_expand_dims, kAny},
    OperatorRow{Builtin::TRANSPOSE, "TRANSPOSE", convert_transpose, kAny},
    OperatorRow{Builtin::PAD, "PAD", convert_pad, kAny},
    OperatorRow{Builtin::STRIDED_SLICE, "STRIDED_SLICE", convert_strided_slice, kAny},
    OperatorRow{Builtin::SLICE, "SLICE", convert_slice, kAny},
    OperatorRow{Builtin::CONCATENATION, "CONCATENATION", convert_concatenation, kAll},
    OperatorRow{Builtin::SPLIT, "SPLIT", convert_split, kAny},
    OperatorRow{Builtin::SPLIT_V, "SPLIT_V", convert_split, kAny},
    OperatorRow{Builtin::PACK, "PACK", convert_pack, kAny},
    OperatorRow{Builtin::UNPACK, "UNPACK", convert_unpack, kAny},
    OperatorRow{Builtin::SVDF, "SVDF", convert_svdf, "f32 i8"},
    OperatorRow{Builtin::UNIDIRECTIONAL_SEQUENCE_LSTM, "UNIDIRECTIONAL_SEQUENCE_LSTM", convert_lstm,
                "f32 i8"},
    OperatorRow{Builtin::CALL_ONCE, "CALL_ONCE", nullptr, kState},
    OperatorRow{Builtin::VAR_HANDLE, "VAR_HANDLE", nullptr, kState},
    OperatorRow{Builtin::READ_VARIABLE, "READ_VARIABLE", nullptr, kState},
    OperatorRow{Builtin::ASSIGN_VARIABLE, "ASSIGN_VARIABLE", nullptr, kState},
};

}  // namespace

std::span<const OperatorRow> operator_rows() { return kRows; }

const OperatorRow* find_operator(Builtin builtin) {
  const auto* const found = std::ranges::find(kRows, builtin, &OperatorRow::builtin);
  return found == kRows.end() ? nullptr : found;
}

const OperatorRow* find_operator(const Operator& op) {
  static constexpr OperatorRow kEthosU{Builtin::CUSTOM, "ethos-u", convert_ethos_u, kAny};
  if (op.code != Builtin::CUSTOM) return find_operator(op.code);
  return op.custom == kEthosU.name ? &kEthosU : nullptr;
}

}  // namespace runnel::compiler::tflite_source
