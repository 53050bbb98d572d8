#include "features/microfrontend_math.h"

#include <array>
#include <bit>

#include "features/exact_math.h"

namespace runnel::features::fixed {
namespace {

// The largest integer that is not above x; |x| < 2^31.
std::int32_t floor_to_int(double x) noexcept {
  const auto whole = static_cast<std::int32_t>(x);
  return static_cast<double>(whole) > x ? whole - 1 : whole;
}

// ln(1 + x) for x >= 0, in single precision throughout: the error of up to one unit in the last place that the original's
// library has here decides weights that lie half way. 1 + x = 2^k (1 + f), and with s = f / (2 + f)
//     ln(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)),
// R a polynomial fitted to 2 atanh(s) (the method of FDLIBM, Sun Microsystems 1993).
float log1p_single(float x) noexcept {
  constexpr float kLn2High = 6.9313812256e-01F, kLn2Low = 9.0580006145e-06F;
  float f = x, rest = 0;
  int k = 0;
  if (x >= 0.41421356F) {
    const float whole = 1.0F + x;
    const auto bits = std::bit_cast<std::uint32_t>(whole);
    k = static_cast<int>(bits >> 23) - 127;
    rest = (k > 0 ? 1.0F - (whole - x) : x - (whole - 1.0F)) / whole;
    const std::uint32_t mantissa = bits & 0x7FFFFF;
    const bool above = mantissa >= 0x3504F7;   // sqrt(2)
    k += above ? 1 : 0;
    f = std::bit_cast<float>(mantissa | (above ? 0x3F000000U : 0x3F800000U)) - 1.0F;
  }
  const float half_square = 0.5F * f * f, s = f / (2.0F + f), z = s * s, ks = static_cast<float>(k);
  constexpr float kPolynomial[] = {1.4798198640e-01F, 1.5313838422e-01F, 1.8183572590e-01F, 2.2222198546e-01F,
                                   2.8571429849e-01F, 4.0000000596e-01F, 6.6666668653e-01F};
  float sum = 0;
  for (const float coefficient : kPolynomial) sum = coefficient + z * sum;
  const float r = z * sum;
  if (k == 0) return f - (half_square - s * (half_square + r));
  return ks * kLn2High - ((half_square - (s * (half_square + r) + (ks * kLn2Low + rest))) - f);
}

// Of numbers of 32 or 64 bits, one result bit at a time.
template <class Unsigned>
constexpr Unsigned root_by_bits(Unsigned x) noexcept {
  Unsigned root = 0;
  Unsigned bit = x == 0 ? 0 : Unsigned{1} << ((std::bit_width(x) - 1) & ~1);
  for (; bit != 0; bit >>= 2) {
    if (x >= root + bit) {
      x -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  return x > root ? root + 1 : root;
}

// log2(1 + i/128) - i/128 in 16 fractional bits.
constexpr int kSegmentBits = 7, kLogBits = 16;
constexpr std::uint16_t log_deviation(int i) noexcept {
  const double x = static_cast<double>(i) / (1 << kSegmentBits);
  // ln(1 + x) = 2 atanh(x / (2 + x))
  const double z = x / (2 + x);
  double sum = 0, power = z;
  for (int k = 1; k < 60; k += 2, power *= z * z) sum += power / k;
  const double ln2 = 0.693147180559945309417;
  return static_cast<std::uint16_t>((2 * sum / ln2 - x) * (1 << kLogBits) + 0.5);
}
constexpr auto kLogDeviation = [] {
  std::array<std::uint16_t, (1 << kSegmentBits) + 1> table{};
  for (int i = 0; i <= 1 << kSegmentBits; ++i) table[static_cast<std::size_t>(i)] = log_deviation(i);
  return table;
}();

}  // namespace

void fill_window(std::span<std::int16_t> window) noexcept {
  const auto step = static_cast<float>(kPi * 2.0 / static_cast<double>(static_cast<float>(window.size())));
  for (std::size_t i = 0; i < window.size(); ++i) {
    // Angle and cosine in single precision, as the original has them: it decides coefficients that lie half way.
    const auto angle = static_cast<float>(static_cast<double>(step) * (static_cast<double>(i) + 0.5));
    const auto cosine = static_cast<float>(turn(static_cast<double>(angle) / (2 * kPi)).cos);
    const auto value = static_cast<float>(0.5 - 0.5 * static_cast<double>(cosine));
    window[i] = static_cast<std::int16_t>(floor_to_int(static_cast<double>(value * 4096.0F) + 0.5));
  }
}

float mel(float hz) noexcept { return 1127.0F * log1p_single(hz / 700.0F); }

void split_weight(float weight, std::int16_t& rising, std::int16_t& falling) noexcept {
  rising = static_cast<std::int16_t>(floor_to_int(static_cast<double>(weight * 4096.0F) + 0.5));
  falling = static_cast<std::int16_t>(floor_to_int((1.0 - static_cast<double>(weight)) * 4096.0 + 0.5));
}

std::uint32_t square_root(std::uint64_t x) noexcept {
#if defined(__SSE2__) || defined(__aarch64__)
  // Where double precision has a square root of its own, it is at most one off, which integers put right: the same result.
  if (x < std::uint64_t{1} << 62) {
    auto root = static_cast<std::uint64_t>(__builtin_sqrt(static_cast<double>(x)));
    if (root * root > x) --root;
    if (x - root * root > 2 * root) ++root;
    const bool up = x - root * root > root && root != 0xFFFF'FFFF && (root != 0xFFFF || (x >> 32) != 0);
    return static_cast<std::uint32_t>(up ? root + 1 : root);
  }
#endif
  if ((x >> 32) == 0) {
    const std::uint32_t root = root_by_bits(static_cast<std::uint32_t>(x));
    return root > 0xFFFF ? 0xFFFF : root;
  }
  const std::uint64_t root = root_by_bits(x);
  return static_cast<std::uint32_t>(root > 0xFFFF'FFFF ? 0xFFFF'FFFF : root);
}

std::int16_t gain(float x, float strength, int bits) noexcept {
  const auto power = static_cast<float>(pow(static_cast<double>(x), -static_cast<double>(strength)));
  const float value = static_cast<float>(std::uint32_t{1} << bits) * power;
  return value > 32767.0F ? std::int16_t{32767} : static_cast<std::int16_t>(value + 0.5F);
}

std::int16_t interpolate_gain(std::uint32_t x, const std::int16_t* table) noexcept {
  if (x <= 2) return table[x];
  const int interval = std::bit_width(x);
  table += 4 * interval - 6;
  const auto fraction = static_cast<std::int32_t>((interval < 11 ? x << (11 - interval) : x >> (interval - 11)) & 0x3FF);
  std::int32_t result = (table[2] * fraction) >> 5;
  result += static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int32_t>(table[1])) << 5);
  result = static_cast<std::int32_t>(static_cast<std::uint32_t>(result) * static_cast<std::uint32_t>(fraction));
  result = (result + (1 << 14)) >> 15;
  return static_cast<std::int16_t>(result + table[0]);
}

std::uint32_t log(std::uint32_t x, int scale_shift) noexcept {
  const int whole = std::bit_width(x) - 1;
  auto fraction = static_cast<std::int32_t>(x - (std::uint32_t{1} << whole));
  fraction = whole < kLogBits ? fraction << (kLogBits - whole) : fraction >> (whole - kLogBits);
  constexpr int kWithin = kLogBits - kSegmentBits;
  const std::int32_t segment = fraction >> kWithin;
  const std::int32_t here = kLogDeviation[static_cast<std::size_t>(segment)], next = kLogDeviation[static_cast<std::size_t>(segment) + 1];
  const std::int32_t between = ((next - here) * (fraction - (segment << kWithin))) >> kLogBits;
  const auto log2 = static_cast<std::uint32_t>((whole << kLogBits) + fraction + here + between);
  constexpr std::uint32_t kRound = 1U << (kLogBits - 1), kLn2 = 45426;
  const auto natural = static_cast<std::uint32_t>((std::uint64_t{kLn2} * log2 + kRound) >> kLogBits);
  return ((natural << scale_shift) + kRound) >> kLogBits;
}

}  // namespace runnel::features::fixed
