#include "features/fbank/mel_bank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/host/heap_memory.h"
#include "tests/features/streaming.h"

namespace runnel::features {
namespace {

double mel(double hz) { return 1127 * std::log1p(hz / 700); }

// The bank as a dense matrix, from one bin at a time.
std::vector<std::vector<float>> dense(const MelSpec& spec, Isa isa) {
  HeapMemory memory(MelBank::memory_bytes(spec, kernels_for(isa).lanes));
  MelBank bank;
  const Status status = bank.init(spec, kernels_for(isa).lanes, memory);
  EXPECT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(memory.used(), MelBank::memory_bytes(spec, kernels_for(isa).lanes));
  std::vector<std::vector<float>> rows;
  std::vector<float> power(spec.fft_size / 2 + 1), energies(bank.padded_filters());
  for (std::size_t k = 0; k < spec.fft_size / 2; ++k) {
    power[k] = 1;
    bank.apply(kernels_for(isa), power.data(), energies.data());
    power[k] = 0;
    rows.emplace_back(energies.begin(), energies.begin() + spec.filters);
  }
  return rows;
}

TEST(MelBank, HasTheWeightsOfTheRecipe) {
  for (const auto& [filters, low, high, rate, size] :
       {std::tuple(23, 20.0, 8000.0, 16000.0, 512), std::tuple(80, 20.0, 7600.0, 16000.0, 512),
        std::tuple(26, 80.0, 8000.0, 16000.0, 400), std::tuple(40, 0.0, 4000.0, 8000.0, 512)}) {
    const MelSpec spec{.filters = filters,
                       .low_hz = low,
                       .high_hz = high,
                       .rate_hz = rate,
                       .fft_size = static_cast<std::size_t>(size)};
    const double step = (mel(high) - mel(low)) / (filters + 1);
    for (const Isa isa : test::isas()) {
      const auto rows = dense(spec, isa);
      for (std::size_t k = 0; k < rows.size(); ++k) {
        const double at = mel(static_cast<double>(k) * rate / size);
        for (int b = 0; b < filters; ++b) {
          const double distance = std::abs(at - (mel(low) + (b + 1) * step)) / step;
          EXPECT_NEAR(rows[k][static_cast<std::size_t>(b)], std::max(0.0, 1 - distance), 1e-7)
              << k << " " << b;
        }
      }
    }
  }
}

// An infinite bin affects only its own filters, even if others are read together with it.
TEST(MelBank, InfinitePowersStayInTheirFilters) {
  for (const auto& [filters, low, high, rate, size] :
       {std::tuple(40, 20.0, 7600.0, 16000.0, 512), std::tuple(23, 20.0, 8000.0, 16000.0, 512),
        std::tuple(5, 0.0, 8000.0, 16000.0, 256), std::tuple(80, 0.0, 8000.0, 16000.0, 1024)}) {
    const MelSpec spec{.filters = filters,
                       .low_hz = low,
                       .high_hz = high,
                       .rate_hz = rate,
                       .fft_size = static_cast<std::size_t>(size)};
    HeapMemory memory;
    MelBank one;
    ASSERT_TRUE(one.init(spec, 1, memory).ok());
    std::vector<float> power(spec.bins() + 1), wanted(one.padded_filters());
    for (std::size_t k = 0; k < spec.bins(); ++k) power[k] = 1 + static_cast<float>(k * 37 % 11);
    for (std::size_t k = 0; k < spec.bins(); ++k) {
      const float kept = std::exchange(power[k], std::numeric_limits<float>::infinity());
      one.apply(kKernelsReference, power.data(), wanted.data());
      EXPECT_LE(std::count_if(wanted.begin(), wanted.begin() + filters,
                              [](float energy) { return !std::isfinite(energy); }),
                2);
      for (const Isa isa : test::isas()) {
        MelBank bank;
        ASSERT_TRUE(bank.init(spec, kernels_for(isa).lanes, memory).ok());
        std::vector<float> energies(bank.padded_filters());
        bank.apply(kernels_for(isa), power.data(), energies.data());
        for (int b = 0; b < filters; ++b)
          ASSERT_EQ(energies[static_cast<std::size_t>(b)], wanted[static_cast<std::size_t>(b)])
              << "bin " << k << ", filter " << b;
      }
      power[k] = kept;
    }
  }
}

// Every number of filters that a few transforms allow, among them transforms with fewer bins than rows are
// read together.
TEST(MelBank, HasTheSameBitsOnEveryInstructionSet) {
  for (const std::size_t size : {2, 3, 4, 5, 6, 8, 11, 16, 30, 64, 160, 512}) {
    const auto most = static_cast<std::int32_t>((size + 1) / 2);
    for (std::int32_t filters = 1; filters <= most; filters += 1 + filters / 4) {
      const MelSpec spec{
          .filters = filters, .low_hz = 0, .high_hz = 8000, .fft_size = size, .allow_empty = true};
      HeapMemory memory;
      MelBank one;
      ASSERT_TRUE(one.init(spec, 1, memory).ok());
      std::vector<float> power(spec.bins() + 1), wanted(one.padded_filters());
      for (std::size_t k = 0; k < spec.bins(); ++k) power[k] = 0.37F + static_cast<float>(k * 37 % 11);
      one.apply(kKernelsReference, power.data(), wanted.data());
      for (const Isa isa : test::isas()) {
        MelBank bank;
        ASSERT_TRUE(bank.init(spec, kernels_for(isa).lanes, memory).ok());
        std::vector<float> energies(bank.padded_filters());
        bank.apply(kernels_for(isa), power.data(), energies.data());
        EXPECT_EQ(energies, wanted) << filters << " of " << size << " points, " << name_of(isa);
      }
    }
  }
}

// The ways in which recipes draw their triangles.
struct Drawing {
  const char* name;
  MelScale scale;
  MelNorm norm;
  MelShape shape;
};
constexpr Drawing kDrawings[] = {{"Kaldi", MelScale::htk, MelNorm::none, MelShape::mel},
                                 {"torchaudio", MelScale::htk, MelNorm::none, MelShape::hz},
                                 {"librosa", MelScale::slaney, MelNorm::slaney, MelShape::hz},
                                 {"Edge Impulse", MelScale::htk, MelNorm::none, MelShape::bins},
                                 {"SpeechPy", MelScale::htk, MelNorm::none, MelShape::half_bins}};

// Every weight is finite and not negative, every filter has one above 0, and none is past the bins.
void expect_alive(const MelBank& bank, const MelSpec& spec) {
  const MelRows& rows = bank.rows();
  for (int b = 0; b < spec.filters; ++b) {
    const float most = spec.norm == MelNorm::none ? 1.0F : static_cast<float>(height_of(spec, b));
    float largest = 0;
    for (std::int32_t i = rows.first_row[b]; i < rows.first_row[b + 1]; ++i) {
      ASSERT_TRUE(rows.weights[i] >= 0 && rows.weights[i] <= most)
          << "filter " << b << ": " << rows.weights[i];
      largest = std::max(largest, rows.weights[i]);
    }
    ASSERT_GT(largest, 1e-6F * most) << "filter " << b << " of " << spec.filters << " is dead";
    ASSERT_GE(rows.bins[b], 0);
    ASSERT_LE(rows.bins[b] + rows.first_row[b + 1] - rows.first_row[b],
              static_cast<std::int32_t>(spec.bins()));
  }
}

// Is some bin inside the open triangle? Computed with the C library's functions.
bool holds_a_bin(const MelSpec& spec, int filter) {
  const auto to_mel = [&](double hz) {
    return spec.scale == MelScale::htk ? mel(hz)
           : hz < 1000                 ? hz * 3 / 200
                                       : 15 + 27 * std::log(hz / 1000) / std::log(6.4);
  };
  const auto to_hz = [&](double m) {
    return spec.scale == MelScale::htk ? 700 * std::expm1(m / 1127)
           : m < 15                    ? m * 200 / 3
                                       : 1000 * std::exp((m - 15) * std::log(6.4) / 27);
  };
  const double low = to_mel(spec.low_hz), step = (to_mel(spec.high_hz) - low) / (spec.filters + 1);
  const double left = to_hz(low + filter * step), right = to_hz(low + (filter + 2) * step),
               distance = spec.rate_hz / static_cast<double>(spec.fft_size);
  // A bin practically on a corner has no weight.
  const double first = std::floor(left / distance + 1e-5) + 1;
  return first * distance < right - 1e-5 * distance && first < static_cast<double>(spec.fft_size) / 2;
}

// The grid on which another front end has filters of negative length and a dead last filter.
TEST(MelBank, EveryFilterIsDefinedOrTheBankIsRefusedByName) {
  for (const Drawing& drawing : kDrawings) {
    SCOPED_TRACE(drawing.name);
    int made = 0, refused = 0;
    const bool on_bins = drawing.shape == MelShape::bins || drawing.shape == MelShape::half_bins;
    for (const double rate : {8000.0, 16000.0}) {
      for (const std::size_t size : {256, 512, 1024}) {
        for (int filters = 10; filters <= 128; filters += 3) {
          for (int low = 0; low <= 300; low += 20) {
            const MelSpec spec{.filters = filters,
                               .low_hz = static_cast<double>(low),
                               .high_hz = rate / 2,
                               .rate_hz = rate,
                               .fft_size = size,
                               .scale = drawing.scale,
                               .norm = drawing.norm,
                               .shape = drawing.shape};
            SCOPED_TRACE(std::to_string(filters) + " filters from " + std::to_string(low) + " Hz, " +
                         std::to_string(size) + " points at " + std::to_string(rate));
            HeapMemory memory;
            MelBank bank;
            const Status status = bank.init(spec, 1, memory);
            if (status.ok()) {
              ++made;
              expect_alive(bank, spec);
            } else {
              ++refused;
              EXPECT_EQ(status.code(), Code::invalid_argument);
              EXPECT_TRUE(status.text().starts_with("num_mel_bins " + std::to_string(filters)))
                  << status.text();
            }
            if (on_bins) continue;
            // Refused if and only if some triangle holds no bin.
            bool empty = false;
            for (int b = 0; b < filters; ++b) empty = empty || !holds_a_bin(spec, b);
            EXPECT_EQ(status.ok(), !empty) << status.text();
          }
        }
      }
    }
    std::printf("%s: %d banks, %d refused\n", drawing.name, made, refused);
    EXPECT_GT(made, 1000);
    EXPECT_EQ(refused == 0, on_bins);  // triangles with corners on bins hold at least their peak
  }
}

TEST(MelBank, EmptyFiltersGiveZeroWhenAllowed) {
  MelSpec spec{.filters = 128, .low_hz = 0, .high_hz = 4000, .rate_hz = 8000, .fft_size = 256};
  HeapMemory memory;
  MelBank bank;
  EXPECT_EQ(bank.init(spec, 1, memory).code(), Code::invalid_argument);
  spec.allow_empty = true;
  for (const Isa isa : test::isas()) {
    ASSERT_TRUE(bank.init(spec, kernels_for(isa).lanes, memory).ok());
    std::vector<float> power(129, 1.0F), energies(bank.padded_filters());
    power[128] = 0;
    bank.apply(kernels_for(isa), power.data(), energies.data());
    int empty = 0;
    for (int b = 0; b < 128; ++b) {
      const Triangle triangle = triangle_of(spec, b);
      if (triangle.first != triangle.last) continue;
      EXPECT_EQ(energies[static_cast<std::size_t>(b)], 0.0F) << b;
      ++empty;
    }
    EXPECT_GT(empty, 0);
    EXPECT_GT(energies[127], 0.0F);
  }
}

TEST(MelBank, RefusesBadBoundsByName) {
  HeapMemory memory;
  MelBank bank;
  EXPECT_EQ(bank.init({.filters = 0}, 1, memory).text(),
            "num_mel_bins 0: expected 1 to 256, half the FFT size 512");
  EXPECT_TRUE(bank.init({.low_hz = -1}, 1, memory).text().starts_with("low_freq -1 Hz"));
  EXPECT_TRUE(bank.init({.high_hz = std::nan("")}, 1, memory).text().starts_with("high_freq"));
  HeapMemory none(0);
  EXPECT_EQ(bank.init({}, 1, none).code(), Code::out_of_memory);
}

}  // namespace
}  // namespace runnel::features
