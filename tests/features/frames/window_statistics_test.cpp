#include "features/frames/window_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "tests/features/streaming.h"

namespace runnel::features {
namespace {

using Floats = std::vector<float>;
constexpr Statistic kAll[] = {Statistic::mean,      Statistic::std,          Statistic::rms,
                              Statistic::peak,      Statistic::peak_to_peak, Statistic::zero_crossings,
                              Statistic::band_power};
constexpr Band kBands[] = {{0, 3}, {3, 12.5}, {12.5, 25}};

WindowStatisticsOptions options_of(std::int64_t window, std::int64_t hop, std::int32_t channels) {
  WindowStatisticsOptions options;
  options.window = window;
  options.hop = hop;
  options.channels = channels;
  options.sample_rate = 50;
  options.statistics = kAll;
  options.bands = kBands;
  return options;
}

Floats signal(std::size_t samples, std::size_t channels, unsigned seed = 3) {
  std::mt19937 random(seed);
  Floats values(samples * channels);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto t = static_cast<double>(i / channels) / 50;
    const auto c = static_cast<double>(i % channels);
    values[i] = static_cast<float>(c - 0.5 + std::sin(2 * std::numbers::pi * (2 + 5 * c) * t) +
                                   1e-3 * (random() % 1000));
  }
  return values;
}

// The formulas in double precision with a plain transform.
std::vector<double> oracle(const WindowStatisticsOptions& options, const float* window) {
  const auto n = static_cast<std::size_t>(options.window),
             channels = static_cast<std::size_t>(options.channels);
  std::vector<std::vector<double>> rows;
  const auto add = [&](std::size_t row, double value) {
    if (rows.size() <= row) rows.resize(row + 1);
    rows[row].push_back(value);
  };
  for (std::size_t c = 0; c < channels; ++c) {
    std::vector<double> x(n);
    double sum = 0, squares = 0, low = 1e300, high = -1e300;
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = static_cast<double>(window[i * channels + c]);
      sum += x[i];
      squares += x[i] * x[i];
      low = std::min(low, x[i]);
      high = std::max(high, x[i]);
    }
    const auto count = static_cast<double>(n);
    const double mean = sum / count;
    double spread = 0;
    for (const double v : x) spread += (v - mean) * (v - mean);
    for (double& v : x) v -= options.remove_dc_offset ? mean : 0;
    int crossings = 0;
    for (std::size_t i = 1; i < n; ++i) crossings += (x[i] < 0) != (x[i - 1] < 0) ? 1 : 0;
    const double plain[] = {mean,
                            std::sqrt(spread / count),
                            std::sqrt(squares / count),
                            std::max(std::fabs(low), std::fabs(high)),
                            high - low,
                            static_cast<double>(crossings)};
    for (std::size_t i = 0; i < std::size(plain); ++i) add(i, plain[i]);
    const std::size_t size = n + n % 2;
    double weights = 0;
    std::vector<double> w(n, 1);
    for (std::size_t i = 0; i < n; ++i) {
      if (options.spectral_window == WindowType::hann)
        w[i] = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / count);
      weights += w[i] * w[i];
    }
    std::vector<double> powers(options.bands.size());
    for (std::size_t k = 0; k <= size / 2; ++k) {
      double re = 0, im = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double angle =
            2 * std::numbers::pi * static_cast<double>(i * k % size) / static_cast<double>(size);
        re += x[i] * w[i] * std::cos(angle);
        im -= x[i] * w[i] * std::sin(angle);
      }
      const double power =
          (k == 0 || k == size / 2 ? 1 : 2) * (re * re + im * im) / (static_cast<double>(size) * weights);
      const double hz = static_cast<double>(k) * options.sample_rate / static_cast<double>(size);
      for (std::size_t b = 0; b < powers.size(); ++b) {
        const Band& band = options.bands[b];
        if (hz >= band.low - 1e-9 && (hz < band.high - 1e-9 || band.high == options.sample_rate / 2))
          powers[b] += power;
      }
    }
    for (std::size_t b = 0; b < powers.size(); ++b) add(6 + b, powers[b]);
  }
  std::vector<double> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

