// Weights and scales as an Ethos-U85 stores them: one stream for each of its decoders, or one fast stream for
// all, in the hardware's order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "npu/host/weights.h"
#include "npu/operation.h"

namespace runnel::npu::u85 {

// Parameters of the order.
struct WeightOrder {
  std::int32_t outs = 1, height = 1, width = 1,
               depth = 1;                           // of the kernel, without dilation; depth 1 for depthwise
  std::int32_t block_depth = 16, input_depth = 32;  // channels of a block: of the output, of the input
  std::int32_t unit = 16;                           // output channels of the micro-block
  std::int32_t stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1;
  std::int32_t depthwise_filler = 0;
  std::int32_t decoders = 1;
  bool depthwise = false, part_kernel = false, wide = false, sparse = false;
  // What the hardware does, and only tests do not: blocks of the input alternate their direction, odd rows of
  // taps run backwards, sub-kernels below each other come first, a fast stream holds the decoders in turn.
  bool alternates = true, serpentine = true, columns_first = true, in_turns = true;

  // Taps are filled up to a multiple.
  [[nodiscard]] std::int32_t rounding() const noexcept {
    return depthwise ? 10 : !part_kernel ? 1 : wide || sparse ? 10 : 5;
  }
  // Input channels that a micro-block reads in one go.
  [[nodiscard]] std::int32_t input_unit() const noexcept {
    return depthwise ? 1 : part_kernel && wide && !sparse ? 8 : input_depth;
  }
  // Weights of one decoder that a fast stream holds before those of the next one.
  [[nodiscard]] std::size_t turn() const noexcept {
    return static_cast<std::size_t>(unit * input_unit() * (part_kernel ? rounding() : 1) / decoders);
  }
  // The number of weights of one decoder, filler included; the same for all.
  [[nodiscard]] std::size_t count() const;
  // For each weight of a decoder: calls visit(flat index into [outs][height][width][depth]), or visit(-1)
  // for filler.
  template <class Visit>
  void walk(std::int32_t decoder, const Visit& visit) const;
};
WeightOrder weight_order(const Operation& op, const Accelerator& accelerator);

// All weights of a fast stream, with the zeros at its end. Errors: invalid_data.
Result<std::vector<std::int16_t>> decode_fast_weights(std::span<const std::byte> stream);

// The weights of an operation, by position: [outs][height][width][depth]; `streams`: one for each decoder, or
// a fast one. Errors: invalid_data for streams that hold other numbers of weights, filler that is not zero,
// or sparse weights with more than two of four.
Result<std::vector<std::int16_t>> unpack_weights(const WeightOrder& order, bool fast,
                                                 std::span<const std::span<const std::byte>> streams);

// `bytes` holds at least kScaleRecord (bounds.h) bytes; `wide`: accumulators of 48 bits.
ScaleRecord read_scale_record(const std::byte* bytes, bool wide) noexcept;

// ---- inline

template <class Visit>
void WeightOrder::walk(std::int32_t decoder, const Visit& visit) const {
  constexpr std::int32_t kSub = 8, kTogether = 4;
  const std::int32_t sub_height = kSub / dilation_y, sub_width = kSub / dilation_x, round = rounding(),
                     subs_y = (height + sub_height - 1) / sub_height,
                     subs_x = (width + sub_width - 1) / sub_width, in_unit = input_unit(),
                     in_step = depthwise ? 1
                               : sparse  ? 16
                                         : 8,
                     phases_y = depthwise || part_kernel ? stride_y : 1,
                     phases_x = depthwise || part_kernel ? stride_x : 1;
  const auto filler = [&](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) visit(std::int64_t{-1});
  };
  // The channels of one tap.
  const auto tap = [&](std::int32_t out0, std::int32_t in0, std::int32_t y, std::int32_t x) {
    for (std::int32_t in = in0; in < in0 + in_unit; in += in_step) {
      for (std::int32_t z = kTogether * decoder; z < unit; z += kTogether * decoders) {
        for (std::int32_t out = out0 + z; out < out0 + z + kTogether; ++out) {
          const std::int64_t row = ((std::int64_t{out} * height + y) * width + x) * depth;
          for (std::int32_t channel = in; channel < in + in_step; ++channel)
            visit(out < outs && channel < depth ? row + channel : std::int64_t{-1});
        }
      }
    }
  };
  // One micro-block of outputs of one sub-kernel.
  const auto taps = [&](std::int32_t out0, std::int32_t in0, std::int32_t y0, std::int32_t x0,
                        std::int32_t rows, std::int32_t columns) {
    std::int32_t left = (rows * columns + round - 1) / round * round;
    for (std::int32_t phase_y = 0; phase_y < phases_y; ++phase_y) {
      const std::int32_t height_here = (rows + phases_y - 1 - phase_y) / phases_y;
      for (std::int32_t phase_x = 0; phase_x < phases_x; ++phase_x) {
        const std::int32_t width_here = (columns + phases_x - 1 - phase_x) / phases_x;
        for (std::int32_t y = 0; y < height_here; ++y) {
          for (std::int32_t i = 0; i < width_here; ++i) {
            // Odd rows run backwards.
            const std::int32_t x = y % 2 == 0 || !serpentine ? i : width_here - 1 - i;
            --left;
            tap(out0, in0, y0 + phase_y + y * phases_y, x0 + phase_x + x * phases_x);
            if (depthwise && left % round == 0) filler(std::int64_t{depthwise_filler} * unit / decoders);
          }
        }
      }
    }
    if (left > 0) filler((std::int64_t{left} + depthwise_filler) * in_unit * unit / decoders);
  };
  bool forward = true;
  for (std::int32_t out_start = 0; out_start < outs; out_start += block_depth, forward = !forward) {
    const std::int32_t out_end = block_depth < outs - out_start ? out_start + block_depth : outs;
    const std::int32_t blocks = depthwise ? 1 : (depth + input_depth - 1) / input_depth;
    for (std::int32_t block = 0; block < blocks; ++block) {
      // Blocks of the input run forwards and backwards in turn.
      const std::int32_t in_start = (forward || !alternates ? block : blocks - 1 - block) * input_depth;
      const std::int32_t in_left = depthwise                        ? 1
                                   : input_depth < depth - in_start ? input_depth
                                                                    : depth - in_start;
      for (std::int32_t sub = 0; sub < subs_y * subs_x; ++sub) {
        const std::int32_t y0 = (columns_first ? sub % subs_y : sub / subs_x) * sub_height,
                           x0 = (columns_first ? sub / subs_y : sub % subs_x) * sub_width,
                           rows = sub_height < height - y0 ? sub_height : height - y0,
                           columns = sub_width < width - x0 ? sub_width : width - x0;
        for (std::int32_t in = 0; in < in_left; in += in_unit) {
          for (std::int32_t out = out_start; out < out_end; out += unit)
            taps(out, in_start + in, y0, x0, rows, columns);
        }
      }
    }
  }
}

}  // namespace runnel::npu::u85
