#include "features/microfrontend/fixed_fft.h"

#include <utility>

namespace runnel::features {

Status FixedFft::init(std::size_t n, const std::int16_t* factors, Isa isa, Memory& memory) noexcept {
  if (n < kMin || n > kMax || (n & (n - 1)) != 0) {
    return Status(Code::invalid_argument)
           << "fixed-point FFT of " << n << " points: expected a power of two from " << kMin << " to "
           << kMax;
  }
  const std::size_t bytes = factors == nullptr ? memory_bytes(n) : work_bytes(n);
  work_ = static_cast<std::int16_t*>(memory.allocate(bytes, alignof(std::uint32_t)));
  if (work_ == nullptr) return Status(Code::out_of_memory) << "fixed-point FFT: needs " << bytes << " bytes";
  size_ = n;
  kernels_ = &fixed_kernels_for(isa);
  factors_ = factors;
  if (factors == nullptr) {
    fixed::fill_fft_factors(n, work_ + n);
    factors_ = work_ + n;
  }
  return {};
}

void FixedFft::forward(const std::int16_t* in, std::int16_t* out) noexcept {
  const std::size_t half = size_ / 2;
  // The passes alternate between the result and the work array, and end in the latter.
  std::size_t passes = 0;
  for (std::size_t groups = 1, radix = fixed::first_radix(half); groups < half; groups *= radix, radix = 4)
    ++passes;
  std::int16_t *to = passes % 2 == 0 ? out : work_, *other = passes % 2 == 0 ? work_ : out;
  const std::int16_t *from = in, *factors = factors_;
  for (std::size_t groups = 1, radix = fixed::first_radix(half); groups < half; groups *= radix, radix = 4) {
    kernels_->fft_pass(
        {.radix = radix, .groups = groups, .apart = half / (groups * radix), .factors = factors}, from, to);
    factors += 2 * (radix - 1) * groups;
    from = to;
    std::swap(to, other);
  }
  kernels_->unpack_real(work_, half, factors_ + size_, out);
}

}  // namespace runnel::features
