#include "features/fft.h"

#include "features/exact_math.h"

namespace runnel::features {

OwnFft::Shape OwnFft::shape_of(std::size_t n) noexcept {
  Shape shape;
  if (n < 2 || n % 2 != 0 || n > kMaxFftSize) return shape;
  std::size_t rest = n / 2, stride = 1;
  const auto add = [&](std::size_t radix) {
    rest /= radix;
    shape.radix[shape.passes++] = static_cast<std::int32_t>(radix);
    shape.floats += (radix - 1) * 2 * rest + (radix > 5 ? 2 * radix : 0);
    stride *= radix;
  };
  // Fours first: they make the stride a multiple of the vector width soonest.
  while (rest % 4 == 0) add(4);
  std::size_t radix = 2;
  while (rest > 1) {
    if (radix * radix > rest && radix > 5) radix = rest;  // what is left is prime
    while (rest % radix == 0) add(radix);
    ++radix;
  }
  shape.floats += 2 * (n / 4 + 1) + n;
  return shape;
}

std::size_t OwnFft::memory_bytes(std::size_t n) noexcept {
  return shape_of(n).floats * sizeof(float);
}

Status OwnFft::init(std::size_t n, Isa isa, Memory& memory) noexcept {
  const Shape shape = shape_of(n);
  if (shape.floats == 0) {
    return Status(Code::invalid_argument)
           << "FFT size " << n << ": expected an even number from 2 to " << kMaxFftSize;
  }
  float* at = static_cast<float*>(memory.allocate(shape.floats * sizeof(float), 64));
  if (at == nullptr) {
    return Status(Code::out_of_memory)
           << "FFT of size " << n << ": needs " << shape.floats * sizeof(float) << " bytes";
  }
  size_ = n;
  kernels_ = &kernels_for(isa);
  const std::size_t count = n / 2;
  workspace_ = at;
  at += n;
  const auto exponential = [](std::size_t k, std::size_t of, float& cosine, float& sine, double scale) {
    const SinCos t = turn(static_cast<std::int64_t>(k), static_cast<std::int64_t>(of));
    cosine = static_cast<float>(scale * t.cos);
    sine = static_cast<float>(-scale * t.sin);
  };
  factors_ = at;
  const std::size_t half = count / 2;
  for (std::size_t k = 0; k <= half; ++k) exponential(k, n, at[k], at[half + 1 + k], 0.5);
  at += 2 * (n / 4 + 1);

  std::size_t groups = count, stride = 1;
  passes_ = shape.passes;
  for (int i = 0; i < passes_; ++i) {
    const auto radix = static_cast<std::size_t>(shape.radix[i]);
    groups /= radix;
    pass_[i] = {.radix = shape.radix[i],
                .groups = static_cast<std::int32_t>(groups),
                .stride = static_cast<std::int32_t>(stride),
                .twiddles = at,
                .roots = nullptr};
    for (std::size_t k = 1; k < radix; ++k) {
      for (std::size_t p = 0; p < groups; ++p) exponential(k * p, radix * groups, at[p], at[groups + p], 1.0);
      at += 2 * groups;
    }
    if (radix > 5) {
      pass_[i].roots = at;
      for (std::size_t j = 0; j < radix; ++j) exponential(j, radix, at[2 * j], at[2 * j + 1], 1.0);
      at += 2 * radix;
    }
    stride *= radix;
  }
  return Status();
}

void OwnFft::forward(const float* in, float* re, float* im) noexcept {
  const std::size_t count = size_ / 2;
  float *work_re = workspace_, *work_im = workspace_ + count;
  // The passes go to and fro between the result's place and the workspace, and end in the workspace.
  bool in_workspace = passes_ % 2 == 0;
  kernels_->deinterleave(in, count, in_workspace ? work_re : re, in_workspace ? work_im : im);
  for (int i = 0; i < passes_; ++i) {
    if (in_workspace)
      kernels_->fft_pass(pass_[i], work_re, work_im, re, im);
    else
      kernels_->fft_pass(pass_[i], re, im, work_re, work_im);
    in_workspace = !in_workspace;
  }
  kernels_->unpack_real(work_re, work_im, count, factors_, re, im);
}

}  // namespace runnel::features
