// Which operations on affine integers the vector loops (affine_loops.h) compute.
#include "kernels/elementwise/affine.h"
#include "kernels/elementwise/elementwise_levels.h"
#include "kernels/elementwise/rom_elementwise.h"

namespace runnel::kernels {
namespace {

std::int64_t size_of_range(DType type, std::int32_t zero) noexcept {
  const std::int64_t below = std::int64_t{zero} - lowest(type), above = std::int64_t{highest(type)} - zero;
  return below > above ? below : above;
}

constexpr std::int64_t kLimit = (std::int64_t{1} << 31) - 1;

// Whether the 32-bit form of a multiplier serves values of at most this size, and what its results may reach.
bool fits(const Multiplier& multiplier, std::int64_t size, std::int64_t& result) noexcept {
  if (size > kLimit || multiplier.shift < 0 || multiplier.shift > 31) return false;
  const std::int64_t above = multiplier(size), below = -multiplier(-size);
  result = above > below ? above : below;
  return true;
}

}  // namespace

bool affine_pair_in_32_bits(const AffinePairSpec& spec) noexcept {
  const std::int64_t a = size_of_range(spec.dtype, spec.a_zero), b = size_of_range(spec.dtype, spec.b_zero),
                     room = kLimit - 2 * 65536;
  std::int64_t left = 0, right = 0, out = 0;
  switch (spec.op) {
    case AffinePair::max:
    case AffinePair::min:
      return true;
    case AffinePair::add:
    case AffinePair::sub:
      return fits(spec.a, a << spec.left_shift, left) && fits(spec.b, b << spec.left_shift, right) &&
             fits(spec.y, left + right, out) && out <= room;
    case AffinePair::mul:
      return fits(spec.y, a * b, out) && out <= room;
    case AffinePair::prelu:
      return fits(spec.a, a, left) && fits(spec.y, a * b, out) && left <= room && out <= room;
    case AffinePair::squared_difference:
      break;
  }
  return false;
}

AffinePairs affine_pairs_for([[maybe_unused]] const AffinePairSpec& spec, [[maybe_unused]] Isa isa) noexcept {
#if defined(RUNNEL_KERNELS_X86)
  if (isa >= Isa::avx2 && affine_pair_in_32_bits(spec))
    return isa >= Isa::avx512 ? affine_pairs_avx512() : affine_pairs_avx2();
#elif defined(RUNNEL_KERNELS_NEON)
  if (isa >= Isa::neon && affine_pair_in_32_bits(spec)) return affine_pairs_neon();
#elif defined(RUNNEL_KERNELS_RVV)
  if (isa == Isa::rvv && affine_pair_in_32_bits(spec)) return affine_pairs_rvv();
#endif
  return affine_pairs;
}

AffineConversions affine_conversions_for([[maybe_unused]] DType type, [[maybe_unused]] Isa isa) noexcept {
#if defined(RUNNEL_KERNELS_X86)
  if (isa >= Isa::avx2 && type != DType::int32)
    return isa >= Isa::avx512 ? affine_conversions_avx512() : affine_conversions_avx2();
#elif defined(RUNNEL_KERNELS_NEON)
  if (isa >= Isa::neon && type != DType::int32) return affine_conversions_neon();
#elif defined(RUNNEL_KERNELS_RVV)
  if (isa == Isa::rvv && type != DType::int32) return affine_conversions_rvv();
#endif
  return {affine_quantize, affine_dequantize, Isa::reference};
}

}  // namespace runnel::kernels
