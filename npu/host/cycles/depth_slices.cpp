#include "npu/host/cycles/depth_slices.h"

#include "base/checked.h"

namespace runnel::npu {
namespace {

bool same_map(const FeatureMap& a, const FeatureMap& b) noexcept {
  return a.height == b.height && a.width == b.width && a.element == b.element && a.layout == b.layout &&
         a.region == b.region && a.stride_y == b.stride_y && a.stride_x == b.stride_x &&
         a.stride_c == b.stride_c && a.zero_point == b.zero_point;
}
bool same_kernel(const Kernel& a, const Kernel& b) noexcept {
  return a.height == b.height && a.width == b.width && a.stride_y == b.stride_y && a.stride_x == b.stride_x &&
         a.dilation_y == b.dilation_y && a.dilation_x == b.dilation_x && a.part_kernel == b.part_kernel &&
         a.top == b.top && a.left == b.left && a.bottom == b.bottom && a.right == b.right;
}
std::int64_t channel(const FeatureMap& map, std::int32_t c) noexcept {
  return map.base[0] + (map.layout == Layout::nhwc ? std::int64_t{c} * map.element
                                                   : c / 16 * map.stride_c + c % 16 * map.element);
}
// Whether the map is a part of one that has the channels of both.
bool has_room(const FeatureMap& map, std::int64_t channels) noexcept {
  return map.layout == Layout::nhwc ? map.stride_x >= channels * map.element
                                    : map.stride_y >= ceil_div(channels, 16) * map.stride_c;
}

}  // namespace

bool continues(const Operation& op, const Operation& next) noexcept {
  if (op.kind != next.kind || (op.kind != OperationKind::conv && op.kind != OperationKind::depthwise))
    return false;
  if (!same_map(op.ofm, next.ofm) || !same_map(op.ifm, next.ifm) || !same_kernel(op.kernel, next.kernel))
    return false;
  if (op.block_height != next.block_height || op.block_width != next.block_width ||
      op.block_depth != next.block_depth)
    return false;
  if (op.microblock != next.microblock || op.u85.second_weights || next.u85.second_weights) return false;
  if (op.weight_region != next.weight_region || op.activation.function != next.activation.function ||
      op.u85.function != next.u85.function)
    return false;
  // Slices but the last have whole bricks. Else the next operation may fill the gaps between columns.
  if (op.ofm.depth % 16 != 0 || !has_room(next.ofm, std::int64_t{op.ofm.depth} + next.ofm.depth))
    return false;
  if (next.ofm.base[0] != channel(op.ofm, op.ofm.depth)) return false;
  return op.kind == OperationKind::conv ? next.ifm.base[0] == op.ifm.base[0] && next.ifm.depth == op.ifm.depth
                                        : next.ifm.base[0] == channel(op.ifm, op.ofm.depth);
}

double stream_bytes(const Operation& op) noexcept {
  double bytes = 0;
  for (const Bytes& stream : op.weights) bytes += static_cast<double>(stream.length);
  for (const Bytes& stream : op.scales) bytes += static_cast<double>(stream.length);
  return bytes;
}

}  // namespace runnel::npu
