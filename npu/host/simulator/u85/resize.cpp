// Resizing: bilinear, nearest, or the position rounded down.
#include <algorithm>

#include "base/checked.h"
#include "npu/host/simulator/feature_map.h"
#include "npu/host/simulator/u85/executor.h"

namespace runnel::npu::u85 {
namespace {

constexpr int kFractionBits = 16;  // of the accumulators

// What an output reads along one axis: two neighbours inside the map, and how far the second one weighs.
struct Position {
  std::size_t first, second;
  std::int64_t weight;
};
Position position_of(const ResizeAxis& axis, ResizeMode mode, std::int32_t out, std::int32_t size) {
  const std::int64_t at = out * (std::int64_t{axis.whole} * axis.denominator + axis.part) + axis.offset;
  const std::int64_t whole = floor_div(at, axis.denominator), part = at - whole * axis.denominator;
  const auto inside = [&](std::int64_t index) {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(index, 0, size - 1));
  };
  const bool up = mode == ResizeMode::nearest && 2 * part >= axis.denominator;
  return {inside(whole + (up ? 1 : 0)), inside(whole + 1), mode == ResizeMode::bilinear ? part : 0};
}

}  // namespace

void Executor::resize(const Operation& op) {
  read_operand(op.ifm, first_);
  const auto mode = static_cast<ResizeMode>(op.mode);
  const OutputStage output(op, tables_, fault_);
  const auto depth = static_cast<std::size_t>(op.ofm.depth), width = static_cast<std::size_t>(op.ifm.width);
  // Without interpolation the accumulators hold elements as they are.
  const std::int64_t rows = mode == ResizeMode::bilinear ? op.u85.rows.denominator : 1,
                     columns = mode == ResizeMode::bilinear ? op.u85.columns.denominator : 1;
  result_.resize(elements_of(op.ofm));
  std::size_t at = 0;
  for (std::int32_t y = 0; y < op.ofm.height; ++y) {
    const Position row = position_of(op.u85.rows, mode, y, op.ifm.height);
    for (std::int32_t x = 0; x < op.ofm.width; ++x) {
      const Position column = position_of(op.u85.columns, mode, x, op.ifm.width);
      const auto from = [&](std::size_t source_y, std::size_t source_x) {
        return first_.data() + (source_y * width + source_x) * depth;
      };
      const std::int64_t *a = from(row.first, column.first), *b = from(row.first, column.second),
                         *c = from(row.second, column.first), *d = from(row.second, column.second);
      for (std::size_t channel = 0; channel < depth; ++channel, ++at) {
        const Wide upper = Wide{a[channel]} * (columns - column.weight) + Wide{b[channel]} * column.weight,
                   lower = Wide{c[channel]} * (columns - column.weight) + Wide{d[channel]} * column.weight;
        result_[at] = output((upper * (rows - row.weight) + lower * row.weight) * (Wide{1} << kFractionBits));
      }
    }
  }
}

}  // namespace runnel::npu::u85
