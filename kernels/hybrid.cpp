#include "kernels/hybrid.h"

#include <cstring>

#include "base/checked.h"

namespace runnel::kernels {

float quantize_row(std::size_t count, const float* x, std::int8_t* q) noexcept {
  float largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const float size = x[i] < 0 ? -x[i] : x[i];
    largest = size > largest ? size : largest;
  }
  if (!(largest > 0)) {
    for (std::size_t i = 0; i < count; ++i) q[i] = 0;
    return 1;
  }
  const float inverse = 127.0f / largest;
  for (std::size_t i = 0; i < count; ++i) {
    const float value = __builtin_roundf(x[i] * inverse);
    q[i] = static_cast<std::int8_t>(value < -127.0f  ? -127.0f
                                    : value > 127.0f ? 127.0f
                                    : value == value ? value
                                                     : 0.0f);
  }
  return largest / 127.0f;
}

namespace {

std::size_t aligned_bytes(std::int64_t count) noexcept {
  return align_up(static_cast<std::size_t>(count), alignof(float));
}

void conv_by_rows(const HybridConvSpec& spec, const float* x, float* y, std::int8_t* scratch) noexcept {
  const std::int64_t group_inputs = spec.in_channels / spec.groups,
                     group_outputs = spec.out_channels / spec.groups;
  const auto elements =
      static_cast<std::size_t>(std::int64_t{spec.in_height} * spec.in_width * spec.in_channels);
  // Taps that are neighbours in memory are one dot product.
  const bool merged = spec.groups == 1 && spec.dilation_width == 1;
  const std::int64_t longest = merged ? spec.kernel_width * group_inputs : group_inputs;
  const Int8Rows* const rows = longest >= 8 && longest <= std::int64_t{kMaxInt8Dot} ? spec.rows : nullptr;
  const float scale =
      spec.rows == nullptr ? quantize_row(elements, x, scratch) : spec.rows->quantize(elements, x, scratch);
  const auto* weights = static_cast<const std::int8_t*>(spec.weights);
  const auto* bias = static_cast<const float*>(spec.bias);
  for (std::int64_t row = 0; row < spec.out_height; ++row) {
    for (std::int64_t column = 0; column < spec.out_width; ++column) {
      for (std::int64_t out = 0; out < spec.out_channels; ++out) {
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < spec.kernel_height; ++i) {
          const std::int64_t in_row = row * spec.stride_height - spec.pad_top + i * spec.dilation_height;
          if (in_row < 0 || in_row >= spec.in_height) continue;
          if (rows != nullptr && merged) {
            const std::int64_t begin = column * spec.stride_width - spec.pad_left,
                               from = begin < 0 ? -begin : 0, room = spec.in_width - begin,
                               to = room < spec.kernel_width ? room : spec.kernel_width;
            if (from < to)
              sum += rows->dot(
                  static_cast<std::size_t>((to - from) * group_inputs),
                  scratch + (in_row * spec.in_width + begin + from) * group_inputs,
                  weights + ((out * spec.kernel_height + i) * spec.kernel_width + from) * group_inputs);
            continue;
          }
          for (std::int64_t j = 0; j < spec.kernel_width; ++j) {
            const std::int64_t in_column =
                column * spec.stride_width - spec.pad_left + j * spec.dilation_width;
            if (in_column < 0 || in_column >= spec.in_width) continue;
            const std::int8_t* in = scratch + (in_row * spec.in_width + in_column) * spec.in_channels +
                                    out / group_outputs * group_inputs;
            const std::int8_t* w =
                weights + ((out * spec.kernel_height + i) * spec.kernel_width + j) * group_inputs;
            if (rows != nullptr) {
              sum += rows->dot(static_cast<std::size_t>(group_inputs), in, w);
              continue;
            }
            for (std::int64_t c = 0; c < group_inputs; ++c) sum += std::int32_t{in[c]} * w[c];
          }
        }
        float value = static_cast<float>(sum) * (scale * spec.scales[spec.per_channel ? out : 0]) +
                      (bias == nullptr ? 0.0f : bias[out]);
        if (spec.relu && value < 0) value = 0;
        *y++ = value;
      }
    }
  }
}

// Every window is one position of the input.
bool single_positions(const HybridConvSpec& spec) noexcept {
  return spec.groups == 1 && spec.kernel_height == 1 && spec.kernel_width == 1 && spec.pad_top == 0 &&
         spec.pad_left == 0 && (spec.out_height - 1) * std::int64_t{spec.stride_height} < spec.in_height &&
         (spec.out_width - 1) * std::int64_t{spec.stride_width} < spec.in_width;
}

