#include "npu/operation.h"

#include <algorithm>

namespace runnel::npu {
namespace {

// Bytes of `rows` x `columns` positions of all channels from `base` on.
Extent tile_extent(const FeatureMap& map, std::int64_t base, std::int64_t rows,
                   std::int64_t columns) noexcept {
  const std::int64_t element = map.element;
  Extent out{base, base};
  const auto widen = [&](std::int64_t step, std::int64_t count) {
    (step < 0 ? out.low : out.high) += step * (count - 1);
  };
  widen(map.stride_y, rows);
  if (map.layout == Layout::nhwc) {
    widen(map.stride_x, columns);
    out.high += map.depth * element;
    return out;
  }
  widen(16 * element, columns);
  // The last brick may hold fewer channels than the others.
  const std::int64_t bricks = (map.depth + 15) / 16, last = (map.depth - 16 * (bricks - 1)) * element;
  if (bricks == 1) {
    out.high += last;
    return out;
  }
  const Extent row = out;
  out.low = row.low + std::min<std::int64_t>(0, (bricks - 1) * map.stride_c);
  out.high = row.high + std::max({16 * element, (bricks - 2) * map.stride_c + 16 * element,
                                  (bricks - 1) * map.stride_c + last});
  return out;
}

}  // namespace

Extent extent_of(const FeatureMap& map) noexcept {
  Extent all{INT64_MAX, INT64_MIN};
  if (map.storage == Storage::tiles_3x1) {
    std::int32_t left = map.height;
    const std::int32_t heights[] = {map.height0, map.height1, map.height};
    for (int tile = 0; tile < 3 && left > 0; ++tile) {
      const std::int32_t rows = std::min(left, heights[tile]);
      const Extent one = tile_extent(map, map.base[tile], rows, map.width);
      all = {std::min(all.low, one.low), std::max(all.high, one.high)};
      left -= rows;
    }
    return all;
  }
  for (int tile = 0; tile < 4; ++tile) {
    const bool right = (tile & 1) != 0, below = (tile & 2) != 0;
    const std::int32_t split_y = right ? map.height1 : map.height0;
    const std::int32_t columns = right ? map.width - map.width0 : std::min(map.width, map.width0);
    const std::int32_t rows = below ? map.height - split_y : std::min(map.height, split_y);
    if (columns <= 0 || rows <= 0) continue;
    const Extent one = tile_extent(map, map.base[tile], rows, columns);
    all = {std::min(all.low, one.low), std::max(all.high, one.high)};
  }
  return all;
}

FeatureMap stored_output(const Operation& op) noexcept {
  FeatureMap map = op.ofm;
  const std::int32_t h = map.height, w = map.width, c = map.depth;
  const auto as = [&](std::int32_t height, std::int32_t width, std::int32_t depth) {
    map.height = height;
    map.width = width;
    map.depth = depth;
  };
  switch (op.u85.transpose) {
    case u85::Transpose::hwc:
      break;
    case u85::Transpose::whc:
      as(w, h, c);
      break;
    case u85::Transpose::hcw:
      as(h, c, w);
      break;
    case u85::Transpose::wch:
      as(w, c, h);
      break;
    case u85::Transpose::chw:
      as(c, h, w);
      break;
    case u85::Transpose::cwh:
      as(c, w, h);
      break;
  }
  return map;
}

Extent extent_of(const Dma& dma, const DmaPlace& place) noexcept {
  if (place.dimensions < 2) return {place.address, place.address + dma.length * dma.rows * dma.planes};
  const std::int64_t row = dma.length + dma.skip0,
                     plane = row * dma.rows + (place.dimensions > 2 ? dma.skip1 : 0);
  Extent out{place.address, place.address};
  (row < 0 ? out.low : out.high) += row * (dma.rows - 1);
  (plane < 0 ? out.low : out.high) += plane * (dma.planes - 1);
  out.high += dma.length;
  return out;
}

std::string_view name_of(const Operation& op) noexcept {
  constexpr std::string_view kKinds[] = {"CONV",        "DEPTHWISE", "POOL", "ELEMENTWISE", "RESIZE", "DMA",
                                         "KERNEL_WAIT", "DMA_WAIT",  "IRQ",  "PMU_MASK",    "BRANCH", "STOP"};
  constexpr std::string_view kPools[] = {"MAX_POOL", "AVERAGE_POOL", "REDUCE_SUM", "SUM_POOL",
                                         "NO_POOL",  "MIN_POOL",     "ARGMAX_X",   "ARGMAX_Y"};
  constexpr std::string_view kElementwise[] = {"MUL", "ADD", "SUB", "MIN", "MAX", "LRELU",
                                               "ABS", "CLZ", "SHR", "SHL", "LSR", "DIV"};
  switch (op.kind) {
    case OperationKind::pool:
      return op.mode < std::size(kPools) ? kPools[op.mode] : "POOL";
    case OperationKind::elementwise:
      if (op.mode < std::size(kElementwise)) return kElementwise[op.mode];
      switch (op.mode) {
        case 16:
          return "CMP_EQ";
        case 17:
          return "CMP_NE";
        case 18:
          return "CMP_GE";
        case 19:
          return "CMP_GT";
        case 33:
          return "AND";
        case 34:
          return "OR";
        case 35:
          return "XOR";
        case 36:
          return "NOT";
        case 42:
          return "AND_NOT";
        default:
          return "ELEMENTWISE";
      }
    default:
      return kKinds[static_cast<int>(op.kind)];
  }
}

}  // namespace runnel::npu
