// Which positions of the input a resized axis reads, as exact fractions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "inference/op_code.h"

namespace runnel::ops {

// Output i of an axis reads position (i * step + shift) / unit of the input, which has `length` elements.
struct AxisMap {
  std::int64_t step = 1, shift = 0, unit = 1;
  bool same = true;  // nothing to do along this axis

  static AxisMap of(ResizeCoordinates coordinates, std::int64_t before, std::int64_t after) noexcept {
    AxisMap map;
    map.same = before == after;
    const std::int64_t common = std::gcd(before, after);
    if (coordinates == ResizeCoordinates::align_corners) {
      map.step = before - 1;
      map.unit = std::max<std::int64_t>(after - 1, 1);
    } else if (coordinates == ResizeCoordinates::half_pixel) {
      // ((2i + 1) before - after) / (2 after)
      map.step = 2 * before / common;
      map.shift = (before - after) / common;
      map.unit = 2 * after / common;
    } else {
      map.step = before / common;
      map.unit = after / common;
    }
    return map;
  }
};

}  // namespace runnel::ops