template <class Piece>
Floats run(const WindowStatisticsOptions& options, Isa isa, std::span<const float> samples, Piece piece) {
  HeapMemory memory(WindowStatistics::memory_bytes(options) + 64);
  Result<WindowStatistics> made = WindowStatistics::make(options, isa, memory);
  EXPECT_TRUE(made.ok()) << made.status().text();
  if (!made.ok()) return {};
  EXPECT_LE(memory.used(), WindowStatistics::memory_bytes(options));
  Floats all;
  const auto channels = static_cast<std::size_t>(options.channels);
  for (std::size_t number = 0; !samples.empty(); ++number) {
    const std::size_t size = std::min<std::size_t>(piece(number), samples.size() / channels);
    Floats out(made->max_windows(size) * made->dims());
    const auto step = made->push(samples.first(size * channels), out);
    EXPECT_EQ(step.samples, size) << "max_windows is too small";
    all.insert(all.end(), out.begin(),
               out.begin() + static_cast<std::ptrdiff_t>(step.windows * made->dims()));
    samples = samples.subspan(size * channels);
  }
  return all;
}

Floats run_whole(const WindowStatisticsOptions& options, std::span<const float> samples,
                 Isa isa = best_isa()) {
  return run(options, isa, samples, [&](std::size_t) { return samples.size(); });
}

TEST(WindowStatistics, EqualTheFormulasInDoublePrecision) {
  for (const std::int64_t window : {2, 7, 64, 128, 125, 400}) {
    for (const bool remove : {true, false}) {
      for (const WindowType type : {WindowType::hann, WindowType::rectangular}) {
        SCOPED_TRACE(std::to_string(window) + (remove ? " without offset" : " with offset"));
        WindowStatisticsOptions options = options_of(window, 50, 3);
        options.remove_dc_offset = remove;
        options.spectral_window = type;
        const Band whole[] = {{0, 25}};
        if (window < 64) options.bands = whole;
        const Floats samples = signal(1000, 3), found = run_whole(options, samples);
        const std::size_t dims = (6 + options.bands.size()) * 3, windows = found.size() / dims;
        ASSERT_EQ(windows, static_cast<std::size_t>((1000 - window) / 50 + 1));
        for (std::size_t j = 0; j < windows; ++j) {
          const std::vector<double> expected = oracle(options, samples.data() + j * 50 * 3);
          ASSERT_EQ(expected.size(), dims);
          for (std::size_t i = 0; i < dims; ++i) {
            const double scale = i >= 18 ? 4.0 : std::fabs(expected[i]) + 1;
            ASSERT_NEAR(static_cast<double>(found[j * dims + i]), expected[i], 1e-6 * scale)
                << "window " << j << ", value " << i;
          }
        }
      }
    }
  }
}

TEST(WindowStatistics, BandPowersOfARectangularWindowAddUpToTheMeanSquare) {
  WindowStatisticsOptions options = options_of(100, 100, 1);
  options.spectral_window = WindowType::rectangular;
  options.remove_dc_offset = false;
  const Floats found = run_whole(options, signal(100, 1));
  EXPECT_NEAR(found[6] + found[7] + found[8], found[2] * found[2], 1e-5F);
}

TEST(WindowStatistics, AnyPartitionAndMachineGivesTheSameBits) {
  for (const auto& [window, hop] : {std::pair{64, 32}, {63, 10}, {16, 100}, {5, 1}}) {
    WindowStatisticsOptions options = options_of(window, hop, 2);
    const Band whole[] = {{0, 25}};
    if (window < 20) options.bands = whole;
    const Floats samples = signal(1500, 2), reference = run_whole(options, samples, Isa::generic);
    for (const Isa isa : test::isas()) {
      EXPECT_EQ(run_whole(options, samples, isa), reference);
      for (const std::size_t size : {1, 7, 64, 999})
        EXPECT_EQ(run(options, isa, samples, [&](std::size_t) { return size; }), reference) << size;
      std::mt19937 random(9);
      EXPECT_EQ(run(options, isa, samples, [&](std::size_t) { return 1 + random() % 200; }), reference);
    }
  }
}

TEST(WindowStatistics, ResetMakesItLikeNew) {
  const WindowStatisticsOptions options = options_of(64, 32, 2);
  const Floats samples = signal(300, 2);
  HeapMemory memory;
  Result<WindowStatistics> made = WindowStatistics::make(options, best_isa(), memory);
  ASSERT_TRUE(made.ok());
  Floats first(made->max_windows(300) * made->dims()), second(first.size());
  const auto a = made->push(samples, first);
  EXPECT_EQ(made->next_window(), 8);
  made->reset();
  EXPECT_EQ(made->next_window(), 0);
  const auto b = made->push(samples, second);
  EXPECT_EQ(a.windows, b.windows);
  EXPECT_EQ(first, second);
  // Stops when the output is full, and continues from there.
  made->reset();
  Floats one(made->dims());
  const auto step = made->push(samples, one);
  EXPECT_EQ(step.windows, 1u);
  EXPECT_LT(step.samples, 300u);
}

