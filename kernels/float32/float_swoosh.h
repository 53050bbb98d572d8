// Swoosh, the activation of Zipformers (arXiv:2310.11230): log(1 + exp(x - alpha)) - beta * x - gamma.
#pragma once

#include <cstddef>

#include "base/cpu.h"

namespace runnel::kernels {

struct Swoosh {
  float alpha = 0, beta = 0, gamma = 0;
};

// y may be x. Within 4 units in the last place of the largest of the three terms; the same bits at every
// instruction level. tests/kernels/float32/float_swoosh_test.cpp measures it.
using SwooshKernel = void (*)(const Swoosh& spec, std::size_t count, const float* x, float* y) noexcept;
SwooshKernel float_swoosh(Isa isa) noexcept;

// Of one instruction level, for float_swoosh(isa) only.
void swoosh_generic(const Swoosh& spec, std::size_t count, const float* x, float* y) noexcept;
void swoosh_avx2(const Swoosh& spec, std::size_t count, const float* x, float* y) noexcept;
void swoosh_avx512(const Swoosh& spec, std::size_t count, const float* x, float* y) noexcept;

}  // namespace runnel::kernels
