// Operators that move data.
#include <algorithm>
#include <numeric>

#include "compiler/import/tflite/builder.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler::tflite_source {
namespace {

// A concatenation of tensors of unequal scales: each is brought to the output's first.
Result<TensorId> rescaled(Builder& builder, const Operator& op, TensorId x, TensorId y) {
  const compiler::Tensor &from = builder.at(x), &to = builder.at(y);
  if (from.scales == to.scales && from.zero_points == to.zero_points) return x;
  const TensorId own = builder.intermediate(y, op);
  RUNNEL_TRY(builder.emit(op, OpCode::requantize, {x}, {own}, {}, Arithmetic::tflite));
  return own;
}

}  // namespace

Status convert_reshape(Builder& builder, const Operator& op) {
  RUNNEL_ASSIGN(const TensorId x, builder.operand(op, 0));
  RUNNEL_ASSIGN(const Tensor* const to, builder.output(op));
  std::vector<std::int64_t> wanted(to->shape.begin(), to->shape.end());
  if (Builder::has(op, 1) && builder.source().tensors[static_cast<std::size_t>(op.inputs[1])].data) {
    RUNNEL_ASSIGN(wanted, builder.integers(op, 1));
  } else if (const auto* const o = op.table->builtin_options_as_Reshape();
             o != nullptr && o->new_shape() != nullptr) {
    wanted.assign(o->new_shape()->begin(), o->new_shape()->end());
  }
  const std::vector<std::int32_t>& from = builder.at(x).shape;
  const std::int64_t count = std::accumulate(from.begin(), from.end(), std::int64_t{1}, std::multiplies<>());
  std::int64_t known = 1;
  for (const std::int64_t dim : wanted) {
    if (dim != -1 && (dim < 1 || dim > count))
      return Builder::fail(op) << "a dimension of " << dim << " for " << count << " elements";
    if (dim > 0 && (known *= dim) > count)
      return Builder::fail(op) << "more than the " << count << " elements there are";
  }
  std::vector<std::int32_t> shape;
  for (const std::int64_t dim : wanted)
    shape.push_back(static_cast<std::int32_t>(dim == -1 ? count / known : dim));
  if (shape.empty()) shape = {1};
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  return builder.emit_reshape(op, x, y, shape);
}

// EXPAND_DIMS and SQUEEZE: from the input's shape, which may be another than the file's.
Status convert_expand_dims(Builder& builder, const Operator& op) {
  RUNNEL_ASSIGN(const TensorId x, builder.operand(op, 0));
  RUNNEL_ASSIGN(const auto axes, builder.integers(op, 1));
  if (axes.size() != 1) return Builder::fail(op) << axes.size() << " axes, expected 1";
  std::vector<std::int32_t> shape = builder.at(x).shape;
  RUNNEL_ASSIGN(const int axis, normalize_axis(op, axes[0], shape.size() + 1));
  shape.insert(shape.begin() + axis, 1);
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  return builder.emit_reshape(op, x, y, shape);
}

Status convert_squeeze(Builder& builder, const Operator& op) {
  RUNNEL_ASSIGN(const TensorId x, builder.operand(op, 0));
  const std::vector<std::int32_t> from = builder.at(x).shape;
  const auto* const o = op.table->builtin_options_as_Squeeze();
  const bool all = o == nullptr || o->squeeze_dims() == nullptr || o->squeeze_dims()->size() == 0;
  std::vector<bool> gone(from.size());
  for (std::size_t i = 0; all && i < from.size(); ++i) gone[i] = from[i] == 1;
  for (std::size_t i = 0; !all && i < o->squeeze_dims()->size(); ++i) {
    RUNNEL_ASSIGN(
        const int axis,
        normalize_axis(op, o->squeeze_dims()->Get(static_cast<flatbuffers::uoffset_t>(i)), from.size()));
    const auto at = static_cast<std::size_t>(axis);
    if (from[at] != 1) return Builder::fail(op) << "axis " << axis << " has " << from[at] << ", expected 1";
    gone[at] = true;
  }
  std::vector<std::int32_t> shape;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!gone[i]) shape.push_back(from[i]);
  }
  if (shape.empty()) shape = {1};
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  return builder.emit_reshape(op, x, y, shape);
}

Status convert_transpose(Builder& builder, const Operator& op) {
  RUNNEL_ASSIGN(const TensorId x, builder.operand(op, 0));
  RUNNEL_ASSIGN(const auto order, builder.integers(op, 1));
  TransposeOptions options;
  for (const std::int64_t number : order) {
    RUNNEL_ASSIGN(const int axis, normalize_axis(op, number, builder.at(x).shape.size()));
    options.perm.push_back(static_cast<std::uint8_t>(axis));
  }
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  return builder.emit(op, OpCode::transpose, {x}, {y}, options);
}

