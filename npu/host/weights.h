// Weights and scales as an Ethos-U55 or U65 stores them: a compressed stream in the hardware's order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "npu/operation.h"

namespace runnel::npu {

// All weights of a stream, -255 to 255 each, in stream order. Errors: invalid_data for a stream that ends
// inside a slice or holds a meaningless value or more than `most` weights.
Result<std::vector<std::int16_t>> decode_weights(std::span<const std::byte> stream, std::size_t most);

// Parameters of the order of one core's weights.
struct WeightOrder {
  std::int32_t outs = 1, height = 1, width = 1,
               depth = 1;        // of the kernel, without dilation; depth 1 for depthwise
  std::int32_t block_depth = 8;  // output channels of a block, of this core
  std::int32_t ofm_ublock = 8;
  bool depthwise = false, part_kernel = false;
  bool wide = false;  // 16-bit input
  std::int32_t dilation_y = 1, dilation_x = 1;

  // The number of weights in a stream, filler included.
  [[nodiscard]] std::size_t count() const;
  // For each weight of a stream: calls visit(flat index into [outs][height][width][depth]), or
  // visit(-1) for filler.
  template <class Visit>
  void walk(const Visit& visit) const;
};
// The order for one core of an operation.
WeightOrder weight_order(const Operation& op, const Accelerator& accelerator, std::int32_t core);

// Weights of one core by position: [outs][height][width][depth]. Errors: as decode_weights; invalid_data when
// there are fewer than needed.
Result<std::vector<std::int16_t>> unpack_weights(const WeightOrder& order, std::span<const std::byte> stream);

struct ScaleRecord {
  std::int64_t bias = 0;  // 40 bits
  std::uint32_t multiplier = 0;
  std::uint8_t shift = 0;
  bool operator==(const ScaleRecord&) const = default;
};
// `bytes` holds at least kScaleRecord (bounds.h) bytes.
ScaleRecord read_scale_record(const std::byte* bytes) noexcept;

// ---- inline

template <class Visit>
void WeightOrder::walk(const Visit& visit) const {
  constexpr std::int32_t kUblock = Accelerator::ifm_ublock_depth(), kMaxSubKernel = 8;
  const std::int32_t ifm_block = part_kernel || wide ? 16 : 32;
  const std::int32_t sub_height = kMaxSubKernel / dilation_y, sub_width = kMaxSubKernel / dilation_x;
  const auto round_up = [](std::int32_t value, std::int32_t step) {
    return (value + step - 1) / step * step;
  };
  const auto index = [&](std::int32_t out, std::int32_t y, std::int32_t x, std::int32_t channel) {
    return ((static_cast<std::int64_t>(out) * height + y) * width + x) * depth + channel;
  };
  // One ublock of outputs of one sub-kernel, for the input channels [first, end), ublock by ublock.
  const auto element_walk = [&](std::int32_t out0, std::int32_t y0, std::int32_t x0, std::int32_t rows,
                                std::int32_t columns, std::int32_t first, std::int32_t end) {
    std::int32_t elements = rows * columns;
    if (part_kernel)
      elements = round_up(elements, wide ? 2 : 4);
    else if (depthwise)
      elements = round_up(elements, 4);
    for (std::int32_t e = 0; e < elements; ++e) {
      const bool filler = e >= rows * columns;
      const std::int32_t y = y0 + e / columns, x = x0 + e % columns;
      for (std::int32_t in = first; in < end; in += kUblock) {
        for (std::int32_t out = out0; out < out0 + ofm_ublock; ++out) {
          for (std::int32_t channel = in; channel < in + (depthwise ? 1 : kUblock); ++channel) {
            visit(filler || out >= outs || channel >= depth ? std::int64_t{-1} : index(out, y, x, channel));
          }
        }
      }
    }
  };
  for (std::int32_t out_start = 0; out_start < outs; out_start += block_depth) {
    const std::int32_t out_end =
        out_start + (block_depth < outs - out_start ? block_depth : outs - out_start);
    for (std::int32_t in_start = 0; in_start < depth; in_start += ifm_block) {
      const std::int32_t in_left = ifm_block < depth - in_start ? ifm_block : depth - in_start;
      for (std::int32_t y0 = 0; y0 < height; y0 += sub_height) {
        const std::int32_t rows = sub_height < height - y0 ? sub_height : height - y0;
        for (std::int32_t x0 = 0; x0 < width; x0 += sub_width) {
          const std::int32_t columns = sub_width < width - x0 ? sub_width : width - x0;
          // Part-kernel order iterates the depth outside the outputs; depth-first order inside,
          // over whole blocks.
          for (std::int32_t in = 0; in < (part_kernel ? in_left : 1); in += kUblock) {
            for (std::int32_t out = out_start; out < out_end; out += ofm_ublock) {
              const std::int32_t first = in_start + in;
              const std::int32_t size = depthwise ? 1 : part_kernel ? kUblock : ifm_block;
              element_walk(out, y0, x0, rows, columns, first, first + size);
            }
          }
        }
      }
    }
  }
}

}  // namespace runnel::npu
