#include "features/fft/fft.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/host/heap_memory.h"
#include "features/host/fftw_fft.h"
#include "tests/features/reference.h"
#include "tests/features/streaming.h"

namespace runnel::features {
namespace {

std::vector<float> noise(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> x(count);
  for (float& value : x) value = static_cast<float>(static_cast<std::int32_t>(random())) / 2147483648.0F;
  return x;
}

// Real parts, then imaginary parts.
std::vector<float> run(RealFft& fft, const std::vector<float>& x) {
  std::vector<float> out(2 * (x.size() / 2 + 1), 7.0F);
  fft.forward(x.data(), out.data(), out.data() + x.size() / 2 + 1);
  return out;
}

double snr_db(const std::vector<float>& got, const std::vector<float>& x) {
  const auto exact = test::dft(std::vector<double>(x.begin(), x.end()));
  double signal = 0, error = 0;
  const std::size_t bins = x.size() / 2 + 1;
  for (std::size_t k = 0; k < bins; ++k) {
    signal += std::norm(exact[k]);
    error += std::norm(exact[k] - std::complex<double>(got[k], got[bins + k]));
  }
  return 10 * std::log10(signal / (error + 1e-300));
}

std::vector<std::size_t> sizes() {
  std::vector<std::size_t> all;
  for (std::size_t n = 1; n <= 130; ++n) all.push_back(n);  // among them primes, and primes times two
  for (const std::size_t n : {160,  200, 240, 250,  256,  320,  400,  480,  512,  550,  600,  640,  720,
                              800,  882, 960, 1000, 1024, 1102, 1200, 1250, 1440, 1458, 1536, 2048, 2500,
                              4096, 275, 441, 625,  729,  1009, 1103, 1875, 2018, 2500, 2662}) {
    all.push_back(n);
  }
  return all;
}

TEST(OwnFft, AgreesWithTheDftInDoublePrecisionAtEverySize) {
  for (const std::size_t n : sizes()) {
    HeapMemory memory(OwnFft::memory_bytes(n));
    OwnFft fft;
    ASSERT_TRUE(fft.init(n, best_isa(), memory).ok()) << n;
    EXPECT_EQ(memory.used(), OwnFft::memory_bytes(n));
    const std::vector<float> x = noise(n, static_cast<unsigned>(n));
    // Primes other than 2, 3, 5 are summed by definition or use a convolution: more roundings.
    std::size_t rest = n;
    for (std::size_t prime = 2; prime <= 5; ++prime) {
      while (rest % prime == 0) rest /= prime;
    }
    EXPECT_GT(snr_db(run(fft, x), x), rest == 1 ? 136.0 : 128.0) << n;
  }
}

TEST(OwnFft, InverseUndoesForwardAtEverySize) {
  for (const std::size_t n : sizes()) {
    HeapMemory memory(OwnFft::memory_bytes(n));
    OwnFft fft;
    ASSERT_TRUE(fft.init(n, best_isa(), memory).ok()) << n;
    const std::vector<float> x = noise(n, static_cast<unsigned>(n) + 1), spectrum = run(fft, x);
    std::vector<float> back(n, 7.0F);
    fft.inverse(spectrum.data(), spectrum.data() + n / 2 + 1, back.data());
    double signal = 0, error = 0;
    for (std::size_t i = 0; i < n; ++i) {
      signal += static_cast<double>(x[i]) * x[i];
      error += (static_cast<double>(back[i]) - x[i]) * (static_cast<double>(back[i]) - x[i]);
    }
    EXPECT_GT(10 * std::log10(signal / (error + 1e-300)), 125.0) << n;
  }
}

// An arbitrary spectrum: its inverse by definition, in double precision.
TEST(OwnFft, InverseAgreesWithItsDefinitionAndIgnoresWhatCannotBe) {
  for (const std::size_t n : {1, 2, 3, 6, 37, 40, 63, 400, 512}) {
    const std::size_t bins = n / 2 + 1;
    std::vector<float> re = noise(bins, 3), im = noise(bins, 4);
    HeapMemory memory;
    OwnFft fft;
    ASSERT_TRUE(fft.init(n, best_isa(), memory).ok());
    std::vector<float> got(n);
    fft.inverse(re.data(), im.data(), got.data());
    double worst = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double sum = re[0];
      for (std::size_t k = 1; k < bins; ++k) {
        const double angle =
            2 * 3.14159265358979323846 * static_cast<double>(k * i % n) / static_cast<double>(n);
        const bool self = 2 * k == n;
        sum += (self ? 1 : 2) * (re[k] * std::cos(angle) - (self ? 0 : im[k] * std::sin(angle)));
      }
      worst = std::max(worst, std::abs(got[i] - sum / static_cast<double>(n)));
    }
    EXPECT_LT(worst, 5e-7) << n;
  }
}

TEST(OwnFft, HasTheSameBitsOnEveryInstructionSet) {
  for (const std::size_t n : sizes()) {
    const std::vector<float> x = noise(n, 5);
    std::vector<float> expected;
    for (const Isa isa : test::isas()) {
      HeapMemory memory;
      OwnFft fft;
      ASSERT_TRUE(fft.init(n, isa, memory).ok());
      std::vector<float> got = run(fft, x);
      std::vector<float> back(n);
      fft.inverse(got.data(), got.data() + n / 2 + 1, back.data());
      got.insert(got.end(), back.begin(), back.end());
      if (expected.empty()) expected = got;
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0)
          << n << " " << name_of(isa);
    }
  }
}

