// Operations on pairs of elements beyond elementwise.h: float32, quotients, powers, comparisons, logic.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "kernels/arithmetic/requantize.h"

namespace runnel::kernels {

enum class PairOp : std::uint8_t {
  add,
  sub,
  mul,
  max,
  min,  // float32, and int32 and int64 without scale, which wrap around (others: elementwise.h)
  div,
  mod,
  mod_floor,
  pow,    // mod: sign of the dividend; mod_floor: sign of the divisor
  prelu,  // float32 (integers: elementwise.h): a < 0: a * b, else a
  equal,
  greater,
  greater_or_equal,
  less,
  less_or_equal,  // y is bool
  logical_and,
  logical_or,
  logical_xor  // a, b and y are bool
};

// Element i of y uses a[i % a_count] and b[i % b_count].
//
// Integers (int8, int16; value = integer * 2^exponent):
//   div, pow    y = saturate(round_float(float32(a op b) ...)), ESP-DL's arithmetic:
//               div is (float(a) / float(b)) * 2^(ea - eb - ey); 0 / 0 gives 0, others the type's limit;
//               pow is of the real values, rounded to float32 once.
//   mod         exact in a common exponent, rounded once to y's; a remainder by 0 is 0.
//   comparisons exact, whatever the exponents are; also of int32 and int64 without scale.
struct PairSpec {
  PairOp op = PairOp::add;
  DType dtype = DType::float32;  // of a and b (and of y, but for comparisons): int8, int16, float32, int32,
                                 // int64 (see above); logic: boolean
  std::size_t count = 0, a_count = 0, b_count = 0;
  int a_exponent = 0, b_exponent = 0, y_exponent = 0;
  Rounding rounding = Rounding::half_up;
  std::int32_t low = -128, high = 127;  // clamp of integer results
  bool relu = false;                    // float32: negative results become 0
};

void pairs(const PairSpec& spec, const void* a, const void* b, void* y) noexcept;

// y[i] = condition[i] ? a[i] : b[i], operands repeated likewise. Elements of 1, 2, 4 or 8 bytes.
struct ChoiceSpec {
  std::size_t element = 1;
  std::size_t count = 0, condition_count = 0, a_count = 0, b_count = 0;
};
void choose(const ChoiceSpec& spec, const std::uint8_t* condition, const void* a, const void* b,
            void* y) noexcept;

// Converts plain numbers of any type: floats are truncated towards zero, everything saturates, NaN becomes 0;
// bool is x != 0.
void cast(DType from, DType to, std::size_t count, const void* x, void* y) noexcept;

}  // namespace runnel::kernels
