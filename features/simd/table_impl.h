// The table of kernels for one width. Included once by each simd/kernels_*.cpp.
#pragma once

#include "features/simd/fft_impl.h"
#include "features/simd/frame_impl.h"
#include "features/simd/real_fft_impl.h"

namespace runnel::features {
namespace {

template <int W>
constexpr Kernels table() {
  // Mel filters are short: sixteen of them together are no quicker than eight.
  constexpr int kFilters = W < 8 ? W : 8;
  Kernels fused{};
  if constexpr (W > 1) {
    fused.fft_pass_of_pairs = pass_of_pairs<W>;
    fused.unpack_power = unpack_power<W>;
    if constexpr (W <= 8) fused.mel_log = mel_log<W>;  // wider logarithms are quicker by themselves
  }
  return {.lanes = kFilters,
          .fft_pass = fft_pass<W>,
          .fft_pass_of_pairs = fused.fft_pass_of_pairs,
          .deinterleave = deinterleave<W>,
          .unpack_real = unpack_real<W>,
          .unpack_power = fused.unpack_power,
          .pack_real = pack_real<W>,
          .interleave = interleave<W>,
          .multiply = multiply<W>,
          .sum = sum<W>,
          .sum_of_squares = sum_of_squares<W>,
          .shape_frame = shape_frame<W>,
          .power = power<W>,
          .square_root = square_root<W>,
          .mel = mel<kFilters>,
          .mel_log = fused.mel_log,
          .floor_at = floor_at<W>,
          .log = log<W>,
          .times_matrix = times_matrix<W>,
          .copy_finite = copy_finite<W>,
          .dot = dot<W>,
          .dot_reversed = dot_reversed<W>,
          .normalize = normalize<W>};
}

}  // namespace
}  // namespace runnel::features
