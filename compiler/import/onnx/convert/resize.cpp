// Operators that make height and width larger or smaller.
#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/import/onnx/builder.h"

namespace runnel::compiler::onnx_source {
namespace {

constexpr double kMaxAlongAxis = 1 << 20;

// The sizes that Resize and Upsample ask for: scales or sizes, for all axes or those of `axes`.
Result<Dims> resized_dims(const Builder& builder, const Node& node, const Value& x) {
  const bool old = node.op == "Upsample" || node.opset < 11;       // inputs: x, scales
  const bool attribute = node.op == "Upsample" && node.opset < 9;  // before they were an input
  ConstantPtr scales, sizes;
  if (const auto* const given = attribute ? node.attribute("scales") : nullptr; given != nullptr) {
    const std::vector<double> values(given->floats().begin(), given->floats().end());
    scales = std::make_shared<const Constant>(
        make_reals(DType::float32, {static_cast<std::int64_t>(values.size())}, values));
  } else if (!attribute) {
    RUNNEL_ASSIGN(scales, builder.constant(node, old ? 1 : 2));
  }
  if (!old) {
    RUNNEL_ASSIGN(sizes, builder.constant(node, 3));
  }
  const bool scaled = scales != nullptr && scales->count() > 0;
  if (!scaled && (sizes == nullptr || sizes->count() == 0)) return node.fail() << "neither scales nor sizes";
  std::vector<std::int64_t> axes = node.integers("axes");
  if (axes.empty()) {
    for (std::size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  const std::vector<double> wanted = reals_of(scaled ? *scales : *sizes);
  if (wanted.size() != axes.size())
    return node.fail() << wanted.size() << " scales or sizes for " << axes.size() << " axes";
  Dims dims = x.dims;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    RUNNEL_ASSIGN(const int axis, axis_of(node, axes[i], x.rank()));
    std::int64_t& dim = dims[static_cast<std::size_t>(axis)];
    double size = scaled ? static_cast<double>(dim) * wanted[i] : wanted[i];
    if (std::abs(size - std::nearbyint(size)) < 1e-6 * size)
      size = std::nearbyint(size);  // 5 * 0.8f is not 4
    if (!(size >= 1) || size > kMaxAlongAxis)
      return node.fail() << "a size or scale of " << std::to_string(wanted[i]) << " on axis " << axis;
    // With a scale that does not give a whole number, positions follow from the scale instead of the sizes.
    if (size != std::floor(size))
      return node.fail(Code::unsupported) << "scale " << std::to_string(wanted[i]) << " of " << dim
                                          << " elements, expected one that gives a whole number";
    dim = static_cast<std::int64_t>(size);
  }
  return dims;
}

// The position of output i of `to` among `from` inputs; empty for unknown coordinate modes.
std::optional<double> position(const std::string& coordinates, std::int64_t i, std::int64_t from,
                               std::int64_t to) {
  const double scale = static_cast<double>(to) / static_cast<double>(from), at = static_cast<double>(i);
  if (coordinates == "asymmetric") return at / scale;
  if (coordinates == "half_pixel") return (at + 0.5) / scale - 0.5;
  if (coordinates == "pytorch_half_pixel") return to > 1 ? (at + 0.5) / scale - 0.5 : 0.0;
  if (coordinates == "align_corners")
    return to > 1 ? at * static_cast<double>(from - 1) / static_cast<double>(to - 1) : 0.0;
  return std::nullopt;
}

Result<std::vector<std::int64_t>> nearest_elements(const Node& node, const std::string& coordinates,
                                                   std::int64_t from, std::int64_t to) {
  const std::string mode =
      node.op == "Upsample" || node.opset < 11 ? "floor" : node.text("nearest_mode", "round_prefer_floor");
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < to; ++i) {
    const auto at = position(coordinates, i, from, to);
    if (!at)
      return node.fail(Code::unsupported)
             << "coordinates \"" << coordinates
             << "\", expected asymmetric, half_pixel, pytorch_half_pixel or align_corners";
    double nearest = 0;
    if (mode == "floor")
      nearest = std::floor(*at);
    else if (mode == "ceil")
      nearest = std::ceil(*at);
    else if (mode == "round_prefer_floor")
      nearest = std::ceil(*at - 0.5);
    else if (mode == "round_prefer_ceil")
      nearest = std::floor(*at + 0.5);
    else
      return node.fail() << "nearest_mode \"" << mode << "\"";
    indices.push_back(std::clamp<std::int64_t>(static_cast<std::int64_t>(nearest), 0, from - 1));
  }
  return indices;
}

// Elements of one axis by number.
Result<Value> picked(Builder& builder, const Node& node, const Value& x, std::size_t axis,
                     const std::vector<std::int64_t>& indices) {
  RUNNEL_ASSIGN(const TensorId from, builder.plain(node, x));
  const TensorId which =
      builder.add_constant(make_integers(DType::int64, {static_cast<std::int64_t>(indices.size())}, indices),
                           node.name + ".indices");
  RUNNEL_ASSIGN(const TensorId y,
                builder.emit(node, OpCode::gather, {from, which}, AxisOptions{static_cast<int>(axis)}));
  return builder.computed(y, identity_perm(x.rank()));
}

Result<Value> resized(Builder& builder, const Node& node, const Value& x, const Dims& dims,
                      const ResizeOptions& options) {
  const Perm perm = channels_last_perm(x.rank());
  RUNNEL_ASSIGN(const TensorId id, builder.stored(node, x, perm));
  RUNNEL_ASSIGN(const auto shape, shape_of(node, dims, perm));
  RUNNEL_ASSIGN(const TensorId y, builder.emit(node, OpCode::resize, {id}, options, shape));
  return builder.computed(y, perm);
}

}  // namespace

Status convert_resize(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(Value x, builder.value(node, 0));
  RUNNEL_ASSIGN(const Dims dims, resized_dims(builder, node, x));
  const std::string mode = node.text("mode", "nearest");
  const std::string coordinates = node.op == "Upsample" || node.opset < 11
                                      ? "asymmetric"
                                      : node.text("coordinate_transformation_mode", "half_pixel");
  if (node.integer("antialias", 0) != 0) return node.fail(Code::unsupported) << "antialias, expected none";
  const bool spatial = (x.rank() == 3 || x.rank() == 4) && x.dims[0] == dims[0] && x.dims[1] == dims[1];
  if (mode == "nearest") {
    bool repeats = spatial;
    for (std::size_t axis = 0; axis < x.rank(); ++axis) {
      RUNNEL_ASSIGN(const auto indices, nearest_elements(node, coordinates, x.dims[axis], dims[axis]));
      for (std::int64_t i = 0; i < dims[axis]; ++i)
        repeats = repeats && indices[static_cast<std::size_t>(i)] == i * x.dims[axis] / dims[axis];
    }
    if (repeats) {
      RUNNEL_ASSIGN(x, resized(builder, node, x, dims, {}));
    } else {
      for (std::size_t axis = 0; axis < x.rank(); ++axis) {
        if (x.dims[axis] == dims[axis]) continue;
        RUNNEL_ASSIGN(const auto indices, nearest_elements(node, coordinates, x.dims[axis], dims[axis]));
        RUNNEL_ASSIGN(x, picked(builder, node, x, axis, indices));
      }
    }
  } else if (mode == "linear" || mode == "bilinear") {
    if (!spatial)
      return node.fail(Code::unsupported) << "from " << text_of(x.dims) << " to " << text_of(dims)
                                          << ", expected one or two axes after batch and channels";
    ResizeOptions options;
    options.mode = ResizeMode::linear;
    const bool single = std::any_of(dims.begin() + 2, dims.end(), [](std::int64_t dim) { return dim == 1; });
    if (coordinates == "half_pixel" || (coordinates == "pytorch_half_pixel" && !single))
      options.coordinates = ResizeCoordinates::half_pixel;
    else if (coordinates == "align_corners")
      options.coordinates = ResizeCoordinates::align_corners;
    else if (coordinates != "asymmetric")
      return node.fail(Code::unsupported)
             << "coordinates \"" << coordinates << "\", expected asymmetric, half_pixel or align_corners";
    RUNNEL_ASSIGN(x, resized(builder, node, x, dims, options));
  } else {
    return node.fail(Code::unsupported) << "mode \"" << mode << "\", expected nearest or linear";
  }
  builder.result(node, std::move(x));
  return {};
}

Status convert_blocks(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  if (x.rank() != 4) return node.fail() << "an input of rank " << x.rank() << ", expected 4";
  const std::int64_t size = node.integer("blocksize", 0);
  if (size < 1 || size > 1024) return node.fail() << "blocksize " << size << ", expected 1 to 1024";
  BlockOptions options;
  options.size = static_cast<int>(size);
  const bool deep = node.op == "SpaceToDepth";
  options.channel_major = !deep && node.text("mode", "DCR") == "CRD";
  const Perm perm = channels_last_perm(4);
  RUNNEL_ASSIGN(const TensorId id, builder.stored(node, x, perm));
  RUNNEL_ASSIGN(const TensorId y,
                builder.emit(node, deep ? OpCode::space_to_depth : OpCode::depth_to_space, {id}, options));
  builder.result(node, y, perm);
  return {};
}

}  // namespace runnel::compiler::onnx_source
