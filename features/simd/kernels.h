// Inner loops of the float front end, one table of functions per instruction set. All tables compute the same
// bits: element-wise operations round alike at any width, and the order of every sum is fixed below.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"

namespace runnel::features {

// One pass of the mixed-radix FFT (decimation in frequency, Stockham's self-sorting order; see
// complex_fft.h). count = radix * groups * stride complex points.
struct FftPass {
  std::int32_t radix, groups, stride;
  // [radix - 1][2][groups] floats: for k = 1 .. radix-1 the cosines, then the sines, of exp(-2 pi i k p /
  // (radix * groups)).
  const float* twiddles;
  // Other radices than 2, 3, 4, 5: [radix][2], the roots exp(-2 pi i j / radix).
  const float* roots;
};

// A filter bank as sparse rows; all weights are >= 0. `lanes` filters are evaluated in parallel:
// entry [row][lane] of the flat arrays. Each filter adds its products in order of rising frequency,
// starting from +0.
struct MelRows {
  std::int32_t filters, lanes;
  std::int32_t zero_bin;  // the last bin that may be read
  const std::int32_t*
      first_row;  // lanes > 1: [groups + 1], multiples of 4; lanes == 1: [filters + 1], in weights
  // lanes > 1: [groups][3][lanes], the bin of a filter's first row, and its own rows among those of the
  // group, first and end: the others weigh 0. lanes == 1: [filters] first bin
  const std::int32_t* bins;
  const float* weights;
};

struct Kernels {
  std::int32_t lanes;
  void (*fft_pass)(const FftPass& pass, const float* from_re, const float* from_im, float* to_re,
                   float* to_im) noexcept;
  // deinterleave() and a pass in one; false where there is no such form of the pass, and nothing is done
  // then. Null without vectors.
  bool (*fft_pass_of_pairs)(const FftPass& pass, const float* x, float* to_re, float* to_im) noexcept;
  // x[2j], x[2j+1] -> re[j], im[j], j < count
  void (*deinterleave)(const float* x, std::size_t count, float* re, float* im) noexcept;
  // The spectrum of 2*count real points from the spectrum z of their count complex pairs. factors:
  // [2][count/2 + 1] = cosine, sine of exp(-pi i k / count) / 2. re and im: count + 1; may not overlap z.
  void (*unpack_real)(const float* z_re, const float* z_im, std::size_t count, const float* factors,
                      float* re, float* im) noexcept;
  // The same for the squared magnitudes: to = re^2 + im^2, count + 1; may not overlap z. Null without
  // vectors.
  void (*unpack_power)(const float* z_re, const float* z_im, std::size_t count, const float* factors,
                       float* to) noexcept;
  // Inverse: the spectrum z of `count` complex pairs from that of their 2*count real points. z may not
  // overlap re, im.
  void (*pack_real)(const float* re, const float* im, std::size_t count, const float* factors, float* z_re,
                    float* z_im) noexcept;
  // re[j] * factor, im[j] * factor -> x[2j], x[2j+1], j < count
  void (*interleave)(const float* re, const float* im, std::size_t count, float factor, float* x) noexcept;
  // Complex a * b; the result may be in a's place.
  void (*multiply)(const float* a_re, const float* a_im, const float* b_re, const float* b_im,
                   std::size_t count, float* re, float* im) noexcept;

  // Sum in 32 interleaved lanes (x[i] goes to lane i mod 32), then halves added: 16, 8, 4, 2, 1.
  float (*sum)(const float* x, std::size_t count) noexcept;
  // The same of (x - offset)^2.
  float (*sum_of_squares)(const float* x, std::size_t count, float offset) noexcept;
  // to[i] = ((x[i] - mean) - c (x[i-1] - mean)) window[i], with x[-1] = x[0]
  void (*shape_frame)(const float* x, std::size_t count, float mean, float c, const float* window,
                      float* to) noexcept;
  // to = re^2 + im^2; to may be re
  void (*power)(const float* re, const float* im, std::size_t count, float* to) noexcept;
  void (*square_root)(float* x, std::size_t count) noexcept;
  void (*mel)(const MelRows& rows, const float* power, float* to) noexcept;
  // mel() and log() in one; false where there is no such form, and nothing is done then. Null at levels
  // where the two by themselves are quicker.
  bool (*mel_log)(const MelRows& rows, const float* power, float floor, float* to) noexcept;
  // x = max(x, floor); NaN becomes floor
  void (*floor_at)(float* x, std::size_t count, float floor) noexcept;
  // x = ln(max(x, floor)), floor a normal number > 0; NaN gives ln(floor), infinity ln(FLT_MAX)
  void (*log)(float* x, std::size_t count, float floor) noexcept;
  // to[k] = sum over i of x[i] * matrix[i][k], in eight partial sums of every eighth i, then halves added.
  // Rows of `stride` floats, a multiple of 16; to has room for stride.
  void (*times_matrix)(const float* x, std::size_t count, const float* matrix, std::size_t stride,
                       float* to) noexcept;
  // to = x * gain, non-finite x replaced by 0; returns the number replaced
  std::size_t (*copy_finite)(const float* x, std::size_t count, float gain, float* to) noexcept;
  // sum of x[i] * taps[i] in 16 interleaved lanes, then halves added; count a multiple of 16
  float (*dot)(const float* x, const float* taps, std::size_t count) noexcept;
  // the same of x[i] * last[-i]
  float (*dot_reversed)(const float* x, const float* last, std::size_t count) noexcept;
  // x = (x - mean) * scale
  void (*normalize)(float* x, const float* mean, const float* scale, std::size_t count) noexcept;
};

// The table for `isa`, or for the best lower level that this build contains.
const Kernels& kernels_for(Isa isa) noexcept;

extern const Kernels kKernelsReference;
#if defined(__SSE2__) || defined(__ARM_NEON) || defined(__wasm_simd128__)
extern const Kernels kKernelsGeneric;
#else
inline constexpr const Kernels& kKernelsGeneric = kKernelsReference;  // one table without vectors
#endif
#ifdef __x86_64__
extern const Kernels kKernelsAvx2, kKernelsAvx512;
#endif
#if defined(__riscv) && __riscv_xlen == 64
extern const Kernels kKernelsRvv;
#endif

}  // namespace runnel::features
