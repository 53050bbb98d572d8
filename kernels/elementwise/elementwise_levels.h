// The tables of the instruction levels for elementwise(isa), and code that kernels of one level share.
#pragma once

#include "kernels/elementwise/affine.h"
#include "kernels/elementwise/elementwise.h"

namespace runnel::kernels {

const Elementwise& elementwise_generic() noexcept;
const Elementwise& elementwise_avx2() noexcept;
const Elementwise& elementwise_avx512() noexcept;
const Elementwise& elementwise_neon() noexcept;
const Elementwise& elementwise_rvv() noexcept;
AffinePairs affine_pairs_avx2() noexcept;
AffinePairs affine_pairs_avx512() noexcept;
AffinePairs affine_pairs_neon() noexcept;
AffinePairs affine_pairs_rvv() noexcept;
AffineConversions affine_conversions_avx2() noexcept;  // int8, uint8 and int16
AffineConversions affine_conversions_avx512() noexcept;
AffineConversions affine_conversions_neon() noexcept;
AffineConversions affine_conversions_rvv() noexcept;
// Builds with RUNNEL_KERNELS_DEVICE: sums of int8 with equal exponents and shapes by Arm's instructions;
// false, with nothing written, for all others.
bool add_bytes_device(const BinarySpec& spec, const void* a, const void* b, void* y) noexcept;

}  // namespace runnel::kernels
