// The loop of float_swoosh_*.cpp, for vectors of W floats.
#pragma once

#include "kernels/float32/float_functions.h"
#include "kernels/float32/float_swoosh.h"

namespace runnel::kernels {
namespace {

// log(1 + u) for 0 <= u <= 1: 2 atanh(s) with s = u / (2 + u) <= 1/3, its series up to s^15.
template <int W>
RUNNEL_LANES_INLINE F<W> log_of_one_and(F<W> u) {
  const F<W> s = u / (splat<W>(2) + u), z = s * s;
  F<W> p = fma<W>(splat<W>(1.0f / 15), z, splat<W>(1.0f / 13));
  p = fma<W>(p, z, splat<W>(1.0f / 11));
  p = fma<W>(p, z, splat<W>(1.0f / 9));
  p = fma<W>(p, z, splat<W>(1.0f / 7));
  p = fma<W>(p, z, splat<W>(1.0f / 5));
  p = fma<W>(p, z, splat<W>(1.0f / 3));
  const F<W> twice = s + s;
  return fma<W>(p * z, twice, twice);
}

// log(1 + exp(t)) = max(t, 0) + log(1 + exp(-|t|)), where nothing overflows.
template <int W>
void swoosh_loop(const Swoosh& spec, std::size_t count, const float* x, float* y) noexcept {
  const F<W> alpha = splat<W>(spec.alpha), beta = splat<W>(-spec.beta), gamma = splat<W>(spec.gamma);
  each_vector<W>(
      count, [=](auto in, auto out) __attribute__((always_inline)) {
        const F<W> v = in(x), t = v - alpha;
        const F<W> above = t > splat<W>(0) ? t : splat<W>(0);
        const F<W> sum = above + log_of_one_and<W>(exp_of_lanes<W>(-absolute<W>(t)));
        out(y, fma<W>(beta, v, sum) - gamma);
      });
}

}  // namespace
}  // namespace runnel::kernels
