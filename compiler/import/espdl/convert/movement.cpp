// Data movement: reshape and its kin, transpose, slice, concat, split, pad.
#include <algorithm>

#include "base/checked.h"
#include "compiler/import/espdl/builder.h"

namespace runnel::compiler::espdl_source {
namespace {

using Shape = std::vector<std::int32_t>;

Result<Shape> checked_shape(const Node& node, const std::vector<std::int64_t>& dims) {
  Shape shape;
  for (const std::int64_t dim : dims) {
    if (dim < 1 || dim > kMaxElements)
      return Builder::fail(node) << "dimension " << shape.size() << " of the result is " << dim;
    shape.push_back(static_cast<std::int32_t>(dim));
  }
  return shape;
}

Result<Shape> reshape_target(Builder& builder, const Node& node, const Shape& from) {
  RUNNEL_ASSIGN(std::vector<std::int64_t> dims, builder.integers(node, 1));
  RUNNEL_ASSIGN(const std::int64_t allow_zero, node.integer("allowzero", 0));
  std::int64_t total = 1, known = 1;
  for (const std::int32_t dim : from) total *= dim;
  std::size_t open = dims.size();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && allow_zero == 0) {
      if (i >= from.size())
        return Builder::fail(node) << "dimension " << i << " is to be copied from an input of rank "
                                   << from.size();
      dims[i] = from[i];
    }
    if (dims[i] == -1) {
      if (open != dims.size()) return Builder::fail(node) << "two dimensions are left open";
      open = i;
    } else if (dims[i] < 1 || !checked_mul(known, dims[i], known)) {
      return Builder::fail(node) << "dimension " << i << " is " << dims[i];
    }
  }
  if (open != dims.size()) dims[open] = total / known;  // the element count is checked with the shapes
  return checked_shape(node, dims);
}

Result<Shape> squeezed(Builder& builder, const Node& node, const Shape& from) {
  RUNNEL_ASSIGN(std::vector<std::int64_t> axes, builder.integers(node, 1));
  if (axes.empty()) {
    RUNNEL_ASSIGN(axes, node.integers("axes", {}));
  }
  std::vector<bool> drop(from.size(), false);
  for (const std::int64_t given : axes) {
    RUNNEL_ASSIGN(const int axis, normalize_axis(node, given, from.size()));
    if (from[static_cast<std::size_t>(axis)] != 1)
      return Builder::fail(node) << "axis " << axis << " has " << from[static_cast<std::size_t>(axis)]
                                 << " elements, expected 1";
    drop[static_cast<std::size_t>(axis)] = true;
  }
  Shape shape;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (axes.empty() ? from[i] != 1 : !drop[i]) shape.push_back(from[i]);
  }
  if (shape.empty()) shape.push_back(1);
  return shape;
}

Result<Shape> unsqueezed(Builder& builder, const Node& node, const Shape& from) {
  RUNNEL_ASSIGN(std::vector<std::int64_t> axes, builder.integers(node, 1));
  if (axes.empty()) {
    RUNNEL_ASSIGN(axes, node.integers("axes", {}));
  }
  const std::size_t rank = from.size() + axes.size();
  std::vector<bool> fresh(rank, false);
  for (const std::int64_t given : axes) {
    RUNNEL_ASSIGN(const int axis, normalize_axis(node, given, rank));
    if (fresh[static_cast<std::size_t>(axis)])
      return Builder::fail(node) << "axis " << axis << " is named twice";
    fresh[static_cast<std::size_t>(axis)] = true;
  }
  Shape shape;
  auto next = from.begin();
  for (std::size_t i = 0; i < rank; ++i) shape.push_back(fresh[i] ? 1 : *next++);
  return shape;
}

