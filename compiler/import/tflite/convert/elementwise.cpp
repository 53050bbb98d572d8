// Pairs of tensors, functions of one value, activations, softmax, means, changes of scale.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/import/tflite/builder.h"
#include "compiler/import/tflite/integer_table.h"
#include "compiler/import/tflite/operators.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler::tflite_source {
namespace {

std::int8_t fused_of(const Operator& op) {
  const tflite::ArithmeticOptions* o = nullptr;
  switch (op.code) {
    case Builtin::ADD:
      o = op.table->builtin_options_as_Add();
      break;
    case Builtin::SUB:
      o = op.table->builtin_options_as_Sub();
      break;
    case Builtin::MUL:
      o = op.table->builtin_options_as_Mul();
      break;
    case Builtin::DIV:
      o = op.table->builtin_options_as_Div();
      break;
    default:
      break;
  }
  return o == nullptr ? std::int8_t{0} : o->fused_activation_function();
}

// The functions of int8 that the reference computes by a table of float32 results.
float exp_of(float x) { return static_cast<float>(std::exp(static_cast<double>(x))); }
float log_of(float x) { return static_cast<float>(std::log(static_cast<double>(x))); }
float sqrt_of(float x) { return std::sqrt(x); }
float elu_of(float x) { return x < 0 ? static_cast<float>(std::expm1(static_cast<double>(x))) : x; }
float negative_of(float x) { return -x; }
auto tabulated(Builtin code) -> float (*)(float) {
  switch (code) {
    case Builtin::EXP:
      return exp_of;
    case Builtin::LOG:
      return log_of;
    case Builtin::SQRT:
      return sqrt_of;
    case Builtin::ELU:
      return elu_of;
    case Builtin::NEG:
      return negative_of;
    default:
      return nullptr;  // ABS, RSQRT: in integers
  }
}

TensorId float_constant(Builder& builder, const Operator& op, float value) {
  std::vector<std::byte> data(sizeof value);
  std::memcpy(data.data(), &value, sizeof value);
  return builder.constant(op, DType::float32, {1}, std::move(data));
}

}  // namespace

Status convert_binary(Builder& builder, const Operator& op) {
  RUNNEL_ASSIGN(const TensorId a, builder.operand(op, 0));
  RUNNEL_ASSIGN(const TensorId b, builder.operand(op, 1));
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  RUNNEL_ASSIGN(const Activated how, activated(builder, op, fused_of(op), y));
  const bool floats = builder.is_float(y);
  const BinaryOptions options{how.clipped ? Activation::none : how.activation};
  RUNNEL_TRY(builder.emit(op, find_operator(op)->code, {a, b}, {how.to}, options,
                          floats ? Arithmetic::espdl : Arithmetic::tflite));
  return finish_activated(builder, op, how, y);
}

Status convert_squared_difference(Builder& builder, const Operator& op) {
  RUNNEL_ASSIGN(const TensorId a, builder.operand(op, 0));
  RUNNEL_ASSIGN(const TensorId b, builder.operand(op, 1));
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  if (!builder.is_float(y)) return builder.emit(op, OpCode::squared_difference, {a, b}, {y}, BinaryOptions{});
  const TensorId difference = builder.intermediate(y, op);
  RUNNEL_TRY(builder.emit(op, OpCode::sub, {a, b}, {difference}, BinaryOptions{}));
  return builder.emit(op, OpCode::mul, {difference, difference}, {y}, BinaryOptions{});
}

Status convert_prelu(Builder& builder, const Operator& op) {
  RUNNEL_ASSIGN(const TensorId x, builder.operand(op, 0));
  RUNNEL_ASSIGN(const TensorId slopes, builder.operand(op, 1));
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  return builder.emit(op, OpCode::prelu, {x, slopes}, {y}, {},
                      builder.is_float(y) ? Arithmetic::espdl : Arithmetic::tflite);
}

Status convert_function(Builder& builder, const Operator& op) {
  RUNNEL_ASSIGN(const TensorId x, builder.operand(op, 0));
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  FunctionOptions options;
  if (op.code == Builtin::LEAKY_RELU) {
    const auto* const o = op.table->builtin_options_as_LeakyRelu();
    if (o == nullptr) return Builder::fail(op) << "its options are missing";
    options.alpha = o->alpha();
  }
  if (op.code == Builtin::ELU) options.alpha = 1;  // the format has no other
  const bool floats = builder.is_float(y);
  const bool affine = op.code == Builtin::LOGISTIC || op.code == Builtin::TANH ||
                      op.code == Builtin::HARD_SWISH || op.code == Builtin::LEAKY_RELU;
  if (!floats && !affine) return emit_table(builder, op, x, y, tabulated(op.code));
  const bool plain = op.code != Builtin::LEAKY_RELU && op.code != Builtin::ELU;
  return builder.emit(op, find_operator(op)->code, {x}, {y}, plain ? Options() : Options(options),
                      floats ? Arithmetic::espdl : Arithmetic::tflite);
}

Status convert_rsqrt(Builder& builder, const Operator& op) {
  RUNNEL_ASSIGN(const TensorId x, builder.operand(op, 0));
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  if (!builder.is_float(y)) return emit_table(builder, op, x, y, tabulated(op.code));
  const TensorId root = builder.intermediate(y, op);
  RUNNEL_TRY(builder.emit(op, OpCode::sqrt, {x}, {root}));
  return builder.emit(op, OpCode::div, {float_constant(builder, op, 1), root}, {y}, BinaryOptions{});
}