// Scratch: the sums, one input with its zeros, all inputs where there are several.
void conv_by_products(const HybridConvSpec& spec, const float* x, float* y, void* scratch) noexcept {
  const PackedBytes& packed = *spec.packed;
  auto* const sums = static_cast<std::int32_t*>(scratch);
  auto* const input = reinterpret_cast<std::int8_t*>(sums + packed.rows());
  const std::int64_t channels = spec.in_channels;
  const bool one = spec.inputs() == channels;
  std::int8_t* const all = one ? input : input + packed.input_bytes();
  std::memset(input, 0, static_cast<std::size_t>(packed.input_bytes()));
  const float scale = spec.rows->quantize(static_cast<std::size_t>(spec.inputs()), x, all);
  for (std::int64_t row = 0; row < spec.out_height; ++row) {
    for (std::int64_t column = 0; column < spec.out_width; ++column, y += spec.out_channels) {
      const std::int64_t at = row * spec.stride_height * spec.in_width + column * spec.stride_width;
      if (!one) std::memcpy(input, all + at * channels, static_cast<std::size_t>(channels));
      spec.rows->products(packed, input, sums);
      for (std::int32_t c = 0; c < spec.out_channels; ++c) y[c] = static_cast<float>(sums[c]);
      spec.rows->scale_back(1, spec.out_channels, scale, spec.scales, spec.per_channel,
                            static_cast<const float*>(spec.bias), spec.relu, y);
    }
  }
}

}  // namespace

std::size_t HybridConvSpec::scratch_bytes() const noexcept {
  if (packed != nullptr)
    return static_cast<std::size_t>(packed->rows()) * sizeof(std::int32_t) +
           aligned_bytes(packed->input_bytes() + (inputs() == in_channels ? 0 : inputs()));
  return aligned_bytes(inputs()) +
         (sums == nullptr ? 0 : static_cast<std::size_t>(inputs()) * sizeof(float) + sums->scratch_bytes);
}

Status use_vectors(Isa isa, Memory& memory, HybridConvSpec& spec) noexcept {
  spec.rows = int8_rows(isa);
  const std::int64_t products =
      std::int64_t{spec.kernel_height} * spec.kernel_width * (spec.in_channels / spec.groups);
  // Few positions would read four times the bytes of weights for nothing.
  constexpr std::int64_t kFew = 4;
  if (spec.rows == nullptr) return {};
  if (std::int64_t{spec.out_height} * spec.out_width < kFew || products > kMaxFloatSum) {
    if (!single_positions(spec) || products > kMaxPackedBytes) return {};
    auto* const packed = memory.array<PackedBytes>(1);
    if (packed == nullptr) return Status(Code::out_of_memory, "no memory for a layer's packed weights");
    RUNNEL_TRY(pack_bytes(static_cast<const std::int8_t*>(spec.weights), spec.out_channels, products, memory,
                          *packed));
    spec.packed = packed;
    return {};
  }
  const std::int64_t count = products * spec.out_channels;
  auto* const weights = memory.array<float>(static_cast<std::size_t>(count));
  auto* const conv = memory.array<FloatConv>(1);
  if (weights == nullptr || conv == nullptr)
    return Status(Code::out_of_memory, "no memory for a convolution's weights as floats");
  spec.rows->widen(static_cast<std::size_t>(count), static_cast<const std::int8_t*>(spec.weights), weights);
  FloatConvSpec floats;
  floats.in_height = spec.in_height, floats.in_width = spec.in_width;
  floats.in_channels = spec.in_channels;
  floats.out_height = spec.out_height, floats.out_width = spec.out_width;
  floats.out_channels = spec.out_channels;
  floats.kernel_height = spec.kernel_height, floats.kernel_width = spec.kernel_width;
  floats.stride_height = spec.stride_height, floats.stride_width = spec.stride_width;
  floats.dilation_height = spec.dilation_height, floats.dilation_width = spec.dilation_width;
  floats.pad_top = spec.pad_top, floats.pad_left = spec.pad_left;
  floats.groups = spec.groups;
  floats.weights = weights;
  RUNNEL_TRY(prepare_float_conv(floats, isa, memory, *conv));
  spec.sums = conv;
  return {};
}

void hybrid_conv(const HybridConvSpec& spec, const float* x, float* y, void* scratch) noexcept {
  if (spec.packed != nullptr) return conv_by_products(spec, x, y, scratch);
  auto* const bytes = static_cast<std::int8_t*>(scratch);
  if (spec.sums == nullptr) return conv_by_rows(spec, x, y, bytes);
  const auto inputs = static_cast<std::size_t>(spec.inputs());
  auto* const floats = reinterpret_cast<float*>(bytes + aligned_bytes(spec.inputs()));
  const float scale = spec.rows->quantize(inputs, x, bytes);
  spec.rows->widen(inputs, bytes, floats);
  spec.sums->run(floats, y, floats + inputs);
  spec.rows->scale_back(std::int64_t{spec.out_height} * spec.out_width, spec.out_channels, scale, spec.scales,
                        spec.per_channel, static_cast<const float*>(spec.bias), spec.relu, y);
}

}  // namespace runnel::kernels
