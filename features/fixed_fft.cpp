#include "features/fixed_fft.h"

#include <utility>

#include "features/exact_math.h"

namespace runnel::features {
namespace {

// 32767 exp(-2 pi i x), rounded to integers.
void factor_at(double x, std::int16_t* pair) noexcept {
  const auto rounded = [](double value) {
    const double shifted = 32767 * value + 0.5;
    const auto whole = static_cast<std::int32_t>(shifted);
    return static_cast<std::int16_t>(static_cast<double>(whole) > shifted ? whole - 1 : whole);
  };
  const SinCos at = turn(x);
  pair[0] = rounded(at.cos);
  pair[1] = rounded(-at.sin);
}

// Of the first pass, with `half` complex points: 2 where they are no power of 4.
constexpr std::size_t first_radix(std::size_t half) noexcept { return (half & 0x5555'5555U) == 0 ? 2 : 4; }

}  // namespace

Status FixedFft::init(std::size_t n, Isa isa, Memory& memory) noexcept {
  if (n < kMin || n > kMax || (n & (n - 1)) != 0) {
    return Status(Code::invalid_argument) << "fixed-point FFT of " << n << " points: expected a power of two from " << kMin
                                          << " to " << kMax;
  }
  const std::size_t half = n / 2;
  work_ = static_cast<std::int16_t*>(memory.allocate(memory_bytes(n), alignof(std::uint32_t)));
  if (work_ == nullptr) return Status(Code::out_of_memory) << "fixed-point FFT: needs " << memory_bytes(n) << " bytes";
  size_ = n;
  kernels_ = &fixed_kernels_for(isa);
  factors_ = work_ + n;
  split_ = factors_ + n;
  std::int16_t* next = factors_;
  for (std::size_t groups = 1, radix = first_radix(half); groups < half; groups *= radix, radix = 4) {
    for (std::size_t j = 1; j < radix; ++j) {
      for (std::size_t k = 0; k < groups; ++k, next += 2) factor_at(static_cast<double>(k * j) / static_cast<double>(radix * groups), next);
    }
  }
  for (std::size_t k = 0; k < half / 2; ++k) {
    factor_at((static_cast<double>(k + 1) / static_cast<double>(half) + 0.5) / 2, split_ + 2 * k);
  }
  return {};
}

void FixedFft::forward(const std::int16_t* in, std::int16_t* out) noexcept {
  const std::size_t half = size_ / 2;
  // The passes go to and fro between the result's place and the work array, and end in the latter.
  std::size_t passes = 0;
  for (std::size_t groups = 1, radix = first_radix(half); groups < half; groups *= radix, radix = 4) ++passes;
  std::int16_t *to = passes % 2 == 0 ? out : work_, *other = passes % 2 == 0 ? work_ : out;
  const std::int16_t *from = in, *factors = factors_;
  for (std::size_t groups = 1, radix = first_radix(half); groups < half; groups *= radix, radix = 4) {
    kernels_->fft_pass({.radix = radix, .groups = groups, .apart = half / (groups * radix), .factors = factors}, from, to);
    factors += 2 * (radix - 1) * groups;
    from = to;
    std::swap(to, other);
  }
  kernels_->unpack_real(work_, half, split_, out);
}

}  // namespace runnel::features
