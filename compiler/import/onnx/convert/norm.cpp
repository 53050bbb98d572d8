// Normalization by what the data itself is: of an instance, a group of channels, a vector.
#include <algorithm>

#include "compiler/import/onnx/builder.h"

namespace runnel::compiler::onnx_source {
namespace {

// [N, .., L] with mean 0 and deviation 1 along the last axis.
Result<Value> standardized(Builder& builder, const Node& node, const Value& x) {
  RUNNEL_ASSIGN(const TensorId id, builder.plain(node, x));
  NormOptions options;
  options.axis = static_cast<int>(x.rank()) - 1;
  options.epsilon = node.real("epsilon", 1e-5f);
  constexpr std::int64_t kMax = 1 << 22;  // elements that are normalized together: each has a factor
  const std::int64_t length = x.dims.back();
  if (length > kMax)
    return node.fail(Code::unsupported) << length << " elements in a group, expected at most " << kMax;
  const TensorId ones = builder.add_constant(
      make_reals(DType::float32, {length}, std::vector<double>(static_cast<std::size_t>(length), 1.0)),
      node.name + ".ones");
  RUNNEL_ASSIGN(const TensorId y, builder.emit(node, OpCode::layer_norm, {id, ones}, options));
  return builder.computed(y, identity_perm(x.rank()));
}

Result<Value> reshaped(Builder& builder, const Node& node, const Value& x, const Dims& dims) {
  RUNNEL_ASSIGN(const TensorId id, builder.plain(node, x));
  RUNNEL_ASSIGN(const auto shape, shape_of(node, dims, identity_perm(dims.size())));
  RUNNEL_ASSIGN(const TensorId y, builder.emit(node, OpCode::reshape, {id}, {}, shape));
  return builder.computed(y, identity_perm(dims.size()));
}

}  // namespace

// InstanceNormalization: a group is a channel. Scale and bias are one per channel, or (GroupNormalization up
// to opset 20) one per group.
Status convert_group_norm(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  RUNNEL_ASSIGN(const ConstantPtr scale, builder.constant(node, 1));
  RUNNEL_ASSIGN(const ConstantPtr bias, builder.constant(node, 2));
  if (x.rank() < 3 || x.constant != nullptr)
    return node.fail() << "an input of " << text_of(x.dims)
                       << ", expected computed data after batch and channels";
  const std::int64_t channels = x.dims[1],
                     groups = node.op == "InstanceNormalization" ? channels : node.integer("num_groups", 0);
  if (groups < 1 || channels % groups != 0)
    return node.fail() << groups << " groups of " << channels << " channels";
  RUNNEL_ASSIGN(const std::int64_t count, checked_count(x.dims));
  const auto fits = [&](const ConstantPtr& given) {
    return given != nullptr && given->dtype == DType::float32 &&
           (given->count() == channels || given->count() == groups);
  };
  if (!fits(scale) || !fits(bias) || scale->count() != bias->count())
    return node.fail() << "scale or bias that are not one number for each of " << channels << " channels";
  RUNNEL_ASSIGN(Value y, reshaped(builder, node, x, {x.dims[0], groups, count / (x.dims[0] * groups)}));
  RUNNEL_ASSIGN(y, standardized(builder, node, y));
  const std::int64_t each = scale->count();
  RUNNEL_ASSIGN(y, reshaped(builder, node, y, {x.dims[0], each, count / (x.dims[0] * each)}));
  RUNNEL_ASSIGN(
      y, binary(builder, node, OpCode::mul, y, constant_value({DType::float32, {each, 1}, scale->data})));
  RUNNEL_ASSIGN(
      y, binary(builder, node, OpCode::add, y, constant_value({DType::float32, {each, 1}, bias->data})));
  RUNNEL_ASSIGN(y, reshaped(builder, node, y, x.dims));
  builder.result(node, std::move(y));
  return {};
}

Status convert_lp_norm(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  RUNNEL_ASSIGN(const int axis, axis_of(node, node.integer("axis", -1), x.rank()));
  const std::int64_t p = node.integer("p", 2);
  if (p != 1 && p != 2) return node.fail() << "p " << p << ", expected 1 or 2";
  NormOptions options;
  options.axis = inverse(x.perm)[static_cast<std::size_t>(axis)];
  options.p = static_cast<int>(p);
  RUNNEL_ASSIGN(const TensorId y, builder.emit(node, OpCode::lp_norm, {x.id}, options));
  builder.result(node, y, x.perm);
  return {};
}

}  // namespace runnel::compiler::onnx_source
