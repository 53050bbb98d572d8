#include "services/page/spectrum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace runnel::page {
namespace {

pipeline::Format sound(std::int64_t rate, std::int32_t channels) {
  pipeline::Format format;
  format.kind = pipeline::Kind::audio;
  format.dtype = DType::float32;
  format.channels = channels;
  format.clock.sample_rate = rate;
  return format;
}

std::vector<Spectrum::Column> columns_of(Spectrum& spectrum, const std::vector<float>& samples,
                                         std::size_t piece) {
  std::vector<Spectrum::Column> columns;
  for (std::size_t at = 0; at < samples.size(); at += piece) {
    spectrum.push(std::span(samples).subspan(at, std::min(piece, samples.size() - at)),
                  [&](Spectrum::Column column) { columns.push_back(std::move(column)); });
  }
  return columns;
}

std::vector<float> tone(double hertz, std::int64_t rate, std::size_t count, std::size_t channels,
                        float loudness) {
  std::vector<float> samples(count * channels);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i] = loudness *
                 static_cast<float>(std::sin(2 * 3.14159265358979 * hertz *
                                             static_cast<double>(i / channels) / static_cast<double>(rate)));
  }
  return samples;
}

TEST(Spectrum, ShowsAToneWhereItIsAtAnyRate) {
  for (const std::int64_t rate : {8000, 16000, 44100, 48000}) {
    auto low = Spectrum::make(sound(rate, 1)), high = Spectrum::make(sound(rate, 2));
    ASSERT_TRUE(low.ok() && high.ok()) << rate;
    const auto first = columns_of(*low, tone(300, rate, static_cast<std::size_t>(rate), 1, 0.5F), 100);
    const auto second = columns_of(*high, tone(3000, rate, static_cast<std::size_t>(rate), 2, 0.5F), 200);
    // 25 a second, less what the first frame waits for.
    EXPECT_NEAR(static_cast<double>(first.size()), 24.5, 1) << rate;
    ASSERT_FALSE(first.empty() || second.empty());
    const auto loudest = [](const Spectrum::Column& column) {
      return std::max_element(column.bands.begin(), column.bands.end()) - column.bands.begin();
    };
    EXPECT_LT(loudest(first[5]) + 10, loudest(second[5])) << rate;
    EXPECT_GT(first[5].bands[static_cast<std::size_t>(loudest(first[5]))], 150);
    EXPECT_NEAR(static_cast<double>(first[5].peak), 0.5, 0.01);
  }
}

TEST(Spectrum, IsDarkInSilenceAndDoesNotMindBadSamples) {
  auto spectrum = Spectrum::make(sound(16000, 1));
  ASSERT_TRUE(spectrum.ok());
  std::vector<float> samples(16000);
  samples[5000] = std::numeric_limits<float>::quiet_NaN();
  for (const auto& column : columns_of(*spectrum, samples, 160)) {
    for (const std::uint8_t band : column.bands) EXPECT_EQ(band, 0);
    EXPECT_EQ(column.peak, 0);
  }
}

// The same columns for every partition, with the sample after which they come; after a gap counting goes
// on.
TEST(Spectrum, DoesNotDependOnPieces) {
  const auto samples = tone(700, 16000, 20000, 1, 0.3F);
  auto one = Spectrum::make(sound(16000, 1)), other = Spectrum::make(sound(16000, 1));
  ASSERT_TRUE(one.ok() && other.ok());
  const auto expected = columns_of(*one, samples, 20000), got = columns_of(*other, samples, 160);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].bands, expected[i].bands) << i;
  other->restart(1'000'000);
  const auto behind = columns_of(*other, samples, 160);
  ASSERT_FALSE(behind.empty());
  EXPECT_EQ(behind[0].sample, 1'000'000 + got[0].sample);
  EXPECT_EQ(behind[0].bands, got[0].bands);
}

TEST(Spectrum, IsForSoundOnly) {
  EXPECT_EQ(Spectrum::make(sound(100, 3)).status().code(), Code::unsupported);
  pipeline::Format frames = sound(16000, 40);
  frames.kind = pipeline::Kind::frames;
  EXPECT_FALSE(Spectrum::make(frames).ok());
}

}  // namespace
}  // namespace runnel::page
