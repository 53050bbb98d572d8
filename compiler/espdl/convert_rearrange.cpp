// What can be said with reshapes, transposes, concatenations and pads: DepthToSpace, SpaceToDepth, InsertZeros, and Resize by
// repeating neighbours.
#include <cmath>

#include "compiler/espdl/builder.h"

namespace runnel::compiler::espdl_source {
namespace {

using Shape = std::vector<std::int32_t>;

}  // namespace

Status convert_depth_to_space(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  const Shape x = builder.at(input).shape;
  RUNNEL_ASSIGN(const std::int64_t size, node.integer("blocksize", 0));
  RUNNEL_ASSIGN(const std::string mode, node.text("mode", "DCR"));
  if (x.size() != 4 || size < 1 || size > 4096 || x[3] % (size * size) != 0) return Builder::fail(node) << "blocksize " << size << " for an input of rank " << x.size();
  if (mode != "DCR" && mode != "CRD") return Builder::fail(node, Code::unsupported) << "mode \"" << mode << "\", expected DCR or CRD";
  if (x[0] != 1) return Builder::fail(node, Code::unsupported) << "batch of " << x[0] << ", expected 1";
  const auto b = static_cast<std::int32_t>(size), c = static_cast<std::int32_t>(x[3] / (size * size));
  const bool depth_first = mode == "DCR";
  RUNNEL_ASSIGN(const TensorId parts, builder.reshaped(node, input, depth_first ? Shape{x[1], x[2], b, b, c} : Shape{x[1], x[2], c, b, b}));
  const TensorId turned = builder.intermediate(input, node.name);
  TransposeOptions order;
  order.perm = depth_first ? std::vector<std::uint8_t>{0, 2, 1, 3, 4} : std::vector<std::uint8_t>{0, 3, 1, 4, 2};
  RUNNEL_TRY(builder.emit(node, fb::OpCode::transpose, {parts}, {turned}, order));
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit_reshape(node, turned, output, {1, x[1] * b, x[2] * b, c});
}

Status convert_space_to_depth(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  const Shape x = builder.at(input).shape;
  RUNNEL_ASSIGN(const std::int64_t size, node.integer("blocksize", 0));
  if (x.size() != 4 || size < 1 || size > 4096 || x[1] % size != 0 || x[2] % size != 0) return Builder::fail(node) << "blocksize " << size << " for an input of rank " << x.size();
  if (x[0] != 1) return Builder::fail(node, Code::unsupported) << "batch of " << x[0] << ", expected 1";
  const auto b = static_cast<std::int32_t>(size);
  RUNNEL_ASSIGN(const TensorId parts, builder.reshaped(node, input, {x[1] / b, b, x[2] / b, b, x[3]}));
  const TensorId turned = builder.intermediate(input, node.name);
  TransposeOptions order;
  order.perm = {0, 2, 1, 3, 4};
  RUNNEL_TRY(builder.emit(node, fb::OpCode::transpose, {parts}, {turned}, order));
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit_reshape(node, turned, output, {1, x[1] / b, x[2] / b, x[3] * b * b});
}

// Zeros between the elements of an axis: each element becomes a group of `stride` with zeros behind it, then the end is cut
// (or grown) to (length - 1) * stride + 1 + output_padding.
Status convert_insert_zeros(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(TensorId current, builder.operand(node, 0));
  Shape shape = builder.at(current).shape;
  if (shape.size() != 3 && shape.size() != 4) return Builder::fail(node, Code::unsupported) << "input of rank " << shape.size() << ", expected 3 or 4";
  const std::size_t axes = shape.size() - 2;
  RUNNEL_ASSIGN(std::vector<std::int64_t> strides, node.integers("stride", {}));
  if (strides.empty()) { RUNNEL_ASSIGN(strides, node.integers("strides", std::vector<std::int64_t>(axes, 1))); }
  RUNNEL_ASSIGN(std::vector<std::int64_t> extra, node.integers("output_padding", std::vector<std::int64_t>(axes, 0)));
  if (extra.empty()) extra.assign(axes, 0);
  if (strides.size() != axes || extra.size() != axes) return Builder::fail(node) << strides.size() << " strides and " << extra.size() << " output paddings, expected " << axes;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::size_t a = 1 + i;
    if (strides[i] < 1 || strides[i] > 4096 || extra[i] < 0 || extra[i] >= strides[i]) {
      return Builder::fail(node, Code::unsupported) << "stride " << strides[i] << " with output padding " << extra[i] << " on axis " << a;
    }
    const auto s = static_cast<std::int32_t>(strides[i]);
    if (s == 1) continue;
    Shape groups = shape;
    groups.insert(groups.begin() + static_cast<std::ptrdiff_t>(a) + 1, 1);
    RUNNEL_ASSIGN(const TensorId grouped, builder.reshaped(node, current, groups));
    PadOptions zeros;
    zeros.before.assign(groups.size(), 0);
    zeros.after.assign(groups.size(), 0);
    zeros.after[a + 1] = s - 1;
    const TensorId padded = builder.intermediate(current, node.name);
    RUNNEL_TRY(builder.emit(node, fb::OpCode::pad, {grouped}, {padded}, zeros));
    const std::int32_t length = (shape[a] - 1) * s + 1 + static_cast<std::int32_t>(extra[i]);
    shape[a] *= s;
    RUNNEL_ASSIGN(const TensorId flat, builder.reshaped(node, padded, shape));
    SliceOptions cut;
    cut.begin.assign(shape.size(), 0);
    cut.step.assign(shape.size(), 1);
    shape[a] = length;
    current = builder.intermediate(current, node.name, shape);
    RUNNEL_TRY(builder.emit(node, fb::OpCode::slice, {flat}, {current}, cut));
  }
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit_reshape(node, current, output, shape);
}

