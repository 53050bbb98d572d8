// Element-wise operations with Helium: the portable loops; vectors for int8 sums and changes of scale.
#include <arm_mve.h>

#include "kernels/elementwise/elementwise_loops.h"

namespace runnel::kernels {
namespace {

// y = clamp(saturate(a + b)): equal exponents and shapes.
void add_bytes(const BinarySpec& spec, const std::int8_t* a, const std::int8_t* b, std::int8_t* y) noexcept {
  const int8x16_t low = vdupq_n_s8(static_cast<int8_t>(clamp_to<std::int32_t>(spec.low, -128, 127)));
  const int8x16_t high = vdupq_n_s8(static_cast<int8_t>(clamp_to<std::int32_t>(spec.high, -128, 127)));
  for (std::size_t i = 0; i < spec.count; i += 16) {
    const mve_pred16_t some = vctp8q(static_cast<std::uint32_t>(spec.count - i));
    const int8x16_t sum = vqaddq_s8(vldrbq_z_s8(a + i, some), vldrbq_z_s8(b + i, some));
    vstrbq_p_s8(y + i, vminq_s8(vmaxq_s8(sum, low), high), some);
  }
}
void binary_helium(const BinarySpec& spec, const void* a, const void* b, void* y) noexcept {
  if (spec.op != BinaryOp::add || spec.dtype != DType::int8 || !add_bytes_device(spec, a, b, y))
    binary_loops(spec, a, b, y);
}

void requantize_helium(DType from, DType to, std::size_t count, const void* x_void, void* y_void, int shift,
                       Rounding rounding, std::int32_t low, std::int32_t high) noexcept {
  if (from != DType::int8 || to != DType::int8 || rounding == Rounding::half_even || shift < -15 ||
      shift > 30) {
    requantize_loops(from, to, count, x_void, y_void, shift, rounding, low, high);
    return;
  }
  const auto* x = static_cast<const std::int8_t*>(x_void);
  auto* y = static_cast<std::int8_t*>(y_void);
  const int8x16_t lowest = vdupq_n_s8(static_cast<int8_t>(clamp_to<std::int32_t>(low, -128, 127)));
  const int8x16_t highest = vdupq_n_s8(static_cast<int8_t>(clamp_to<std::int32_t>(high, -128, 127)));
  const int8x16_t by = vdupq_n_s8(static_cast<int8_t>(-shift));
  for (std::size_t i = 0; i < count; i += 16) {
    const mve_pred16_t some = vctp8q(static_cast<std::uint32_t>(count - i));
    const int8x16_t value = vqrshlq_s8(vldrbq_z_s8(x + i, some), by);  // rounds half up, saturates
    vstrbq_p_s8(y + i, vminq_s8(vmaxq_s8(value, lowest), highest), some);
  }
}

constexpr Elementwise kHelium{binary_helium, requantize_helium, lut8_loops,
                              lut16_loops,   quantize_loops,    dequantize_loops};

}  // namespace

const Elementwise& elementwise_generic() noexcept { return kHelium; }

KernelChoice kernel_choice(const BinarySpec& spec, Isa isa) noexcept { return loops_choice(spec, isa); }

bool add_bytes_device(const BinarySpec& spec, const void* a, const void* b, void* y) noexcept {
  const bool plain = spec.a_exponent == spec.y_exponent && spec.b_exponent == spec.y_exponent &&
                     spec.a_count == spec.count && spec.b_count == spec.count;
  if (plain)
    add_bytes(spec, static_cast<const std::int8_t*>(a), static_cast<const std::int8_t*>(b),
              static_cast<std::int8_t*>(y));
  return plain;
}

}  // namespace runnel::kernels
