#include "features/samples/resampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>
#include <random>
#include <vector>

#include "base/host/heap_memory.h"
#include "tests/features/streaming.h"

namespace runnel::features {
namespace {

constexpr double kPi = std::numbers::pi;

std::vector<float> tone(double hz, double rate, std::size_t count) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i)
    x[i] = static_cast<float>(0.5 * std::sin(2 * kPi * hz / rate * static_cast<double>(i) + 0.3));
  return x;
}

std::vector<float> run(const ResamplerSpec& spec, Isa isa, std::span<const float> x, std::size_t piece) {
  const Result<std::size_t> bytes = Resampler::memory_bytes(spec);
  EXPECT_TRUE(bytes.ok()) << bytes.status().text();
  if (!bytes.ok()) return {};
  HeapMemory memory(*bytes);
  Result<Resampler> resampler = Resampler::make(spec, isa, memory);
  EXPECT_TRUE(resampler.ok()) << resampler.status().text();
  if (!resampler.ok()) return {};
  std::vector<float> all;
  while (!x.empty()) {
    const std::size_t size = std::min(piece, x.size());
    std::vector<float> out(resampler->max_outputs(size));
    const Resampler::Step step = resampler->push(x.first(size), out);
    EXPECT_EQ(step.samples, size);
    all.insert(all.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(step.outputs));
    x = x.subspan(size);
  }
  std::vector<float> out(resampler->max_flush_outputs());
  const std::size_t last = resampler->flush(out);
  all.insert(all.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(last));
  EXPECT_EQ(resampler->flush(out), 0u);
  return all;
}

// Modified Bessel function by its integral, (1/pi) int_0^pi exp(x cos a) da, independent of the library's.
double bessel(double x) {
  double sum = 0;
  for (int i = 0; i < 100; ++i) sum += std::exp(x * std::cos(kPi * (i + 0.5) / 100));
  return sum / 100;
}

// The definition: a windowed sinc around each output's time, scaled to pass a constant, over a recording with
// zeros around it.
std::vector<double> direct(const ResamplerSpec& spec, std::span<const float> x) {
  const std::int64_t common = std::gcd(spec.in_rate, spec.out_rate), up = spec.out_rate / common,
                     down = spec.in_rate / common;
  const double pass = spec.pass_band,
               nyquist = 0.5 * std::min(1.0, static_cast<double>(up) / static_cast<double>(down));
  const double half = ((spec.stop_band_db - 7.95) / (2.285 * 2 * kPi * nyquist * (1 - pass)) + 1) / 2;
  const double beta = 0.1102 * (spec.stop_band_db - 8.7), cutoff = nyquist * (1 + pass) / 2;
  std::vector<double> out;
  const auto n = static_cast<std::int64_t>(x.size());
  for (std::int64_t m = 0; m * down < n * up; ++m) {
    const double time = static_cast<double>(m * down) / static_cast<double>(up);
    double sum = 0, norm = 0;
    for (auto i = static_cast<std::int64_t>(std::floor(time - half));
         i <= static_cast<std::int64_t>(time + half) + 1; ++i) {
      const double t = time - static_cast<double>(i), a = 2 * kPi * cutoff * t;
      if (std::abs(t) >= half) continue;
      const double weight =
          (t == 0 ? 1 : std::sin(a) / a) * bessel(beta * std::sqrt(1 - t * t / half / half));
      norm += weight;
      if (i >= 0 && i < n) sum += weight * x[static_cast<std::size_t>(i)];
    }
    out.push_back(sum / norm);
  }
  return out;
}

constexpr ResamplerSpec kPairs[] = {{8000, 16000},  {16000, 8000},  {44100, 16000}, {48000, 16000},
                                    {16000, 16000}, {11025, 16000}, {3, 7}};

// 300 samples at 44.1 kHz need most phases, including those read backwards.
TEST(Resampler, IsTheWindowedSincOfItsDefinition) {
  for (const ResamplerSpec& spec : {kPairs[0], kPairs[1], kPairs[2], kPairs[6]}) {
    std::mt19937 random(3);
    std::vector<float> x(300);
    for (float& value : x) value = static_cast<float>(static_cast<std::int32_t>(random())) / 2147483648.0F;
    const std::vector<float> got = run(spec, best_isa(), x, x.size());
    const std::vector<double> expected = direct(spec, x);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t m = 0; m < got.size(); ++m) {
      EXPECT_NEAR(got[m], expected[m], 2e-6)
          << spec.in_rate << " to " << spec.out_rate << " Hz, output " << m;
    }
  }
}

TEST(Resampler, KeepsTonesInPlaceAndStopsAliases) {
  for (const ResamplerSpec& spec : {kPairs[0], kPairs[1], kPairs[2], kPairs[3], kPairs[5]}) {
    const double nyquist = 0.5 * std::min(spec.in_rate, spec.out_rate);
    for (const double share : {0.01, 0.3, 0.7, 0.89}) {
      const std::vector<float> x = tone(share * nyquist, spec.in_rate, 8000);
      const std::vector<float> got = run(spec, best_isa(), x, 160);
      const std::vector<float> expected = tone(share * nyquist, spec.out_rate, got.size());
      double error = 0, signal = 0;
      for (std::size_t m = got.size() / 4; m < got.size() * 3 / 4; ++m) {  // away from the ends
        error += std::pow(got[m] - expected[m], 2);
        signal += std::pow(expected[m], 2);
      }
      EXPECT_GT(10 * std::log10(signal / error), 80.0)
          << spec.in_rate << " to " << spec.out_rate << " at " << share;
    }
    if (spec.in_rate < spec.out_rate) continue;
    for (const double share : {1.0, 1.3, 1.9}) {  // above the output's Nyquist frequency
      if (share * nyquist > 0.5 * spec.in_rate) continue;
      const std::vector<float> got = run(spec, best_isa(), tone(share * nyquist, spec.in_rate, 8000), 160);
      double rest = 0;
      for (std::size_t m = got.size() / 4; m < got.size() * 3 / 4; ++m)
        rest = std::max(rest, std::abs(static_cast<double>(got[m])));
      EXPECT_LT(20 * std::log10(rest / 0.5), -80.0)
          << spec.in_rate << " to " << spec.out_rate << " at " << share;
    }
  }
}