TEST(WindowStatistics, EdgeCases) {
  const auto of = [&](float value) { return run_whole(options_of(64, 64, 1), Floats(64, value)); };
  for (const float value : {0.0F, 2.0F, -1.0F, 1e-40F}) {
    const Floats found = of(value);
    EXPECT_EQ(found[0], value);
    EXPECT_EQ(found[1], 0.0F);
    EXPECT_EQ(found[3], std::fabs(value));
    for (const std::size_t i : {4, 5, 6, 7, 8}) EXPECT_EQ(found[i], 0.0F) << i;
  }
  Floats square(64);
  for (std::size_t i = 0; i < 64; ++i) square[i] = i / 8 % 2 == 0 ? 1.0F : -1.0F;
  const Floats found = run_whole(options_of(64, 64, 1), square);
  EXPECT_EQ(found[0], 0.0F);
  EXPECT_EQ(found[2], 1.0F);
  EXPECT_EQ(found[5], 7.0F);
}

TEST(WindowStatistics, SamplesThatAreNotFinite) {
  Floats samples = signal(128, 1);
  samples[10] = std::numeric_limits<float>::quiet_NaN();
  samples[20] = std::numeric_limits<float>::infinity();
  Floats zeros = samples;
  zeros[10] = zeros[20] = 0;
  WindowStatisticsOptions options = options_of(64, 64, 1);
  EXPECT_EQ(run_whole(options, samples), run_whole(options, zeros));
  options.refuse_non_finite = true;
  HeapMemory memory;
  Result<WindowStatistics> made = WindowStatistics::make(options, best_isa(), memory);
  Floats out(made->max_windows(128) * made->dims());
  EXPECT_TRUE(made->status().ok());
  made->push(samples, out);
  EXPECT_NE(made->status().text().find("not a number"), std::string_view::npos);
}

TEST(WindowStatistics, WrongOptionsAreNamed) {
  const auto sentence = [](const auto& change) {
    WindowStatisticsOptions options = options_of(64, 32, 2);
    change(options);
    HeapMemory memory;
    return std::string(WindowStatistics::make(options, best_isa(), memory).status().text());
  };
  static constexpr Band kHigh[] = {{0, 26}}, kThin[] = {{0.1, 0.2}}, kTurned[] = {{5, 3}};
  EXPECT_EQ(sentence([](auto& o) { o.window = 0; }), "window=0: expected 1 to 1048576");
  EXPECT_EQ(sentence([](auto& o) { o.hop = 0; }), "hop=0: expected 1 to 1048576");
  EXPECT_EQ(sentence([](auto& o) { o.channels = 5000; }), "channels=5000: expected 1 to 4096");
  EXPECT_EQ(sentence([](auto& o) {
              o.channels = 4096;
              o.window = 5000;
            }),
            "window=5000: expected 1 to 4096");
  EXPECT_EQ(sentence([](auto& o) { o.bands = {}; }),
            "bands: band_power wants 1 to 1024 of them, LOW-HIGH in Hz");
  EXPECT_EQ(sentence([](auto& o) { o.sample_rate = 0; }),
            "sample_rate: band_power wants the rate of the samples, above 0 Hz");
  EXPECT_EQ(sentence([](auto& o) { o.bands = kHigh; }),
            "bands=0-26: expected 0 <= low < high <= 25 Hz, half the rate");
  EXPECT_EQ(sentence([](auto& o) { o.bands = kTurned; }),
            "bands=5-3: expected 0 <= low < high <= 25 Hz, half the rate");
  EXPECT_EQ(
      sentence([](auto& o) { o.bands = kThin; }),
      "bands=0.1-0.2: no bin of the spectrum lies in it; windows of 64 samples have one every 0.78125 Hz");
  const WindowStatisticsOptions options = options_of(64, 32, 2);
  for (std::size_t bytes = 0; bytes + 64 < WindowStatistics::memory_bytes(options); bytes += 500) {
    HeapMemory small(bytes);
    EXPECT_EQ(WindowStatistics::make(options, best_isa(), small).status().code(), Code::out_of_memory)
        << bytes;
  }
}

}  // namespace
}  // namespace runnel::features
