// Products of computed matrices of integers: what all vector levels share. Included once by each
// integer_products_<level>.cpp; everything is in an unnamed namespace: no copy reaches other files. Sums has
//   bytes<kCount>(inner, columns, a, b, sums)   sums[row][n] for kCount rows of `a`, as int16, and all
//   columns words(inner, columns, a, b, sums)           sums[n] of one row of int16
#pragma once

#include "kernels/elementwise/multiplier_lanes.h"
#include "kernels/transformer/integer_products.h"

#if defined(RUNNEL_MULTIPLIER_LANES)
namespace runnel::kernels {
namespace {

constexpr int kRows = 4;  // of a, side by side

IntLanes loaded(const std::int32_t* from) noexcept {
  IntLanes value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

// value(i) of `count` sums as bytes within the limits: of whole vectors, then of what is left.
template <class Lanes, class One>
void store_bytes(const MatmulSpec& spec, std::int32_t count, std::int8_t* y, const Lanes& lanes,
                 const One& one) noexcept {
  const IntLanes low = spec.low - IntLanes{}, high = spec.high - IntLanes{};
  std::int32_t i = 0;
  for (; i + kIntLanes <= count; i += kIntLanes) {
    IntLanes value = lanes(i);
    value = value < low ? low : value;
    narrow(value > high ? high : value, y + i);
  }
  for (; i < count; ++i) {
    const std::int32_t value = one(i);
    y[i] = static_cast<std::int8_t>(value < spec.low ? spec.low : value > spec.high ? spec.high : value);
  }
}

// Sums less `offset`, rounded.
void finish_bytes(const MatmulSpec& spec, const std::int32_t* sums, std::int32_t offset,
                  std::int8_t* y) noexcept {
  if (spec.affine) {
    const MultiplierLanes scale(spec.multiplier);
    const Multiplier32<true> scale_one(spec.multiplier);
    return store_bytes(
        spec, spec.columns, y, [&](std::int32_t i) { return scale(loaded(sums + i) - offset) + spec.y_zero; },
        [&](std::int32_t i) { return scale_one(sums[i] - offset) + spec.y_zero; });
  }
  // floor((x + 2^(s-1)) / 2^s), to even: half less one, and the lowest bit that stays.
  const std::int32_t shift = spec.shift[0];
  if (shift == 0) {
    return store_bytes(
        spec, spec.columns, y, [&](std::int32_t i) { return loaded(sums + i); },
        [&](std::int32_t i) { return sums[i]; });
  }
  const std::int32_t even = spec.rounding == Rounding::half_even ? 1 : 0, half = (1 << (shift - 1)) - even;
  store_bytes(
      spec, spec.columns, y,
      [&](std::int32_t i) {
        const IntLanes sum = loaded(sums + i);
        return (sum + half + ((sum >> shift) & even)) >> shift;
      },
      [&](std::int32_t i) { return (sums[i] + half + ((sums[i] >> shift) & even)) >> shift; });
}

template <class Sums, int kCount>
void byte_rows(const MatmulSpec& spec, const std::int8_t* a, const std::int8_t* b, std::int8_t* y,
               std::int32_t* sums, std::int16_t* rows) noexcept {
  std::int32_t totals[kCount] = {};
  for (int row = 0; row < kCount; ++row) {
    for (std::int32_t k = 0; k < spec.inner; ++k) {
      const std::int32_t value = a[row * spec.inner + k] - spec.a_zero;
      rows[row * spec.inner + k] = static_cast<std::int16_t>(value);
      totals[row] += value;
    }
  }
  Sums::template bytes<kCount>(spec.inner, spec.columns, rows, b, sums);
  for (int row = 0; row < kCount; ++row)
    finish_bytes(spec, sums + row * spec.columns, totals[row] * spec.b_zero, y + row * spec.columns);
}

template <class Sums>
void byte_products(const MatmulSpec& spec, const void* a, const void* b, void* y, void* scratch) noexcept {
  const auto* left = static_cast<const std::int8_t*>(a);
  const auto* const right = static_cast<const std::int8_t*>(b);
  auto* to = static_cast<std::int8_t*>(y);
  auto* const sums = static_cast<std::int32_t*>(scratch);
  auto* const rows = reinterpret_cast<std::int16_t*>(sums + kRows * spec.columns);
  std::int32_t row = 0;
  for (; row + kRows <= spec.rows; row += kRows) {
    byte_rows<Sums, kRows>(spec, left, right, to, sums, rows);
    left += kRows * spec.inner;
    to += kRows * spec.columns;
  }
  for (; row < spec.rows; ++row) {
    byte_rows<Sums, 1>(spec, left, right, to, sums, rows);
    left += spec.inner;
    to += spec.columns;
  }
}

template <class Sums>
void word_products(const MatmulSpec& spec, const void* a, const void* b, void* y, void* scratch) noexcept {
  const auto* left = static_cast<const std::int16_t*>(a);
  const auto* const right = static_cast<const std::int16_t*>(b);
  auto* to = static_cast<std::int16_t*>(y);
  auto* const sums = static_cast<std::int64_t*>(scratch);
  for (std::int32_t row = 0; row < spec.rows; ++row, left += spec.inner, to += spec.columns) {
    Sums::words(spec.inner, spec.columns, left, right, sums);
    for (std::int32_t n = 0; n < spec.columns; ++n) {
      const std::int64_t value =
          spec.affine ? multiply_shift(sums[n], spec.multiplier.value, spec.multiplier.shift,
                                       Rounding::tflite_double) +
                            spec.y_zero
                      : round_shift(sums[n], spec.shift[spec.shift_count == 1 ? 0 : n], spec.rounding);
      to[n] = static_cast<std::int16_t>(value < spec.low ? spec.low : value > spec.high ? spec.high : value);
    }
  }
}

}  // namespace
}  // namespace runnel::kernels
#endif
