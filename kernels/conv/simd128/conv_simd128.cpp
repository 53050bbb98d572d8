// Convolutions for WebAssembly's 128-bit vectors: products of bytes as int16, two of them added by one
// instruction (i32x4.dot_i16x8_s).
#include <wasm_simd128.h>

#include <cstdint>

#include "kernels/conv/conv_vector.h"

namespace runnel::kernels {
namespace {

#define RUNNEL_VECTOR [[gnu::always_inline]] static inline

// Four int32 lanes, for conv_vector.h; with four lanes, plain order is the order of ConvPlan.
struct Simd128 {
  typedef std::int32_t Int __attribute__((vector_size(16)));
  static constexpr int kLanes = 4;
  // Engines map these vectors to 16 registers of x86 or 32 of Arm: eight sums leave room on both.
  static constexpr int kFrames = 2, kGroups = 2;

  struct SumLimits {
    Int low, high;
  };
  // Zero point and clamp for store_group and store_vector.
  struct Limits {
    Int zero_points, low, high;
    std::int32_t zero_point, lowest, highest;
  };
  RUNNEL_VECTOR Int ints(v128_t a) noexcept { return reinterpret_cast<Int>(a); }
  RUNNEL_VECTOR v128_t bits(Int a) noexcept { return reinterpret_cast<v128_t>(a); }
  RUNNEL_VECTOR Int all_bytes(std::int32_t a) noexcept {
    return ints(wasm_i8x16_splat(static_cast<std::int8_t>(a)));
  }
  RUNNEL_VECTOR Limits limits(std::int32_t zero_point, std::int32_t low, std::int32_t high) noexcept {
    return {ints(wasm_i16x8_splat(static_cast<std::int16_t>(zero_point))),
            all_bytes(low),
            all_bytes(high),
            zero_point,
            low,
            high};
  }
  RUNNEL_VECTOR SumLimits sum_limits(std::int32_t low, std::int32_t high) noexcept {
    return {all_bytes(low), all_bytes(high)};
  }

