#include "features/microfrontend/microfrontend_math.h"

#include <array>
#include <bit>
namespace runnel::features::fixed {
namespace {

// Integer square root of 32 or 64 bits, one result bit at a time.
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

std::uint32_t square_root(std::uint64_t x) noexcept {
#if defined(__SSE2__) || defined(__aarch64__) || defined(__wasm__)
  // A hardware square root in double precision is at most one off, which integers correct: the same result.
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

std::int16_t interpolate_gain(std::uint32_t x, const std::int16_t* table) noexcept {
  if (x <= 2) return table[x];
  const int interval = std::bit_width(x);
  table += 4 * interval - 6;
  const auto fraction =
      static_cast<std::int32_t>((interval < 11 ? x << (11 - interval) : x >> (interval - 11)) & 0x3FF);
  std::int32_t result = (table[2] * fraction) >> 5;
  result += static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int32_t>(table[1])) << 5);
  result =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(result) * static_cast<std::uint32_t>(fraction));
  result = (result + (1 << 14)) >> 15;
  return static_cast<std::int16_t>(result + table[0]);
}

std::uint32_t log(std::uint32_t x, int scale_shift) noexcept {
  const int whole = std::bit_width(x) - 1;
  auto fraction = static_cast<std::int32_t>(x - (std::uint32_t{1} << whole));
  fraction = whole < kLogBits ? fraction << (kLogBits - whole) : fraction >> (whole - kLogBits);
  constexpr int kWithin = kLogBits - kSegmentBits;
  const std::int32_t segment = fraction >> kWithin;
  const std::int32_t here = kLogDeviation[static_cast<std::size_t>(segment)],
                     next = kLogDeviation[static_cast<std::size_t>(segment) + 1];
  const std::int32_t between = ((next - here) * (fraction - (segment << kWithin))) >> kLogBits;
  const auto log2 = static_cast<std::uint32_t>((whole << kLogBits) + fraction + here + between);
  constexpr std::uint32_t kRound = 1U << (kLogBits - 1), kLn2 = 45426;
  const auto natural = static_cast<std::uint32_t>((std::uint64_t{kLn2} * log2 + kRound) >> kLogBits);
  return ((natural << scale_shift) + kRound) >> kLogBits;
}

}  // namespace runnel::features::fixed
