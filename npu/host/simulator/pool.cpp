// Pooling: the largest, the average, the sum over channels.
#include <algorithm>

#include "npu/host/simulator/feature_map.h"
#include "npu/host/simulator/output_stage.h"
#include "npu/host/simulator/simulator.h"
#include "npu/host/simulator/window.h"

namespace runnel::npu {
namespace {

constexpr std::int64_t kLeast = -(std::int64_t{1} << 40);  // padding of a maximum

}  // namespace

void Simulator::pool(const Operation& op) {
  const OutputStage output(op, *segment_.accelerator, internal_);
  read_map(op.ifm, memory(op.ifm.region), first_);
  const WindowAxis rows = rows_of(op), columns = columns_of(op);
  const auto depth = static_cast<std::size_t>(op.ifm.depth), outs = static_cast<std::size_t>(op.ofm.depth),
             width = static_cast<std::size_t>(op.ifm.width);
  const bool max = op.is(PoolMode::max), all_channels = op.is(PoolMode::reduce_sum);
  result_.clear();
  std::vector<std::int64_t> values(outs);
  // Sum or maximum of all elements in a window, and their count. Zeros that upscaling inserts count.
  const auto gather = [&](std::int32_t y, std::int32_t x) {
    std::fill(values.begin(), values.end(), max ? kLeast : 0);
    std::int64_t count = 0;
    const auto add = [&](std::size_t channel, std::int64_t value) {
      values[channel] = max ? std::max(values[channel], value) : values[channel] + value;
    };
    for (std::int32_t ky = 0; ky < rows.taps; ++ky) {
      const std::int32_t row = rows.source(y, ky);
      for (std::int32_t kx = 0; kx < columns.taps; ++kx) {
        const std::int32_t column = columns.source(x, kx);
        if (row == -1 || column == -1) continue;
        ++count;
        if (row < 0 || column < 0) {
          for (std::size_t c = 0; c < outs; ++c) add(c, 0);
          continue;
        }
        const std::int32_t* const from =
            first_.data() +
            (static_cast<std::size_t>(row) * width + static_cast<std::size_t>(column)) * depth;
        for (std::size_t c = 0; c < (all_channels ? depth : outs); ++c)
          add(all_channels ? 0 : c, std::int64_t{from[c]} - op.ifm.zero_point);
      }
    }
    return count;
  };
  for (std::int32_t y = 0; y < op.ofm.height; ++y) {
    for (std::int32_t x = 0; x < op.ofm.width; ++x) {
      const std::int64_t count = gather(y, x);
      for (const std::int64_t value : values) {
        if (op.global_scale)
          result_.push_back(output(value, op.ofm_scale));
        else if (op.is(PoolMode::average))
          result_.push_back(output(count == 0 ? 0 : divide_half_away(value, count)));
        else
          result_.push_back(output(value));
      }
    }
  }
}

}  // namespace runnel::npu
