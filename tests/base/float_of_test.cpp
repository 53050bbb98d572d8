#include "base/float_of.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>

namespace runnel {
namespace {

void expect_as_cast(std::uint64_t value) {
  const auto with_sign = static_cast<std::int64_t>(value);
  EXPECT_EQ(float_of(value), static_cast<float>(value)) << value;
  EXPECT_EQ(float_of(with_sign), static_cast<float>(with_sign)) << with_sign;
  EXPECT_EQ(float_of(static_cast<std::int64_t>(0 - value)),
            static_cast<float>(static_cast<std::int64_t>(0 - value)));
}

TEST(FloatOf, IsTheCompilersConversion) {
  std::mt19937_64 random(7);
  for (int bits = 0; bits <= 64; ++bits) {
    const std::uint64_t power = bits == 64 ? 0 : std::uint64_t{1} << bits;
    for (std::uint64_t near = 0; near < 5; ++near) {
      expect_as_cast(power + near);
      expect_as_cast(power - near);
      // Ties of floats, and what lies just beside them.
      if (bits > 26) {
        const std::uint64_t tie = power + (power >> 24);
        expect_as_cast(tie + near);
        expect_as_cast(tie - near);
        expect_as_cast(tie + (power >> 23) + near);
        expect_as_cast(tie + (power >> 23) - near);
      }
    }
    for (int i = 0; i < 2000; ++i) expect_as_cast(random() >> (bits == 64 ? 0 : bits));
  }
  expect_as_cast(std::numeric_limits<std::uint64_t>::max());
  expect_as_cast(std::uint64_t{1} << 63);
}

}  // namespace
}  // namespace runnel