// Nearest neighbour by whole factors: every row is repeated `factor` times, which is a concatenation behind itself.
Status convert_resize(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const std::string mode, node.text("mode", "nearest"));
  RUNNEL_ASSIGN(const std::string coordinates, node.text("coordinate_transformation_mode", "half_pixel"));
  RUNNEL_ASSIGN(const std::string nearest, node.text("nearest_mode", "round_prefer_floor"));
  if (mode != "nearest" || coordinates != "asymmetric" || nearest != "floor") {
    return Builder::fail(node, Code::unsupported) << "mode " << mode << ", " << coordinates << ", " << nearest << "; expected nearest, asymmetric, floor";
  }
  RUNNEL_ASSIGN(TensorId current, builder.operand(node, 0));
  Shape shape = builder.at(current).shape;
  RUNNEL_ASSIGN(const Value* value, builder.value_of_output(node, 0));
  RUNNEL_ASSIGN(const Constant* scales, builder.constant(node, 2, false));
  if (scales == nullptr || scales->count == 0 || scales->dims.size() != 1) return Builder::fail(node, Code::unsupported) << "sizes instead of scales";
  RUNNEL_ASSIGN(const std::vector<double> factors, numbers_of(*scales));
  // The scales are in ONNX's order, batch, channels, then space; the values are channels last.
  if (factors.size() != shape.size() || shape.size() < 3 || factors[0] != 1 || factors[1] != 1 || !value->shape) {
    return Builder::fail(node, Code::unsupported) << factors.size() << " scales for an input of rank " << shape.size() << ", expected 1, 1, then one per axis";
  }
  for (std::size_t axis = 1; axis + 1 < shape.size(); ++axis) {
    const double factor = factors[axis + 1];
    if (factor < 1 || factor > 64 || factor != std::floor(factor)) return Builder::fail(node, Code::unsupported) << "a scale that is not a whole number from 1 to 64";
    const auto count = static_cast<std::int32_t>(factor);
    if (count == 1) continue;
    Shape rows = {1, 1};
    for (std::size_t i = 0; i < shape.size(); ++i) rows[i <= axis ? 0 : 1] *= shape[i];
    RUNNEL_ASSIGN(const TensorId flat, builder.reshaped(node, current, rows));
    const TensorId repeated = builder.intermediate(current, node.name);
    RUNNEL_TRY(builder.emit(node, fb::OpCode::concat, std::vector<TensorId>(static_cast<std::size_t>(count), flat), {repeated}, AxisOptions{1}));
    shape[axis] *= count;
    RUNNEL_ASSIGN(current, builder.reshaped(node, repeated, shape));
  }
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit_reshape(node, current, output, shape);
}

}  // namespace runnel::compiler::espdl_source
