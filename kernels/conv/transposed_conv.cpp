#include "kernels/conv/transposed_conv.h"

#include <algorithm>
#include <type_traits>

namespace runnel::kernels {
namespace {

template <class T>
using Wide = std::conditional_t<sizeof(T) == 1, std::int32_t, std::int64_t>;

// Calls f(i, tap) for every input and tap that contribute to `output` on an axis.
template <class F>
void each_tap(const TransposedAxis& axis, std::int32_t output, F&& f) noexcept {
  const std::int64_t m = output + axis.offset;
  for (std::int32_t tap = 0; tap < axis.kernel; ++tap) {
    const std::int64_t rest = m - std::int64_t{tap} * axis.dilation;
    if (rest < 0) return;
    if (rest % axis.stride != 0 || rest / axis.stride >= axis.in) continue;
    f(static_cast<std::int32_t>(rest / axis.stride), tap);
  }
}

template <class T>
void reference(const TransposedConvSpec& spec, const T* x, T* y) noexcept {
  const std::int32_t in = spec.in_channels / spec.groups, out = spec.out_channels / spec.groups;
  const auto* weights = static_cast<const T*>(spec.weights);
  for (std::int32_t h = 0; h < spec.height.out; ++h) {
    for (std::int32_t w = 0; w < spec.width.out; ++w) {
      for (std::int32_t n = 0; n < spec.out_channels; ++n) {
        std::int64_t sum = spec.bias == nullptr ? 0 : static_cast<const Wide<T>*>(spec.bias)[n];
        each_tap(spec.height, h, [&](std::int32_t row, std::int32_t kh) {
          each_tap(spec.width, w, [&](std::int32_t column, std::int32_t kw) {
            const T* pixel =
                x + (std::int64_t{row} * spec.width.in + column) * spec.in_channels + n / out * in;
            const T* factors =
                weights + ((std::int64_t{n} * spec.height.kernel + kh) * spec.width.kernel + kw) * in;
            for (std::int32_t c = 0; c < in; ++c) sum += static_cast<std::int64_t>(pixel[c]) * factors[c];
          });
        });
        *y++ = static_cast<T>(requantize(sum, spec.requant, n));
      }
    }
  }
}

template <class T>
void run(const TransposedConv& conv, const T* x, T* y, Wide<T>* sums) noexcept {
  const TransposedConvSpec& spec = conv.spec;
  const std::int32_t in = spec.in_channels / spec.groups, out = spec.out_channels / spec.groups;
  const std::int64_t per_tap = std::int64_t{in} * out,
                     per_group = per_tap * spec.height.kernel * spec.width.kernel;
  const auto* packed = static_cast<const T*>(conv.packed);
  const auto* bias = static_cast<const Wide<T>*>(spec.bias);
  for (std::int32_t h = 0; h < spec.height.out; ++h) {
    for (std::int32_t w = 0; w < spec.width.out; ++w, y += spec.out_channels) {
      if (bias != nullptr)
        std::copy_n(bias, spec.out_channels, sums);
      else
        std::fill_n(sums, spec.out_channels, Wide<T>{0});
      each_tap(spec.height, h, [&](std::int32_t row, std::int32_t kh) {
        each_tap(spec.width, w, [&](std::int32_t column, std::int32_t kw) {
          const T* pixel = x + (std::int64_t{row} * spec.width.in + column) * spec.in_channels;
          for (std::int32_t group = 0; group < spec.groups; ++group) {
            const T* factors =
                packed + group * per_group + (std::int64_t{kh} * spec.width.kernel + kw) * per_tap;
            Wide<T>* const to = sums + group * out;
            for (std::int32_t c = 0; c < in; ++c, factors += out) {
              const Wide<T> value = pixel[group * in + c];
              for (std::int32_t n = 0; n < out; ++n) to[n] += value * factors[n];
            }
          }
        });
      });
      for (std::int32_t n = 0; n < spec.out_channels; ++n)
        y[n] = static_cast<T>(requantize(sums[n], spec.requant, n));
    }
  }
}

template <class T>
void pack(const TransposedConvSpec& spec, T* packed) noexcept {
  const std::int32_t in = spec.in_channels / spec.groups, out = spec.out_channels / spec.groups,
                     taps = spec.height.kernel * spec.width.kernel;
  const auto* weights = static_cast<const T*>(spec.weights);
  for (std::int32_t group = 0; group < spec.groups; ++group) {
    for (std::int32_t tap = 0; tap < taps; ++tap) {
      for (std::int32_t c = 0; c < in; ++c) {
        for (std::int32_t n = 0; n < out; ++n)
          *packed++ = weights[((std::int64_t{group} * out + n) * taps + tap) * in + c];
      }
    }
  }
}

}  // namespace

void transposed_conv_reference(const TransposedConvSpec& spec, const void* x, void* y) noexcept {
  if (spec.dtype == DType::int8)
    reference(spec, static_cast<const std::int8_t*>(x), static_cast<std::int8_t*>(y));
  else
    reference(spec, static_cast<const std::int16_t*>(x), static_cast<std::int16_t*>(y));
}

Status prepare_transposed_conv(const TransposedConvSpec& spec, Memory& memory,
                               TransposedConv& conv) noexcept {
  conv.spec = spec;
  const std::size_t element = size_of(spec.dtype);
  const std::size_t count =
      static_cast<std::size_t>(spec.out_channels) * static_cast<std::size_t>(spec.height.kernel) *
      static_cast<std::size_t>(spec.width.kernel) * static_cast<std::size_t>(spec.in_channels / spec.groups);
  void* packed = memory.allocate(count * element, 64);
  if (packed == nullptr)
    return Status(Code::out_of_memory) << "no memory for " << count * element << " bytes of weights";
  if (spec.dtype == DType::int8)
    pack(spec, static_cast<std::int8_t*>(packed));
  else
    pack(spec, static_cast<std::int16_t*>(packed));
  conv.packed = packed;
  conv.scratch_bytes = static_cast<std::size_t>(spec.out_channels) * (spec.dtype == DType::int8 ? 4 : 8);
  return {};
}

void run_transposed_conv(const TransposedConv& conv, const void* x, void* y, void* scratch) noexcept {
  if (conv.spec.dtype == DType::int8)
    run(conv, static_cast<const std::int8_t*>(x), static_cast<std::int8_t*>(y),
        static_cast<std::int32_t*>(scratch));
  else
    run(conv, static_cast<const std::int16_t*>(x), static_cast<std::int16_t*>(y),
        static_cast<std::int64_t*>(scratch));
}

}  // namespace runnel::kernels
