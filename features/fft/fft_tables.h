// Read-only tables of the transforms: plan, twiddle factors and roots, computed at run time or at compile
// time. Factors are correctly rounded for all practical purposes (base/exact_math.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/checked.h"
#include "base/exact_math_constant.h"

namespace runnel::features {

// The largest supported size of a real transform.
inline constexpr std::size_t kMaxFftSize = std::size_t{1} << 20;

// Plan of a complex transform (complex_fft.h).
struct FftPlan {
  static constexpr int kMaxPasses = 21;
  int count = 0;  // of passes; a single point has none
  std::int32_t radix[kMaxPasses] = {};
  std::size_t inner = 0;  // points of the passes; with a chirp, more than the transform's
  bool chirp = false;
};

namespace fft {

// A larger prime factor costs more by definition of the DFT than by Bluestein's three larger transforms.
inline constexpr std::size_t kMaxDirect = 31;

// Arrays begin at multiples of 64 bytes.
constexpr std::size_t padded(std::size_t floats) noexcept { return align_up(floats, 16); }

constexpr bool has_roots(std::size_t radix) noexcept { return radix > 5; }

// False when a prime factor is too large.
constexpr bool find_passes(std::size_t n, FftPlan& plan) noexcept {
  plan = {};
  plan.inner = n;
  std::size_t rest = n;
  const auto add = [&](std::size_t radix) {
    rest /= radix;
    plan.radix[plan.count++] = static_cast<std::int32_t>(radix);
  };
  // Fours first: they make the stride a multiple of the vector width soonest. (An eight instead of a four and
  // a two would save a pass, a tenth of the time, but the weakest bins of Whisper's 400 points were up to 3.6
  // times as far from double precision.)
  while (rest % 4 == 0) add(4);
  for (std::size_t radix = 2; rest > 1; ++radix) {
    if (radix > kMaxDirect) return false;
    while (rest % radix == 0) add(radix);
  }
  return true;
}

constexpr std::size_t chirp_size(std::size_t n) noexcept {
  std::size_t size = 1;
  while (size < 2 * n - 1) size *= 2;
  return size;
}

// exp(-2 pi i k / of)
constexpr void exponential(std::size_t k, std::size_t of, float& cosine, float& sine) noexcept {
  const exact::SinCos t = exact::constant::turn(static_cast<std::int64_t>(k), static_cast<std::int64_t>(of));
  cosine = static_cast<float>(t.cos);
  sine = static_cast<float>(-t.sin);
}

// Twiddles and roots of the passes.
constexpr std::size_t pass_floats(const FftPlan& plan) noexcept {
  std::size_t floats = 0, groups = plan.inner;
  for (int i = 0; i < plan.count; ++i) {
    const auto radix = static_cast<std::size_t>(plan.radix[i]);
    groups /= radix;
    floats += padded((radix - 1) * 2 * groups) + (has_roots(radix) ? padded(2 * radix) : 0);
  }
  return floats;
}

constexpr float* fill_passes(const FftPlan& plan, float* at) noexcept {
  std::size_t groups = plan.inner;
  for (int i = 0; i < plan.count; ++i) {
    const auto radix = static_cast<std::size_t>(plan.radix[i]);
    groups /= radix;
    float* to = at;
    for (std::size_t k = 1; k < radix; ++k, to += 2 * groups) {
      for (std::size_t p = 0; p < groups; ++p) exponential(k * p, radix * groups, to[p], to[groups + p]);
    }
    at += padded((radix - 1) * 2 * groups);
    if (!has_roots(radix)) continue;
    for (std::size_t j = 0; j < radix; ++j) exponential(j, radix, at[2 * j], at[2 * j + 1]);
    at += padded(2 * radix);
  }
  return at;
}

// exp(-pi i j^2 / n): cosines, then, padded(n) later, sines.
constexpr void fill_chirp(std::size_t n, float* chirp) noexcept {
  for (std::size_t j = 0; j < n; ++j) {
    const auto square = static_cast<std::uint64_t>(j) * j;
    exponential(static_cast<std::size_t>(square % (2 * n)), 2 * n, chirp[j], chirp[padded(n) + j]);
  }
}

}  // namespace fft

// Of n complex points, 1 to 2^21.
constexpr FftPlan fft_plan_of(std::size_t n) noexcept {
  FftPlan plan;
  if (fft::find_passes(n, plan)) return plan;
  fft::find_passes(fft::chirp_size(n), plan);
  plan.chirp = true;
  return plan;
}
// With a chirp, after the passes: the chirp and its filter's spectrum.
constexpr std::size_t complex_fft_table_floats(std::size_t n) noexcept {
  const FftPlan plan = fft_plan_of(n);
  return fft::pass_floats(plan) + (plan.chirp ? 2 * fft::padded(n) + 2 * fft::padded(plan.inner) : 0);
}
constexpr std::size_t complex_fft_work_floats(std::size_t n) noexcept {
  const FftPlan plan = fft_plan_of(n);
  return plan.chirp ? 4 * fft::padded(plan.inner) : 0;
}

// Of n real points, 1 to kMaxFftSize. Even sizes begin with the last step's factors: cosines, then sines, for
// k <= n / 4.
constexpr std::size_t real_fft_factor_floats(std::size_t n) noexcept {
  return n % 2 == 0 ? fft::padded(2 * (n / 4 + 1)) : 0;
}
constexpr std::size_t real_fft_table_floats(std::size_t n) noexcept {
  return real_fft_factor_floats(n) + complex_fft_table_floats(n % 2 == 0 ? n / 2 : n);
}
constexpr std::size_t real_fft_work_floats(std::size_t n) noexcept {
  if (n % 2 == 0) return 2 * fft::padded(n / 2) + complex_fft_work_floats(n / 2);
  return 4 * fft::padded(n) + complex_fft_work_floats(n);
}
// Sizes whose tables fill_real_fft_tables() completes. Other sizes have a filter that needs
// a transform (OwnFft::finish_tables).
constexpr bool real_fft_tables_are_constant(std::size_t n) noexcept {
  return !fft_plan_of(n % 2 == 0 ? n / 2 : n).chirp;
}

// Fills real_fft_table_floats(n) zeroed floats.
constexpr void fill_real_fft_tables(std::size_t n, float* at) noexcept {
  const std::size_t count = n % 2 == 0 ? n / 2 : n, half = count / 2;
  if (n % 2 == 0) {
    for (std::size_t k = 0; k <= half; ++k) {
      const exact::SinCos t =
          exact::constant::turn(static_cast<std::int64_t>(k), static_cast<std::int64_t>(n));
      at[k] = static_cast<float>(0.5 * t.cos);
      at[half + 1 + k] = static_cast<float>(-0.5 * t.sin);
    }
  }
  const FftPlan plan = fft_plan_of(count);
  at = fft::fill_passes(plan, at + real_fft_factor_floats(n));
  if (plan.chirp) fft::fill_chirp(count, at);
}

}  // namespace runnel::features