  RUNNEL_VECTOR void settle(Int& /*a*/) noexcept {}  // registers are the engine's choice
  RUNNEL_VECTOR Int zero() noexcept { return Int{}; }
  RUNNEL_VECTOR Int load(const void* from) noexcept { return ints(wasm_v128_load(from)); }
  RUNNEL_VECTOR void store(void* to, Int a) noexcept { wasm_v128_store(to, bits(a)); }
  RUNNEL_VECTOR Int repeat(std::int32_t a) noexcept { return ints(wasm_i32x4_splat(a)); }
  RUNNEL_VECTOR Int repeat4(const std::int8_t* from) noexcept { return ints(wasm_v128_load32_splat(from)); }
  RUNNEL_VECTOR v128_t words(Int a, Int b) noexcept { return wasm_i16x8_narrow_i32x4(bits(a), bits(b)); }
  // 4 vectors to bytes, saturated.
  RUNNEL_VECTOR Int pack_bytes(const Int* v) noexcept {
    return ints(wasm_i8x16_narrow_i16x8(words(v[0], v[1]), words(v[2], v[3])));
  }
  RUNNEL_VECTOR Int add_bytes(Int a, Int b) noexcept { return ints(wasm_i8x16_add_sat(bits(a), bits(b))); }
  RUNNEL_VECTOR Int max_bytes(Int a, Int b) noexcept { return ints(wasm_i8x16_max(bits(a), bits(b))); }
  RUNNEL_VECTOR Int min_bytes(Int a, Int b) noexcept { return ints(wasm_i8x16_min(bits(a), bits(b))); }
  RUNNEL_VECTOR Int add(Int a, Int b) noexcept { return ints(wasm_i32x4_add(bits(a), bits(b))); }
  RUNNEL_VECTOR Int sub(Int a, Int b) noexcept { return ints(wasm_i32x4_sub(bits(a), bits(b))); }
  RUNNEL_VECTOR Int bit_and(Int a, Int b) noexcept { return a & b; }
  // There is no shift by a count per lane. For a repeated count, compilers take the instruction that shifts
  // all lanes; otherwise they shift one by one.
  RUNNEL_VECTOR Int shift_right(Int a, Int by) noexcept { return a >> by; }
  RUNNEL_VECTOR Int shift_left(Int a, Int by) noexcept {
    typedef std::uint32_t Bits __attribute__((vector_size(16)));
    return reinterpret_cast<Int>(reinterpret_cast<Bits>(a) << reinterpret_cast<Bits>(by));
  }
  RUNNEL_VECTOR Int sign(Int a) noexcept { return ints(wasm_i32x4_shr(bits(a), 31)); }
  RUNNEL_VECTOR Int half_of(Int a) noexcept { return ints(wasm_u32x4_shr(bits(a), 1)); }
  // Clears the lowest bit where `test` is 0.
  RUNNEL_VECTOR Int make_even_where_zero(Int a, Int test) noexcept {
    const v128_t ties = wasm_u32x4_shr(wasm_i32x4_eq(bits(test), bits(zero())), 31);
    return ints(wasm_v128_andnot(bits(a), ties));
  }
  // a + 1 where b > c.
  RUNNEL_VECTOR Int add_where_greater(Int a, Int b, Int c) noexcept {
    return ints(wasm_i32x4_sub(bits(a), wasm_i32x4_gt(bits(b), bits(c))));
  }
  // (low, high + nudge) / 2^31, rounded down: of each the low half of what is shifted.
  RUNNEL_VECTOR Int high31(v128_t low, v128_t high) noexcept {
    return ints(wasm_i32x4_shuffle(wasm_u64x2_shr(low, 31), wasm_u64x2_shr(high, 31), 0, 2, 4, 6));
  }
  // (a * b + nudge) / 2^31, rounded down.
  RUNNEL_VECTOR Int multiply_high31(Int a, Int b, Int nudge) noexcept {
    return high31(wasm_i64x2_add(wasm_i64x2_extmul_low_i32x4(bits(a), bits(b)),
                                 wasm_u64x2_extend_low_u32x4(bits(nudge))),
                  wasm_i64x2_add(wasm_i64x2_extmul_high_i32x4(bits(a), bits(b)),
                                 wasm_u64x2_extend_high_u32x4(bits(nudge))));
  }
  // (a * b + 2^30) / 2^31, rounded down.
  RUNNEL_VECTOR Int doubled_high(Int a, Int b) noexcept {
    const v128_t nudge = wasm_i64x2_splat(std::int64_t{1} << 30);
    return high31(wasm_i64x2_add(wasm_i64x2_extmul_low_i32x4(bits(a), bits(b)), nudge),
                  wasm_i64x2_add(wasm_i64x2_extmul_high_i32x4(bits(a), bits(b)), nudge));
  }

  // 16 channels; saturating to 16 bits first changes nothing, since zero points are 8 bits.
  RUNNEL_VECTOR Int pack_group(const Int* v, const Limits& limits) noexcept {
    const v128_t a = wasm_i16x8_add_sat(words(v[0], v[1]), bits(limits.zero_points));
    const v128_t b = wasm_i16x8_add_sat(words(v[2], v[3]), bits(limits.zero_points));
    return min_bytes(max_bytes(ints(wasm_i8x16_narrow_i16x8(a, b)), limits.low), limits.high);
  }
  // The first `count` bytes, fewer than 16; zeros behind them.
  RUNNEL_VECTOR Int load_some(const std::int8_t* from, std::int32_t count) noexcept {
    alignas(16) std::int8_t all[16] = {};
    for (std::int32_t i = 0; i < count; ++i) all[i] = from[i];
    return load(all);
  }
  RUNNEL_VECTOR Int add_group(Int a, const std::int8_t* addend, std::int32_t count,
                              const SumLimits& limits) noexcept {
    const Int sum = add_bytes(a, count == 16 ? load(addend) : load_some(addend, count));
    return min_bytes(max_bytes(sum, limits.low), limits.high);
  }
  RUNNEL_VECTOR void store_group(Int a, std::int8_t* y, std::int32_t count) noexcept {
    if (count == 16) return store(y, a);
    alignas(16) std::int8_t all[16];
    store(all, a);
    for (std::int32_t i = 0; i < count; ++i) y[i] = all[i];
  }
  // 4 channels.
  RUNNEL_VECTOR Int pack_vector(Int a, const Limits& limits) noexcept {
    a = add(a, repeat(limits.zero_point));
    const v128_t clamped = wasm_i32x4_min(wasm_i32x4_max(bits(a), wasm_i32x4_splat(limits.lowest)),
                                          wasm_i32x4_splat(limits.highest));
    const v128_t eight = wasm_i16x8_narrow_i32x4(clamped, clamped);
    return ints(wasm_i8x16_narrow_i16x8(eight, eight));
  }
  RUNNEL_VECTOR Int add_vector(Int a, const std::int8_t* addend, std::int32_t count,
                               const SumLimits& limits) noexcept {
    return min_bytes(max_bytes(add_bytes(a, load_some(addend, count)), limits.low), limits.high);
  }
  RUNNEL_VECTOR void store_vector(Int a, std::int8_t* y, std::int32_t count) noexcept {
    std::int32_t four = a[0];
    if (count == 4) {
      __builtin_memcpy(y, &four, 4);
    } else {
      for (std::int32_t i = 0; i < count; ++i, four >>= 8) y[i] = static_cast<std::int8_t>(four);
    }
  }

