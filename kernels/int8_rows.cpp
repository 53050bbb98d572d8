#include "kernels/int8_rows.h"

#include "kernels/int8_rows_levels.h"

namespace runnel::kernels {

const Int8Rows* int8_rows([[maybe_unused]] Isa isa) noexcept {
#if defined(RUNNEL_KERNELS_X86)
  if (isa >= Isa::avx512vnni) return &int8_rows_avx512vnni();
  if (isa == Isa::avx512) return &int8_rows_avx512();
  if (isa >= Isa::avx2) return &int8_rows_avx2();
#elif defined(RUNNEL_KERNELS_NEON)
  if (isa >= Isa::neondot) return &int8_rows_neondot();
  if (isa >= Isa::neon) return &int8_rows_neon();
#elif defined(RUNNEL_KERNELS_SIMD128)
  if (isa == Isa::simd128) return &int8_rows_simd128();
#elif defined(RUNNEL_KERNELS_RVV)
  if (isa == Isa::rvv) return &int8_rows_rvv();
#endif
  return nullptr;
}

}  // namespace runnel::kernels
