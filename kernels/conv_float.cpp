#include "kernels/conv_float.h"

#include <algorithm>

namespace runnel::kernels {
namespace {

bool finite(float value) noexcept { return value - value == 0; }

// All taps of one position, in order: f(first input channel of x, tap).
template <class F>
void each_tap(const FloatConvSpec& spec, std::int64_t row, std::int64_t column, const float* x, F f) noexcept {
  for (std::int64_t i = 0; i < spec.kernel_height; ++i) {
    const std::int64_t in_row = row * spec.stride_height - spec.pad_top + i * spec.dilation_height;
    if (in_row < 0 || in_row >= spec.in_height) continue;
    for (std::int64_t j = 0; j < spec.kernel_width; ++j) {
      const std::int64_t in_column = column * spec.stride_width - spec.pad_left + j * spec.dilation_width;
      if (in_column < 0 || in_column >= spec.in_width) continue;
      f(x + (in_row * spec.in_width + in_column) * spec.in_channels, i * spec.kernel_width + j);
    }
  }
}

// out[n] += x * weights[n]
void add_scaled(std::size_t count, float x, const float* __restrict weights, float* __restrict out) noexcept {
  for (std::size_t n = 0; n < count; ++n) out[n] += x * weights[n];
}

// The same for four inputs, one product after the other, with `out` read and written once.
void add_scaled_four(std::size_t count, const float* x, const float* __restrict weights, std::size_t stride, float* __restrict out) noexcept {
  const float x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
  const float* __restrict w1 = weights + stride;
  const float* __restrict w2 = w1 + stride;
  const float* __restrict w3 = w2 + stride;
  for (std::size_t n = 0; n < count; ++n) out[n] = (((out[n] + x0 * weights[n]) + x1 * w1[n]) + x2 * w2[n]) + x3 * w3[n];
}

}  // namespace

void FloatConv::run(const float* x, float* y) const noexcept {
  const auto outputs = static_cast<std::size_t>(spec.out_channels), groups = static_cast<std::size_t>(spec.groups);
  const std::size_t group_inputs = static_cast<std::size_t>(spec.in_channels) / groups, group_outputs = outputs / groups;
  const bool depthwise = group_inputs == 1 && group_outputs == 1;
  for (std::int64_t row = 0; row < spec.out_height; ++row) {
    for (std::int64_t column = 0; column < spec.out_width; ++column, y += outputs) {
      std::copy_n(bias, outputs, y);
      each_tap(spec, row, column, x, [&](const float* in, std::int64_t tap) {
        const float* w = packed + static_cast<std::size_t>(tap) * group_inputs * outputs;
        if (depthwise) {
          for (std::size_t n = 0; n < outputs; ++n) y[n] += in[n] * w[n];
          return;
        }
        for (std::size_t g = 0; g < groups; ++g, in += group_inputs, w += group_outputs) {
          float* out = y + g * group_outputs;
          std::size_t i = 0;
          for (; i + 4 <= group_inputs; i += 4) add_scaled_four(group_outputs, in + i, w + i * outputs, outputs, out);
          for (; i < group_inputs; ++i) add_scaled(group_outputs, in[i], w + i * outputs, out);
        }
      });
      if (!spec.relu) continue;
      for (std::size_t n = 0; n < outputs; ++n) y[n] = y[n] < 0 ? 0.0f : y[n];
    }
  }
}

Status prepare_float_conv(const FloatConvSpec& spec, Memory& memory, FloatConv& conv) noexcept {
  for (const std::int32_t size : {spec.in_height, spec.in_width, spec.in_channels, spec.out_height, spec.out_width, spec.out_channels, spec.kernel_height,
                                  spec.kernel_width, spec.stride_height, spec.stride_width, spec.dilation_height, spec.dilation_width, spec.groups}) {
    if (size < 1) return Status(Code::invalid_argument) << "convolution: sizes, strides, dilations and groups must be at least 1, found " << size;
  }
  if (spec.in_channels % spec.groups != 0 || spec.out_channels % spec.groups != 0) {
    return Status(Code::invalid_argument) << "convolution: " << spec.groups << " groups must divide " << spec.in_channels << " inputs and " << spec.out_channels << " outputs";
  }
  const auto outputs = static_cast<std::size_t>(spec.out_channels);
  const std::size_t per_output = static_cast<std::size_t>(spec.kernel_height) * static_cast<std::size_t>(spec.kernel_width) *
                                 (static_cast<std::size_t>(spec.in_channels) / static_cast<std::size_t>(spec.groups));
  auto* const packed = memory.array<float>(per_output * outputs);
  auto* const bias = memory.array<float>(outputs);
  if (packed == nullptr || bias == nullptr) return Status(Code::out_of_memory) << "convolution: no memory for " << per_output * outputs << " weights";
  for (std::size_t n = 0; n < outputs; ++n) {
    // A bias of -0 plus a zero of the padding would be +0.
    bias[n] = spec.bias == nullptr ? 0.0f : spec.bias[n] + 0.0f;
    if (!finite(bias[n])) return Status(Code::invalid_argument) << "convolution: the bias of output " << n << " is not finite";
    for (std::size_t i = 0; i < per_output; ++i) {
      const float weight = spec.weights[n * per_output + i];
      if (!finite(weight)) return Status(Code::invalid_argument) << "convolution: weight " << i << " of output " << n << " is not finite";
      packed[i * outputs + n] = weight;
    }
  }
  conv.spec = spec;
  conv.packed = packed;
  conv.bias = bias;
  return {};
}

void float_conv_reference(const FloatConvSpec& spec, const float* x, float* y) noexcept {
  const std::int64_t group_inputs = spec.in_channels / spec.groups, group_outputs = spec.out_channels / spec.groups;
  const std::int64_t taps = std::int64_t{spec.kernel_height} * spec.kernel_width;
  for (std::int64_t row = 0; row < spec.out_height; ++row) {
    for (std::int64_t column = 0; column < spec.out_width; ++column) {
      for (std::int64_t out = 0; out < spec.out_channels; ++out) {
        float sum = spec.bias == nullptr ? 0.0f : spec.bias[out] + 0.0f;
        each_tap(spec, row, column, x, [&](const float* in, std::int64_t tap) {
          for (std::int64_t i = 0; i < group_inputs; ++i) sum += in[out / group_outputs * group_inputs + i] * spec.weights[(out * taps + tap) * group_inputs + i];
        });
        *y++ = spec.relu && sum < 0 ? 0.0f : sum;
      }
    }
  }
}

}  // namespace runnel::kernels
