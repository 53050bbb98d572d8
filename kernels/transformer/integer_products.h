// Vectors for products of two computed matrices of integers (matmul.h).
#pragma once

#include <cstddef>

#include "base/cpu.h"
#include "kernels/matmul.h"

namespace runnel::kernels {

// The same bits as the plain loops for `spec`; `scratch` as matmul_scratch() has it. Null where there are no
// vectors that serve it: at this level, for its zero points, or because sums or roundings leave 32 bits.
MatmulVectors matmul_vectors(const MatmulSpec& spec, Isa isa) noexcept;

// ---- levels
void byte_products_avx2(const MatmulSpec& spec, const void* a, const void* b, void* y,
                        void* scratch) noexcept;
void word_products_avx2(const MatmulSpec& spec, const void* a, const void* b, void* y,
                        void* scratch) noexcept;
void byte_products_neon(const MatmulSpec& spec, const void* a, const void* b, void* y,
                        void* scratch) noexcept;
void word_products_neon(const MatmulSpec& spec, const void* a, const void* b, void* y,
                        void* scratch) noexcept;
void byte_products_rvv(const MatmulSpec& spec, const void* a, const void* b, void* y, void* scratch) noexcept;
void word_products_rvv(const MatmulSpec& spec, const void* a, const void* b, void* y, void* scratch) noexcept;

}  // namespace runnel::kernels
