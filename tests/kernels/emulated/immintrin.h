// Emulation in C++ of the AVX-512 F, BW, VL, DQ and VNNI instructions that integer kernels use, as Intel's
// manual defines them, to test these kernels on machines without them. The include path finds it before the
// compiler's header of this name, which it includes.
#pragma once
#pragma GCC system_header  // #include_next is an extension

#include_next <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

namespace emulated {
namespace {

using i8 = std::int8_t;
using u8 = std::uint8_t;
using i16 = std::int16_t;
using u16 = std::uint16_t;
using i32 = std::int32_t;
using u32 = std::uint32_t;
using i64 = std::int64_t;
using u64 = std::uint64_t;

// A vector of `kBytes` as its elements.
template <class T, int kBytes = 64>
struct Lanes {
  static constexpr int kCount = kBytes / static_cast<int>(sizeof(T));
  T at[kCount];

  template <class Vector>
  static Lanes of(const Vector& v) {
    static_assert(sizeof(Vector) == kBytes);
    Lanes lanes;
    std::memcpy(lanes.at, &v, kBytes);
    return lanes;
  }
  template <class Vector = __m512i>
  [[nodiscard]] Vector vector() const {
    static_assert(sizeof(Vector) == kBytes);
    Vector v;
    std::memcpy(&v, at, kBytes);
    return v;
  }
};

// f(i) in each lane.
template <class T, class Vector = __m512i, class F>
Vector make(F f) {
  Lanes<T, sizeof(Vector)> r;
  for (int i = 0; i < r.kCount; ++i) r.at[i] = static_cast<T>(f(i));
  return r.template vector<Vector>();
}
template <class T, class F>
__m512i each(__m512i a, F f) {
  const auto x = Lanes<T>::of(a);
  return make<T>([&](int i) { return f(x.at[i]); });
}
template <class T, class F>
__m512i each(__m512i a, __m512i b, F f) {
  const auto x = Lanes<T>::of(a), y = Lanes<T>::of(b);
  return make<T>([&](int i) { return f(x.at[i], y.at[i]); });
}
// f(i) where the mask has a bit, elsewhere the element of `otherwise`.
template <class T, class Mask, class F>
__m512i masked(__m512i otherwise, Mask mask, F f) {
  const auto x = Lanes<T>::of(otherwise);
  return make<T>([&](int i) { return (mask >> i & 1) != 0 ? static_cast<T>(f(i)) : x.at[i]; });
}
template <class T, class F>
auto mask_of(F f) {
  u64 mask = 0;
  for (int i = 0; i < Lanes<T>::kCount; ++i) mask |= static_cast<u64>(f(i)) << i;
  return mask;
}
template <class T>
T saturated(i64 value) {
  return static_cast<T>(std::clamp<i64>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}
template <class T, class Vector, class Mask>
Vector load_some(Mask mask, const void* from) {
  return make<T, Vector>([&](int i) {
    T value = 0;
    if ((mask >> i & 1) != 0)
      std::memcpy(&value, static_cast<const char*>(from) + i * static_cast<int>(sizeof value), sizeof value);
    return value;
  });
}
template <class T, class Vector, class Mask>
void store_some(void* to, Mask mask, Vector v) {
  const auto x = Lanes<T, sizeof(Vector)>::of(v);
  for (int i = 0; i < x.kCount; ++i) {
    if ((mask >> i & 1) != 0)
      std::memcpy(static_cast<char*>(to) + i * static_cast<int>(sizeof(T)), &x.at[i], sizeof(T));
  }
}
// Narrowed elements from each 128 bits of a, then of b.
template <class From, class To>
__m512i packed(__m512i a, __m512i b) {
  constexpr int kPart = 16 / sizeof(From);
  const auto x = Lanes<From>::of(a), y = Lanes<From>::of(b);
  return make<To>([&](int i) {
    const int part = i / (2 * kPart), within = i % (2 * kPart);
    return saturated<To>(within < kPart ? x.at[part * kPart + within] : y.at[part * kPart + within - kPart]);
  });
}
// Elements of a and b in turn, from the lower (0) or upper (1) half of each 128 bits.
template <class T>
__m512i unpacked(__m512i a, __m512i b, int upper) {
  constexpr int kPart = 16 / sizeof(T);
  const auto x = Lanes<T>::of(a), y = Lanes<T>::of(b);
  return make<T>([&](int i) {
    const int from = i / kPart * kPart + upper * kPart / 2 + i % kPart / 2;
    return i % 2 == 0 ? x.at[from] : y.at[from];
  });
}

// Memory and constants.
inline __m512i loadu_si512(const void* from) {
  return make<u8>([&](int i) { return static_cast<const u8*>(from)[i]; });
}
inline void storeu_si512(void* to, __m512i v) { std::memcpy(to, &v, sizeof v); }
inline __m512i maskz_loadu_epi8(__mmask64 mask, const void* from) {
  return load_some<u8, __m512i>(mask, from);
}
inline void mask_storeu_epi8(void* to, __mmask64 mask, __m512i v) { store_some<u8>(to, mask, v); }
inline __m128i maskz_loadu_epi8_128(__mmask16 mask, const void* from) {
  return load_some<u8, __m128i>(mask, from);
}
inline void mask_storeu_epi8_128(void* to, __mmask16 mask, __m128i v) { store_some<u8>(to, mask, v); }
inline void mask_storeu_epi16_256(void* to, __mmask16 mask, __m256i v) { store_some<u16>(to, mask, v); }
template <class T>
__m512i set1(T a) {
  return make<T>([&](int) { return a; });
}
inline __m512i setzero_si512() { return set1<i32>(0); }

// Arithmetic.
inline __m512i add_epi8(__m512i a, __m512i b) {
  return each<u8>(a, b, [](u8 x, u8 y) { return x + y; });
}
inline __m512i add_epi32(__m512i a, __m512i b) {
  return each<u32>(a, b, [](u32 x, u32 y) { return x + y; });
}
inline __m512i add_epi64(__m512i a, __m512i b) {
  return each<u64>(a, b, [](u64 x, u64 y) { return x + y; });
}
inline __m512i sub_epi32(__m512i a, __m512i b) {
  return each<u32>(a, b, [](u32 x, u32 y) { return x - y; });
}
inline __m512i adds_epi8(__m512i a, __m512i b) {
  return each<i8>(a, b, [](i64 x, i64 y) { return saturated<i8>(x + y); });
}
inline __m512i adds_epi16(__m512i a, __m512i b) {
  return each<i16>(a, b, [](i64 x, i64 y) { return saturated<i16>(x + y); });
}
inline __m512i min_epi8(__m512i a, __m512i b) {
  return each<i8>(a, b, [](i8 x, i8 y) { return std::min(x, y); });
}
inline __m512i max_epi8(__m512i a, __m512i b) {
  return each<i8>(a, b, [](i8 x, i8 y) { return std::max(x, y); });
}
inline __m512i min_epi32(__m512i a, __m512i b) {
  return each<i32>(a, b, [](i32 x, i32 y) { return std::min(x, y); });
}
inline __m512i max_epi32(__m512i a, __m512i b) {
  return each<i32>(a, b, [](i32 x, i32 y) { return std::max(x, y); });
}
inline __m512i mulhi_epi16(__m512i a, __m512i b) {
  return each<i16>(a, b, [](i32 x, i32 y) { return (x * y) >> 16; });
}
inline __m512i mulhrs_epi16(__m512i a, __m512i b) {
  return each<i16>(a, b, [](i32 x, i32 y) { return ((x * y >> 14) + 1) >> 1; });
}
inline __m512i mul_epi32(__m512i a, __m512i b) {
  return each<i64>(a, b, [](i64 x, i64 y) { return i64{static_cast<i32>(x)} * static_cast<i32>(y); });
}
inline __m512i madd_epi16(__m512i a, __m512i b) {
  const auto x = Lanes<i16>::of(a), y = Lanes<i16>::of(b);
  return make<u32>([&](int i) {
    return static_cast<u32>(x.at[2 * i] * y.at[2 * i]) + static_cast<u32>(x.at[2 * i + 1] * y.at[2 * i + 1]);
  });
}
inline __m512i maddubs_epi16(__m512i a, __m512i b) {
  const auto x = Lanes<u8>::of(a);
  const auto y = Lanes<i8>::of(b);
  return make<i16>(
      [&](int i) { return saturated<i16>(x.at[2 * i] * y.at[2 * i] + x.at[2 * i + 1] * y.at[2 * i + 1]); });
}
inline __m512i dpbusd_epi32(__m512i sum, __m512i a, __m512i b) {
  const auto x = Lanes<u8>::of(a);
  const auto y = Lanes<i8>::of(b);
  const auto s = Lanes<u32>::of(sum);
  return make<u32>([&](int i) {
    u32 r = s.at[i];
    for (int k = 4 * i; k < 4 * i + 4; ++k) r += static_cast<u32>(x.at[k] * y.at[k]);
    return r;
  });
}

// Bits and shifts.
inline __m512i and_si512(__m512i a, __m512i b) {
  return each<u64>(a, b, [](u64 x, u64 y) { return x & y; });
}
inline __m512i or_si512(__m512i a, __m512i b) {
  return each<u64>(a, b, [](u64 x, u64 y) { return x | y; });
}
inline __m512i xor_si512(__m512i a, __m512i b) {
  return each<u64>(a, b, [](u64 x, u64 y) { return x ^ y; });
}
inline __m512i srav_epi32(__m512i a, __m512i by) {
  return each<i32>(a, by, [](i32 x, i32 n) { return x >> std::min(static_cast<u32>(n), 31U); });
}
inline __m512i sllv_epi32(__m512i a, __m512i by) {
  return each<u32>(a, by, [](u32 x, u32 n) { return n > 31 ? 0 : x << n; });
}
inline __m512i srav_epi64(__m512i a, __m512i by) {
  return each<i64>(a, by, [](i64 x, i64 n) { return x >> std::min<u64>(static_cast<u64>(n), 63); });
}
inline __m512i srai_epi16(__m512i a, int n) {
  return each<i16>(a, [n](i16 x) { return x >> n; });
}
inline __m512i srai_epi32(__m512i a, int n) {
  return each<i32>(a, [n](i32 x) { return x >> n; });
}
inline __m512i srli_epi16(__m512i a, int n) {
  return each<u16>(a, [n](u16 x) { return n > 15 ? 0 : x >> n; });
}
inline __m512i srlv_epi16(__m512i a, __m512i by) {
  const auto n = Lanes<u16>::of(by);
  const auto x = Lanes<u16>::of(a);
  return make<u16>([&](int i) { return n.at[i] > 15 ? 0 : x.at[i] >> n.at[i]; });
}
inline __m512i permutex2var_epi16(__m512i a, __m512i index, __m512i b) {
  const auto low = Lanes<u16>::of(a), high = Lanes<u16>::of(b), at = Lanes<u16>::of(index);
  return make<u16>(
      [&](int i) { return (at.at[i] & 32) != 0 ? high.at[at.at[i] & 31] : low.at[at.at[i] & 31]; });
}
inline __mmask32 movepi16_mask(__m512i a) {
  const auto x = Lanes<i16>::of(a);
  __mmask32 mask = 0;
  for (int i = 0; i < 32; ++i) mask |= __mmask32{x.at[i] < 0} << i;
  return mask;
}
inline __m512i slli_epi16(__m512i a, int n) {
  return each<u16>(a, [n](u16 x) { return x << n; });
}
inline __m512i slli_epi32(__m512i a, int n) {
  return each<u32>(a, [n](u32 x) { return x << n; });
}
inline __m512i slli_epi64(__m512i a, int n) {
  return each<u64>(a, [n](u64 x) { return x << n; });
}
inline __m512i srli_epi32(__m512i a, int n) {
  return each<u32>(a, [n](u32 x) { return x >> n; });
}
inline __m512i srli_epi64(__m512i a, int n) {
  return each<u64>(a, [n](u64 x) { return x >> n; });
}

// Masks.
template <class T>
u64 testn(__m512i a, __m512i b) {
  const auto x = Lanes<T>::of(a), y = Lanes<T>::of(b);
  return mask_of<T>([&](int i) { return (x.at[i] & y.at[i]) == 0; });
}
inline __mmask16 testn_epi32_mask(__m512i a, __m512i b) { return static_cast<__mmask16>(testn<i32>(a, b)); }
inline __mmask8 testn_epi64_mask(__m512i a, __m512i b) { return static_cast<__mmask8>(testn<i64>(a, b)); }
inline __mmask16 cmpgt_epi32_mask(__m512i a, __m512i b) {
  const auto x = Lanes<i32>::of(a), y = Lanes<i32>::of(b);
  return static_cast<__mmask16>(mask_of<i32>([&](int i) { return x.at[i] > y.at[i]; }));
}
inline __m512i mask_and_epi32(__m512i otherwise, __mmask16 mask, __m512i a, __m512i b) {
  const auto both = Lanes<u32>::of(and_si512(a, b));
  return masked<u32>(otherwise, mask, [&](int i) { return both.at[i]; });
}
inline __m512i mask_and_epi64(__m512i otherwise, __mmask8 mask, __m512i a, __m512i b) {
  const auto both = Lanes<u64>::of(and_si512(a, b));
  return masked<u64>(otherwise, mask, [&](int i) { return both.at[i]; });
}
inline __m512i mask_add_epi32(__m512i otherwise, __mmask16 mask, __m512i a, __m512i b) {
  const auto sum = Lanes<u32>::of(add_epi32(a, b));
  return masked<u32>(otherwise, mask, [&](int i) { return sum.at[i]; });
}
inline __m512i mask_blend_epi16(__mmask32 mask, __m512i a, __m512i b) {
  const auto y = Lanes<u16>::of(b);
  return masked<u16>(a, mask, [&](int i) { return y.at[i]; });
}
inline __m512i mask_blend_epi32(__mmask16 mask, __m512i a, __m512i b) {
  const auto y = Lanes<u32>::of(b);
  return masked<u32>(a, mask, [&](int i) { return y.at[i]; });
}

// Other orders and widths.
inline __m512i packs_epi16(__m512i a, __m512i b) { return packed<i16, i8>(a, b); }
inline __m512i packs_epi32(__m512i a, __m512i b) { return packed<i32, i16>(a, b); }
inline __m512i unpacklo_epi8(__m512i a, __m512i b) { return unpacked<u8>(a, b, 0); }
inline __m512i unpackhi_epi8(__m512i a, __m512i b) { return unpacked<u8>(a, b, 1); }
inline __m512i unpacklo_epi16(__m512i a, __m512i b) { return unpacked<u16>(a, b, 0); }
inline __m512i unpackhi_epi16(__m512i a, __m512i b) { return unpacked<u16>(a, b, 1); }
inline __m512i shuffle_epi8(__m512i a, __m512i order) {
  const auto x = Lanes<u8>::of(a), from = Lanes<u8>::of(order);
  return make<u8>([&](int i) { return (from.at[i] & 0x80) != 0 ? 0 : x.at[i / 16 * 16 + from.at[i] % 16]; });
}
inline __m512i broadcast_i32x4(__m128i a) {
  const auto x = Lanes<u8, 16>::of(a);
  return make<u8>([&](int i) { return x.at[i % 16]; });
}
inline __m128i castsi512_si128(__m512i a) {
  const auto x = Lanes<u8>::of(a);
  return make<u8, __m128i>([&](int i) { return x.at[i]; });
}
inline __m256i extracti64x4_epi64(__m512i a, int half) {
  const auto x = Lanes<u8>::of(a);
  return make<u8, __m256i>([&](int i) { return x.at[32 * half + i]; });
}
inline __m256i castsi512_si256(__m512i a) { return extracti64x4_epi64(a, 0); }
inline __m512i cvtepu16_epi32(__m256i a) {
  const auto x = Lanes<u16, 32>::of(a);
  return make<i32>([&](int i) { return i32{x.at[i]}; });
}
inline __m512i cvtepi32_epi64(__m256i a) {
  const auto x = Lanes<i32, 32>::of(a);
  return make<i64>([&](int i) { return x.at[i]; });
}
inline __m128i cvtsepi64_epi16(__m512i a) {
  const auto x = Lanes<i64>::of(a);
  return make<i16, __m128i>([&](int i) { return saturated<i16>(x.at[i]); });
}
inline __m128i cvtepi32_epi8(__m512i a) {
  const auto x = Lanes<i32>::of(a);
  return make<i8, __m128i>([&](int i) { return x.at[i]; });
}

}  // namespace
}  // namespace emulated

// Instead of the compiler's, some of which are macros.
#undef _mm256_mask_storeu_epi16
#define _mm256_mask_storeu_epi16 emulated::mask_storeu_epi16_256
#undef _mm512_add_epi32
#define _mm512_add_epi32 emulated::add_epi32
#undef _mm512_add_epi64
#define _mm512_add_epi64 emulated::add_epi64
#undef _mm512_add_epi8
#define _mm512_add_epi8 emulated::add_epi8
#undef _mm512_adds_epi16
#define _mm512_adds_epi16 emulated::adds_epi16
#undef _mm512_adds_epi8
#define _mm512_adds_epi8 emulated::adds_epi8
#undef _mm512_and_si512
#define _mm512_and_si512 emulated::and_si512
#undef _mm512_broadcast_i32x4
#define _mm512_broadcast_i32x4 emulated::broadcast_i32x4
#undef _mm512_castsi512_si128
#define _mm512_castsi512_si128 emulated::castsi512_si128
#undef _mm512_castsi512_si256
#define _mm512_castsi512_si256 emulated::castsi512_si256
#undef _mm512_cmpgt_epi32_mask
#define _mm512_cmpgt_epi32_mask emulated::cmpgt_epi32_mask
#undef _mm512_cvtepi32_epi64
#define _mm512_cvtepi32_epi64 emulated::cvtepi32_epi64
#undef _mm512_cvtepu16_epi32
#define _mm512_cvtepu16_epi32 emulated::cvtepu16_epi32
#undef _mm512_or_si512
#define _mm512_or_si512 emulated::or_si512
#undef _mm512_cvtepi32_epi8
#define _mm512_cvtepi32_epi8 emulated::cvtepi32_epi8
#undef _mm512_cvtsepi64_epi16
#define _mm512_cvtsepi64_epi16 emulated::cvtsepi64_epi16
#undef _mm512_dpbusd_epi32
#define _mm512_dpbusd_epi32 emulated::dpbusd_epi32
#undef _mm512_extracti64x4_epi64
#define _mm512_extracti64x4_epi64 emulated::extracti64x4_epi64
#undef _mm512_load_si512
#define _mm512_load_si512 emulated::loadu_si512
#undef _mm512_loadu_si512
#define _mm512_loadu_si512 emulated::loadu_si512
#undef _mm512_madd_epi16
#define _mm512_madd_epi16 emulated::madd_epi16
#undef _mm512_maddubs_epi16
#define _mm512_maddubs_epi16 emulated::maddubs_epi16
#undef _mm512_mask_add_epi32
#define _mm512_mask_add_epi32 emulated::mask_add_epi32
#undef _mm512_mask_and_epi32
#define _mm512_mask_and_epi32 emulated::mask_and_epi32
#undef _mm512_mask_and_epi64
#define _mm512_mask_and_epi64 emulated::mask_and_epi64
#undef _mm512_srli_epi16
#define _mm512_srli_epi16 emulated::srli_epi16
#undef _mm512_srlv_epi16
#define _mm512_srlv_epi16 emulated::srlv_epi16
#undef _mm512_permutex2var_epi16
#define _mm512_permutex2var_epi16 emulated::permutex2var_epi16
#undef _mm512_movepi16_mask
#define _mm512_movepi16_mask emulated::movepi16_mask
#undef _mm512_mask_blend_epi16
#define _mm512_mask_blend_epi16 emulated::mask_blend_epi16
#undef _mm512_mask_blend_epi32
#define _mm512_mask_blend_epi32 emulated::mask_blend_epi32
#undef _mm512_mask_storeu_epi8
#define _mm512_mask_storeu_epi8 emulated::mask_storeu_epi8
#undef _mm512_maskz_loadu_epi8
#define _mm512_maskz_loadu_epi8 emulated::maskz_loadu_epi8
#undef _mm512_max_epi32
#define _mm512_max_epi32 emulated::max_epi32
#undef _mm512_max_epi8
#define _mm512_max_epi8 emulated::max_epi8
#undef _mm512_min_epi32
#define _mm512_min_epi32 emulated::min_epi32
#undef _mm512_min_epi8
#define _mm512_min_epi8 emulated::min_epi8
#undef _mm512_mul_epi32
#define _mm512_mul_epi32 emulated::mul_epi32
#undef _mm512_mulhi_epi16
#define _mm512_mulhi_epi16 emulated::mulhi_epi16
#undef _mm512_mulhrs_epi16
#define _mm512_mulhrs_epi16 emulated::mulhrs_epi16
#undef _mm512_packs_epi16
#define _mm512_packs_epi16 emulated::packs_epi16
#undef _mm512_packs_epi32
#define _mm512_packs_epi32 emulated::packs_epi32
#undef _mm512_set1_epi16
#define _mm512_set1_epi16 emulated::set1<emulated::i16>
#undef _mm512_set1_epi32
#define _mm512_set1_epi32 emulated::set1<emulated::i32>
#undef _mm512_set1_epi64
#define _mm512_set1_epi64 emulated::set1<emulated::i64>
#undef _mm512_set1_epi8
#define _mm512_set1_epi8 emulated::set1<emulated::i8>
#undef _mm512_setzero_si512
#define _mm512_setzero_si512 emulated::setzero_si512
#undef _mm512_shuffle_epi8
#define _mm512_shuffle_epi8 emulated::shuffle_epi8
#undef _mm512_slli_epi16
#define _mm512_slli_epi16 emulated::slli_epi16
#undef _mm512_slli_epi32
#define _mm512_slli_epi32 emulated::slli_epi32
#undef _mm512_slli_epi64
#define _mm512_slli_epi64 emulated::slli_epi64
#undef _mm512_srai_epi16
#define _mm512_srai_epi16 emulated::srai_epi16
#undef _mm512_srai_epi32
#define _mm512_srai_epi32 emulated::srai_epi32
#undef _mm512_srav_epi32
#define _mm512_srav_epi32 emulated::srav_epi32
#undef _mm512_sllv_epi32
#define _mm512_sllv_epi32 emulated::sllv_epi32
#undef _mm512_srav_epi64
#define _mm512_srav_epi64 emulated::srav_epi64
#undef _mm512_srli_epi32
#define _mm512_srli_epi32 emulated::srli_epi32
#undef _mm512_srli_epi64
#define _mm512_srli_epi64 emulated::srli_epi64
#undef _mm512_storeu_si512
#define _mm512_storeu_si512 emulated::storeu_si512
#undef _mm512_sub_epi32
#define _mm512_sub_epi32 emulated::sub_epi32
#undef _mm512_testn_epi32_mask
#define _mm512_testn_epi32_mask emulated::testn_epi32_mask
#undef _mm512_testn_epi64_mask
#define _mm512_testn_epi64_mask emulated::testn_epi64_mask
#undef _mm512_unpackhi_epi16
#define _mm512_unpackhi_epi16 emulated::unpackhi_epi16
#undef _mm512_unpackhi_epi8
#define _mm512_unpackhi_epi8 emulated::unpackhi_epi8
#undef _mm512_unpacklo_epi16
#define _mm512_unpacklo_epi16 emulated::unpacklo_epi16
#undef _mm512_unpacklo_epi8
#define _mm512_unpacklo_epi8 emulated::unpacklo_epi8
#undef _mm512_xor_si512
#define _mm512_xor_si512 emulated::xor_si512
#undef _mm_mask_storeu_epi8
#define _mm_mask_storeu_epi8 emulated::mask_storeu_epi8_128
#undef _mm_maskz_loadu_epi8
#define _mm_maskz_loadu_epi8 emulated::maskz_loadu_epi8_128