Status emit_activation(Builder& builder, const Operator& op, std::int8_t fused, TensorId x, TensorId y) {
  Activation activation = Activation::none;
  switch (static_cast<FusedActivation>(fused)) {
    case FusedActivation::relu:
      return builder.emit(op, OpCode::relu, {x}, {y}, {},
                          builder.is_float(y) ? Arithmetic::espdl : Arithmetic::tflite);
    case FusedActivation::relu6:
      activation = Activation::relu6;
      break;
    case FusedActivation::relu_n1_to_1:
      activation = Activation::relu_n1_to_1;
      break;
    default:
      return Builder::fail(op, Code::unsupported) << "fused activation " << static_cast<int>(fused);
  }
  if (builder.is_float(y)) return emit_float_clip(builder, op, activation, x, y);
  const compiler::Tensor& tensor = builder.at(x);
  if (tensor.scales.size() != 1)
    return Builder::fail(op) << "its input has " << tensor.scales.size() << " scales, expected 1";
  const std::int32_t zero = tensor.zero_points[0];
  ClipOptions limits;
  limits.low = static_cast<int>(
      kernels::to_integer(activation == Activation::relu6 ? 0.0f : -1.0f, tensor.scales[0], zero));
  limits.high = static_cast<int>(
      kernels::to_integer(activation == Activation::relu6 ? 6.0f : 1.0f, tensor.scales[0], zero));
  return builder.emit(op, OpCode::clip, {x}, {y}, limits, Arithmetic::tflite);
}

Status convert_relu(Builder& builder, const Operator& op) {
  RUNNEL_ASSIGN(const TensorId x, builder.operand(op, 0));
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  const auto fused = op.code == Builtin::RELU    ? FusedActivation::relu
                     : op.code == Builtin::RELU6 ? FusedActivation::relu6
                                                 : FusedActivation::relu_n1_to_1;
  return emit_activation(builder, op, static_cast<std::int8_t>(fused), x, y);
}

Status convert_softmax(Builder& builder, const Operator& op) {
  const auto* const o = op.table->builtin_options_as_Softmax();
  if (o == nullptr) return Builder::fail(op) << "its options are missing";
  RUNNEL_ASSIGN(const TensorId x, builder.operand(op, 0));
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  const AxisOptions axis{static_cast<int>(builder.at(x).shape.size()) - 1};
  const bool plain = o->beta() == 1.0f;
  if (!builder.is_float(y)) {
    FunctionOptions factor;
    factor.alpha = o->beta();
    return builder.emit(op, OpCode::softmax, {x}, {y}, plain ? Options(axis) : Options(factor),
                        Arithmetic::tflite);
  }
  TensorId scaled = x;
  if (!plain) {
    scaled = builder.intermediate(y, op);
    RUNNEL_TRY(builder.emit(op, OpCode::mul, {x, float_constant(builder, op, o->beta())}, {scaled},
                            BinaryOptions{}));
  }
  return builder.emit(op, OpCode::softmax, {scaled}, {y}, axis);
}

Status convert_reduce(Builder& builder, const Operator& op) {
  const auto* const o = op.table->builtin_options_as_Reducer();
  RUNNEL_ASSIGN(const TensorId x, builder.operand(op, 0));
  RUNNEL_ASSIGN(const auto numbers, builder.integers(op, 1));
  ReduceOptions options;
  std::vector<std::int32_t> shape = builder.at(x).shape, kept;
  for (const std::int64_t number : numbers) {
    RUNNEL_ASSIGN(const int axis, normalize_axis(op, number, shape.size()));
    if (std::ranges::find(options.axes, axis) == options.axes.end())
      options.axes.push_back(static_cast<std::uint8_t>(axis));
  }
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  const auto code = op.code == Builtin::MEAN         ? OpCode::reduce_mean
                    : op.code == Builtin::SUM        ? OpCode::reduce_sum
                    : op.code == Builtin::REDUCE_MAX ? OpCode::reduce_max
                                                     : OpCode::reduce_min;
  const Arithmetic arithmetic = builder.is_float(y) ? Arithmetic::espdl : Arithmetic::tflite;
  if (o != nullptr && o->keep_dims()) return builder.emit(op, code, {x}, {y}, options, arithmetic);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (std::ranges::find(options.axes, i) == options.axes.end()) kept.push_back(shape[i]);
  }
  if (kept.empty()) kept = {1};
  const TensorId mean = builder.intermediate(y, op);
  RUNNEL_TRY(builder.emit(op, code, {x}, {mean}, options, arithmetic));
  return builder.emit_reshape(op, mean, y, kept);
}

Status convert_quantize(Builder& builder, const Operator& op) {
  RUNNEL_ASSIGN(const TensorId x, builder.operand(op, 0));
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  const auto code = builder.is_float(x)   ? OpCode::quantize
                    : builder.is_float(y) ? OpCode::dequantize
                                          : OpCode::requantize;
  return builder.emit(op, code, {x}, {y}, {}, Arithmetic::tflite);
}

}  // namespace runnel::compiler::tflite_source
