// What the vectors of all levels have in common, for the loops of the recurrent kernels: a level adds
// add_products, doubled_high_product and gather. Included by recurrent_<level>.cpp alone, each compiled for
// its instructions.
#pragma once

#include <cstdint>

namespace runnel::kernels {
namespace {

#define RUNNEL_VECTOR [[gnu::always_inline]] static inline

template <int kBytes>
struct Lanes {
  typedef std::int32_t I __attribute__((vector_size(kBytes)));
  typedef float F __attribute__((vector_size(kBytes)));
  static constexpr int kLanes = kBytes / 4;

  RUNNEL_VECTOR I splat(std::int32_t v) noexcept { return v - I{}; }
  RUNNEL_VECTOR F splat(float v) noexcept { return v - F{}; }
  template <class T>
  [[gnu::always_inline]] static inline T at(const void* from) noexcept {
    T v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
  }
  RUNNEL_VECTOR void put(void* to, I v) noexcept { __builtin_memcpy(to, &v, sizeof v); }
  // The pair of int16 at `from` in every lane.
  RUNNEL_VECTOR I repeat2(const std::int16_t* from) noexcept {
    std::int32_t two;
    __builtin_memcpy(&two, from, sizeof two);
    return splat(two);
  }
};

}  // namespace
}  // namespace runnel::kernels
