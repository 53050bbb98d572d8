#include "features/frames/cmvn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/host/heap_memory.h"
#include "tests/features/streaming.h"

namespace runnel::features {
namespace {

TEST(Cmvn, NormalisesEachDimension) {
  const std::vector<float> mean{1, -2, 0.5F}, scale{2, 0.25F, 3};
  for (const Isa isa : test::isas()) {
    HeapMemory memory;
    Cmvn cmvn;
    ASSERT_TRUE(cmvn.init(mean, scale, isa, memory).ok());
    std::vector<float> frames{1, 2, 3, 4, 5, 6};
    cmvn.apply(frames);
    EXPECT_EQ(frames, (std::vector<float>{0, 1, 7.5F, 6, 1.75F, 16.5F}));
  }
}

TEST(Cmvn, FromSumsGivesZeroMeanAndUnitVariance) {
  std::vector<float> frames;
  std::vector<double> sum(5), squares(5);
  for (int f = 0; f < 200; ++f) {
    for (std::size_t d = 0; d < 5; ++d) {
      const double value = std::sin(f * 0.37 + static_cast<double>(d)) * static_cast<double>(d) + 3;
      frames.push_back(static_cast<float>(value));
      sum[d] += value;
      squares[d] += value * value;
    }
  }
  HeapMemory memory;
  Cmvn cmvn;
  ASSERT_TRUE(cmvn.init_from_sums(sum, squares, 200, 1e-10, best_isa(), memory).ok());
  cmvn.apply(frames);
  for (std::size_t d = 0; d < 5; ++d) {
    double mean = 0, variance = 0;
    for (std::size_t f = 0; f < 200; ++f) {
      mean += frames[f * 5 + d] / 200;
      variance += static_cast<double>(frames[f * 5 + d]) * frames[f * 5 + d] / 200;
    }
    EXPECT_NEAR(mean, 0, 1e-5);
    EXPECT_NEAR(variance, d == 0 ? 0 : 1, 1e-5) << "dimension 0 is constant and meets the floor";
  }
}

TEST(Cmvn, RefusesBadStatistics) {
  HeapMemory memory;
  Cmvn cmvn;
  const std::vector<float> two(2, 1.0F), three(3, 1.0F), bad{1, std::nanf("")};
  EXPECT_EQ(cmvn.init({}, {}, best_isa(), memory).code(), Code::invalid_argument);
  EXPECT_EQ(cmvn.init(two, three, best_isa(), memory).code(), Code::mismatch);
  EXPECT_EQ(cmvn.init(bad, {}, best_isa(), memory).text(),
            "cmvn: the statistics of dimension 1 are not finite");
  const std::vector<double> sums(2, 1.0);
  EXPECT_EQ(cmvn.init_from_sums(sums, sums, 0, 1e-3, best_isa(), memory).code(), Code::invalid_argument);
  EXPECT_EQ(cmvn.init_from_sums(sums, sums, 5, 0, best_isa(), memory).code(), Code::invalid_argument);
  HeapMemory none(0);
  EXPECT_EQ(cmvn.init(two, {}, best_isa(), none).code(), Code::out_of_memory);
}

}  // namespace
}  // namespace runnel::features
