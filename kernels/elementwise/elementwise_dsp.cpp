// Element-wise operations with the DSP extension: the portable loops; int8 sums four bytes at a time.
#include "kernels/elementwise/elementwise_loops.h"

namespace runnel::kernels {
namespace {

// Larger and smaller byte of each pair: a subtraction sets the flags that SEL selects by.
[[gnu::always_inline]] inline std::uint32_t add_and_clamp(std::uint32_t a, std::uint32_t b, std::uint32_t low,
                                                          std::uint32_t high) noexcept {
  std::uint32_t sum = 0, unused = 0;
  __asm(
      "qadd8 %[sum], %[a], %[b]\n"
      "ssub8 %[unused], %[sum], %[low]\n sel %[sum], %[sum], %[low]\n"
      "ssub8 %[unused], %[high], %[sum]\n sel %[sum], %[sum], %[high]"
      : [sum] "=&r"(sum), [unused] "=&r"(unused)
      : [a] "r"(a), [b] "r"(b), [low] "r"(low), [high] "r"(high)
      : "cc");
  return sum;
}
std::uint32_t four_times(std::int32_t value) noexcept {
  return static_cast<std::uint32_t>(clamp_to<std::int32_t>(value, -128, 127) & 0xFF) * 0x01010101U;
}

void binary_dsp(const BinarySpec& spec, const void* a, const void* b, void* y) noexcept {
  if (spec.op != BinaryOp::add || spec.dtype != DType::int8 || !add_bytes_device(spec, a, b, y))
    binary_loops(spec, a, b, y);
}

constexpr Elementwise kDsp{binary_dsp,  requantize_loops, lut8_loops,
                           lut16_loops, quantize_loops,   dequantize_loops};

}  // namespace

const Elementwise& elementwise_generic() noexcept { return kDsp; }

KernelChoice kernel_choice(const BinarySpec& spec, Isa isa) noexcept { return loops_choice(spec, isa); }

bool add_bytes_device(const BinarySpec& spec, const void* a_void, const void* b_void, void* y_void) noexcept {
  const auto address = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at); };
  const bool plain = spec.a_exponent == spec.y_exponent && spec.b_exponent == spec.y_exponent &&
                     spec.a_count == spec.count && spec.b_count == spec.count;
  if (!plain || ((address(a_void) | address(b_void) | address(y_void) | spec.count) & 3) != 0) return false;
  using Word [[gnu::may_alias]] = std::uint32_t;
  const auto *a = static_cast<const Word*>(a_void), *b = static_cast<const Word*>(b_void);
  auto* y = static_cast<Word*>(y_void);
  const std::uint32_t low = four_times(spec.low), high = four_times(spec.high);
  for (std::size_t i = 0; i < spec.count; i += 4) *y++ = add_and_clamp(*a++, *b++, low, high);
  return true;
}

}  // namespace runnel::kernels
