// Forward real transform of a compile-time size, with factors in ROM (fft_tables.h): only that size's
// passes are compiled.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/memory.h"
#include "base/status.h"
#include "features/fft/fft_tables.h"
#include "features/simd/scalar_kernels.h"

namespace runnel::features {

// The bits of OwnFft. kSize: even, without prime factors above 31 (is_constant_fft).
constexpr bool is_constant_fft(std::size_t size) noexcept {
  return size >= 2 && size % 2 == 0 && real_fft_tables_are_constant(size);
}

template <std::size_t kSize>
class ConstantFft {
  static_assert(is_constant_fft(kSize));

 public:
  static constexpr std::size_t state_bytes() noexcept { return real_fft_work_floats(kSize) * sizeof(float); }
  // Error: out_of_memory.
  Status init(Memory& memory) noexcept {
    work_ = static_cast<float*>(memory.allocate(state_bytes(), 64));
    return work_ != nullptr ? Status()
                            : Status(Code::out_of_memory)
                                  << "FFT of size " << kSize << ": needs " << state_bytes() << " bytes";
  }
  // As RealFft::forward(); tables: real_fft_table_floats(kSize).
  void forward(const float* tables, const float* in, float* re, float* im) noexcept {
    float *work_re = work_, *work_im = work_ + fft::padded(kCount);
    // The passes alternate between the result's arrays and the workspace, and end in the workspace.
    bool in_work = kPlan.count % 2 == 0;
    ScalarKernels::deinterleave(in, kCount, in_work ? work_re : re, in_work ? work_im : im);
    const float* at = tables + real_fft_factor_floats(kSize);
    std::size_t groups = kCount, stride = 1;
    for (int i = 0; i < kPlan.count; ++i, in_work = !in_work) {
      const auto radix = static_cast<std::size_t>(kPlan.radix[i]);
      groups /= radix;
      FftPass pass{kPlan.radix[i], static_cast<std::int32_t>(groups), static_cast<std::int32_t>(stride), at,
                   nullptr};
      at += fft::padded((radix - 1) * 2 * groups);
      if (!kFours && fft::has_roots(radix)) {
        pass.roots = at;
        at += fft::padded(2 * radix);
      }
      stride *= radix;
      const float *from_re = in_work ? work_re : re, *from_im = in_work ? work_im : im;
      float *to_re = in_work ? re : work_re, *to_im = in_work ? im : work_im;
      if constexpr (kFours)
        ScalarKernels::fft_pass_of_fours(pass, from_re, from_im, to_re, to_im);
      else
        ScalarKernels::fft_pass(pass, from_re, from_im, to_re, to_im);
    }
    ScalarKernels::unpack_real(work_re, work_im, kCount, tables, re, im);
  }

 private:
  static constexpr std::size_t kCount = kSize / 2;
  static constexpr FftPlan kPlan = fft_plan_of(kCount);
  static constexpr bool kFours =
      std::all_of(kPlan.radix, kPlan.radix + kPlan.count, [](std::int32_t radix) { return radix == 4; });

  float* work_ = nullptr;
};

}  // namespace runnel::features
