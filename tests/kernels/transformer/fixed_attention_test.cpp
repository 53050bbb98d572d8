#include "kernels/transformer/fixed_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/affine_softmax.h"
#include "tests/kernels/conv_cases.h"

namespace runnel::kernels {
namespace {

template <class T>
struct AttentionCase {
  FixedAttentionSpec spec;
  std::int64_t count = 1;
  std::vector<T> query, keys, values, distances;
  std::vector<std::int32_t> bias;  // empty: none

  std::vector<T> run(Isa isa) {
    spec.sums = &fixed_attention_sums(isa);
    std::vector<T> y(static_cast<std::size_t>(spec.value_size));
    std::vector<std::int64_t> scratch(spec.scratch_bytes(count) / 8 + 1);
    attend(spec, count, query.data(), keys.data(), values.data(), bias.empty() ? nullptr : bias.data(),
           distances.empty() ? nullptr : distances.data(), y.data(),
           reinterpret_cast<std::byte*>(scratch.data()));
    return y;
  }

  // The formulas of the header, one element at a time.
  std::vector<T> formula() const {
    std::vector<std::int64_t> scores;
    const auto within = [](std::int64_t score) {
      return std::clamp(score, -(std::int64_t{1} << 30), std::int64_t{1} << 30);
    };
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t sum = 0, far = 0;
      for (std::int32_t c = 0; c < spec.key_size; ++c)
        sum += std::int64_t{query[static_cast<std::size_t>(c)] - spec.query_zero} *
               keys[static_cast<std::size_t>(i * spec.key_stride + c)];
      for (std::int32_t c = 0; c < spec.distance_size; ++c)
        far += std::int64_t{query[static_cast<std::size_t>(spec.key_size + c)] - spec.query_zero} *
               distances[static_cast<std::size_t>(i * spec.distance_stride + c)];
      std::int64_t score = within(spec.score(sum));
      if (!distances.empty()) score = within(score + within(spec.distance(far)));
      if (!bias.empty()) score = within(score + bias[static_cast<std::size_t>(i)]);
      scores.push_back(score);
    }
    const std::int64_t largest = *std::max_element(scores.begin(), scores.end());
    std::vector<std::int64_t> weights;
    std::int64_t total = 0;
    for (const std::int64_t score : scores) {
      const std::int64_t below = score - largest;
      weights.push_back(below < -65535 ? 0 : exp_from_table(static_cast<std::int16_t>(below + 32767)));
      total += weights.back();
    }
    int bits = 0;  // total = (1 + f) 2^bits
    while (total >> (bits + 1) > 0) ++bits;
    const std::int64_t fraction =
        bits > 16 ? (total + (std::int64_t{1} << (bits - 17))) >> (bits - 16) : total << (16 - bits);
    const std::int64_t reciprocal = one_over_one_plus_from_table(
        static_cast<std::int16_t>(std::min<std::int64_t>(fraction - 65536 - 32768, 32767)));
    std::vector<T> y;
    for (std::int32_t c = 0; c < spec.value_size; ++c) {
      std::int64_t sum = 0;
      for (std::int64_t i = 0; i < count; ++i)
        sum += weights[static_cast<std::size_t>(i)] *
               (values[static_cast<std::size_t>(i * spec.value_stride + c)] - spec.value_zero);
      const std::int64_t mean = round_shift(sum * reciprocal, 15 + bits - kMixBits, Rounding::half_up);
      y.push_back(saturate<T>(spec.result(mean) + spec.y_zero));
    }
    return y;
  }
};

class FixedAttentionTest : public testing::Test {
 protected:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  template <class T>
  std::vector<T> values(std::int64_t count) {
    constexpr int kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
    const int kind = pick(0, 4);
    std::vector<T> out(static_cast<std::size_t>(count));
    for (T& value : out)
      value = static_cast<T>(kind == 0   ? kLow
                             : kind == 1 ? pick(0, 1) * (kHigh - kLow) + kLow
                                         : pick(kLow, kHigh));
    return out;
  }

