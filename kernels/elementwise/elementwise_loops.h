// Element-wise operations as loops that compilers vectorise. Included once by each
// elementwise_<level>.cpp, compiled for that level's instructions; everything is in an unnamed namespace,
// so that no copy reaches other files.
//
// int32 nearly always suffices; where it does not, the loops call the specification's int64 arithmetic.
#pragma once

#include "kernels/elementwise/elementwise_levels.h"
#include "kernels/elementwise/truncated.h"

#ifdef __AVX2__
#include "base/float_lanes.h"
#endif

namespace runnel::kernels {
namespace {

template <class T>
[[gnu::always_inline]] inline T clamp_to(T value, T low, T high) noexcept {
  return value < low ? low : value > high ? high : value;
}

// round_shift for |value| < 2^30 and 0 <= shift <= 30, in int32 and without branches.
struct Shift32 {
  std::int32_t shift, half, mask, even;
  explicit Shift32(int by, Rounding rounding) noexcept
      : shift(by),
        half(by > 0 ? 1 << (by - 1) : 0),
        // A tie leaves no bits after the half is added. Without a shift there are no ties: a mask of all ones
        // finds none, except for 0, where clearing the lowest bit is harmless.
        mask(by > 0 ? static_cast<std::int32_t>((std::uint32_t{1} << by) - 1) : -1),
        even(rounding == Rounding::half_even ? 1 : 0) {}
  [[gnu::always_inline]] std::int32_t operator()(std::int32_t value) const noexcept {
    const std::int32_t sum = value + half;
    const std::int32_t rounded = sum >> shift;
    return rounded - (((sum & mask) == 0 ? even : 0) & rounded);
  }
};

// round_shift for -up <= shift <= 30, where |value| * 2^up < 2^30: a shift below 0 multiplies.
struct Move32 {
  std::int32_t factor;
  Shift32 round;
  Move32(int shift, Rounding rounding) noexcept
      : factor(shift < 0 ? 1 << -shift : 1), round(shift < 0 ? 0 : shift, rounding) {}
  [[gnu::always_inline]] std::int32_t operator()(std::int32_t value) const noexcept {
    return round(value * factor);
  }
  static bool fits(int shift, int up) noexcept { return shift >= -up && shift <= 30; }
};

// Calls body(i, a_index, b_index, n) for pieces in which both operands are contiguous.
template <class Spec, class Body>
[[gnu::always_inline]] inline void pieces(const Spec& spec, Body body) noexcept {
  std::size_t a = 0, b = 0;
  for (std::size_t i = 0; i < spec.count;) {
    std::size_t n = spec.count - i;
    if (spec.a_count - a < n) n = spec.a_count - a;
    if (spec.b_count - b < n) n = spec.b_count - b;
    body(i, a, b, n);
    i += n;
    a = a + n == spec.a_count ? 0 : a + n;
    b = b + n == spec.b_count ? 0 : b + n;
  }
}

#ifdef __linux__
constexpr bool kManyLoops = true;
constexpr std::size_t kRepeated = 1024;
#else
constexpr bool kManyLoops = false;     // flash is scarce: what is rare is left to the specification
constexpr std::size_t kRepeated = 64;  // on the stack; little is gained without vectors
#endif

// y = clamp(value(a, b)) over all elements of a BinarySpec or AffinePairSpec; a scalar operand keeps one long
// loop.
template <class Spec, class T, class Value>
[[gnu::always_inline]] inline void for_each(const Spec& spec, const T* a, const T* b, T* y,
                                            Value value) noexcept {
  constexpr std::int32_t kLowest = std::numeric_limits<T>::min(), kHighest = std::numeric_limits<T>::max();
  const std::int32_t low = clamp_to<std::int32_t>(spec.low, kLowest, kHighest);
  const std::int32_t high = clamp_to<std::int32_t>(spec.high, kLowest, kHighest);
  if (spec.b_count == 1 && spec.a_count == spec.count) {
    const std::int32_t right = b[0];
    RUNNEL_IN_PLACE_LOOP
    for (std::size_t i = 0; i < spec.count; ++i)
      y[i] = static_cast<T>(clamp_to(value(std::int32_t{a[i]}, right), low, high));
    return;
  }
  if (spec.a_count == 1 && spec.b_count == spec.count) {
    const std::int32_t left = a[0];
    RUNNEL_IN_PLACE_LOOP
    for (std::size_t i = 0; i < spec.count; ++i)
      y[i] = static_cast<T>(clamp_to(value(left, std::int32_t{b[i]}), low, high));
    return;
  }
  const auto run = [=](const Spec& of, const T* left, const T* right) __attribute__((always_inline)) {
    pieces(of, [=](std::size_t i, std::size_t ia, std::size_t ib, std::size_t n) noexcept {
      RUNNEL_IN_PLACE_LOOP
      for (std::size_t k = 0; k < n; ++k) {
        y[i + k] = static_cast<T>(
            clamp_to(value(std::int32_t{left[ia + k]}, std::int32_t{right[ib + k]}), low, high));
      }
    });
  };
  // Repeats a short operand, such as one value per channel: loops over a few dozen elements never reach
  // their vector part.
  const std::size_t few = spec.a_count < spec.b_count ? spec.a_count : spec.b_count;
  if (few > kRepeated / 2 || spec.count < 2 * few ||
      (spec.a_count != spec.count && spec.b_count != spec.count)) {
    run(spec, a, b);
    return;
  }
  const bool left = spec.a_count == few;
  alignas(64) T repeated[kRepeated];
  std::size_t filled = 0;
  for (; filled + few <= kRepeated && filled < spec.count; filled += few) {
    for (std::size_t k = 0; k < few; ++k) repeated[filled + k] = (left ? a : b)[k];
  }
  Spec wide = spec;
  (left ? wide.a_count : wide.b_count) = filled;
  run(wide, left ? repeated : a, left ? b : repeated);
}

template <BinaryOp op>
[[gnu::always_inline]] inline std::int32_t combine32(std::int32_t a, std::int32_t b) noexcept {
  if constexpr (op == BinaryOp::add)
    return a + b;
  else if constexpr (op == BinaryOp::sub)
    return a - b;
  else if constexpr (op == BinaryOp::mul)
    return a * b;
  else if constexpr (op == BinaryOp::max)
    return a > b ? a : b;
  else
    return a < b ? a : b;
}

// How far a value of T can be scaled up so that the sum of two stays below 2^30.
template <class T>
constexpr int kMaxUp = sizeof(T) == 1 ? 21 : 13;

// a < 0: a * b, else a. The product of two int16 reaches 2^30, and 2^30 + half is still below 2^31.
template <class T>
bool prelu32(const BinarySpec& spec, const T* a, const T* b, T* y) noexcept {
  const int product = spec.y_exponent - spec.a_exponent - spec.b_exponent,
            plain = spec.y_exponent - spec.a_exponent;
  if (!Move32::fits(product, sizeof(T) == 1 ? 15 : 0) || !Move32::fits(plain, kMaxUp<T>)) return false;
  const Move32 negative(product, spec.rounding), positive(plain, spec.rounding);
  for_each(spec, a, b, y, [=](std::int32_t p, std::int32_t q) noexcept {
    const std::int32_t below = negative(p * q), above = positive(p);
    return p < 0 ? below : above;
  });
  return true;
}

// int16 fits: |a * 2^left| < 2^15 * 2^13, sums of two below 2^29; products reach 2^30, and 2^30 + half is
// still below 2^31.
// kAll false: only what device builds have, too.
template <BinaryOp op, class T, bool kAll = kManyLoops>
bool binary32(const BinarySpec& spec, const T* a, const T* b, T* y) noexcept {
  if constexpr (op == BinaryOp::mul) {
    const int shift = spec.y_exponent - spec.a_exponent - spec.b_exponent;
    if (kAll && sizeof(T) == 1 && spec.exact && shift < 0 && shift >= -15) {
      const std::int32_t scale = 1 << -shift;
      for_each(spec, a, b, y, [=](std::int32_t p, std::int32_t q) noexcept { return p * q * scale; });
      return true;
    }
    if (!spec.exact || shift < 0 || shift > 30) return false;
    const Shift32 round(shift, spec.rounding);
    for_each(spec, a, b, y, [=](std::int32_t p, std::int32_t q) noexcept { return round(p * q); });
    return true;
  } else {
    const int a_shift = spec.y_exponent - spec.a_exponent, b_shift = spec.y_exponent - spec.b_exponent;
    if (a_shift == 0 && b_shift == 0) {
      for_each(spec, a, b, y, [](std::int32_t p, std::int32_t q) noexcept { return combine32<op>(p, q); });
      return true;
    }
    if (!spec.exact) {
      if (kAll && (a_shift < 0 || b_shift < 0) && Move32::fits(a_shift, kMaxUp<T>) &&
          Move32::fits(b_shift, kMaxUp<T>)) {
        const Move32 left(a_shift, spec.rounding), right(b_shift, spec.rounding);
        for_each(spec, a, b, y,
                 [=](std::int32_t p, std::int32_t q) noexcept { return combine32<op>(left(p), right(q)); });
        return true;
      }
      if (a_shift < 0 || a_shift > 30 || b_shift < 0 || b_shift > 30) return false;
      const Shift32 left(a_shift, spec.rounding), right(b_shift, spec.rounding);
      for_each(spec, a, b, y,
               [=](std::int32_t p, std::int32_t q) noexcept { return combine32<op>(left(p), right(q)); });
      return true;
    }
    const int common = spec.a_exponent < spec.b_exponent ? spec.a_exponent : spec.b_exponent;
    const int a_up = spec.a_exponent - common, b_up = spec.b_exponent - common,
              shift = spec.y_exponent - common;
    if (kAll && shift < 0 && (a_up > b_up ? a_up : b_up) - shift <= kMaxUp<T>) {
      const std::int32_t a_scale = 1 << (a_up - shift), b_scale = 1 << (b_up - shift);
      for_each(spec, a, b, y, [=](std::int32_t p, std::int32_t q) noexcept {
        return combine32<op>(p * a_scale, q * b_scale);
      });
      return true;
    }
    if (a_up > 13 || b_up > 13 || shift < 0 || shift > 30) return false;
    const Shift32 round(shift, spec.rounding);
    const std::int32_t a_scale = 1 << a_up, b_scale = 1 << b_up;
    for_each(spec, a, b, y, [=](std::int32_t p, std::int32_t q) noexcept {
      return round(combine32<op>(p * a_scale, q * b_scale));
    });
    return true;
  }
}

// round_float for results clamped to 16 bits at most: limiting the value first changes nothing
// after the clamp.
struct RoundFloat {
  bool even;
  [[gnu::always_inline]] std::int32_t operator()(float value) const noexcept {
    value = value == value ? value : 0.0f;
    value = value > 65536.0f ? 65536.0f : value < -65536.0f ? -65536.0f : value;
    // 1.5 * 2^23: adding it leaves no fraction bits, so the addition itself rounds to nearest even.
    if (even) return truncated((value + 12582912.0f) - 12582912.0f);
    const float up = value + 0.5f;
    const std::int32_t whole = truncated(up);
    return whole - (static_cast<float>(whole) > up ? 1 : 0);
  }
};

template <class T>
void multiply_float(const BinarySpec& spec, const T* a, const T* b, T* y) noexcept {
  const float scale = power_of_two(spec.a_exponent + spec.b_exponent - spec.y_exponent);
  if (spec.rounding == Rounding::half_up) {
    for_each(spec, a, b, y, [=](std::int32_t p, std::int32_t q) noexcept {
      return RoundFloat{false}(static_cast<float>(p * q) * scale);
    });
  } else {
    for_each(spec, a, b, y, [=](std::int32_t p, std::int32_t q) noexcept {
      return RoundFloat{true}(static_cast<float>(p * q) * scale);
    });
  }
}

template <class T>
bool binary_typed(const BinarySpec& spec, const void* a_void, const void* b_void, void* y_void) noexcept {
  const auto* a = static_cast<const T*>(a_void);
  const auto* b = static_cast<const T*>(b_void);
  auto* y = static_cast<T*>(y_void);
  switch (spec.op) {
    case BinaryOp::add:
      return binary32<BinaryOp::add>(spec, a, b, y);
    case BinaryOp::sub:
      return binary32<BinaryOp::sub>(spec, a, b, y);
    case BinaryOp::max:
      return binary32<BinaryOp::max>(spec, a, b, y);
    case BinaryOp::min:
      return binary32<BinaryOp::min>(spec, a, b, y);
    case BinaryOp::prelu:
      return kManyLoops && prelu32(spec, a, b, y);
    case BinaryOp::mul:
      break;
  }
  // The product of two int8 has 15 bits: with shifts up to 22 float arithmetic rounds only at the end, and
  // integers give the same result.
  const int shift = spec.y_exponent - spec.a_exponent - spec.b_exponent;
  if (sizeof(T) == 1 && shift >= 0 && shift <= 22) {
    BinarySpec exact = spec;
    exact.exact = true;
    return binary32<BinaryOp::mul>(exact, a, b, y);
  }
  if (spec.exact) return binary32<BinaryOp::mul>(spec, a, b, y);
  multiply_float(spec, a, b, y);
  return true;
}

void binary_loops(const BinarySpec& spec, const void* a, const void* b, void* y) noexcept {
  if (spec.count == 0) return;
  const bool done = spec.dtype == DType::int16 ? binary_typed<std::int16_t>(spec, a, b, y)
                                               : binary_typed<std::int8_t>(spec, a, b, y);
  if (!done) elementwise(Isa::reference).binary(spec, a, b, y);
}

template <class From, class To>
void requantize_typed(std::size_t count, const void* x_void, void* y_void, int shift, Rounding rounding,
                      std::int32_t low, std::int32_t high) noexcept {
  const auto* x = static_cast<const From*>(x_void);
  auto* y = static_cast<To*>(y_void);
  if (shift < 0) {
    // At most 15 bits in addition to 16.
    const std::int32_t scale = 1 << -shift;
    RUNNEL_IN_PLACE_LOOP
    for (std::size_t i = 0; i < count; ++i) y[i] = static_cast<To>(clamp_to(x[i] * scale, low, high));
    return;
  }
  const Shift32 round(shift, rounding);
  RUNNEL_IN_PLACE_LOOP
  for (std::size_t i = 0; i < count; ++i) y[i] = static_cast<To>(clamp_to(round(x[i]), low, high));
}

void requantize_loops(DType from, DType to, std::size_t count, const void* x, void* y, int shift,
                      Rounding rounding, std::int32_t low, std::int32_t high) noexcept {
  const bool narrow =
      (from == DType::int8 || from == DType::int16) && (to == DType::int8 || to == DType::int16);
  if (!narrow || shift < -15 || shift > 30) {
    elementwise(Isa::reference).requantize(from, to, count, x, y, shift, rounding, low, high);
    return;
  }
  const std::int32_t limit = to == DType::int8 ? 127 : 32767;
  low = clamp_to(low, -limit - 1, limit);
  high = clamp_to(high, -limit - 1, limit);
  using Int8 = std::int8_t;
  using Int16 = std::int16_t;
  if (from == DType::int8 && to == DType::int8)
    requantize_typed<Int8, Int8>(count, x, y, shift, rounding, low, high);
  else if (from == DType::int8)
    requantize_typed<Int8, Int16>(count, x, y, shift, rounding, low, high);
  else if (to == DType::int8)
    requantize_typed<Int16, Int8>(count, x, y, shift, rounding, low, high);
  else
    requantize_typed<Int16, Int16>(count, x, y, shift, rounding, low, high);
}

void lut8_loops(std::size_t count, const std::int8_t* x, std::int8_t* y, const std::int8_t* table) noexcept {
  const std::int8_t* middle = table + 128;
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    std::int8_t eight[8];
    for (int k = 0; k < 8; ++k) eight[k] = middle[x[i + k]];
    __builtin_memcpy(y + i, eight, 8);
  }
  for (; i < count; ++i) y[i] = middle[x[i]];
}

void lut16_loops(std::size_t count, const std::int16_t* x, std::int16_t* y, const std::int16_t* table,
                 std::int32_t entries, bool linear, Rounding rounding) noexcept {
  int shift = 16;
  while ((65536 >> shift) + 1 < entries) --shift;
  // Two table values times at most 2^14 stay inside int32; one tie bit decides the nearest entry.
  if (shift == 0 || shift > 14) {
    elementwise(Isa::reference).lut16(count, x, y, table, entries, linear, rounding);
    return;
  }
  const std::int32_t step = 1 << shift;
  if (linear) {
    const Shift32 round(shift, rounding);
    for (std::size_t i = 0; i < count; ++i) {
      const std::int32_t position = x[i] + 32768;
      const std::int32_t rest = position & (step - 1);
      const std::int16_t* entry = table + (position >> shift);
      y[i] = static_cast<std::int16_t>(round(entry[0] * (step - rest) + entry[1] * rest));
    }
  } else {
    const Shift32 round(shift, rounding);
    for (std::size_t i = 0; i < count; ++i) y[i] = table[round(x[i] + 32768)];
  }
}

#ifdef __AVX2__
// Eight at a time; returns how many elements it did. Compilers do not find these vectors.
template <class T, bool kEven>
std::size_t quantize_eights(std::size_t count, const float* x, T* y, float scale) noexcept {
  using Floats = lanes::F<8>;
  using Integers = lanes::I<8>;
  typedef T Small __attribute__((vector_size(8 * sizeof(T))));
  const Floats most = lanes::splat<8>(65536.0f), least = -most;
  const Integers low = lanes::splat_int<8>(std::numeric_limits<T>::min()),
                 high = lanes::splat_int<8>(std::numeric_limits<T>::max());
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    Floats value = lanes::load<8>(x + i) * scale;
    value = value == value ? value : Floats{};
    value = value > most ? most : value;
    value = value < least ? least : value;
    Integers whole;
    if constexpr (kEven) {
      whole = __builtin_convertvector((value + 12582912.0f) - 12582912.0f, Integers);
    } else {
      const Floats up = value + 0.5f;
      whole = __builtin_convertvector(up, Integers);
      whole += __builtin_convertvector(whole, Floats) > up;  // a true comparison is -1
    }
    whole = whole < low ? low : whole;
    whole = whole > high ? high : whole;
    const Small eight = __builtin_convertvector(whole, Small);
    __builtin_memcpy(y + i, &eight, sizeof eight);
  }
  return i;
}
#endif