Status convert_pad(Builder& builder, const Operator& op) {
  RUNNEL_ASSIGN(const TensorId x, builder.operand(op, 0));
  RUNNEL_ASSIGN(const auto pads, builder.integers(op, 1));
  const std::size_t rank = builder.at(x).shape.size();
  if (pads.size() != 2 * rank) return Builder::fail(op) << pads.size() << " paddings for " << rank << " axes";
  PadOptions options;
  constexpr std::int64_t kMax = 1 << 24;
  for (std::size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] < 0 || pads[i] > kMax)
      return Builder::fail(op) << "a padding of " << pads[i] << ", expected 0 to " << kMax;
    (i % 2 == 0 ? options.before : options.after).push_back(static_cast<std::int32_t>(pads[i]));
  }
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  if (!builder.at(y).zero_points.empty()) options.value = builder.at(y).zero_points[0];
  return builder.emit(op, OpCode::pad, {x}, {y}, options);
}

Status convert_strided_slice(Builder& builder, const Operator& op) {
  RUNNEL_ASSIGN(const TensorId x, builder.operand(op, 0));
  const std::vector<std::int32_t> from = builder.at(x).shape;
  RUNNEL_ASSIGN(const SlicePlan plan, plan_slice(builder.source(), op, from));
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  SliceOptions options{plan.begin, plan.step};
  std::vector<std::int32_t> kept;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!plan.shrunk[i]) kept.push_back(plan.length[i]);
  }
  if (kept.size() == from.size()) {
    builder.at(y).shape = plan.length;
    return builder.emit(op, OpCode::slice, {x}, {y}, options);
  }
  const TensorId piece = builder.intermediate(x, op, plan.length);
  RUNNEL_TRY(builder.emit(op, OpCode::slice, {x}, {piece}, options));
  return builder.emit_reshape(op, piece, y, kept.empty() ? std::vector<std::int32_t>{1} : kept);
}

// The first element and the number of elements of each axis; -1: all that follow.
Status convert_slice(Builder& builder, const Operator& op) {
  RUNNEL_ASSIGN(const TensorId x, builder.operand(op, 0));
  RUNNEL_ASSIGN(const auto first, builder.integers(op, 1));
  RUNNEL_ASSIGN(const auto sizes, builder.integers(op, 2));
  const std::vector<std::int32_t> from = builder.at(x).shape;
  if (first.size() != from.size() || sizes.size() != from.size()) {
    return Builder::fail(op) << first.size() << " begins and " << sizes.size() << " sizes, expected "
                             << from.size() << " as the input has axes";
  }
  SliceOptions options;
  std::vector<std::int32_t> shape;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (first[i] < 0 || first[i] >= from[i]) {
      return Builder::fail(op) << "begin " << first[i] << " on axis " << i << ", expected 0 to "
                               << from[i] - 1;
    }
    const std::int64_t rest = from[i] - first[i], size = sizes[i] == -1 ? rest : sizes[i];
    if (size < 1 || size > rest) {
      return Builder::fail(op) << "size " << size << " on axis " << i << " from " << first[i]
                               << ", expected -1 or 1 to " << rest;
    }
    options.begin.push_back(static_cast<std::int32_t>(first[i]));
    options.step.push_back(1);
    shape.push_back(static_cast<std::int32_t>(size));
  }
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  builder.at(y).shape = shape;
  return builder.emit(op, OpCode::slice, {x}, {y}, options);
}

Status convert_concatenation(Builder& builder, const Operator& op) {
  const auto* const o = op.table->builtin_options_as_Concatenation();
  if (o == nullptr) return Builder::fail(op) << "its options are missing";
  const auto index = static_cast<std::size_t>(&op - builder.source().operators.data());
  if (const auto window = builder.windows().frames.find(index); window != builder.windows().frames.end()) {
    RUNNEL_ASSIGN(const TensorId x, builder.operand(op, 1));
    RUNNEL_ASSIGN(const int axis, normalize_axis(op, o->axis(), builder.at(x).shape.size()));
    RUNNEL_ASSIGN(const TensorId y, builder.result(op));
    builder.stateful = true;
    return builder.emit(op, OpCode::streaming_cache, {x}, {y}, StreamingCacheOptions{window->second, axis});
  }
  std::vector<TensorId> parts;
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    RUNNEL_ASSIGN(const TensorId x, builder.operand(op, i));
    RUNNEL_ASSIGN(const TensorId part, rescaled(builder, op, x, y));
    parts.push_back(part);
  }
  if (parts.empty()) return Builder::fail(op) << "no inputs";
  RUNNEL_ASSIGN(const int axis, normalize_axis(op, o->axis(), builder.at(parts[0]).shape.size()));
  if (o->fused_activation_function() == 0)
    return builder.emit(op, OpCode::concat, parts, {y}, AxisOptions{axis});
  const TensorId joined = builder.intermediate(y, op);
  RUNNEL_TRY(builder.emit(op, OpCode::concat, parts, {joined}, AxisOptions{axis}));
  return emit_activation(builder, op, o->fused_activation_function(), joined, y);
}

