#include "kernels/transformer/integer_products.h"

namespace runnel::kernels {
namespace {

#if defined(RUNNEL_KERNELS_X86) || defined(RUNNEL_KERNELS_NEON) || defined(RUNNEL_KERNELS_RVV)
bool serves_bytes(const MatmulSpec& spec) noexcept {
  if (spec.inner > 32768) return false;  // 255 * 255 * inner < 2^31
  if (!spec.affine)                      // 128 * 128 * inner < 2^30 leaves room for half a step
    return spec.shift_count == 1 && spec.shift[0] >= 0 && spec.shift[0] <= 30 &&
           (spec.rounding == Rounding::half_even || spec.rounding == Rounding::half_up);
  const std::int64_t most = std::int64_t{255} * 255 * spec.inner;
  return spec.multiplier.shift >= 0 && spec.multiplier.shift <= 31 &&
         Multiplier{spec.multiplier.value, 0}(most) < (1 << 29);
}
#endif

}  // namespace

MatmulVectors matmul_vectors([[maybe_unused]] const MatmulSpec& spec, [[maybe_unused]] Isa isa) noexcept {
#if defined(RUNNEL_KERNELS_X86)
  if (isa >= Isa::avx2 && spec.dtype == DType::int8 && serves_bytes(spec)) return byte_products_avx2;
  if (isa >= Isa::avx2 && spec.dtype == DType::int16 && spec.a_zero == 0 && spec.b_zero == 0)
    return word_products_avx2;
#elif defined(RUNNEL_KERNELS_NEON)
  if (isa >= Isa::neon && spec.dtype == DType::int8 && serves_bytes(spec)) return byte_products_neon;
  if (isa >= Isa::neon && spec.dtype == DType::int16 && spec.a_zero == 0 && spec.b_zero == 0)
    return word_products_neon;
#elif defined(RUNNEL_KERNELS_RVV)
  if (isa == Isa::rvv && spec.dtype == DType::int8 && serves_bytes(spec)) return byte_products_rvv;
  if (isa == Isa::rvv && spec.dtype == DType::int16 && spec.a_zero == 0 && spec.b_zero == 0)
    return word_products_rvv;
#endif
  return nullptr;
}

}  // namespace runnel::kernels
