// Matrix products, and normalization by constants.
#include <algorithm>
#include <cmath>

#include "compiler/import/onnx/builder.h"

namespace runnel::compiler::onnx_source {

Result<Value> dense(Builder& builder, const Node& node, const Value& x, const Constant& weights,
                    const Constant* bias) {
  const std::size_t rank = x.rank();
  if (rank == 0 || weights.dims.size() != 2 || weights.dims[1] != x.dims[rank - 1]) {
    return node.fail() << "weights of " << text_of(weights.dims) << " (outputs, inputs) for an input of "
                       << text_of(x.dims);
  }
  // Only the last axis must stand where it is.
  Perm perm = x.constant != nullptr ? identity_perm(rank) : x.perm;
  if (perm.back() != static_cast<int>(rank) - 1) perm = identity_perm(rank);
  RUNNEL_ASSIGN(const TensorId input, builder.stored(node, x, perm));
  const TensorId matrix = builder.add_constant(weights, node.name + ".weights");
  const TensorId added =
      bias == nullptr ? kAbsent
                      : builder.add_constant({bias->dtype, {bias->count()}, bias->data}, node.name + ".bias");
  RUNNEL_ASSIGN(const TensorId y,
                builder.emit(node, OpCode::fully_connected, {input, matrix, added}, FullyConnectedOptions{}));
  return builder.computed(y, perm);
}

Status convert_matmul(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(Value a, builder.value(node, 0));
  RUNNEL_ASSIGN(Value b, builder.value(node, 1));
  if (a.rank() == 0 || b.rank() == 0)
    return node.fail() << "operands of rank " << a.rank() << " and " << b.rank();
  if (b.constant != nullptr && b.rank() == 2 && b.dtype == DType::float32) {
    RUNNEL_ASSIGN(Value y, dense(builder, node, a, transposed(*b.constant, {1, 0}), nullptr));
    builder.result(node, std::move(y));
    return {};
  }
  // A vector is a matrix of one row or column, which the result has not.
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) {
    RUNNEL_ASSIGN(a, builder.with_ones(node, a, {1, a.dims[0]}));
  }
  if (column) {
    RUNNEL_ASSIGN(b, builder.with_ones(node, b, {b.dims[0], 1}));
  }
  RUNNEL_ASSIGN(const TensorId left, builder.plain(node, a));
  RUNNEL_ASSIGN(const TensorId right, builder.plain(node, b));
  RUNNEL_ASSIGN(const TensorId product,
                builder.emit(node, OpCode::matmul, {left, right}, FullyConnectedOptions{}));
  Value y = builder.computed(product, identity_perm(builder.at(product).shape.size()));
  Dims dims = y.dims;
  if (column) dims.pop_back();
  if (row) dims.erase(dims.end() - (column ? 1 : 2));
  RUNNEL_ASSIGN(y, builder.with_ones(node, y, dims));
  builder.result(node, std::move(y));
  return {};
}

Status convert_gemm(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(Value a, builder.value(node, 0));
  RUNNEL_ASSIGN(const Value b, builder.value(node, 1));
  if (a.rank() != 2 || b.rank() != 2)
    return node.fail() << "operands of " << text_of(a.dims) << " and " << text_of(b.dims)
                       << ", expected two matrices";
  const float alpha = node.real("alpha", 1), beta = node.real("beta", 1);
  const auto flipped = [](Value x) {
    if (x.constant != nullptr) return constant_value(transposed(*x.constant, {1, 0}));
    std::swap(x.dims[0], x.dims[1]);
    for (int& axis : x.perm) axis = 1 - axis;
    return x;
  };
  if (node.integer("transA", 0) != 0) a = flipped(a);
  Value y;
  const bool transposed_b = node.integer("transB", 0) != 0;
  if (b.constant != nullptr && b.dtype == DType::float32) {
    Constant weights = transposed_b ? *b.constant : transposed(*b.constant, {1, 0});
    if (alpha != 1) {
      std::vector<double> values = reals_of(weights);
      for (double& value : values) value *= static_cast<double>(alpha);
      weights = make_reals(weights.dtype, weights.dims, values);
    }
    RUNNEL_ASSIGN(y, dense(builder, node, a, weights, nullptr));
  } else {
    const Value right = transposed_b ? flipped(b) : b;
    RUNNEL_ASSIGN(const TensorId left_id, builder.plain(node, a));
    RUNNEL_ASSIGN(const TensorId right_id, builder.plain(node, right));
    RUNNEL_ASSIGN(const TensorId product,
                  builder.emit(node, OpCode::matmul, {left_id, right_id}, FullyConnectedOptions{}));
    y = builder.computed(product, identity_perm(2));
    if (alpha != 1) {
      RUNNEL_ASSIGN(y, binary(builder, node, OpCode::mul, y, scalar(alpha)));
    }
  }
  if (node.has_input(2)) {
    RUNNEL_ASSIGN(Value c, builder.value(node, 2));
    if (beta != 1) {
      RUNNEL_ASSIGN(c, binary(builder, node, OpCode::mul, c, scalar(beta)));
    }
    RUNNEL_ASSIGN(y, binary(builder, node, OpCode::add, y, c));
  }
  builder.result(node, std::move(y));
  return {};
}

// A factor and a summand for each channel; after a convolution they become part of it (fuse.cpp).
Status convert_batch_norm(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  if (x.rank() < 2) return node.fail() << "an input of rank " << x.rank();
  std::vector<std::vector<double>> of;
  for (std::size_t i = 1; i < 5; ++i) {
    RUNNEL_ASSIGN(const ConstantPtr given, builder.constant(node, i));
    if (given == nullptr || given->count() != x.dims[1])
      return node.fail() << "input " << i << " has not one number for each of " << x.dims[1] << " channels";
    of.push_back(reals_of(*given));
  }
  if (builder.is_read(node, 1))
    return node.fail(Code::unsupported) << "statistics as outputs (a training graph)";
  const double epsilon = node.real("epsilon", 1e-5f);
  std::vector<double> factor, summand;
  for (std::size_t c = 0; c < of[0].size(); ++c) {
    factor.push_back(of[0][c] / std::sqrt(of[3][c] + epsilon));
    summand.push_back(of[1][c] - of[2][c] * factor[c]);
  }
  Dims dims(x.rank() - 1, 1);
  dims[0] = x.dims[1];
  RUNNEL_ASSIGN(Value y, binary(builder, node, OpCode::mul, x,
                                constant_value(make_reals(DType::float32, dims, factor))));
  RUNNEL_ASSIGN(
      y, binary(builder, node, OpCode::add, y, constant_value(make_reals(DType::float32, dims, summand))));
  builder.result(node, std::move(y));
  return {};
}

}  // namespace runnel::compiler::onnx_source
