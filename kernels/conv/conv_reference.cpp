// The specification of every convolution: plain loops.
#include "kernels/conv/conv.h"

namespace runnel::kernels {
namespace {

template <class T, class Bias>
void reference(const ConvSpec& spec, const ConvPart& part, const T* x, T* y) noexcept {
  const auto* weights = static_cast<const T*>(spec.weights);
  const auto* bias = static_cast<const Bias*>(spec.bias);
  const std::int64_t group_inputs = spec.in_channels / spec.groups;
  const std::int64_t group_outputs = spec.out_channels / spec.groups;
  for (std::int64_t position = part.first; position < part.last; ++position) {
    const std::int64_t row = position / spec.out_width, column = position % spec.out_width;
    for (std::int64_t out = part.first_channel; out < part.last_channel; ++out) {
      std::int64_t sum = bias == nullptr ? 0 : bias[out];
      for (std::int64_t kernel_row = 0; kernel_row < spec.kernel_height; ++kernel_row) {
        const std::int64_t in_row =
            row * spec.stride_height - spec.pad_top + kernel_row * spec.dilation_height;
        if (in_row < 0 || in_row >= spec.in_height) continue;
        for (std::int64_t kernel_column = 0; kernel_column < spec.kernel_width; ++kernel_column) {
          const std::int64_t in_column =
              column * spec.stride_width - spec.pad_left + kernel_column * spec.dilation_width;
          if (in_column < 0 || in_column >= spec.in_width) continue;
          const T* in = x + (in_row * spec.in_width + in_column) * spec.in_channels +
                        out / group_outputs * group_inputs;
          const T* w =
              weights +
              ((out * spec.kernel_height + kernel_row) * spec.kernel_width + kernel_column) * group_inputs;
          for (std::int64_t i = 0; i < group_inputs; ++i) {
            sum += (std::int64_t{in[i]} - spec.in_zero_point) * std::int64_t{w[i]};
          }
        }
      }
      y[position * spec.out_channels + out] =
          static_cast<T>(requantize(sum, spec.requant, static_cast<std::int32_t>(out)));
    }
  }
}

}  // namespace

void conv_reference(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept {
  if (spec.dtype == DType::int16) {
    reference<std::int16_t, std::int64_t>(spec, part, static_cast<const std::int16_t*>(x),
                                          static_cast<std::int16_t*>(y));
  } else {
    reference<std::int8_t, std::int32_t>(spec, part, static_cast<const std::int8_t*>(x),
                                         static_cast<std::int8_t*>(y));
  }
}

void conv_add_reference(const ConvSpec& spec, const ConvPart& part, const void* addend, void* y) noexcept {
  const auto* b = static_cast<const std::int8_t*>(addend);
  auto* out = static_cast<std::int8_t*>(y);
  for (std::int64_t position = part.first; position < part.last; ++position) {
    for (std::int64_t channel = part.first_channel; channel < part.last_channel; ++channel) {
      const std::int64_t i = position * spec.out_channels + channel;
      const std::int32_t sum = std::int32_t{out[i]} + b[i];
      out[i] = static_cast<std::int8_t>(sum < spec.sum_low    ? spec.sum_low
                                        : sum > spec.sum_high ? spec.sum_high
                                                              : sum);
    }
  }
}

std::int64_t macs(const ConvSpec& spec) noexcept {
  return std::int64_t{spec.out_height} * spec.out_width * spec.out_channels * spec.kernel_height *
         spec.kernel_width * (spec.in_channels / spec.groups);
}

}  // namespace runnel::kernels
