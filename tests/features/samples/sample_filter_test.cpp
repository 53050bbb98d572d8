#include "features/samples/sample_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/host/heap_memory.h"
#include "features/frames/levels.h"
#include "tests/features/streaming.h"

namespace runnel::features {
namespace {

std::vector<float> tone(double hz, double rate, std::size_t count, double offset = 0) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i)
    x[i] = static_cast<float>(offset +
                              std::sin(2 * 3.14159265358979323846 * hz * static_cast<double>(i) / rate));
  return x;
}

double rms(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(sum / static_cast<double>(x.size()));
}

// Applied to pieces of `size` samples of both channels.
template <class Apply>
std::vector<float> in_pieces(std::vector<float> x, std::size_t size, Apply apply) {
  for (std::size_t at = 0; at < x.size(); at += size)
    apply(std::span<float>(x).subspan(at, std::min(size, x.size() - at)), at / 2);
  return x;
}

TEST(Preemphasis, SubtractsTheSampleBeforePerChannelInAnyPartition) {
  const std::vector<float> x = tone(300, 16000, 1000);
  std::vector<float> expected(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) expected[i] = x[i] - 0.98F * (i < 2 ? 0.0F : x[i - 2]);
  for (const std::size_t size : {2, 6, 100, 1000}) {
    HeapMemory memory;
    Preemphasis filter;
    ASSERT_TRUE(filter.init(0.98F, 2, memory).ok());
    EXPECT_EQ(in_pieces(x, size, [&](std::span<float> piece, std::size_t) { filter.apply(piece); }),
              expected);
    filter.reset();
    EXPECT_EQ(in_pieces(x, size, [&](std::span<float> piece, std::size_t) { filter.apply(piece); }),
              expected);
  }
  HeapMemory memory;
  Preemphasis filter;
  EXPECT_EQ(filter.init(1.5F, 1, memory).code(), Code::invalid_argument);
}

TEST(HighPass, HasTheGainsOfAButterworthFilter) {
  for (const int order : {1, 2}) {
    for (const double hz : {20.0, 100.0, 1000.0}) {
      HeapMemory memory;
      HighPass filter;
      ASSERT_TRUE(filter.init({.cutoff_hz = 100, .rate_hz = 16000, .order = order}, 1, memory).ok());
      std::vector<float> x = tone(hz, 16000, 64000, 0.25);
      filter.apply(x);
      // |H|^2 of the bilinear transform, over tan(w/2).
      const double ratio =
          std::tan(3.14159265358979323846 * 100 / 16000) / std::tan(3.14159265358979323846 * hz / 16000);
      const double expected = 1 / std::sqrt(1 + std::pow(ratio, 2 * order));
      EXPECT_NEAR(rms(std::span<const float>(x).last(16000)) * std::sqrt(2.0), expected, 1e-3)
          << order << " " << hz;
    }
  }
}

TEST(HighPass, IsIndependentOfThePartitionAndForgetsAnOffset) {
  const std::vector<float> x = tone(300, 16000, 32000, 0.5);
  std::vector<float> expected;
  for (const std::size_t size : {32000, 2, 7 * 2, 160}) {
    HeapMemory memory;
    HighPass filter;
    ASSERT_TRUE(filter.init({}, 2, memory).ok());
    const std::vector<float> got =
        in_pieces(x, size, [&](std::span<float> piece, std::size_t) { filter.apply(piece); });
    if (expected.empty()) expected = got;
    EXPECT_EQ(got, expected) << size;
  }
  double mean = 0;
  for (std::size_t i = 24000; i < 32000; ++i) mean += expected[i] / 8000;
  EXPECT_NEAR(mean, 0, 1e-3);
  HeapMemory memory;
  HighPass filter;
  EXPECT_EQ(filter.init({.cutoff_hz = 8000}, 1, memory).code(), Code::invalid_argument);
  EXPECT_EQ(filter.init({.order = 3}, 1, memory).text(), "order 3 of highpass: expected 1 or 2");
}

TEST(StreamNoise, DependsOnSeedAndSampleOnly) {
  const std::vector<float> zeros(2000);
  const auto noise = [&](std::size_t size, std::int32_t seed, std::int64_t first) {
    return in_pieces(zeros, size, [&](std::span<float> piece, std::size_t at) {
      add_stream_noise(piece, first + static_cast<std::int64_t>(at), 2, 0.1F, seed);
    });
  };
  const std::vector<float> whole = noise(2000, 7, 0);
  EXPECT_EQ(noise(2, 7, 0), whole);
  EXPECT_EQ(noise(66, 7, 0), whole);
  EXPECT_NE(noise(2000, 8, 0), whole);
  EXPECT_NEAR(rms(whole), 0.1, 0.01);
  const std::vector<float> later = noise(2000, 7, 500);
  EXPECT_TRUE(std::equal(later.begin(), later.begin() + 1000, whole.begin() + 1000));
  const std::int64_t far = std::int64_t{1} << 40;
  EXPECT_EQ(noise(34, 7, far), noise(2000, 7, far));
}

TEST(Gain, IsDecibels) {
  EXPECT_EQ(factor_of(0), 1.0F);
  EXPECT_FLOAT_EQ(factor_of(20), 10.0F);
  EXPECT_FLOAT_EQ(factor_of(-6), 0.50118723F);
}

TEST(Levels, AreWhatTheirNamesSayInAnyPartition) {
  std::vector<float> x = tone(1000, 16000, 1000);
  for (std::size_t i = 600; i < 1000; ++i) x[i] = 0;
  const FrameGrid grid{.length = 400, .shift = 160};
  std::vector<float> expected;
  for (std::int64_t f = 0; f < grid.frames_of(1000); ++f) {
    const std::span<const float> frame(x.data() + f * 160, 400);
    double energy = 0, peak = 0, crossings = 0;
    for (std::size_t i = 0; i < 400; ++i) {
      energy += static_cast<double>(frame[i]) * static_cast<double>(frame[i]);
      peak = std::max(peak, std::abs(static_cast<double>(frame[i])));
      crossings += i > 0 && (frame[i] < 0) != (frame[i - 1] < 0);
    }
    expected.insert(expected.end(), {static_cast<float>(std::log(std::max(energy, 1.1920929e-7))),
                                     static_cast<float>(rms(frame)), static_cast<float>(peak),
                                     static_cast<float>(crossings)});
  }
  std::vector<float> same;
  for (const Isa isa : test::isas()) {
    for (const std::size_t size : {1000, 1, 159, 401}) {
      HeapMemory memory;
      Levels levels;
      ASSERT_TRUE(levels.init(grid, isa, memory).ok());
      std::vector<float> got;
      for (std::size_t at = 0; at < x.size(); at += size) {
        const std::span<const float> piece =
            std::span<const float>(x).subspan(at, std::min(size, x.size() - at));
        std::vector<float> frames(levels.max_frames(piece.size()) * Levels::kDims);
        const Levels::Step step = levels.push(piece, frames);
        EXPECT_EQ(step.samples, piece.size());
        got.insert(got.end(), frames.begin(),
                   frames.begin() + static_cast<std::ptrdiff_t>(step.frames * Levels::kDims));
      }
      float none[4];
      EXPECT_EQ(levels.flush(none), 0u);
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5) << i;
      if (same.empty()) same = got;
      EXPECT_EQ(got, same) << name_of(isa) << " " << size;
    }
  }
}

}  // namespace
}  // namespace runnel::features
