// Steps of sequence_lstm.h on integers in vectors: the plain loops of sequence_lstm.cpp.
// Included by each recurrent_<level>.cpp after its `V`.
#pragma once

#include "kernels/elementwise/sigmoid_table.h"
#include "kernels/integer_lanes.h"
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
  const I both = V::look_up(kSteps.entries, entry < 255 ? entry : V::splat(255));
  I result = ((both & 0xffff) << 9) + (size & 0x1ff) * (both >> 16);
  result = entry < 255 ? result : V::splat(0x7fff << 10);
  result = input >= 0 ? result + (1 << 9) : (1 << 25) - result + ((1 << 9) - 1);
  return result >> 10;
}
template <class V>
RUNNEL_KERNEL_INLINE typename V::I tanh_of_input(typename V::I input) noexcept {
  using I = typename V::I;
  const I size = input < 0 ? -input : input, entry = size >> 8;
  const I both = V::look_up(kSteps.entries, entry < 255 ? entry : V::splat(255));
  I result = ((both & 0xffff) << 8) + (size & 0xff) * (both >> 16);
  result = entry < 255 ? result : V::splat(0xffff << 8);
  result = input >= 0 ? result - ((1 << 23) - (1 << 7)) : -result + ((1 << 23) + (1 << 7) - 1);
  return result >> 8;
}

// scaled() with numbers of its own for each row.
template <class V, Rounding kRounding>
RUNNEL_KERNEL_INLINE typename V::I scaled_rows(const RowScales& scales, std::int32_t row,
                                               typename V::I value) noexcept {
  using I = typename V::I;
  if (scales.left != nullptr) {
    const I left = V::template at<I>(scales.left + row), most = V::splat(1 << 30) >> left;
    value = value < -most ? -most : value;
    value = (value > most ? most : value) << left;
  }
  const I shift = V::template at<I>(scales.right + row), mask = (V::splat(1) << shift) - 1;
  if constexpr (kRounding == Rounding::tflite_double) {
    const I high = V::doubled_high_product(value, V::template at<I>(scales.multiplier + row));
    const I threshold = (mask >> 1) - (high < 0);  // true is -1
    return (high >> shift) - ((high & mask) > threshold);
  } else {
    const I half = (mask >> 1) + 1, rest = value & mask, floor = value >> shift;
    const I up = kRounding == Rounding::half_even ? rest + (floor & 1) > half : rest >= half;
    return shift > 0 ? floor - up : value;
  }
}

// The gates of one step, row by row: sigmoids, and tanh for the rows of the cell.
template <class V, Rounding kRounding>
RUNNEL_KERNEL_INLINE void make_gates(const SequenceLstmSpec& spec, const std::int32_t* from_x,
                                     const std::int32_t* from_h, std::int32_t* gates) noexcept {
  using I = typename V::I;
  const SequenceLstmVectors& vectors = *spec.vectors;
  const std::int32_t rows = vectors.h.groups * V::kLanes, first = 2 * spec.units, last = 3 * spec.units;
  for (std::int32_t row = 0; row < rows; row += V::kLanes) {
    const I h = limited<V>(scaled_rows<V, kRounding>(vectors.h_scales, row, V::template at<I>(from_h + row)));
    const I sum = limited<V>(V::template at<I>(from_x + row) + h);
    if (row + V::kLanes <= first || row >= last) {
      V::put(gates + row, sigmoid_of<V>(sum));
    } else if (row >= first && row + V::kLanes <= last) {
      V::put(gates + row, tanh_of_input<V>(sum * 3));
    } else {
      I index;
      for (int lane = 0; lane < V::kLanes; ++lane) index[lane] = lane;
      index += row;
      const I inside = (index >= first) & (index < last);
      V::put(gates + row, inside ? tanh_of_input<V>(sum * 3) : sigmoid_of<V>(sum));
    }
  }
}