template <class T, bool kEven>
void quantize_rounded(std::size_t count, const float* x, T* y, float scale) noexcept {
  constexpr std::int32_t kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  std::size_t i = 0;
#ifdef __AVX2__
  i = quantize_eights<T, kEven>(count, x, y, scale);
#endif
  for (; i < count; ++i) y[i] = static_cast<T>(clamp_to(RoundFloat{kEven}(x[i] * scale), kLow, kHigh));
}

template <class T>
void quantize_typed(std::size_t count, const float* x, void* y_void, int exponent,
                    Rounding rounding) noexcept {
  auto* y = static_cast<T*>(y_void);
  const float scale = power_of_two(-exponent);
  if (rounding == Rounding::half_up)
    quantize_rounded<T, false>(count, x, y, scale);
  else
    quantize_rounded<T, true>(count, x, y, scale);
}

void quantize_loops(DType to, std::size_t count, const float* x, void* y, int exponent,
                    Rounding rounding) noexcept {
  if (to == DType::int8)
    quantize_typed<std::int8_t>(count, x, y, exponent, rounding);
  else if (to == DType::int16)
    quantize_typed<std::int16_t>(count, x, y, exponent, rounding);
  else
    elementwise(Isa::reference).quantize(to, count, x, y, exponent, rounding);
}

