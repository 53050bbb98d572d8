// Vectors find the extremes and the bins of plain loops.
#include "compiler/quantize/calibrate/value_counts.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace runnel::compiler::quantizer {
namespace {

constexpr std::size_t kCounts[] = {0, 1, 31, 32, 33, 64, 255, 256, 257, 1000};

class ValueCounts : public testing::Test {
 protected:
  std::vector<float> values(std::size_t count) {
    std::vector<float> made(count);
    for (float& value : made)
      value = random_() % 3 == 0 ? 0.0F : static_cast<float>(static_cast<std::int32_t>(random_())) * 1e-9F;
    return made;
  }
  static std::vector<Isa> levels() {
    std::vector<Isa> all;
    for (int level = 1; level <= static_cast<int>(best_isa()); ++level) {
      if (runs_here(static_cast<Isa>(level))) all.push_back(static_cast<Isa>(level));
    }
    return all;
  }
  std::mt19937 random_{5};
};

TEST_F(ValueCounts, ExtremesAreThoseOfPlainLoops) {
  for (const std::size_t count : kCounts) {
    const std::vector<float> some = values(count);
    const Extremes expected = extremes_of(some, Isa::reference);
    EXPECT_TRUE(expected.finite);
    for (const Isa isa : levels()) {
      const Extremes found = extremes_of(some, isa);
      EXPECT_EQ(found.low, expected.low) << count;
      EXPECT_EQ(found.high, expected.high) << count;
      EXPECT_TRUE(found.finite);
    }
  }
}

TEST_F(ValueCounts, EveryPlaceOfAValueThatIsNotFiniteIsSeen) {
  for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> some = values(70);
    for (float& place : some) {
      const float before = std::exchange(place, bad);
      EXPECT_FALSE(extremes_of(some, Isa::reference).finite);
      for (const Isa isa : levels()) EXPECT_FALSE(extremes_of(some, isa).finite);
      place = before;
    }
  }
}

TEST_F(ValueCounts, BinsAreThoseOfPlainLoops) {
  constexpr std::size_t kBins = 4096;
  for (const std::size_t count : kCounts) {
    std::vector<float> some = values(count);
    const Extremes range = extremes_of(some);
    const double width = static_cast<double>(range.high) - static_cast<double>(range.low);
    for (const double per_bin : {0.0, width > 0 ? kBins / width : 1.0, width > 0 ? 2 * kBins / width : 1.0}) {
      std::vector<std::uint64_t> expected(kBins, 7);
      count_values(some, static_cast<double>(range.low), per_bin, expected, Isa::reference);
      for (const Isa isa : levels()) {
        std::vector<std::uint64_t> found(kBins, 7);
        count_values(some, static_cast<double>(range.low), per_bin, found, isa);
        EXPECT_EQ(found, expected) << count << " values, " << per_bin;
      }
    }
  }
}

}  // namespace
}  // namespace runnel::compiler::quantizer
