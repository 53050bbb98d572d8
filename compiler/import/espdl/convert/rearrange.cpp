// DepthToSpace, SpaceToDepth, InsertZeros and Resize.
#include <cmath>

#include "compiler/import/espdl/builder.h"

namespace runnel::compiler::espdl_source {
namespace {

Status convert_block(Builder& builder, const Node& node, OpCode code) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  RUNNEL_ASSIGN(const std::int64_t size, node.integer("blocksize", 0));
  RUNNEL_ASSIGN(const std::string mode, node.text("mode", "DCR"));
  const std::vector<std::int32_t>& x = builder.at(input).shape;
  if (size < 1 || size > 4096) return Builder::fail(node) << "blocksize " << size << ", expected 1 to 4096";
  if (mode != "DCR" && mode != "CRD")
    return Builder::fail(node, Code::unsupported) << "mode \"" << mode << "\", expected DCR or CRD";
  if (code == OpCode::space_to_depth && x.size() == 4 && (x[1] % size != 0 || x[2] % size != 0)) {
    return Builder::fail(node) << "blocksize " << size << " for " << x[1] << " x " << x[2];
  }
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit(node, code, {input}, {output}, BlockOptions{static_cast<int>(size), mode == "CRD"});
}

Result<ResizeOptions> resize_options(const Node& node) {
  RUNNEL_ASSIGN(const std::string mode, node.text("mode", "nearest"));
  RUNNEL_ASSIGN(const std::string coordinates, node.text("coordinate_transformation_mode", "half_pixel"));
  RUNNEL_ASSIGN(const std::string nearest, node.text("nearest_mode", "round_prefer_floor"));
  RUNNEL_ASSIGN(const std::int64_t antialias, node.integer("antialias", 0));
  ResizeOptions options;
  const bool linear = mode == "linear",
             known = coordinates == "asymmetric" ||
                     (linear && (coordinates == "half_pixel" || coordinates == "align_corners"));
  if ((!linear && (mode != "nearest" || nearest != "floor")) || !known || antialias != 0) {
    return Builder::fail(node, Code::unsupported)
           << "mode " << mode << ", " << coordinates << ", " << nearest
           << (antialias != 0 ? ", antialias" : "")
           << "; expected nearest (asymmetric, floor) or linear (asymmetric, half_pixel, align_corners)";
  }
  options.mode = linear ? ResizeMode::linear : ResizeMode::nearest;
  options.coordinates = coordinates == "asymmetric"   ? ResizeCoordinates::asymmetric
                        : coordinates == "half_pixel" ? ResizeCoordinates::half_pixel
                                                      : ResizeCoordinates::align_corners;
  return options;
}

}  // namespace

Status convert_depth_to_space(Builder& builder, const Node& node) {
  return convert_block(builder, node, OpCode::depth_to_space);
}
Status convert_space_to_depth(Builder& builder, const Node& node) {
  return convert_block(builder, node, OpCode::space_to_depth);
}

// What is left of a transposed convolution; with the convolution after it becomes one again
// (compiler/passes/transposed.h).
Status convert_insert_zeros(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  const std::size_t rank = builder.at(input).shape.size();
  if (rank != 3 && rank != 4)
    return Builder::fail(node, Code::unsupported) << "input of rank " << rank << ", expected 3 or 4";
  const std::size_t axes = rank - 2;
  RUNNEL_ASSIGN(std::vector<std::int64_t> strides, node.integers("stride", {}));
  if (strides.empty()) {
    RUNNEL_ASSIGN(strides, node.integers("strides", std::vector<std::int64_t>(axes, 1)));
  }
  RUNNEL_ASSIGN(std::vector<std::int64_t> extra,
                node.integers("output_padding", std::vector<std::int64_t>(axes, 0)));
  if (extra.empty()) extra.assign(axes, 0);
  if (strides.size() != axes || extra.size() != axes) {
    return Builder::fail(node) << strides.size() << " strides and " << extra.size()
                               << " output paddings, expected " << axes;
  }
  for (std::size_t i = 0; i < axes; ++i) {
    if (strides[i] < 1 || strides[i] > 4096 || extra[i] < 0 || extra[i] >= strides[i]) {
      return Builder::fail(node, Code::unsupported)
             << "stride " << strides[i] << " with output padding " << extra[i] << " on axis " << 1 + i;
    }
  }
  InsertZerosOptions options;
  options.stride_width = static_cast<int>(strides[axes - 1]);
  options.after_width = static_cast<int>(extra[axes - 1]);
  if (axes == 2) {
    options.stride_height = static_cast<int>(strides[0]);
    options.after_height = static_cast<int>(extra[0]);
  }
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit(node, OpCode::insert_zeros, {input}, {output}, options);
}

Status convert_resize(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const ResizeOptions options, resize_options(node));
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  std::vector<std::int32_t> shape = builder.at(input).shape;
  if (shape.size() != 3 && shape.size() != 4)
    return Builder::fail(node, Code::unsupported) << "input of rank " << shape.size() << ", expected 3 or 4";
  RUNNEL_ASSIGN(const Constant* scales, builder.constant(node, 2, false));
  RUNNEL_ASSIGN(const std::vector<std::int64_t> sizes, builder.integers(node, 3));
  std::vector<double> factors;
  if (scales != nullptr && scales->count > 0) {
    RUNNEL_ASSIGN(factors, numbers_of(*scales));
  }
  const bool by_size = factors.empty();
  if ((by_size ? sizes.size() : factors.size()) != shape.size()) {
    return Builder::fail(node) << (by_size ? sizes.size() : factors.size())
                               << (by_size ? " sizes" : " scales") << " for an input of rank "
                               << shape.size();
  }
  // Both are in ONNX's order, batch, channels, then space; the values are channels last.
  const std::size_t last = shape.size() - 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = i == 0 ? 0 : i == 1 ? last : i - 1;
    const double size = by_size ? static_cast<double>(sizes[i]) : std::floor(shape[axis] * factors[i]);
    if (!(size >= 1) || size > static_cast<double>(kMaxElements))
      return Builder::fail(node) << "a new size on axis " << axis << " that is not from 1 to "
                                 << kMaxElements;
    if ((axis == 0 || axis == last) && size != shape[axis])
      return Builder::fail(node, Code::unsupported) << "resizes batch or channels";
    shape[axis] = static_cast<std::int32_t>(size);
  }
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  builder.at(output).shape = std::move(shape);
  return builder.emit(node, OpCode::resize, {input}, {output}, options);
}

}  // namespace runnel::compiler::espdl_source