// A constant padding value in integers of the output.
Result<int> pad_value(Builder& builder, const Node& node, const Tensor& output) {
  RUNNEL_ASSIGN(const Constant* value, builder.constant(node, 2, false));
  if (value == nullptr || value->count == 0) return 0;
  if (output.dtype != DType::int8 && output.dtype != DType::int16) {
    RUNNEL_ASSIGN(const std::vector<double> reals, numbers_of(*value));
    if (reals[0] != 0)
      return Builder::fail(node, Code::unsupported)
             << "padding " << name_of(output.dtype) << " with other values than 0";
    return 0;
  }
  const std::int64_t least = output.dtype == DType::int8 ? -128 : -32768,
                     most = output.dtype == DType::int8 ? 127 : 32767;
  const int exponent = output.exponents.empty() ? 0 : output.exponents[0];
  std::int64_t integer = 0;
  if (value->dtype == DType::float32 || value->dtype == DType::float64) {
    RUNNEL_ASSIGN(const std::vector<double> reals, numbers_of(*value));
    integer = kernels::round_float(static_cast<float>(reals[0]) * kernels::power_of_two(-exponent),
                                   builder.rounding());
  } else {
    RUNNEL_ASSIGN(const std::vector<std::int64_t> integers, integers_of(*value));
    const int shift = exponent - (value->exponents.empty() ? 0 : value->exponents[0]);
    if (integers[0] < least * 65536 || integers[0] > most * 65536 || shift < -32)
      return Builder::fail(node) << "padding value " << integers[0] << " with a shift of " << shift;
    integer = kernels::round_shift(integers[0], shift, builder.rounding());
  }
  return static_cast<int>(std::clamp(integer, least, most));
}

}  // namespace

Status convert_reshape(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  const Shape from = builder.at(input).shape;
  Shape to = from;  // Identity
  if (node.op == "Reshape") {
    RUNNEL_ASSIGN(to, reshape_target(builder, node, from));
  }
  if (node.op == "Squeeze") {
    RUNNEL_ASSIGN(to, squeezed(builder, node, from));
  }
  if (node.op == "Unsqueeze") {
    RUNNEL_ASSIGN(to, unsqueezed(builder, node, from));
  }
  if (node.op == "Flatten") {
    RUNNEL_ASSIGN(std::int64_t axis, node.integer("axis", 1));
    if (axis < 0) axis += static_cast<std::int64_t>(from.size());
    if (axis < 0 || axis > static_cast<std::int64_t>(from.size()))
      return Builder::fail(node) << "axis " << axis << " of a tensor of rank " << from.size();
    std::int64_t rows = 1, columns = 1;
    for (std::size_t i = 0; i < from.size(); ++i)
      (static_cast<std::int64_t>(i) < axis ? rows : columns) *= from[i];
    RUNNEL_ASSIGN(to, checked_shape(node, {rows, columns}));
  }
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit_reshape(node, input, output, std::move(to));
}

Status convert_transpose(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  const std::size_t rank = builder.at(input).shape.size();
  std::vector<std::int64_t> reversed;
  for (std::size_t i = rank; i-- > 0;) reversed.push_back(static_cast<std::int64_t>(i));
  RUNNEL_ASSIGN(const std::vector<std::int64_t> perm, node.integers("perm", reversed));
  TransposeOptions options;
  for (const std::int64_t given : perm) {
    RUNNEL_ASSIGN(const int axis, normalize_axis(node, given, rank));
    options.perm.push_back(static_cast<std::uint8_t>(axis));
  }
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit(node, OpCode::transpose, {input}, {output}, options);
}

Status convert_slice(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  const Shape from = builder.at(input).shape;
  RUNNEL_ASSIGN(const std::vector<std::int64_t> starts, builder.integers(node, 1));
  RUNNEL_ASSIGN(const std::vector<std::int64_t> ends, builder.integers(node, 2));
  RUNNEL_ASSIGN(std::vector<std::int64_t> axes, builder.integers(node, 3));
  RUNNEL_ASSIGN(std::vector<std::int64_t> steps, builder.integers(node, 4));
  if (axes.empty()) {
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return Builder::fail(node) << starts.size() << " starts, " << ends.size() << " ends, " << axes.size()
                               << " axes and " << steps.size() << " steps";
  }
  SliceOptions options;
  options.begin.assign(from.size(), 0);
  options.step.assign(from.size(), 1);
  Shape to = from;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    RUNNEL_ASSIGN(const int axis, normalize_axis(node, axes[i], from.size()));
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t length = from[a], step = steps[i];
    if (step == 0 || step < -kMaxElements || step > kMaxElements)
      return Builder::fail(node) << "step " << step << " on axis " << axis;
    // ONNX: negative positions count from the end, then both are brought inside; a negative step may end in
    // front of 0.
    const auto inside = [&](std::int64_t position) {
      if (position < 0) position = position < -length ? -1 : position + length;
      return step > 0 ? std::clamp<std::int64_t>(position, 0, length)
                      : std::clamp<std::int64_t>(position, -1, length - 1);
    };
    const std::int64_t first = inside(starts[i]), last = inside(ends[i]);
    const std::int64_t count = step > 0 ? ceil_div(last - first, step) : ceil_div(first - last, -step);
    if (count < 1)
      return Builder::fail(node) << "nothing is left of axis " << axis << " (" << length << " elements, from "
                                 << first << " to " << last << ")";
    options.begin[a] = static_cast<std::int32_t>(first);
    options.step[a] = static_cast<std::int32_t>(step);
    to[a] = static_cast<std::int32_t>(count);
  }
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  builder.at(output).shape = std::move(to);
  return builder.emit(node, OpCode::slice, {input}, {output}, options);
}

