#include "decoding/frame_scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/exact_single.h"

namespace runnel::decoding {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(FrameScores, AreTheSoftmaxOfLogits) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 5);
  for (const std::size_t classes : {2U, 7U, 500U}) {
    std::vector<float> logits(classes);
    for (float& value : logits) value = normal(random) + 100;
    double sum = 0;
    for (const float value : logits) sum += std::exp(static_cast<double>(value));
    FrameScores scores;
    ASSERT_TRUE(scores.read(logits, FrameScores::Kind::logits));
    for (std::size_t c = 0; c < classes; ++c) {
      const double posterior = std::exp(static_cast<double>(logits[c])) / sum;
      EXPECT_NEAR(scores.posterior(static_cast<std::int32_t>(c)), posterior, 1e-6);
      EXPECT_NEAR(scores.log(static_cast<std::int32_t>(c)), std::log(posterior) * kLogOne, 3);
    }
    EXPECT_EQ(scores.best(), std::max_element(logits.begin(), logits.end()) - logits.begin());
  }
}

TEST(FrameScores, LogProbabilitiesAndPosteriorsGiveTheSame) {
  const std::vector<float> posteriors = {0.5F, 0.25F, 0.125F, 0.125F, 0};
  std::vector<float> logs;
  for (const float p : posteriors) logs.push_back(std::log(p));
  FrameScores a, b;
  ASSERT_TRUE(a.read(posteriors, FrameScores::Kind::posteriors));
  ASSERT_TRUE(b.read(logs, FrameScores::Kind::logits));
  for (std::int32_t c = 0; c < 5; ++c) {
    EXPECT_NEAR(a.log(c), b.log(c), 1) << c;
    EXPECT_NEAR(a.posterior(c), b.posterior(c), 1e-6) << c;
  }
  EXPECT_EQ(a.log(4), kLeastLog);
  EXPECT_EQ(a.best(), 0);
}

TEST(FrameScores, TakesTheFirstOfEqualTokens) {
  FrameScores scores;
  const std::vector<float> logits = {1, 2, 2, 0};
  ASSERT_TRUE(scores.read(logits, FrameScores::Kind::logits));
  EXPECT_EQ(scores.best(), 1);
}

TEST(FrameScores, RefusesWhatNoSearchCanUse) {
  FrameScores scores;
  const auto reads = [&](std::vector<float> values, FrameScores::Kind kind = FrameScores::Kind::logits) {
    return scores.read(values, kind);
  };
  const float nan = std::nanf("");
  EXPECT_FALSE(reads({0, nan, 1}));
  EXPECT_FALSE(reads({nan, nan}));
  EXPECT_FALSE(reads({0, -nan, 1}));
  EXPECT_FALSE(reads({0, kInfinity}));
  EXPECT_FALSE(reads({-kInfinity, -kInfinity}));
  EXPECT_TRUE(reads({-kInfinity, 0}));
  EXPECT_TRUE(reads({-1e30F, 1e30F, 3e38F}));
  EXPECT_FALSE(reads({0, 0, -1}, FrameScores::Kind::posteriors));
  EXPECT_FALSE(reads({3e38F, 3e38F}, FrameScores::Kind::posteriors));
  EXPECT_TRUE(reads({0, 0.5F}, FrameScores::Kind::posteriors));
}

TEST(LogSingle, IsTheLogarithm) {
  double worst = 0;
  for (float x = 1e-37F; x < 1e37F; x *= 1.0003F) {
    const double expected = std::log(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(exact::log_single(x)) - expected) /
                                std::max(1.0, std::abs(expected)));
  }
  EXPECT_LT(worst, 3e-7);
  EXPECT_EQ(exact::log_single(1), 0);
}

}  // namespace
}  // namespace runnel::decoding