template <class T>
void dequantize_typed(std::size_t count, const void* x_void, float* y, int exponent) noexcept {
  const auto* x = static_cast<const T*>(x_void);
  const float scale = power_of_two(exponent);
  for (std::size_t i = 0; i < count; ++i) y[i] = static_cast<float>(x[i]) * scale;
}

void dequantize_loops(DType from, std::size_t count, const void* x, float* y, int exponent) noexcept {
  if (from == DType::int8)
    dequantize_typed<std::int8_t>(count, x, y, exponent);
  else if (from == DType::int16)
    dequantize_typed<std::int16_t>(count, x, y, exponent);
  else
    elementwise(Isa::reference).dequantize(from, count, x, y, exponent);
}

// What binary_loops() does with such an operation at this level. Without elements a loop only says whether
// there is one.
inline KernelChoice loops_choice(const BinarySpec& wanted, Isa isa) noexcept {
  BinarySpec spec = wanted;
  spec.count = spec.a_count = spec.b_count = 0;
  const bool loop = isa != Isa::reference &&
                    (spec.dtype == DType::int16 ? binary_typed<std::int16_t>(spec, nullptr, nullptr, nullptr)
                                                : binary_typed<std::int8_t>(spec, nullptr, nullptr, nullptr));
  return {loop ? vector_level(isa) : Isa::reference, ""};
}

constexpr Elementwise kLoops{binary_loops, requantize_loops, lut8_loops,
                             lut16_loops,  quantize_loops,   dequantize_loops};

}  // namespace
}  // namespace runnel::kernels