Status convert_split(Builder& builder, const Operator& op) {
  const bool sized = op.code == Builtin::SPLIT_V;
  RUNNEL_ASSIGN(const TensorId x, builder.operand(op, sized ? 0 : 1));
  RUNNEL_ASSIGN(const auto axes, builder.integers(op, sized ? 2 : 0));
  if (axes.size() != 1 || op.outputs.empty())
    return Builder::fail(op) << axes.size() << " axes and " << op.outputs.size()
                             << " outputs, expected 1 and 1 or more";
  const std::vector<std::int32_t> from = builder.at(x).shape;
  RUNNEL_ASSIGN(const int axis, normalize_axis(op, axes[0], from.size()));
  const std::int32_t whole = from[static_cast<std::size_t>(axis)];
  std::vector<std::int64_t> sizes(op.outputs.size(), whole / static_cast<std::int32_t>(op.outputs.size()));
  if (sized) {
    RUNNEL_ASSIGN(sizes, builder.integers(op, 1));
    if (sizes.size() != op.outputs.size())
      return Builder::fail(op) << sizes.size() << " sizes for " << op.outputs.size() << " outputs";
    std::int64_t rest = whole;
    for (const std::int64_t size : sizes) rest -= std::clamp<std::int64_t>(size, 0, whole);
    for (std::int64_t& size : sizes) size = size == -1 ? rest : size;
  }
  std::vector<TensorId> parts;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    RUNNEL_ASSIGN(const TensorId y, builder.result(op, i));
    if (sizes[i] < 1 || sizes[i] > whole)
      return Builder::fail(op) << "a part of " << sizes[i] << " of " << whole;
    builder.at(y).shape = from;
    builder.at(y).shape[static_cast<std::size_t>(axis)] = static_cast<std::int32_t>(sizes[i]);
    parts.push_back(y);
  }
  return builder.emit(op, OpCode::split, {x}, parts, AxisOptions{axis});
}

// One more axis of size 1 in every input, then a concatenation along it.
Status convert_pack(Builder& builder, const Operator& op) {
  const auto* const o = op.table->builtin_options_as_Pack();
  if (o == nullptr || op.inputs.empty()) return Builder::fail(op) << "its options or inputs are missing";
  std::vector<TensorId> parts;
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  int axis = 0;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    RUNNEL_ASSIGN(const TensorId x, builder.operand(op, i));
    std::vector<std::int32_t> shape = builder.at(x).shape;
    RUNNEL_ASSIGN(axis, normalize_axis(op, o->axis(), shape.size() + 1));
    shape.insert(shape.begin() + axis, 1);
    if (op.inputs.size() == 1) return builder.emit_reshape(op, x, y, shape);
    RUNNEL_ASSIGN(const TensorId part, builder.reshaped(op, x, shape));
    parts.push_back(part);
  }
  return builder.emit(op, OpCode::concat, parts, {y}, AxisOptions{axis});
}

Status convert_unpack(Builder& builder, const Operator& op) {
  const auto* const o = op.table->builtin_options_as_Unpack();
  if (o == nullptr || op.outputs.empty()) return Builder::fail(op) << "its options or outputs are missing";
  RUNNEL_ASSIGN(const TensorId x, builder.operand(op, 0));
  std::vector<std::int32_t> shape = builder.at(x).shape;
  RUNNEL_ASSIGN(const int axis, normalize_axis(op, o->axis(), shape.size()));
  if (static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]) != op.outputs.size()) {
    return Builder::fail(op) << op.outputs.size() << " outputs of an axis of "
                             << shape[static_cast<std::size_t>(axis)];
  }
  std::vector<std::int32_t> one = shape, kept = shape;
  one[static_cast<std::size_t>(axis)] = 1;
  kept.erase(kept.begin() + axis);
  if (kept.empty()) kept = {1};
  std::vector<TensorId> parts;
  for (std::size_t i = 0; i < op.outputs.size() && op.outputs.size() > 1; ++i)
    parts.push_back(builder.intermediate(x, op, one));
  if (!parts.empty()) RUNNEL_TRY(builder.emit(op, OpCode::split, {x}, parts, AxisOptions{axis}));
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    RUNNEL_ASSIGN(const TensorId y, builder.result(op, i));
    RUNNEL_TRY(builder.emit_reshape(op, parts.empty() ? x : parts[i], y, kept));
  }
  return {};
}

}  // namespace runnel::compiler::tflite_source
