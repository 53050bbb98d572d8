// The tables of the instruction levels, for elementwise(isa) only.
#pragma once

#include "kernels/elementwise.h"

namespace runnel::kernels {

const Elementwise& elementwise_generic() noexcept;
const Elementwise& elementwise_avx2() noexcept;
const Elementwise& elementwise_avx512() noexcept;

}  // namespace runnel::kernels
