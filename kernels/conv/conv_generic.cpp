#include "kernels/conv/conv_generic.h"

#include "kernels/conv/conv_taps.h"

namespace runnel::kernels {
namespace {

// Products of T fit into int32: |x - zero point| <= 255 and |w| <= 128; 2^30 for int16 without zero point.
template <class T, class Sum>
Sum dot(const T* x, const T* w, std::int64_t count, std::int32_t zero_point) noexcept {
  Sum sum = 0;
  if (zero_point == 0) {
    for (std::int64_t i = 0; i < count; ++i) sum += std::int32_t{x[i]} * std::int32_t{w[i]};
  } else {
    for (std::int64_t i = 0; i < count; ++i) sum += (Sum{x[i]} - zero_point) * Sum{w[i]};
  }
  return sum;
}

// One channel in, one out: blocks of channels side by side, so that x is read in order.
template <class T, class Bias, class Sum>
void run_depthwise(const ConvSpec& spec, const ConvPart& part, const T* x, T* y) noexcept {
  constexpr std::int32_t kBlock = 32;
  const auto* weights = static_cast<const T*>(spec.weights);
  const auto* bias = static_cast<const Bias*>(spec.bias);
  const std::int64_t taps = std::int64_t{spec.kernel_height} * spec.kernel_width;
  for (std::int64_t at = part.first; at < part.last; ++at) {
    const std::int64_t row = at / spec.out_width, column = at % spec.out_width;
    const std::int64_t top = row * spec.stride_height - spec.pad_top,
                       left = column * spec.stride_width - spec.pad_left;
    const TapRange rows = taps_inside(top, spec.dilation_height, spec.kernel_height, spec.in_height);
    const TapRange columns = taps_inside(left, spec.dilation_width, spec.kernel_width, spec.in_width);
    T* out = y + at * spec.out_channels;
    for (std::int32_t first = part.first_channel; first < part.last_channel; first += kBlock) {
      const std::int32_t lanes = part.last_channel - first < kBlock ? part.last_channel - first : kBlock;
      Sum sum[kBlock];
      for (std::int32_t c = 0; c < lanes; ++c)
        sum[c] = bias == nullptr ? 0 : static_cast<Sum>(bias[first + c]);
      for (std::int32_t i = rows.first; i < rows.last; ++i) {
        for (std::int32_t j = columns.first; j < columns.last; ++j) {
          const std::int64_t position = (top + std::int64_t{i} * spec.dilation_height) * spec.in_width +
                                        left + std::int64_t{j} * spec.dilation_width;
          const T* in = x + position * spec.in_channels + first;
          const T* w = weights + first * taps + i * spec.kernel_width + j;
          for (std::int32_t c = 0; c < lanes; ++c)
            sum[c] += (Sum{in[c]} - spec.in_zero_point) * Sum{w[c * taps]};
        }
      }
      for (std::int32_t c = 0; c < lanes; ++c)
        out[first + c] = static_cast<T>(requantize(sum[c], spec.requant, first + c));
    }
  }
}

template <class T, class Bias, class Sum>
void run(const ConvSpec& spec, const ConvPart& part, const T* x, T* y) noexcept {
  const auto* weights = static_cast<const T*>(spec.weights);
  const auto* bias = static_cast<const Bias*>(spec.bias);
  if (spec.groups > 1 && spec.groups == spec.in_channels && spec.groups == spec.out_channels) {
    run_depthwise<T, Bias, Sum>(spec, part, x, y);
    return;
  }
  const std::int64_t group_inputs = spec.in_channels / spec.groups;
  const std::int32_t group_outputs = spec.out_channels / spec.groups;
  // Adjacent taps are contiguous in x and in the weights.
  const bool merge = spec.dilation_width == 1 && spec.groups == 1;
  const std::int64_t row_weights = spec.kernel_width * group_inputs;
  for (std::int64_t at = part.first; at < part.last; ++at) {
    const std::int64_t row = at / spec.out_width, column = at % spec.out_width;
    const std::int64_t top = row * spec.stride_height - spec.pad_top,
                       left = column * spec.stride_width - spec.pad_left;
    const TapRange rows = taps_inside(top, spec.dilation_height, spec.kernel_height, spec.in_height);
    const TapRange columns = taps_inside(left, spec.dilation_width, spec.kernel_width, spec.in_width);
    const std::int32_t runs = merge ? (columns.last > columns.first ? 1 : 0) : columns.last - columns.first;
    const std::int64_t length = merge ? (columns.last - columns.first) * group_inputs : group_inputs;
    for (std::int32_t out = part.first_channel; out < part.last_channel; ++out) {
      Sum sum = bias == nullptr ? 0 : static_cast<Sum>(bias[out]);
      const T* w = weights + out * (spec.kernel_height * row_weights);
      for (std::int32_t kernel_row = rows.first; kernel_row < rows.last; ++kernel_row) {
        const std::int64_t in_row = top + std::int64_t{kernel_row} * spec.dilation_height;
        for (std::int32_t r = 0; r < runs; ++r) {
          const std::int64_t tap = columns.first + r;
          const std::int64_t in_column = left + tap * spec.dilation_width;
          const T* in = x + (in_row * spec.in_width + in_column) * spec.in_channels +
                        out / group_outputs * group_inputs;
          sum +=
              dot<T, Sum>(in, w + kernel_row * row_weights + tap * group_inputs, length, spec.in_zero_point);
        }
      }
      y[at * spec.out_channels + out] = static_cast<T>(requantize(sum, spec.requant, out));
    }
  }
}

}  // namespace

void run_generic_int8(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept {
  run<std::int8_t, std::int32_t, std::int32_t>(spec, part, static_cast<const std::int8_t*>(x),
                                               static_cast<std::int8_t*>(y));
}

void run_generic_int16(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept {
  run<std::int16_t, std::int64_t, std::int64_t>(spec, part, static_cast<const std::int16_t*>(x),
                                                static_cast<std::int16_t*>(y));
}

}  // namespace runnel::kernels
