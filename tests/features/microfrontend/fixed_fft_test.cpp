// The transform, window and energies of the fixed-point front end: within their rounding, and the same bits
// on every level.
#include "features/microfrontend/fixed_fft.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "base/host/heap_memory.h"
#include "features/simd/fixed_kernels.h"
#include "tests/features/streaming.h"

namespace runnel::features {
namespace {

// 16-bit samples of three kinds: all extreme, extremes among small ones, or any.
std::vector<std::int16_t> awkward(std::size_t count, std::mt19937& random) {
  constexpr std::int16_t kExtremes[] = {-32768, 32767, -32767, 0, 1, -1};
  const unsigned kind = random() % 4;
  std::vector<std::int16_t> samples(count);
  for (auto& sample : samples) {
    const bool extreme = kind == 0 || (kind == 1 && random() % 8 == 0);
    sample = extreme ? kExtremes[random() % 6]
                     : static_cast<std::int16_t>(kind == 2 ? random() % 64 - 32 : random());
  }
  return samples;
}

// Sizes with and without a pass of radix 2, against the definition, within the rounding of log2(n) passes;
// every level equals the plain loops.
TEST(FixedFft, TransformsWithinItsRounding) {
  std::mt19937 random(5);
  for (const std::size_t n : {8u, 16u, 32u, 64u, 256u, 512u, 1024u, 2048u}) {
    HeapMemory memory(FixedFft::memory_bytes(n));
    FixedFft fft;
    ASSERT_TRUE(fft.init(n, nullptr, Isa::reference, memory).ok());
    std::vector<std::int16_t> x(n), out(n + 2);
    for (auto& value : x) value = static_cast<std::int16_t>(static_cast<int>(random() % 65536) - 32768);
    fft.forward(x.data(), out.data());
    double worst = 0;
    for (std::size_t k = 0; k <= n / 2; ++k) {
      double sum_re = 0, sum_im = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double angle = 2 * 3.14159265358979 * static_cast<double>(i * k % n) / static_cast<double>(n);
        sum_re += x[i] * std::cos(angle) / static_cast<double>(n);
        sum_im -= x[i] * std::sin(angle) / static_cast<double>(n);
      }
      worst = std::max({worst, std::abs(sum_re - out[2 * k]), std::abs(sum_im - out[2 * k + 1])});
    }
    EXPECT_LT(worst, 4) << n;
  }
  HeapMemory memory;
  FixedFft fft;
  for (const std::size_t n : {0u, 4u, 12u, 500u, 65536u})
    EXPECT_EQ(fft.init(n, nullptr, best_isa(), memory).code(), Code::invalid_argument) << n;
}

TEST(FixedFft, GivesTheSameBitsOnEveryLevel) {
  std::mt19937 random(17);
  for (std::size_t n = FixedFft::kMin; n <= FixedFft::kMax; n *= 2) {
    for (int round = 0; round < (n > 2048 ? 4 : 20); ++round) {
      const std::vector<std::int16_t> x = awkward(n, random);
      std::vector<std::int16_t> expected;
      for (const Isa isa : test::isas()) {
        HeapMemory memory;
        FixedFft fft;
        ASSERT_TRUE(fft.init(n, nullptr, isa, memory).ok());
        std::vector<std::int16_t> out(n + 2);
        fft.forward(x.data(), out.data());
        if (expected.empty()) expected = out;  // the first one is the reference
        ASSERT_EQ(out, expected) << n << ' ' << name_of(isa);
      }
    }
  }
}

TEST(FixedKernels, WindowAndEnergiesAreTheSameOnEveryLevel) {
  std::mt19937 random(23);
  const FixedKernels& reference = fixed_kernels_for(Isa::reference);
  for (std::size_t count = 1; count < 140; ++count) {
    const std::vector<std::int16_t> x = awkward(2 * count, random);
    std::vector<std::int16_t> window(count), expected(count), got(count);
    for (auto& value : window) value = static_cast<std::int16_t>(random() % 4097);
    std::vector<std::uint32_t> energies(count), same(count);
    const int shift = reference.window(x.data(), window.data(), count, expected.data());
    reference.energies(x.data(), count, energies.data());
    for (const Isa isa : test::isas()) {
      const FixedKernels& kernels = fixed_kernels_for(isa);
      EXPECT_EQ(kernels.window(x.data(), window.data(), count, got.data()), shift)
          << count << ' ' << name_of(isa);
      EXPECT_EQ(got, expected) << count << ' ' << name_of(isa);
      kernels.energies(x.data(), count, same.data());
      EXPECT_EQ(same, energies) << count << ' ' << name_of(isa);
    }
  }
}

}  // namespace
}  // namespace runnel::features
