// Pooling: largest, smallest, sums, averages, positions of the largest; and none, which only moves what the
// accumulators start from.
#include <algorithm>

#include "npu/host/simulator/feature_map.h"
#include "npu/host/simulator/u85/executor.h"
#include "npu/host/simulator/window.h"

namespace runnel::npu::u85 {
namespace {

constexpr std::int64_t kOutside = std::int64_t{1} << 40;  // padding of extremes
constexpr int kIndexBit = 16;                             // of a position beside its value

// (sum * multiplier) / (count * 2^shift), ties away from zero.
Wide averaged(std::int64_t sum, std::int64_t count, const Scale& scale, bool ties_up) {
  if (count == 0) return 0;
  const Wide value = Wide{sum} * scale.multiplier, by = Wide{count} << scale.shift;
  if (ties_up) return value >= 0 ? (value + by / 2) / by : -((-value + (by - 1) / 2) / by);
  return value >= 0 ? (value + by / 2) / by : -((-value + by / 2) / by);
}

}  // namespace

void Executor::window_pool(const Operation& op) {
  read_operand(op.ifm, first_);
  const auto mode = static_cast<PoolMode>(op.mode);
  const WindowAxis rows = rows_of(op), columns = columns_of(op);
  const auto depth = static_cast<std::size_t>(op.ifm.depth), outs = static_cast<std::size_t>(op.ofm.depth),
             width = static_cast<std::size_t>(op.ifm.width);
  const bool largest = mode == PoolMode::max || mode == PoolMode::argmax_x || mode == PoolMode::argmax_y,
             smallest = mode == PoolMode::min, all_channels = mode == PoolMode::reduce_sum,
             position = mode == PoolMode::argmax_x || mode == PoolMode::argmax_y;
  result_.assign(elements_of(op.ofm), largest ? -kOutside : smallest ? kOutside : 0);
  counts_.assign(mode == PoolMode::average ? result_.size() / outs : 0, 0);
  std::vector<std::int64_t> best(position ? outs : 0);
  std::size_t at = 0;
  for (std::int32_t y = 0; y < op.ofm.height; ++y) {
    for (std::int32_t x = 0; x < op.ofm.width; ++x, ++at) {
      std::int64_t* const values = result_.data() + at * outs;
      std::fill(best.begin(), best.end(), 0);
      const auto add = [&](std::size_t channel, std::int64_t value, std::int64_t index) {
        std::int64_t& held = values[channel];
        if (largest) {
          if (value <= held) return;
          held = value;
          if (position) best[channel] = index;
        } else if (smallest) {
          held = std::min(held, value);
        } else {
          held =
              static_cast<std::int64_t>(static_cast<std::uint64_t>(held) + static_cast<std::uint64_t>(value));
        }
      };
      for (std::int32_t ky = 0; ky < rows.taps; ++ky) {
        const std::int32_t row = rows.source(y, ky);
        for (std::int32_t kx = 0; kx < columns.taps; ++kx) {
          const std::int32_t column = columns.source(x, kx);
          if (row == -1 || column == -1) continue;
          if (!counts_.empty()) ++counts_[at];
          const std::int64_t index = mode == PoolMode::argmax_y ? ky : kx;
          if (row < 0 || column < 0) {
            // A zero that upscaling inserts.
            for (std::size_t c = 0; c < outs; ++c) add(c, 0, index);
            continue;
          }
          const std::int64_t* const from =
              first_.data() +
              (static_cast<std::size_t>(row) * width + static_cast<std::size_t>(column)) * depth;
          if (all_channels) {
            for (std::size_t c = 0; c < depth; ++c) add(0, from[c], index);
          } else {
            for (std::size_t c = 0; c < outs; ++c) add(c, from[c], index);
          }
        }
      }
      for (std::size_t c = 0; c < best.size(); ++c)
        values[c] = best[c] * (1 << kIndexBit) | (values[c] & 0xffff);
    }
  }
}

void Executor::pool(const Operation& op) {
  const auto mode = static_cast<PoolMode>(op.mode);
  if (mode == PoolMode::none)
    result_.assign(elements_of(op.ofm), 0);
  else
    window_pool(op);
  if (!accumulate(op)) {
    result_.clear();
    return;
  }
  const bool divides =
      mode == PoolMode::average && op.global_scale &&
      std::any_of(counts_.begin(), counts_.end(), [](std::int64_t count) { return count != 1; });
  if (!divides) return scale(op);
  const OutputStage output(op, tables_, fault_);
  const auto outs = static_cast<std::size_t>(op.ofm.depth);
  for (std::size_t i = 0; i < result_.size(); ++i)
    result_[i] = output.unscaled(
        averaged(result_[i], counts_[i / outs], op.u85.ofm_scale, fault_ == Fault::averages_round_up));
}

}  // namespace runnel::npu::u85
