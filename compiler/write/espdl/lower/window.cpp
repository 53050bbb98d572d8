// Windows and rearrangements, written: pooling, StreamingCache, InsertZeros, DepthToSpace, SpaceToDepth,
// Resize.
#include <cmath>
#include <cstring>

#include "compiler/write/espdl/lowering.h"

namespace runnel::compiler::espdl_source {
namespace {

// One axis or two; 0 and a refusal for other ranks.
int axes_of(Lowering& to, const compiler::Node& node) {
  const std::size_t rank = to.input(node, 0).shape.size();
  if (rank == 3 || rank == 4) return static_cast<int>(rank) - 2;
  to.refuse(node, "an input of rank " + std::to_string(rank) + ", expected 3 (one axis) or 4 (two axes)");
  return 0;
}

}  // namespace

void lower_pool(Lowering& to, const compiler::Node& node) {
  const int axes = axes_of(to, node);
  if (axes == 0) return;
  const auto& o = std::get<PoolOptions>(node.options);
  const bool largest = node.code == OpCode::max_pool;
  if (o.global && !largest) {
    to.add(node, "GlobalAveragePool", {to.operand(node, 0)});
    return;
  }
  if (o.dilation_height != 1 || o.dilation_width != 1)
    to.refuse(node, "a dilated window, which pooling does not have");
  const auto& x = to.input(node, 0).shape;
  std::vector<std::int64_t> kernel = spatial(axes, o.kernel_height, o.kernel_width);
  if (o.global) kernel.assign(x.begin() + 1, x.end() - 1);
  std::vector<std::int64_t> pads = spatial(axes, o.pad_top, o.pad_left),
                            after = spatial(axes, o.pad_bottom, o.pad_right);
  pads.insert(pads.end(), after.begin(), after.end());
  bool padded = false;
  for (const std::int64_t pad : pads) padded = padded || pad != 0;
  if (!largest && padded && !o.count_padding)
    to.refuse(node, "an average that leaves its padding out; ESP-DL divides by the kernel's size");
  Node& out = to.add(node, largest ? "MaxPool" : "AveragePool", {to.operand(node, 0)});
  if (!largest) out.attributes["count_include_pad"] = std::int64_t{1};
  out.attributes["kernel_shape"] = kernel;
  out.attributes["pads"] = pads;
  out.attributes["strides"] = spatial(axes, o.global ? 1 : o.stride_height, o.global ? 1 : o.stride_width);
}

// ESP-DL copies frames as if nothing stood before their axis.
void lower_cache(Lowering& to, const compiler::Node& node) {
  const auto& o = std::get<StreamingCacheOptions>(node.options);
  const auto& shape = to.input(node, 0).shape;
  std::int64_t front = 1;
  for (int i = 0; i < o.axis; ++i) front *= shape[static_cast<std::size_t>(i)];
  if (front != 1)
    to.refuse(node, "frames along axis " + std::to_string(o.axis) + " after " + std::to_string(front) +
                        " elements, expected 1: ESP-DL mixes them up");
  Node& out = to.add(node, "StreamingCache", {to.operand(node, 0)});
  out.attributes["frame_axis"] = static_cast<std::int64_t>(o.axis);
  out.attributes["window_size"] = static_cast<std::int64_t>(o.frames) + 1;
}

void lower_insert_zeros(Lowering& to, const compiler::Node& node) {
  const int axes = axes_of(to, node);
  if (axes == 0) return;
  const auto& o = std::get<InsertZerosOptions>(node.options);
  Node& out = to.add(node, "InsertZeros", {to.operand(node, 0)});
  out.attributes["output_padding"] = spatial(axes, o.after_height, o.after_width);
  out.attributes["stride"] = spatial(axes, o.stride_height, o.stride_width);
}

void lower_blocks(Lowering& to, const compiler::Node& node) {
  const auto& o = std::get<BlockOptions>(node.options);
  Node& out = to.add(node, node.code == OpCode::depth_to_space ? "DepthToSpace" : "SpaceToDepth",
                     {to.operand(node, 0)});
  out.attributes["blocksize"] = static_cast<std::int64_t>(o.size);
  out.attributes["mode"] = std::string(o.channel_major ? "CRD" : "DCR");
}

// Factors where a float32 says them exactly, sizes otherwise; both in ONNX's order, batch and channels first.
void lower_resize(Lowering& to, const compiler::Node& node) {
  if (axes_of(to, node) == 0) return;
  const auto& o = std::get<ResizeOptions>(node.options);
  const auto &x = to.input(node, 0).shape, &y = to.output(node).shape;
  const std::size_t last = x.size() - 1;
  std::vector<float> factors;
  std::vector<std::int64_t> sizes;
  bool exact = true;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t axis = i == 0 ? 0 : i == 1 ? last : i - 1;
    factors.push_back(static_cast<float>(y[axis]) / static_cast<float>(x[axis]));
    exact = exact &&
            std::floor(static_cast<double>(x[axis]) * static_cast<double>(factors.back())) == y[axis] &&
            static_cast<double>(factors.back()) * x[axis] == static_cast<double>(y[axis]);
    sizes.push_back(y[axis]);
  }
  Constant roi;
  roi.name = node.name + "/roi";
  roi.dims = {0};
  roi.dtype = DType::float32;
  roi.layout = "UNK";
  std::vector<std::string> inputs = {to.operand(node, 0), to.constant(roi)};
  if (exact) {
    Constant scales = roi;
    scales.name = node.name + "/scales";
    scales.dims = {static_cast<std::int64_t>(factors.size())};
    scales.count = scales.dims[0];
    scales.data = bytes_of(factors);
    inputs.push_back(to.constant(std::move(scales)));
  } else {
    inputs.emplace_back();
    inputs.push_back(to.integers(node, "sizes", sizes));
  }
  Node& out = to.add(node, "Resize", std::move(inputs));
  const bool linear = o.mode == ResizeMode::linear;
  out.attributes["mode"] = std::string(linear ? "linear" : "nearest");
  out.attributes["coordinate_transformation_mode"] = std::string(name_of(o.coordinates));
  if (!linear) out.attributes["nearest_mode"] = std::string("floor");
}

}  // namespace runnel::compiler::espdl_source
