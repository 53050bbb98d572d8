// Sums of packed rows. Included through the loops of the recurrent kernels by each file that is compiled for
// a level's instructions, after its `V`: vectors of int32 with add_products (pairs of int16).
#pragma once

#include "kernels/arithmetic/requantize.h"
#include "kernels/recurrent/recurrent_vectors.h"

namespace runnel::kernels {
namespace {

// x as int16 less `zero`, up to a whole pair.
template <class T>
RUNNEL_KERNEL_INLINE void widen(const T* x, std::int32_t count, std::int32_t zero,
                                std::int16_t* to) noexcept {
  for (std::int32_t i = 0; i < count; ++i) to[i] = static_cast<std::int16_t>(x[i] - zero);
  to[count] = 0;
}

// The sums of `kGroups` groups from `group` on.
template <class V, int kGroups>
RUNNEL_KERNEL_INLINE void sum_groups(const PackedRows& rows, std::int32_t group, const std::int16_t* x,
                                     std::int32_t* sums) noexcept {
  const std::int64_t step = 2 * V::kLanes, whole = step * rows.pairs;
  const std::int16_t* w = rows.weights + group * whole;
  typename V::I sum[kGroups];
  for (int g = 0; g < kGroups; ++g) sum[g] = typename V::I{};
  for (std::int32_t pair = 0; pair < rows.pairs; ++pair, w += step) {
    const typename V::I two = V::repeat2(x + 2 * pair);
    for (int g = 0; g < kGroups; ++g)
      sum[g] = V::add_products(sum[g], two, V::template at<typename V::I>(w + g * whole));
  }
  for (int g = 0; g < kGroups; ++g) V::put(sums + (group + g) * V::kLanes, sum[g]);
}

// Sums that fit into int32.
template <class V>
RUNNEL_KERNEL_INLINE void sum_rows(const PackedRows& rows, const std::int16_t* x,
                                   std::int32_t* sums) noexcept {
  std::int32_t group = 0;
  for (; group + 4 <= rows.groups; group += 4) sum_groups<V, 4>(rows, group, x, sums);
  for (; group < rows.groups; ++group) sum_groups<V, 1>(rows, group, x, sums);
}

// The same for any int16: sum = high * 2^16 + low. A pair's products fit into int32; so do the sums of their
// halves, of up to 2^15 pairs.
template <class V, int kGroups>
RUNNEL_KERNEL_INLINE void sum_groups_in_halves(const PackedRows& rows, std::int32_t group,
                                               const std::int16_t* x, std::int32_t* low,
                                               std::int32_t* high) noexcept {
  const std::int64_t step = 2 * V::kLanes, whole = step * rows.pairs;
  const std::int16_t* w = rows.weights + group * whole;
  typename V::I lows[kGroups], highs[kGroups];
  for (int g = 0; g < kGroups; ++g) lows[g] = highs[g] = typename V::I{};
  for (std::int32_t pair = 0; pair < rows.pairs; ++pair, w += step) {
    const typename V::I two = V::repeat2(x + 2 * pair);
    for (int g = 0; g < kGroups; ++g) {
      const typename V::I products =
          V::add_products(typename V::I{}, two, V::template at<typename V::I>(w + g * whole));
      lows[g] += products & 0xffff;
      highs[g] += products >> 16;
    }
  }
  for (int g = 0; g < kGroups; ++g) {
    V::put(low + (group + g) * V::kLanes, lows[g]);
    V::put(high + (group + g) * V::kLanes, highs[g]);
  }
}
template <class V>
RUNNEL_KERNEL_INLINE void sum_rows_in_halves(const PackedRows& rows, const std::int16_t* x, std::int32_t* low,
                                             std::int32_t* high) noexcept {
  std::int32_t group = 0;
  for (; group + 4 <= rows.groups; group += 4) sum_groups_in_halves<V, 4>(rows, group, x, low, high);
  for (; group < rows.groups; ++group) sum_groups_in_halves<V, 1>(rows, group, x, low, high);
}

// What loops over whole vectors read past the last sums.
template <class V>
RUNNEL_KERNEL_INLINE void clear_slack(const PackedRows& rows, std::int32_t* a, std::int32_t* b) noexcept {
  for (std::int32_t i = rows.groups * V::kLanes; i < rows.groups * V::kLanes + kUnitsTogether; ++i)
    a[i] = b[i] = 0;
}
template <class T>
RUNNEL_KERNEL_INLINE void take(const T* x, std::int32_t units, std::int32_t count,
                               std::int32_t* to) noexcept {
  for (std::int32_t u = 0; u < units; ++u) to[u] = x[u];
  for (std::int32_t u = units; u < count; ++u) to[u] = 0;
}

}  // namespace
}  // namespace runnel::kernels
