// A step of sequence_lstm.h on integers in vectors: the plain loops of sequence_lstm.cpp.
// Included by each recurrent_<level>.cpp after its `V`.
#pragma once

#include "kernels/elementwise/sigmoid_table.h"
#include "kernels/recurrent/packed_rows_loops.h"
#include "kernels/recurrent/recurrent_vectors.h"

namespace runnel::kernels {
namespace {

// An entry of the table with the step to the next one, for one load.
struct SigmoidSteps {
  std::int32_t entries[256] = {};
  constexpr SigmoidSteps() noexcept {
    for (int i = 0; i < 256; ++i)
      entries[i] = kSigmoid[i] | static_cast<std::uint32_t>(i < 255 ? kSigmoid[i + 1] - kSigmoid[i] : 0)
                                     << 16;
  }
};
constexpr SigmoidSteps kSteps;

template <class V>
RUNNEL_KERNEL_INLINE typename V::I between(typename V::I value, std::int32_t low,
                                           std::int32_t high) noexcept {
  const typename V::I least = V::splat(low), most = V::splat(high);
  value = value < least ? least : value;
  return value > most ? most : value;
}
template <class V>
RUNNEL_KERNEL_INLINE typename V::I limited(typename V::I value) noexcept {
  return between<V>(value, -32768, 32767);
}

// Scaling of an int32 whose result is saturated to int16 or less afterwards: what a shift to the left would
// carry out of int32 stays far beyond these limits.
template <class V, Rounding kRounding>
RUNNEL_KERNEL_INLINE typename V::I scaled(const Scaling& scaling, typename V::I value) noexcept {
  using I = typename V::I;
  const std::int32_t by = kRounding == Rounding::tflite_double ? scaling.multiplier.shift : scaling.shift,
                     left = by < 0 ? -by : 0, shift = by > 0 ? by : 0;
  if (left > 0) value = between<V>(value, -((1 << 30) >> left), (1 << 30) >> left) * V::splat(1 << left);
  const I mask = V::splat((1 << shift) - 1);
  if constexpr (kRounding == Rounding::tflite_double) {
    const I high = V::doubled_high_product(value, scaling.multiplier.value);
    const I threshold = (mask >> 1) - (high < 0);  // true is -1
    return (high >> shift) - ((high & mask) > threshold);
  } else {
    if (shift == 0) return value;
    const I half = V::splat(1 << (shift - 1)), rest = value & mask, floor = value >> shift;
    if constexpr (kRounding == Rounding::half_even) return floor - (rest + (floor & 1) > half);
    return floor - (rest >= half);
  }
}

// sigmoid_of_int16(x, 0, 0), and tanh_of_int16() from its table's input.
template <class V>
RUNNEL_KERNEL_INLINE typename V::I sigmoid_of(typename V::I x) noexcept {
  using I = typename V::I;
  const I input = x * 3, size = input < 0 ? -input : input, entry = size >> 9;
  const I both = V::gather(kSteps.entries, entry < 255 ? entry : V::splat(255));
  I result = ((both & 0xffff) << 9) + (size & 0x1ff) * (both >> 16);
  result = entry < 255 ? result : V::splat(0x7fff << 10);
  result = input >= 0 ? result + (1 << 9) : (1 << 25) - result + ((1 << 9) - 1);
  return result >> 10;
}
template <class V>
RUNNEL_KERNEL_INLINE typename V::I tanh_of_input(typename V::I input) noexcept {
  using I = typename V::I;
  const I size = input < 0 ? -input : input, entry = size >> 8;
  const I both = V::gather(kSteps.entries, entry < 255 ? entry : V::splat(255));
  I result = ((both & 0xffff) << 8) + (size & 0xff) * (both >> 16);
  result = entry < 255 ? result : V::splat(0xffff << 8);
  result = input >= 0 ? result - ((1 << 23) - (1 << 7)) : -result + ((1 << 23) + (1 << 7) - 1);
  return result >> 8;
}

template <class V, Rounding kRounding>
void lstm_vector_step(const SequenceLstmSpec& spec, const std::int8_t* x, std::int8_t* h, std::int16_t* c,
                      void* scratch) noexcept {
  using I = typename V::I;
  const SequenceLstmVectors& vectors = *spec.vectors;
  const std::int32_t units = spec.units, count = whole_vectors(units);
  auto* const a = static_cast<std::int32_t*>(scratch);
  std::int32_t *const b = a + vectors.sums, *const gates = b + vectors.sums, *const now = gates + 4 * count;
  auto* const wide = reinterpret_cast<std::int16_t*>(now + count);
  widen(x, spec.inputs, spec.x_zero, wide);
  sum_rows<V>(vectors.x, wide, a);
  widen(h, units, spec.h_zero, wide);
  sum_rows<V>(vectors.h, wide, b);
  clear_slack<V>(vectors.h, a, b);
  constexpr int kCell = 2;
  const auto in = [](const std::int32_t* from) { return V::template at<I>(from); };
  for (int g = 0; g < 4; ++g) {
    const std::int32_t* const bias = vectors.bias + g * units;
    const Scaling x_scale = spec.x_scale[g], h_scale = spec.h_scale[g];
    std::int32_t *const from_x = a + g * units, *const from_h = b + g * units, *const to = gates + g * count;
    for (std::int32_t u = 0; u < count; u += V::kLanes) {
      const I sum = limited<V>(limited<V>(scaled<V, kRounding>(x_scale, in(bias + u) + in(from_x + u))) +
                               limited<V>(scaled<V, kRounding>(h_scale, in(from_h + u))));
      V::put(to + u, g == kCell ? tanh_of_input<V>(sum * 3) : sigmoid_of<V>(sum));
    }
  }
  const std::int32_t *const input = gates, *const forget = input + count, *const cell = forget + count,
                            *const output = cell + count;
  const Scaling forget_cell = spec.forget_cell, input_cell = spec.input_cell, hidden = spec.hidden;
  const std::int32_t clip = spec.clip > 0 ? spec.clip : 32768;
  // tanh_of_cell() of sequence_lstm.cpp.
  const int shift = 12 + spec.cell_exponent;
  const std::int32_t multiplier = shift >= 0 ? 3 << shift : 3, right = shift >= 0 ? 0 : -shift,
                     half = right > 0 ? 1 << (right - 1) : 0;
  take(c, units, count, now);
  for (std::int32_t u = 0; u < count; u += V::kLanes) {
    const I kept = limited<V>(scaled<V, kRounding>(forget_cell, in(forget + u) * in(now + u))),
            added = limited<V>(scaled<V, kRounding>(input_cell, in(input + u) * in(cell + u)));
    V::put(now + u, between<V>(limited<V>(kept + added), -clip, clip));
  }
  for (std::int32_t u = 0; u < units; ++u) c[u] = static_cast<std::int16_t>(now[u]);
  for (std::int32_t u = 0; u < count; u += V::kLanes) {
    const I through = tanh_of_input<V>((in(now + u) * multiplier + half) >> right),
            y = scaled<V, kRounding>(hidden, through * in(output + u)) + spec.h_zero;
    V::put(now + u, between<V>(y, -128, 127));
  }
  for (std::int32_t u = 0; u < units; ++u) h[u] = static_cast<std::int8_t>(now[u]);
}

}  // namespace
}  // namespace runnel::kernels