  RUNNEL_VECTOR void interleave(Int r0, Int r1, Int r2, Int r3, Int* out) noexcept {
    const v128_t a = low_bytes(r0, r1), b = high_bytes(r0, r1), c = low_bytes(r2, r3), d = high_bytes(r2, r3);
    out[0] = ints(wasm_i16x8_shuffle(a, c, 0, 8, 1, 9, 2, 10, 3, 11));
    out[1] = ints(wasm_i16x8_shuffle(a, c, 4, 12, 5, 13, 6, 14, 7, 15));
    out[2] = ints(wasm_i16x8_shuffle(b, d, 0, 8, 1, 9, 2, 10, 3, 11));
    out[3] = ints(wasm_i16x8_shuffle(b, d, 4, 12, 5, 13, 6, 14, 7, 15));
  }
  RUNNEL_VECTOR void spread_bytes(Int r, Int* out) noexcept { interleave(r, zero(), zero(), zero(), out); }

 private:
  // a0 b0 a1 b1 ...
  RUNNEL_VECTOR v128_t low_bytes(Int a, Int b) noexcept {
    return wasm_i8x16_shuffle(bits(a), bits(b), 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  }
  RUNNEL_VECTOR v128_t high_bytes(Int a, Int b) noexcept {
    return wasm_i8x16_shuffle(bits(a), bits(b), 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  }
};

// Weights as int16 in memory (WeightForm::wide): inputs 0 and 2 of each lane, then 1 and 3. Floor: 4
// instructions for 16 multiply-adds, 0.25, and two loads of weights, which positions and, for a single one,
// inputs share. There is no product of bytes that adds neighbours.
struct Words {
  struct Pair {
    v128_t even, odd;
  };
  using Weights = Pair;
  static constexpr int kVectorBytes = 32;
  template <int kSums>
  static constexpr int chains() noexcept {
    return 1;
  }
  RUNNEL_VECTOR Weights weights(const std::int8_t* from) noexcept {
    return {wasm_v128_load(from), wasm_v128_load(from + 16)};
  }
  RUNNEL_VECTOR Pair input(Simd128::Int x) noexcept {
    const v128_t all = Simd128::bits(x);
    return {wasm_i16x8_shr(wasm_i16x8_shl(all, 8), 8), wasm_i16x8_shr(all, 8)};
  }
  RUNNEL_VECTOR Pair spread(Simd128::Int x) noexcept { return input(x); }
  RUNNEL_VECTOR Simd128::Int row(const std::int8_t* from) noexcept { return Simd128::load(from); }
  RUNNEL_VECTOR Simd128::Int add(Simd128::Int sum, Pair x, const Weights& w) noexcept {
    return Simd128::ints(wasm_i32x4_add(
        Simd128::bits(sum),
        wasm_i32x4_add(wasm_i32x4_dot_i16x8(x.even, w.even), wasm_i32x4_dot_i16x8(x.odd, w.odd))));
  }
};

constexpr VectorConv kConv = vector_conv<Simd128, Words, Words>();

}  // namespace

const VectorConv& vector_conv_simd128() noexcept { return kConv; }

}  // namespace runnel::kernels
