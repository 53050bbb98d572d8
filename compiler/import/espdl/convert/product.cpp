// Gemm and MatMul.
#include <algorithm>
#include <span>

#include "compiler/espdl/layout.h"
#include "compiler/import/espdl/builder.h"

namespace runnel::compiler::espdl_source {
namespace {

// A constant right operand, whose dims end in C, N and whose layout text names the order of each matrix: the
// tensor [N][C].
Result<TensorId> dense_weights(Builder& builder, const Node& node, const Constant& weights,
                               std::int64_t inputs, std::int64_t outputs) {
  if (weights.exponents.size() != 1 && weights.exponents.size() != static_cast<std::size_t>(outputs)) {
    return Builder::fail(node) << "weights with " << weights.exponents.size() << " exponents, expected 1 or "
                               << outputs;
  }
  RUNNEL_ASSIGN(const WeightLayout layout, parse_weight_layout(weights.layout));
  Tensor tensor;
  tensor.name = weights.name;
  tensor.shape = {static_cast<std::int32_t>(outputs), static_cast<std::int32_t>(inputs)};
  tensor.dtype = weights.dtype;
  tensor.exponents = weights.exponents;
  tensor.channel_axis = weights.exponents.size() > 1 ? 0 : -1;
  tensor.data = unpack_weights(weights.data, size_of(weights.dtype), layout, {outputs, 1, inputs, false});
  return builder.add(std::move(tensor));
}

Status fully_connected(Builder& builder, const Node& node, TensorId input, const Constant& weights) {
  const std::size_t rank = weights.dims.size();
  const std::int64_t inputs = weights.dims[rank - 2], outputs = weights.dims[rank - 1];
  if (inputs < 1 || outputs < 1) return Builder::fail(node) << "weights of " << inputs << " x " << outputs;
  FullyConnectedOptions options;
  RUNNEL_ASSIGN(options.activation, activation_of(node));
  const int input_exponent = builder.at(input).exponents.empty() ? 0 : builder.at(input).exponents[0];
  RUNNEL_ASSIGN(const TensorId weight, dense_weights(builder, node, weights, inputs, outputs));
  RUNNEL_ASSIGN(const TensorId bias,
                convert_bias(builder, node, weights.dtype, outputs, input_exponent, weights.exponents));
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit(node, OpCode::fully_connected, {input, weight, bias}, {output}, options);
}

// Several constant matrices: a plain [.., C, N] tensor.
Result<TensorId> plain_matrices(Builder& builder, const Constant& weights) {
  const std::size_t rank = weights.dims.size();
  const std::int64_t inputs = weights.dims[rank - 2], outputs = weights.dims[rank - 1];
  RUNNEL_ASSIGN(const WeightLayout layout, parse_weight_layout(weights.layout));
  RUNNEL_ASSIGN(const TensorId id, builder.constant_tensor(weights));
  const std::size_t element = size_of(weights.dtype),
                    bytes = static_cast<std::size_t>(inputs * outputs) * element;
  std::vector<std::byte>& data = *builder.at(id).data;
  const std::span<const std::byte> stored(weights.data);
  for (std::size_t start = 0; bytes > 0 && start + bytes <= stored.size(); start += bytes) {
    const auto matrix =
        unpack_weights(stored.subspan(start, bytes), element, layout, {outputs, 1, inputs, false});  // [N][C]
    for (std::int64_t n = 0; n < outputs; ++n) {
      for (std::int64_t c = 0; c < inputs; ++c) {
        const auto* from = matrix.data() + static_cast<std::size_t>(n * inputs + c) * element;
        std::copy(from, from + element,
                  data.data() + start + static_cast<std::size_t>(c * outputs + n) * element);
      }
    }
  }
  return id;
}

// The right operand of a product of two computed values. Exporters insert nodes before it that convert it to
// the target's weight layout while its shape still says [.., C, N]; this undoes the last step, from those
// bytes to plain [.., C, N].
class RightOperand {
 public:
  RightOperand(Builder& builder, const Node& node, TensorId stored)
      : builder_(builder), node_(node), stored_(stored) {
    const auto& shape = builder.at(stored).shape;
    batch_.assign(shape.begin(), shape.end() - 2);
    inputs_ = shape[shape.size() - 2];
    outputs_ = shape[shape.size() - 1];
  }

  Result<TensorId> plain() {
    const std::int32_t block = builder_.target() == EspdlTarget::c         ? outputs_ + 1
                               : builder_.at(stored_).dtype == DType::int8 ? 16
                                                                           : 8;
    const std::int32_t aligned = outputs_ / block * block, left = outputs_ - aligned;
    if (left == 0) return blocks(stored_, aligned, block);
    if (aligned == 0) return rows(stored_, left);
    RUNNEL_ASSIGN(const TensorId flat, reshape(stored_, {inputs_ * outputs_}));
    RUNNEL_ASSIGN(const TensorId first, slice(flat, 0, aligned * inputs_));
    RUNNEL_ASSIGN(const TensorId last, slice(flat, aligned * inputs_, left * inputs_));
    RUNNEL_ASSIGN(const TensorId a, blocks(first, aligned, block));
    RUNNEL_ASSIGN(const TensorId b, rows(last, left));
    const TensorId joined = builder_.intermediate(stored_, node_.name);
    RUNNEL_TRY(builder_.emit(node_, OpCode::concat, {a, b}, {joined},
                             AxisOptions{static_cast<int>(batch_.size()) + 1}));
    return joined;
  }