Status convert_concat(Builder& builder, const Node& node) {
  std::vector<TensorId> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    RUNNEL_ASSIGN(const TensorId input, builder.operand(node, i));
    inputs.push_back(input);
  }
  if (inputs.empty()) return Builder::fail(node) << "no inputs";
  RUNNEL_ASSIGN(const std::int64_t given, node.integer("axis", 0));
  RUNNEL_ASSIGN(const int axis, normalize_axis(node, given, builder.at(inputs[0]).shape.size()));
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit(node, OpCode::concat, std::move(inputs), {output}, AxisOptions{axis});
}

Status convert_split(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  const Shape from = builder.at(input).shape;
  RUNNEL_ASSIGN(const std::int64_t given, node.integer("axis", 0));
  RUNNEL_ASSIGN(const int axis, normalize_axis(node, given, from.size()));
  const auto a = static_cast<std::size_t>(axis);
  RUNNEL_ASSIGN(std::vector<std::int64_t> sizes, builder.integers(node, 1));
  if (sizes.empty()) {
    RUNNEL_ASSIGN(sizes, node.integers("split", {}));
  }
  const auto parts = static_cast<std::int64_t>(node.outputs.size());
  if (sizes.empty()) {
    // ONNX: equal parts, the last one smaller when it does not divide.
    const std::int64_t part = ceil_div(from[a], parts);
    for (std::int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::min<std::int64_t>(part, from[a] - i * part));
  }
  if (sizes.size() != node.outputs.size())
    return Builder::fail(node) << sizes.size() << " sizes for " << node.outputs.size() << " outputs";
  std::vector<TensorId> outputs;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1 || sizes[i] > from[a])
      return Builder::fail(node) << "part " << i << " of " << sizes[i] << " elements from " << from[a];
    RUNNEL_ASSIGN(const TensorId output, builder.output(node, i));
    Shape to = from;
    to[a] = static_cast<std::int32_t>(sizes[i]);
    builder.at(output).shape = std::move(to);
    outputs.push_back(output);
  }
  return builder.emit(node, OpCode::split, {input}, std::move(outputs), AxisOptions{axis});
}

Status convert_pad(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  const std::size_t rank = builder.at(input).shape.size();
  RUNNEL_ASSIGN(std::vector<std::int64_t> pads, builder.integers(node, 1));
  if (pads.empty()) {
    RUNNEL_ASSIGN(pads, node.integers("pads", {}));
  }
  RUNNEL_ASSIGN(std::vector<std::int64_t> axes, builder.integers(node, 3));
  if (axes.empty()) {
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (pads.size() != 2 * axes.size())
    return Builder::fail(node) << pads.size() << " pads, expected " << 2 * axes.size();
  RUNNEL_ASSIGN(const std::string mode, node.text("mode", "constant"));
  PadOptions options;
  options.before.assign(rank, 0);
  options.after.assign(rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    RUNNEL_ASSIGN(const int axis, normalize_axis(node, axes[i], rank));
    for (const std::int64_t pad : {pads[i], pads[axes.size() + i]}) {
      if (pad < 0 || pad > kMaxElements)
        return Builder::fail(node, Code::unsupported) << "padding of " << pad << " elements on axis " << axis;
    }
    options.before[static_cast<std::size_t>(axis)] = static_cast<std::int32_t>(pads[i]);
    options.after[static_cast<std::size_t>(axis)] = static_cast<std::int32_t>(pads[axes.size() + i]);
  }
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  if (mode == "constant") {
    RUNNEL_ASSIGN(options.value, pad_value(builder, node, builder.at(output)));
  } else if (mode == "reflect")
    options.mode = PadMode::reflect;
  else if (mode == "edge")
    options.mode = PadMode::edge;
  else
    return Builder::fail(node, Code::unsupported)
           << "mode \"" << mode << "\", expected constant, reflect or edge";
  return builder.emit(node, OpCode::pad, {input}, {output}, options);
}

}  // namespace runnel::compiler::espdl_source
