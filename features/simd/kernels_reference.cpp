#include "features/simd/scalar_kernels.h"
#include "features/simd/table_impl.h"

namespace runnel::features {

const Kernels kKernelsReference = table<1>();

void ScalarKernels::fft_pass(const FftPass& pass, const float* from_re, const float* from_im, float* to_re,
                             float* to_im) noexcept {
  features::fft_pass<1>(pass, from_re, from_im, to_re, to_im);
}
void ScalarKernels::fft_pass_of_fours(const FftPass& pass, const float* from_re, const float* from_im,
                                      float* to_re, float* to_im) noexcept {
  pass_fours(pass, from_re, from_im, to_re, to_im);
}
void ScalarKernels::deinterleave(const float* x, std::size_t count, float* re, float* im) noexcept {
  features::deinterleave<1>(x, count, re, im);
}
void ScalarKernels::unpack_real(const float* z_re, const float* z_im, std::size_t count, const float* factors,
                                float* re, float* im) noexcept {
  features::unpack_real<1>(z_re, z_im, count, factors, re, im);
}
float ScalarKernels::sum(const float* x, std::size_t count) noexcept { return features::sum<1>(x, count); }
float ScalarKernels::sum_of_squares(const float* x, std::size_t count, float offset) noexcept {
  return features::sum_of_squares<1>(x, count, offset);
}
void ScalarKernels::shape_frame(const float* x, std::size_t count, float mean, float c, const float* window,
                                float* to) noexcept {
  features::shape_frame<1>(x, count, mean, c, window, to);
}
void ScalarKernels::power(const float* re, const float* im, std::size_t count, float* to) noexcept {
  features::power<1>(re, im, count, to);
}
void ScalarKernels::square_root(float* x, std::size_t count) noexcept { features::square_root<1>(x, count); }
void ScalarKernels::mel(const MelRows& rows, const float* power, float* to) noexcept {
  features::mel<1>(rows, power, to);
}
void ScalarKernels::floor_at(float* x, std::size_t count, float floor) noexcept {
  features::floor_at<1>(x, count, floor);
}
void ScalarKernels::log(float* x, std::size_t count, float floor) noexcept {
  features::log<1>(x, count, floor);
}
void ScalarKernels::times_matrix(const float* x, std::size_t count, const float* matrix, std::size_t stride,
                                 float* to) noexcept {
  features::times_matrix<1>(x, count, matrix, stride, to);
}
std::size_t ScalarKernels::copy_finite(const float* x, std::size_t count, float gain, float* to) noexcept {
  return features::copy_finite<1>(x, count, gain, to);
}

}  // namespace runnel::features
