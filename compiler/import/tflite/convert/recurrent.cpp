// Operators with state tensors of their own: SVDF, LSTM.
#include <bit>
#include <cmath>

#include "base/number_text.h"
#include "compiler/import/tflite/builder.h"

namespace runnel::compiler::tflite_source {
namespace {

Result<const Tensor*> state(Builder& builder, const Operator& op, std::size_t position) {
  RUNNEL_ASSIGN(const Tensor* const tensor, builder.input(op, position));
  if (!tensor->variable || tensor->data)
    return Builder::fail(op, Code::unsupported)
           << "input " << position << " is no variable, expected the operator's state";
  builder.stateful = true;
  return tensor;
}

// A constant without scales.
Result<TensorId> plain(Builder& builder, const Operator& op, std::size_t position) {
  RUNNEL_ASSIGN(const TensorId id, builder.operand(op, position));
  compiler::Tensor copy = builder.at(id);
  copy.scales.clear();
  copy.zero_points.clear();
  copy.channel_axis = -1;
  return builder.add(std::move(copy));
}

}  // namespace

Status convert_svdf(Builder& builder, const Operator& op) {
  const auto* const o = op.table->builtin_options_as_SVDF();
  if (o == nullptr) return Builder::fail(op) << "its options are missing";
  if (o->fused_activation_function() < 0 || o->fused_activation_function() > 3)
    return Builder::fail(op, Code::unsupported)
           << "fused activation " << static_cast<int>(o->fused_activation_function());
  RUNNEL_ASSIGN(const Tensor* const kept, state(builder, op, 4));
  constexpr Activation activations[] = {Activation::none, Activation::relu, Activation::relu_n1_to_1,
                                        Activation::relu6};
  SvdfOptions options;
  options.rank = o->rank();
  options.activation = activations[o->fused_activation_function()];
  options.state_dtype = kept->dtype;
  if (kept->dtype != DType::float32) {
    if (kept->scales.size() != 1)
      return Builder::fail(op) << "a state with " << kept->scales.size() << " scales, expected 1";
    options.state_scale = kept->scales[0];
    options.state_zero_point = kept->zero_points.empty() ? 0 : kept->zero_points[0];
  }
  std::vector<TensorId> inputs;
  for (std::size_t i = 0; i < 3; ++i) {
    RUNNEL_ASSIGN(const TensorId id, builder.operand(op, i));
    inputs.push_back(id);
  }
  if (Builder::has(op, 3)) {
    RUNNEL_ASSIGN(const TensorId bias, plain(builder, op, 3));
    inputs.push_back(bias);
  }
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  return builder.emit(op, OpCode::svdf, inputs, {y}, options);
}

Status convert_lstm(Builder& builder, const Operator& op) {
  const auto* const o = op.table->builtin_options_as_SequenceLSTM();
  if (o == nullptr) return Builder::fail(op) << "its options are missing";
  if (o->fused_activation_function() != 4)
    return Builder::fail(op, Code::unsupported)
           << "activation " << static_cast<int>(o->fused_activation_function())
           << " of the cell, expected tanh (4)";
  if (o->diagonal_recurrent_tensors()) return Builder::fail(op, Code::unsupported) << "diagonal weights of h";
  for (const std::size_t i : {9, 10, 11, 16, 17, 20, 21, 22, 23}) {
    if (Builder::has(op, i))
      return Builder::fail(op, Code::unsupported)
             << "peepholes, a projection or normalisation (input " << i << ")";
  }
  RUNNEL_ASSIGN(const Tensor* const hidden, state(builder, op, 18));
  RUNNEL_ASSIGN(const Tensor* const cell, state(builder, op, 19));
  SequenceLstmOptions options;
  options.time_major = o->time_major();
  options.cell_clip = o->cell_clip();
  std::vector<TensorId> inputs;
  for (const std::size_t i : {0, 1, 2, 3, 4, 5, 6, 7, 8}) {
    RUNNEL_ASSIGN(const TensorId id, builder.operand(op, i));
    inputs.push_back(id);
  }
  for (const std::size_t i : {12, 13, 14, 15}) {
    RUNNEL_ASSIGN(const TensorId bias, plain(builder, op, i));
    inputs.push_back(bias);
  }
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  if (!builder.is_float(y)) {
    if (cell->dtype != DType::int16 || cell->scales.size() != 1)
      return Builder::fail(op, Code::unsupported) << "a cell that is not int16 with one scale";
    // A power of two to within 1e-3, as the reference asks for.
    const float exponent = std::log2(cell->scales[0]);
    if (std::abs(exponent - std::round(exponent)) > 1.5e-3f || exponent < -100 || exponent > 100)
      return Builder::fail(op, Code::unsupported)
             << "a cell's scale of " << shortest_text(cell->scales[0]).view() << ", expected a power of two";
    options.cell_exponent = static_cast<int>(std::round(exponent));
    if (hidden->dtype != builder.at(y).dtype || hidden->scales != builder.at(y).scales ||
        hidden->zero_points != builder.at(y).zero_points) {
      return Builder::fail(op, Code::unsupported)
             << "a hidden state with another type, scale or zero point than the output";
    }
  }
  return builder.emit(op, OpCode::lstm, inputs, {y}, options, Arithmetic::stateful_tflite);
}

}  // namespace runnel::compiler::tflite_source