// The cell and the output from the gates; `wide`: the output less its zero point.
template <class V, Rounding kRounding>
RUNNEL_KERNEL_INLINE void finish_step(const SequenceLstmSpec& spec, const std::int32_t* gates,
                                      std::int32_t* cell, std::int16_t* wide, std::int8_t* y) noexcept {
  using I = typename V::I;
  const std::int32_t units = spec.units, count = whole_vectors(units);
  const Scaling forget_cell = spec.forget_cell, input_cell = spec.input_cell, hidden = spec.hidden;
  const std::int32_t clip = spec.clip > 0 ? spec.clip : 32768;
  // tanh_of_cell() of sequence_lstm.cpp.
  const int shift = 12 + spec.cell_exponent;
  const std::int32_t multiplier = shift >= 0 ? 3 << shift : 3, right = shift >= 0 ? 0 : -shift,
                     half = right > 0 ? 1 << (right - 1) : 0;
  const auto of = [&](std::int32_t gate, std::int32_t u) __attribute__((always_inline)) {
    return V::template at<I>(gates + gate * units + u);
  };
  for (std::int32_t u = 0; u < count; u += V::kLanes) {
    const I kept = limited<V>(scaled<V, kRounding>(forget_cell, of(1, u) * V::template at<I>(cell + u))),
            added = limited<V>(scaled<V, kRounding>(input_cell, of(0, u) * of(2, u))),
            now = between<V>(limited<V>(kept + added), -clip, clip);
    V::put(cell + u, now);
    const I through = tanh_of_input<V>((now * multiplier + half) >> right),
            result = between<V>(scaled<V, kRounding>(hidden, through * of(3, u)) + spec.h_zero, -128, 127);
    narrow(result - spec.h_zero, wide + u);
    narrow(result, y + u);
  }
}

// Several steps: what comes from x is computed for all of them first, in blocks.
template <class V, Rounding kRounding>
void lstm_vector_steps(const SequenceLstmSpec& spec, const LstmSequence& io, void* scratch) noexcept {
  using I = typename V::I;
  const SequenceLstmVectors& vectors = *spec.vectors;
  const std::int32_t units = spec.units, count = whole_vectors(units), rows = vectors.h.groups * V::kLanes;
  auto* const from_x = static_cast<std::int32_t*>(scratch);
  std::int32_t *const from_h = from_x + kLstmSteps * vectors.sums, *const gates = from_h + vectors.sums,
                      *const cell = gates + vectors.sums;
  auto* const wide_h = reinterpret_cast<std::int16_t*>(cell + count);
  std::int16_t* const wide_x = wide_h + count + 2;
  auto* const result = reinterpret_cast<std::int8_t*>(wide_x + spec.inputs + 2);
  take(io.c, units, count, cell);
  widen(io.h, units, spec.h_zero, wide_h);
  for (std::int32_t i = rows; i < vectors.sums; ++i) gates[i] = 0;  // read past the last row
  for (std::int64_t first = 0; first < io.steps; first += kLstmSteps) {
    const std::int64_t some = io.steps - first < kLstmSteps ? io.steps - first : kLstmSteps;
    for (std::int64_t t = 0; t < some; ++t) {
      std::int32_t* const to = from_x + t * vectors.sums;
      widen(io.x + (first + t) * io.x_step, spec.inputs, spec.x_zero, wide_x);
      sum_rows<V>(vectors.x, wide_x, to);
      for (std::int32_t row = 0; row < rows; row += V::kLanes) {
        const I sum = V::template at<I>(to + row) + V::template at<I>(vectors.bias + row);
        V::put(to + row, limited<V>(scaled_rows<V, kRounding>(vectors.x_scales, row, sum)));
      }
    }
    for (std::int64_t t = 0; t < some; ++t) {
      sum_rows<V>(vectors.h, wide_h, from_h);
      make_gates<V, kRounding>(spec, from_x + t * vectors.sums, from_h, gates);
      finish_step<V, kRounding>(spec, gates, cell, wide_h, result);
      __builtin_memcpy(io.y + (first + t) * io.y_step, result, static_cast<std::size_t>(units));
    }
  }
  for (std::int32_t u = 0; u < units; ++u) io.c[u] = static_cast<std::int16_t>(cell[u]);
  if (io.steps > 0) __builtin_memcpy(io.h, result, static_cast<std::size_t>(units));
}

}  // namespace
}  // namespace runnel::kernels
