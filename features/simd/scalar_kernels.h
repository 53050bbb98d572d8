// Scalar kernels: the inner loops without vectors, by name.
#pragma once

#include "features/simd/kernels.h"

namespace runnel::features {

// The functions of kKernelsReference by name, for programs that choose at compile time and link no others.
// Functions missing here are not needed by such programs.
struct ScalarKernels {
  static constexpr std::int32_t lanes = 1;
  static void fft_pass(const FftPass& pass, const float* from_re, const float* from_im, float* to_re,
                       float* to_im) noexcept;
  // Of radix 4 only.
  static void fft_pass_of_fours(const FftPass& pass, const float* from_re, const float* from_im, float* to_re,
                                float* to_im) noexcept;
  static void deinterleave(const float* x, std::size_t count, float* re, float* im) noexcept;
  static void unpack_real(const float* z_re, const float* z_im, std::size_t count, const float* factors,
                          float* re, float* im) noexcept;
  static float sum(const float* x, std::size_t count) noexcept;
  static float sum_of_squares(const float* x, std::size_t count, float offset) noexcept;
  static void shape_frame(const float* x, std::size_t count, float mean, float c, const float* window,
                          float* to) noexcept;
  static void power(const float* re, const float* im, std::size_t count, float* to) noexcept;
  static void square_root(float* x, std::size_t count) noexcept;
  static void mel(const MelRows& rows, const float* power, float* to) noexcept;
  static void floor_at(float* x, std::size_t count, float floor) noexcept;
  static void log(float* x, std::size_t count, float floor) noexcept;
  static void times_matrix(const float* x, std::size_t count, const float* matrix, std::size_t stride,
                           float* to) noexcept;
  static std::size_t copy_finite(const float* x, std::size_t count, float gain, float* to) noexcept;
};

}  // namespace runnel::features
