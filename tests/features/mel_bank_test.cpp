#include "features/mel_bank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "tests/features/streaming.h"

namespace runnel::features {
namespace {

double mel(double hz) { return 1127 * std::log1p(hz / 700); }

// The bank as a dense matrix, by sending in one bin after the other.
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
       {std::tuple(23, 20.0, 8000.0, 16000.0, 512), std::tuple(80, 20.0, 7600.0, 16000.0, 512), std::tuple(26, 80.0, 8000.0, 16000.0, 400),
        std::tuple(40, 0.0, 4000.0, 8000.0, 512)}) {
    const MelSpec spec{.filters = filters, .low_hz = low, .high_hz = high, .rate_hz = rate, .fft_size = static_cast<std::size_t>(size)};
    const double step = (mel(high) - mel(low)) / (filters + 1);
    for (const Isa isa : test::isas()) {
      const auto rows = dense(spec, isa);
      for (std::size_t k = 0; k < rows.size(); ++k) {
        const double at = mel(static_cast<double>(k) * rate / size);
        for (int b = 0; b < filters; ++b) {
          const double distance = std::abs(at - (mel(low) + (b + 1) * step)) / step;
          EXPECT_NEAR(rows[k][static_cast<std::size_t>(b)], std::max(0.0, 1 - distance), 1e-7) << k << " " << b;
        }
      }
    }
  }
}

// The grid on which another front end has filters of negative length, and a dead last filter.
TEST(MelBank, EveryFilterIsDefinedOrTheBankIsRefusedByName) {
  int made = 0, refused = 0;
  for (const double rate : {8000.0, 16000.0}) {
    for (const std::size_t size : {256, 512, 1024}) {
      for (int filters = 10; filters <= 128; filters += 3) {
        for (int low = 0; low <= 300; low += 20) {
          const MelSpec spec{.filters = filters, .low_hz = static_cast<double>(low), .high_hz = rate / 2, .rate_hz = rate, .fft_size = size};
          HeapMemory memory;
          MelBank bank;
          const Status status = bank.init(spec, 1, memory);
          if (!status.ok()) {
            ++refused;
            EXPECT_EQ(status.code(), Code::invalid_argument);
            EXPECT_TRUE(status.text().starts_with("num_mel_bins " + std::to_string(filters))) << status.text();
            // Right to refuse: some triangle is narrower than the bins are apart.
            const double step = (mel(rate / 2) - mel(low)) / (filters + 1);
            const double narrowest = 700 * std::expm1((mel(low) + 2 * step) / 1127) - low;
            EXPECT_LT(narrowest, 2.0 * rate / static_cast<double>(size)) << filters << " " << low;
            continue;
          }
          ++made;
          const MelRows& rows = bank.rows();
          for (int b = 0; b < filters; ++b) {
            float sum = 0;
            for (std::int32_t i = rows.first_row[b]; i < rows.first_row[b + 1]; ++i) {
              EXPECT_TRUE(std::isfinite(rows.weights[i]) && rows.weights[i] >= 0 && rows.weights[i] <= 1);
              sum += rows.weights[i];
            }
            EXPECT_GT(sum, 0.0F) << "filter " << b << " of " << filters << " is dead";
            EXPECT_GE(rows.bins[b], 0);
            EXPECT_LE(rows.bins[b] + rows.first_row[b + 1] - rows.first_row[b], static_cast<std::int32_t>(size / 2));
          }
        }
      }
    }
  }
  EXPECT_GT(made, 2000);
  EXPECT_GT(refused, 100);
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
    EXPECT_EQ(energies[1], 0.0F);
    EXPECT_GT(energies[127], 0.0F);
  }
}

TEST(MelBank, RefusesBadBoundsByName) {
  HeapMemory memory;
  MelBank bank;
  EXPECT_EQ(bank.init({.filters = 0}, 1, memory).text(), "num_mel_bins 0: expected 1 to 256, half the FFT size 512");
  EXPECT_TRUE(bank.init({.low_hz = -1}, 1, memory).text().starts_with("low_freq -1 Hz"));
  EXPECT_TRUE(bank.init({.high_hz = std::nan("")}, 1, memory).text().starts_with("high_freq"));
  HeapMemory none(0);
  EXPECT_EQ(bank.init({}, 1, none).code(), Code::out_of_memory);
}

}  // namespace
}  // namespace runnel::features
