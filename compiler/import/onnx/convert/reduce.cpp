// Operators that bring an axis together: sums, means, softmax, normalization, the largest.
#include <algorithm>
#include <map>

#include "compiler/import/onnx/builder.h"
#include "compiler/import/onnx/operators.h"

namespace runnel::compiler::onnx_source {
Status convert_reduce(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  RUNNEL_ASSIGN(std::vector<std::int64_t> axes, builder.integers(node, 1, "axes"));
  if (axes.empty() && node.integer("noop_with_empty_axes", 0) != 0) {
    builder.result(node, x);
    return {};
  }
  if (axes.empty()) {
    for (std::size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  const Perm perm = x.constant != nullptr ? identity_perm(x.rank()) : x.perm, at = inverse(perm);
  RUNNEL_ASSIGN(const TensorId id, builder.stored(node, x, perm));
  ReduceOptions options;
  Dims kept;
  std::vector<bool> gone(x.rank(), false);
  for (const std::int64_t entry : axes) {
    RUNNEL_ASSIGN(const int axis, axis_of(node, entry, x.rank()));
    if (!gone[static_cast<std::size_t>(axis)])
      options.axes.push_back(static_cast<std::uint8_t>(at[static_cast<std::size_t>(axis)]));
    gone[static_cast<std::size_t>(axis)] = true;
  }
  std::sort(options.axes.begin(), options.axes.end());
  Value y = x;
  if (!options.axes.empty()) {
    RUNNEL_ASSIGN(const TensorId reduced, builder.emit(node, find_operator(node.op)->code, {id}, options));
    y = builder.computed(reduced, perm);
  }
  if (node.integer("keepdims", 1) == 0) {
    for (std::size_t i = 0; i < x.rank(); ++i) {
      if (!gone[i]) kept.push_back(x.dims[i]);
    }
    RUNNEL_ASSIGN(y, builder.with_ones(node, y, kept));
  }
  builder.result(node, std::move(y));
  return {};
}

Status convert_softmax(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  const OpCode code = node.op == "Softmax" ? OpCode::softmax : OpCode::log_softmax;
  RUNNEL_ASSIGN(const int axis, axis_of(node, node.integer("axis", node.opset >= 13 ? -1 : 1), x.rank()));
  const Perm perm = x.constant != nullptr ? identity_perm(x.rank()) : x.perm;
  // Before opset 13 all axes from this one on are one.
  const auto after = x.dims.begin() + axis + 1;
  if (node.opset < 13 && std::any_of(after, x.dims.end(), [](std::int64_t dim) { return dim != 1; })) {
    Dims flat(x.dims.begin(), x.dims.begin() + axis + 1);
    for (auto dim = after; dim != x.dims.end(); ++dim) flat.back() *= *dim;
    RUNNEL_ASSIGN(const TensorId plain, builder.plain(node, x));
    RUNNEL_ASSIGN(const auto flat_shape, shape_of(node, flat, identity_perm(flat.size())));
    RUNNEL_ASSIGN(const TensorId joined, builder.emit(node, OpCode::reshape, {plain}, {}, flat_shape));
    RUNNEL_ASSIGN(const TensorId soft, builder.emit(node, code, {joined}, AxisOptions{axis}));
    RUNNEL_ASSIGN(const auto shape, shape_of(node, x.dims, identity_perm(x.rank())));
    RUNNEL_ASSIGN(const TensorId y, builder.emit(node, OpCode::reshape, {soft}, {}, shape));
    builder.result(node, y, identity_perm(x.rank()));
    return {};
  }
  RUNNEL_ASSIGN(const TensorId id, builder.stored(node, x, perm));
  RUNNEL_ASSIGN(const TensorId y,
                builder.emit(node, code, {id}, AxisOptions{inverse(perm)[static_cast<std::size_t>(axis)]}));
  builder.result(node, y, perm);
  return {};
}

Status convert_layer_norm(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  RUNNEL_ASSIGN(const int axis, axis_of(node, node.integer("axis", -1), x.rank()));
  RUNNEL_ASSIGN(const ConstantPtr scale, builder.constant(node, 1));
  RUNNEL_ASSIGN(const ConstantPtr bias, builder.constant(node, 2));
  if (scale == nullptr) return node.fail() << "no scale";
  if (builder.is_read(node, 1) || builder.is_read(node, 2))
    return node.fail(Code::unsupported) << "mean or deviation as outputs";
  const Dims over(x.dims.begin() + axis, x.dims.end());
  for (const ConstantPtr& given : {scale, bias}) {
    if (given != nullptr && (given->dims != over || given->dtype != DType::float32))
      return node.fail(Code::unsupported)
             << "scale or bias of " << text_of(given->dims) << ", expected " << text_of(over);
  }
  RUNNEL_ASSIGN(const TensorId id, builder.plain(node, x));
  NormOptions options;
  options.axis = axis;
  options.epsilon = node.real("epsilon", 1e-5f);
  std::vector<TensorId> inputs = {id, builder.add_constant(*scale, node.name + ".scale")};
  if (bias != nullptr) inputs.push_back(builder.add_constant(*bias, node.name + ".bias"));
  RUNNEL_ASSIGN(const TensorId y, builder.emit(node, OpCode::layer_norm, inputs, options));
  builder.result(node, y, identity_perm(x.rank()));
  return {};
}

Status convert_arg_max(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  RUNNEL_ASSIGN(const int axis, axis_of(node, node.integer("axis", 0), x.rank()));
  if (node.integer("select_last_index", 0) != 0)
    return node.fail(Code::unsupported) << "the last of equal elements, expected the first";
  RUNNEL_ASSIGN(TensorId id, builder.stored(node, x, x.perm));
  if (node.op == "ArgMin") {
    RUNNEL_ASSIGN(id, builder.emit(node, OpCode::neg, {id}));
  }
  RUNNEL_ASSIGN(const TensorId largest,
                builder.emit(node, OpCode::arg_max, {id},
                             AxisOptions{inverse(x.perm)[static_cast<std::size_t>(axis)]}, {}, DType::int64));
  Value y = builder.computed(largest, x.perm);
  if (node.integer("keepdims", 1) == 0) {
    Dims dims = y.dims;
    dims.erase(dims.begin() + axis);
    RUNNEL_ASSIGN(y, builder.with_ones(node, y, dims));
  }
  builder.result(node, std::move(y));
  return {};
}

Status convert_top_k(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  RUNNEL_ASSIGN(const int axis, axis_of(node, node.integer("axis", -1), x.rank()));
  std::int64_t k = node.integer("k", 0);
  if (node.has_input(1)) {
    RUNNEL_ASSIGN(const ConstantPtr given, builder.constant(node, 1));
    if (given->count() != 1) return node.fail() << given->count() << " numbers for k, expected 1";
    k = integers_of(*given)[0];
  }
  Dims dims = x.dims;
  if (k < 1 || k > dims[static_cast<std::size_t>(axis)])
    return node.fail() << k << " of " << dims[static_cast<std::size_t>(axis)] << " elements";
  dims[static_cast<std::size_t>(axis)] = k;
  RUNNEL_ASSIGN(const TensorId id, builder.stored(node, x, x.perm));
  RUNNEL_ASSIGN(const auto shape, shape_of(node, dims, x.perm));
  TopKOptions options;
  options.axis = inverse(x.perm)[static_cast<std::size_t>(axis)];
  options.smallest = node.integer("largest", 1) == 0;
  RUNNEL_ASSIGN(const auto both, builder.emit_all(node, OpCode::top_k, {id}, options, {shape, shape},
                                                  {DType::none, DType::int64}));
  for (std::size_t i = 0; i < 2; ++i) builder.result(node, both[i], x.perm, i);
  return {};
}

// A product with a triangle of ones.
Status convert_cumulative_sum(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(Value x, builder.value(node, 0));
  RUNNEL_ASSIGN(const auto given, builder.integers(node, 1, "axis"));
  if (given.size() != 1) return node.fail() << given.size() << " axes, expected 1";
  RUNNEL_ASSIGN(const int axis, axis_of(node, given[0], x.rank()));
  constexpr std::int64_t kMax = 1024;
  const std::int64_t length = x.dims[static_cast<std::size_t>(axis)];
  if (length > kMax || x.dtype != DType::float32)
    return node.fail(Code::unsupported)
           << length << " elements of " << name_of(x.dtype) << ", expected float32 and at most " << kMax;
  const bool exclusive = node.integer("exclusive", 0) != 0, backwards = node.integer("reverse", 0) != 0;
  std::vector<double> ones;
  for (std::int64_t to = 0; to < length; ++to) {
    for (std::int64_t from = 0; from < length; ++from) {
      const bool before = backwards ? from > to : from < to;
      ones.push_back(before || (from == to && !exclusive) ? 1 : 0);
    }
  }
  // The axis and the last one change places, and back.
  const auto swapped = [&](Value value) {
    const int last = static_cast<int>(value.rank()) - 1;
    if (value.constant != nullptr) {
      Perm order = identity_perm(value.rank());
      std::swap(order[static_cast<std::size_t>(axis)], order.back());
      return constant_value(transposed(*value.constant, order));
    }
    std::swap(value.dims[static_cast<std::size_t>(axis)], value.dims.back());
    for (int& entry : value.perm) entry = entry == axis ? last : entry == last ? axis : entry;
    return value;
  };
  RUNNEL_ASSIGN(
      Value y, dense(builder, node, swapped(x), make_reals(DType::float32, {length, length}, ones), nullptr));
  builder.result(node, swapped(y));
  return {};
}

}  // namespace runnel::compiler::onnx_source
