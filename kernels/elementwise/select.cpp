#include "kernels/elementwise/select.h"

namespace runnel::kernels {
namespace {

template <class T>
bool better(T a, T b, bool smallest) noexcept {
  if (b != b) return a == a;
  return smallest ? a < b : a > b;
}

// Keeps the best k in order in one pass over the elements.
template <class T>
void best_of(const SelectSpec& spec, const T* x, std::int32_t* best) noexcept {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < spec.count; ++i) {
    const T value = x[i * spec.inner];
    if (kept == spec.k &&
        !better(value, x[static_cast<std::size_t>(best[kept - 1]) * spec.inner], spec.smallest))
      continue;
    std::size_t at = kept < spec.k ? kept++ : kept - 1;
    for (; at > 0 && better(value, x[static_cast<std::size_t>(best[at - 1]) * spec.inner], spec.smallest);
         --at)
      best[at] = best[at - 1];
    best[at] = static_cast<std::int32_t>(i);
  }
}

template <class T>
void select_typed(const SelectSpec& spec, const T* x, T* values, void* indices,
                  std::int32_t* scratch) noexcept {
  for (std::size_t o = 0; o < spec.outer; ++o) {
    for (std::size_t i = 0; i < spec.inner; ++i) {
      const T* from = x + o * spec.count * spec.inner + i;
      best_of(spec, from, scratch);
      for (std::size_t j = 0; j < spec.k; ++j) {
        const std::size_t to = (o * spec.k + j) * spec.inner + i;
        if (values != nullptr) values[to] = from[static_cast<std::size_t>(scratch[j]) * spec.inner];
        if (spec.index == DType::int64)
          static_cast<std::int64_t*>(indices)[to] = scratch[j];
        else
          static_cast<std::int32_t*>(indices)[to] = scratch[j];
      }
    }
  }
}

}  // namespace

void select_best(const SelectSpec& spec, const void* x, void* values, void* indices,
                 std::int32_t* scratch) noexcept {
  switch (spec.dtype) {
    case DType::int8:
      return select_typed(spec, static_cast<const std::int8_t*>(x), static_cast<std::int8_t*>(values),
                          indices, scratch);
    case DType::int16:
      return select_typed(spec, static_cast<const std::int16_t*>(x), static_cast<std::int16_t*>(values),
                          indices, scratch);
    case DType::int32:
      return select_typed(spec, static_cast<const std::int32_t*>(x), static_cast<std::int32_t*>(values),
                          indices, scratch);
    default:
      return select_typed(spec, static_cast<const float*>(x), static_cast<float*>(values), indices, scratch);
  }
}

}  // namespace runnel::kernels