 private:
  // [N/A][C][A] to [C][N].
  Result<TensorId> blocks(TensorId from, std::int32_t outputs, std::int32_t block) {
    RUNNEL_ASSIGN(const TensorId split, reshape(from, {outputs / block, inputs_, block}));
    RUNNEL_ASSIGN(const TensorId turned, transpose(split, {1, 0, 2}));
    return reshape(turned, {inputs_, outputs});
  }
  // [N][C] to [C][N].
  Result<TensorId> rows(TensorId from, std::int32_t outputs) {
    RUNNEL_ASSIGN(const TensorId matrix, reshape(from, {outputs, inputs_}));
    return transpose(matrix, {1, 0});
  }
  Result<TensorId> reshape(TensorId from, const std::vector<std::int32_t>& tail) {
    std::vector<std::int32_t> shape = batch_;
    shape.insert(shape.end(), tail.begin(), tail.end());
    return builder_.reshaped(node_, from, std::move(shape));
  }
  Result<TensorId> transpose(TensorId from, const std::vector<int>& tail) {
    TransposeOptions options;
    for (std::size_t i = 0; i < batch_.size(); ++i) options.perm.push_back(static_cast<std::uint8_t>(i));
    for (const int axis : tail)
      options.perm.push_back(static_cast<std::uint8_t>(batch_.size() + static_cast<std::size_t>(axis)));
    const TensorId to = builder_.intermediate(stored_, node_.name);
    RUNNEL_TRY(builder_.emit(node_, OpCode::transpose, {from}, {to}, options));
    return to;
  }
  // Elements [begin, begin + count) of the last axis.
  Result<TensorId> slice(TensorId from, std::int32_t begin, std::int32_t count) {
    SliceOptions options;
    options.begin.assign(batch_.size() + 1, 0);
    options.step.assign(batch_.size() + 1, 1);
    options.begin.back() = begin;
    std::vector<std::int32_t> shape = batch_;
    shape.push_back(count);
    const TensorId to = builder_.intermediate(stored_, node_.name, std::move(shape));
    RUNNEL_TRY(builder_.emit(node_, OpCode::slice, {from}, {to}, options));
    return to;
  }

  Builder& builder_;
  const Node& node_;
  TensorId stored_;
  std::vector<std::int32_t> batch_;
  std::int32_t inputs_ = 0, outputs_ = 0;
};

}  // namespace

Status convert_gemm(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  RUNNEL_ASSIGN(const Constant* weights, builder.constant(node, 1, true));
  RUNNEL_ASSIGN(const float alpha, node.number("alpha", 1.0f));
  RUNNEL_ASSIGN(const float beta, node.number("beta", 1.0f));
  RUNNEL_ASSIGN(const std::int64_t trans_a, node.integer("transA", 0));
  RUNNEL_ASSIGN(const std::int64_t trans_b, node.integer("transB", 0));
  if (alpha != 1.0f || beta != 1.0f)
    return Builder::fail(node, Code::unsupported) << "alpha and beta must be 1";
  if (trans_a != 0 || trans_b != 0)
    return Builder::fail(node, Code::unsupported) << "transA and transB must be 0";
  const std::size_t rank = weights->dims.size();
  if (rank < 2 || weights->count == 0 ||
      weights->count != weights->dims[rank - 2] * weights->dims[rank - 1]) {
    return Builder::fail(node) << "weights of rank " << rank << " and " << weights->count
                               << " elements, expected one matrix";
  }
  return fully_connected(builder, node, input, *weights);
}

Status convert_matmul(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId left, builder.operand(node, 0));
  const Constant* weights = node.inputs.size() > 1 ? builder.source().constant(node.inputs[1]) : nullptr;
  TensorId right = kAbsent;
  if (weights != nullptr) {
    const std::size_t rank = weights->dims.size();
    if (rank < 2 || weights->count == 0)
      return Builder::fail(node, Code::unsupported)
             << "right operand of rank " << rank << ", expected at least 2";
    const bool one_matrix = weights->count == weights->dims[rank - 2] * weights->dims[rank - 1];
    if (one_matrix && rank <= builder.at(left).shape.size())
      return fully_connected(builder, node, left, *weights);
    RUNNEL_ASSIGN(right, plain_matrices(builder, *weights));
  } else {
    RUNNEL_ASSIGN(const TensorId stored, builder.operand(node, 1));
    if (builder.at(stored).shape.size() < 2)
      return Builder::fail(node, Code::unsupported)
             << "right operand of rank " << builder.at(stored).shape.size() << ", expected at least 2";
    RUNNEL_ASSIGN(right, RightOperand(builder, node, stored).plain());
  }
  FullyConnectedOptions options;
  RUNNEL_ASSIGN(options.activation, activation_of(node));
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit(node, OpCode::matmul, {left, right}, {output}, options);
}

}  // namespace runnel::compiler::espdl_source