  template <class T>
  AttentionCase<T> random_case() {
    AttentionCase<T> made;
    FixedAttentionSpec& spec = made.spec;
    const bool bytes = sizeof(T) == 1;
    spec.dtype = bytes ? DType::int8 : DType::int16;
    spec.key_size = pick(1, pick(0, 3) == 0 ? 200 : 40);
    spec.value_size = pick(1, 40);
    spec.distance_size = pick(0, 1) * pick(1, 20);
    spec.key_stride = spec.key_size + pick(0, 5);
    spec.value_stride = spec.value_size + pick(0, 5);
    spec.distance_stride = spec.distance_size + pick(0, 3);
    made.count = pick(1, pick(0, 4) == 0 ? 700 : 40);
    if (bytes) {
      spec.query_zero = pick(-128, 127);
      spec.value_zero = pick(-128, 127);
      spec.y_zero = pick(-128, 127);
    }
    // From scores that are all alike to those of which one counts.
    const double reach = static_cast<double>(spec.key_size) * (bytes ? 5e3 : 3e8);
    spec.score = multiplier_of(std::pow(10.0, pick(-3, 2)) * 65535 / reach);
    spec.distance = multiplier_of(std::pow(10.0, pick(-3, 2)) * 65535 / reach);
    spec.result = multiplier_of(std::pow(2.0, pick(-2, 2) - kMixBits) * 1.37);
    made.query = values<T>(spec.key_size + spec.distance_size);
    made.keys = values<T>(made.count * spec.key_stride);
    made.values = values<T>(made.count * spec.value_stride);
    if (spec.distance_size > 0) made.distances = values<T>(made.count * spec.distance_stride);
    if (pick(0, 1) == 1) {
      for (std::int64_t i = 0; i < made.count; ++i)
        made.bias.push_back(pick(0, 5) == 0 ? -(1 << 30) : pick(-100000, 100000));
    }
    return made;
  }
  std::mt19937 random_{1};
};

TEST_F(FixedAttentionTest, IsItsFormulaOnEveryLevel) {
  for (int i = 0; i < 1500; ++i) {
    SCOPED_TRACE(i);
    auto bytes = random_case<std::int8_t>();
    auto words = random_case<std::int16_t>();
    const auto y8 = bytes.formula();
    const auto y16 = words.formula();
    for (const Isa isa : test::ConvCase::levels()) {
      ASSERT_EQ(bytes.run(isa), y8) << name_of(isa);
      ASSERT_EQ(words.run(isa), y16) << name_of(isa);
    }
  }
}

// Against the real function, with scores of a few units, as trained models have them.
TEST_F(FixedAttentionTest, IsCloseToAttentionOfRealNumbers) {
  AttentionCase<std::int16_t> made;
  made.spec.dtype = DType::int16;
  made.spec.key_size = made.spec.value_size = 24;
  made.spec.key_stride = made.spec.value_stride = 24;
  made.count = 17;
  const double query_scale = 4.0 / 32768, value_scale = 4.0 / 32768, factor = 1 / std::sqrt(24.0);
  made.spec.score = multiplier_of(query_scale * query_scale * factor / kScoreUnit);
  made.spec.result = multiplier_of(1.0 / (1 << kMixBits));
  double noise = 0, signal = 0;
  for (int round = 0; round < 50; ++round) {
    made.query = values<std::int16_t>(24);
    made.keys = values<std::int16_t>(17 * 24);
    made.values = values<std::int16_t>(17 * 24);
    for (auto* of : {&made.query, &made.keys, &made.values}) {
      for (auto& value : *of) value = static_cast<std::int16_t>(pick(-20000, 20000));
    }
    std::vector<double> weights;
    double total = 0;
    for (std::size_t i = 0; i < 17; ++i) {
      double score = 0;
      for (std::size_t c = 0; c < 24; ++c)
        score += query_scale * made.query[c] * query_scale * made.keys[i * 24 + c];
      weights.push_back(std::exp(score * factor));
      total += weights.back();
    }
    const auto y = made.run(best_isa());
    for (std::size_t c = 0; c < 24; ++c) {
      double mean = 0;
      for (std::size_t i = 0; i < 17; ++i) mean += weights[i] * made.values[i * 24 + c] / total;
      noise += (y[c] - mean) * (y[c] - mean) * value_scale * value_scale;
      signal += mean * mean * value_scale * value_scale;
    }
  }
  EXPECT_GT(10 * std::log10(signal / noise), 82.0);
}

}  // namespace
}  // namespace runnel::kernels
