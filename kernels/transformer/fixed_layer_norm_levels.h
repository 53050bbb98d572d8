// The loops of the instruction levels for fixed_layer_norm_for(). Values stay within 32 bits.
#pragma once

#include "kernels/transformer/fixed_layer_norm.h"

namespace runnel::kernels {

FixedLayerNorm fixed_layer_norm_avx2() noexcept;
FixedLayerNorm fixed_layer_norm_avx512() noexcept;
FixedLayerNorm fixed_layer_norm_neon() noexcept;
FixedLayerNorm fixed_layer_norm_rvv() noexcept;

}  // namespace runnel::kernels