// Fused steps against the separate ones of the reference.
TEST(OwnFft, PowerHasTheBitsOfTheSpectrumOnEveryInstructionSet) {
  for (const std::size_t n : sizes()) {
    const std::size_t bins = n / 2 + 1;
    const std::vector<float> x = noise(n, 6);
    HeapMemory memory;
    OwnFft reference;
    ASSERT_TRUE(reference.init(n, Isa::reference, memory).ok());
    const std::vector<float> spectrum = run(reference, x);
    std::vector<float> wanted(bins);
    kKernelsReference.power(spectrum.data(), spectrum.data() + bins, bins, wanted.data());
    for (const Isa isa : test::isas()) {
      OwnFft fft;
      ASSERT_TRUE(fft.init(n, isa, memory).ok());
      std::vector<float> power(bins + 1, 7.0F), scratch(bins);
      const bool made = fft.forward_power(x.data(), power.data(), scratch.data());
      EXPECT_EQ(made, n % 2 == 0 && kernels_for(isa).unpack_power != nullptr);
      if (!made) continue;
      EXPECT_EQ(std::memcmp(power.data(), wanted.data(), bins * sizeof(float)), 0)
          << n << " " << name_of(isa);
      EXPECT_EQ(power[bins], 7.0F);
    }
  }
}

TEST(OwnFft, IsExactForAnImpulse) {
  HeapMemory memory;
  OwnFft fft;
  ASSERT_TRUE(fft.init(512, best_isa(), memory).ok());
  std::vector<float> x(512);
  x[0] = 3;
  const std::vector<float> got = run(fft, x);
  for (std::size_t k = 0; k <= 256; ++k) {
    EXPECT_EQ(got[k], 3.0F);
    EXPECT_EQ(got[257 + k], 0.0F);
  }
}

TEST(OwnFft, RefusesWhatItCannotDo) {
  HeapMemory memory;
  OwnFft fft;
  for (const std::size_t n : {std::size_t{0}, kMaxFftSize + 1, ~std::size_t{0}}) {
    const Status status = fft.init(n, best_isa(), memory);
    EXPECT_EQ(status.code(), Code::invalid_argument) << n;
    EXPECT_NE(status.text().find(std::to_string(n)), std::string_view::npos) << status.text();
    EXPECT_EQ(OwnFft::memory_bytes(n), 0u);
  }
  HeapMemory small(OwnFft::memory_bytes(512) - 1);
  EXPECT_EQ(fft.init(512, best_isa(), small).code(), Code::out_of_memory);
}

TEST(FftwFft, AgreesWithTheDftOrSaysThatItIsNotThere) {
  if (!have_fftw()) {
    EXPECT_EQ(make_fftw_fft(512).status().code(), Code::unsupported);
    return;
  }
  for (const std::size_t n : {2, 30, 37, 400, 512, 1102}) {
    Result<FftwFftPointer> fft = make_fftw_fft(n);
    ASSERT_TRUE(fft.ok()) << fft.status().text();
    const std::vector<float> x = noise(n, 9);
    const std::vector<float> spectrum = run(*as_real_fft(fft.value()), x);
    EXPECT_GT(snr_db(spectrum, x), 134.0) << n;
    std::vector<float> back(n);
    as_real_fft(fft.value())->inverse(spectrum.data(), spectrum.data() + n / 2 + 1, back.data());
    for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(back[i], x[i], 1e-6) << n << " " << i;
  }
  EXPECT_EQ(make_fftw_fft(0).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace runnel::features