TEST(Resampler, GivesTheSameBitsForEveryPartitionAndInstructionSet) {
  for (const ResamplerSpec& spec : kPairs) {
    for (const std::size_t length : {0, 1, 2, 63, 1000}) {
      const std::vector<float> x = tone(440, 8000, length);
      const std::vector<float> whole = run(spec, Isa::reference, x, length + 1);
      const auto outputs =
          (length * static_cast<std::size_t>(spec.out_rate) + static_cast<std::size_t>(spec.in_rate) - 1) /
          static_cast<std::size_t>(spec.in_rate);
      ASSERT_EQ(whole.size(), outputs);
      for (const Isa isa : test::isas()) {
        for (const std::size_t piece : {1, 7, 160, 999}) {
          const std::vector<float> got = run(spec, isa, x, piece);
          ASSERT_EQ(got.size(), whole.size());
          if (whole.empty()) continue;
          EXPECT_EQ(std::memcmp(got.data(), whole.data(), got.size() * sizeof(float)), 0)
              << spec.in_rate << " to " << spec.out_rate << ", " << length << " samples by " << piece << ", "
              << name_of(isa);
        }
      }
    }
  }
}

TEST(Resampler, SharesTapsBetweenStreams) {
  constexpr ResamplerSpec spec{.in_rate = 44100, .out_rate = 16000};
  constexpr ResamplerShape kShape = unchecked_shape_of(spec);  // known at compile time
  constexpr std::size_t count = kShape.taps(), state = kShape.state_bytes();
  static_assert(count * sizeof(float) < 110'000, "half of the 160 phases");
  static_assert(state < 4096);
  std::vector<float> taps(count), x = tone(700, 44100, 5000);
  ASSERT_TRUE(Resampler::make_taps(spec, taps).ok());
  const std::vector<float> expected = run(spec, best_isa(), x, 5000);
  for (int stream = 0; stream < 2; ++stream) {
    HeapMemory memory(state);
    Result<Resampler> resampler = Resampler::make(spec, taps, best_isa(), memory);
    ASSERT_TRUE(resampler.ok()) << resampler.status().text();
    EXPECT_EQ(memory.used(), state);
    std::vector<float> out(expected.size());
    const std::size_t first = resampler->push(x, out).outputs;
    resampler->flush(std::span(out).subspan(first));
    EXPECT_EQ(out, expected);
  }
  HeapMemory memory;
  EXPECT_EQ(Resampler::make(spec, std::span(taps).first(count - 1), best_isa(), memory).status().code(),
            Code::mismatch);
  EXPECT_EQ(Resampler::make_taps(spec, std::span(taps).first(1)).code(), Code::invalid_argument);
}

TEST(Resampler, CopiesAtEqualRates) {
  const std::vector<float> x = tone(440, 16000, 100);
  EXPECT_EQ(run(kPairs[4], best_isa(), x, 9), x);
}

TEST(Resampler, WaitsWhenTheOutputIsFullAndBeginsAnewAfterReset) {
  HeapMemory memory;
  Result<Resampler> resampler = Resampler::make(kPairs[0], best_isa(), memory);
  ASSERT_TRUE(resampler.ok());
  const std::vector<float> x = tone(440, 8000, 3000);
  const std::vector<float> expected = run(kPairs[0], best_isa(), x, x.size());
  for (int round = 0; round < 2; ++round) {
    std::vector<float> got;
    std::span<const float> rest = x;
    float two[2];
    for (;;) {
      const Resampler::Step step = resampler->push(rest, two);
      rest = rest.subspan(step.samples);
      got.insert(got.end(), two, two + step.outputs);
      if (rest.empty() && step.outputs < 2) break;
      ASSERT_TRUE(step.samples > 0 || step.outputs > 0) << "no progress";
    }
    while (const std::size_t count = resampler->flush(two)) got.insert(got.end(), two, two + count);
    EXPECT_EQ(got, expected);
    EXPECT_EQ(resampler->push(x, two).samples, 0u) << "after the flush";
    resampler->reset();
  }
}

TEST(Resampler, RefusesBadParametersByName) {
  HeapMemory memory;
  const auto text = [&](const ResamplerSpec& spec) {
    const auto resampler = Resampler::make(spec, best_isa(), memory);
    EXPECT_FALSE(resampler.ok());
    return std::string(resampler.status().text());
  };
  EXPECT_EQ(text({.in_rate = 0, .out_rate = 16000}), "in_rate 0: expected 1 to 768000 Hz");
  EXPECT_EQ(text({.in_rate = 8000, .out_rate = 768001}), "out_rate 768001: expected 1 to 768000 Hz");
  EXPECT_NE(text({.in_rate = 8000, .out_rate = 16000, .pass_band = 1.0F}).find("pass_band 100/100"),
            std::string::npos);
  EXPECT_NE(text({.in_rate = 8000, .out_rate = 16000, .stop_band_db = 200}).find("stop_band_db"),
            std::string::npos);
  EXPECT_NE(text({.in_rate = 767999, .out_rate = 767998}).find("expected at most"), std::string::npos);
  HeapMemory small(100);
  EXPECT_EQ(Resampler::make(kPairs[0], best_isa(), small).status().code(), Code::out_of_memory);
}

}  // namespace
}  // namespace runnel::features
