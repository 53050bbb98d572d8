// A step of recurrent.h in vectors: the plain loops of recurrent.cpp. Included by each recurrent_<level>.cpp
// after its `V`; everything is in an unnamed namespace.
#pragma once

#include "kernels/recurrent/packed_rows_loops.h"
#include "kernels/recurrent/recurrent_vectors.h"

namespace runnel::kernels {
namespace {

// round_float() for values of which those beyond 16 bits are saturated afterwards.
template <class V, bool kHalfUp>
RUNNEL_KERNEL_INLINE typename V::I rounded(typename V::F value) noexcept {
  const typename V::F far = V::splat(70000.0f);
  value = value < -far ? -far : value;
  value = value > far ? far : value;
  if constexpr (kHalfUp) {
    const typename V::F sum = value + V::splat(0.5f);
    const auto whole = __builtin_convertvector(sum, typename V::I);
    return whole + (__builtin_convertvector(whole, typename V::F) > sum);  // true is -1
  } else {
    const typename V::F shift = V::splat(12582912.0f);  // 1.5 * 2^23: adding it rounds, ties to even
    return __builtin_convertvector((value + shift) - shift, typename V::I);
  }
}
template <class T, class V>
RUNNEL_KERNEL_INLINE typename V::I within(typename V::I value) noexcept {
  const typename V::I low = V::splat(std::int32_t{std::numeric_limits<T>::min()}),
                      high = V::splat(std::int32_t{std::numeric_limits<T>::max()});
  value = value < low ? low : value;
  return value > high ? high : value;
}

template <class V>
RUNNEL_KERNEL_INLINE typename V::F entry_of(const GateTable& table, typename V::I value) noexcept {
  const typename V::I last = V::splat(table.last), size = value < 0 ? -value : value;
  return V::gather(table.entries, size < last ? size : last);
}
template <class V>
RUNNEL_KERNEL_INLINE typename V::F sigmoid_of(const GateTable& table, typename V::I value) noexcept {
  const typename V::F entry = entry_of<V>(table, value);
  return value >= 0 ? entry : V::splat(1.0f) - entry;
}
template <class V>
RUNNEL_KERNEL_INLINE typename V::F tanh_of(const GateTable& table, typename V::I value) noexcept {
  const typename V::F entry = entry_of<V>(table, value);
  return value >= 0 ? entry : -entry;
}

// y[row] = matrix * x as int16 at the gate exponent, plus the bias.
template <class V, class T, bool kHalfUp>
RUNNEL_KERNEL_INLINE void product(const PackedRows& rows, const T* x, std::int32_t columns, float scale,
                                  const std::int32_t* bias, std::int16_t* wide, std::int32_t* high,
                                  std::int32_t* y) noexcept {
  using F = typename V::F;
  widen(x, columns, 0, wide);
  const std::int32_t count = rows.groups * V::kLanes;
  auto* const sums = reinterpret_cast<float*>(high);
  if constexpr (sizeof(T) == 1) {
    sum_rows<V>(rows, wide, y);
    for (std::int32_t i = 0; i < count; ++i) sums[i] = static_cast<float>(y[i]);
  } else {
    sum_rows_in_halves<V>(rows, wide, y, high);
    // Exact in double, then rounded once, as an int64 would be.
    RUNNEL_IN_PLACE_LOOP
    for (std::int32_t i = 0; i < count; ++i)
      sums[i] = static_cast<float>(static_cast<double>(high[i]) * 65536.0 + static_cast<double>(y[i]));
  }
  for (std::int32_t i = 0; i < count; i += V::kLanes) {
    const auto value = rounded<V, kHalfUp>(V::template at<F>(sums + i) * V::splat(scale));
    V::put(y + i, within<std::int16_t, V>(value) + V::template at<typename V::I>(bias + i));
  }
}

template <class V, class T, bool kHalfUp>
void vector_step(const RecurrentSpec& spec, const void* x, void* state, void* cell, void* scratch) noexcept {
  using I = typename V::I;
  using F = typename V::F;
  const RecurrentVectors& vectors = *spec.vectors;
  const std::int32_t hidden = spec.hidden, sums = vectors.sums, count = whole_vectors(hidden);
  T* const h = static_cast<T*>(state);
  auto* const a = static_cast<std::int32_t*>(scratch);
  std::int32_t *const b = a + sums, *const high = b + sums, *const now = high + sums;
  auto* const wide = reinterpret_cast<std::int16_t*>(now + count);
  product<V, T, kHalfUp>(vectors.input, static_cast<const T*>(x), spec.inputs,
                         power_of_two(spec.input_exponent - spec.gate_exponent), vectors.input_bias, wide,
                         high, a);
  product<V, T, kHalfUp>(vectors.hidden, h, hidden, power_of_two(spec.hidden_exponent - spec.gate_exponent),
                         vectors.hidden_bias, wide, high, b);
  clear_slack<V>(vectors.hidden, a, b);
  const F h_scale = V::splat(power_of_two(-spec.state_exponent));
  const GateTable sigmoid = spec.sigmoid, tanh = spec.tanh;
  const auto in = [=](const std::int32_t* from) { return V::template at<I>(from); };
  const auto real = [](I value) { return __builtin_convertvector(value, F); };
  if (spec.lstm) {
    auto* const c = static_cast<std::int16_t*>(cell);
    const F c_scale = V::splat(power_of_two(-spec.gate_exponent));
    const auto gate = [=](std::int32_t k) { return within<std::int16_t, V>(in(a + k) + in(b + k)); };
    take(c, hidden, count, now);
    for (std::int32_t k = 0; k < count; k += V::kLanes) {
      const F i = sigmoid_of<V>(sigmoid, gate(k)), f = sigmoid_of<V>(sigmoid, gate(2 * hidden + k)),
              g = tanh_of<V>(tanh, gate(3 * hidden + k));
      V::put(now + k, within<std::int16_t, V>(rounded<V, kHalfUp>(f * real(in(now + k)) + i * g * c_scale)));
    }
    for (std::int32_t k = 0; k < hidden; ++k) c[k] = static_cast<std::int16_t>(now[k]);
    for (std::int32_t k = 0; k < count; k += V::kLanes) {
      const F o = sigmoid_of<V>(sigmoid, gate(hidden + k));
      V::put(now + k, within<T, V>(rounded<V, kHalfUp>(o * tanh_of<V>(tanh, in(now + k)) * h_scale)));
    }
  } else {
    const auto from_x = [=](std::int32_t k) { return within<std::int16_t, V>(in(a + k)); };
    const auto from_h = [=](std::int32_t k) { return within<std::int16_t, V>(in(b + k)); };
    take(h, hidden, count, now);
    for (std::int32_t k = 0; k < count; k += V::kLanes) {
      const F z = sigmoid_of<V>(sigmoid, from_x(k) + from_h(k)),
              r = sigmoid_of<V>(sigmoid, from_x(hidden + k) + from_h(hidden + k));
      const F candidate = real(from_x(2 * hidden + k)) + r * real(from_h(2 * hidden + k));
      const F n = tanh_of<V>(tanh, rounded<V, kHalfUp>(candidate));
      V::put(now + k,
             within<T, V>(rounded<V, kHalfUp>((V::splat(1.0f) - z) * n * h_scale + z * real(in(now + k)))));
    }
  }
  for (std::int32_t k = 0; k < hidden; ++k) h[k] = static_cast<T>(now[k]);
}

}  // namespace
}  // namespace runnel::kernels
