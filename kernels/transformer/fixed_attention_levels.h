// The sums of the instruction levels for fixed_attention_sums(isa).
#pragma once

#include "kernels/transformer/fixed_attention.h"

namespace runnel::kernels {

const FixedAttentionSums& fixed_attention_sums_avx2() noexcept;
const FixedAttentionSums& fixed_attention_sums_neon() noexcept;
const FixedAttentionSums& fixed_attention_sums_rvv() noexcept;

}  // namespace runnel::kernels
