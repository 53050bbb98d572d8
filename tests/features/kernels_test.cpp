// Accuracy of the elementary functions, and equality of the inner loops over all instruction sets
// at awkward sizes.
#include "features/simd/kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "features/exact_math.h"
#include "features/fbank/window.h"
#include "tests/features/streaming.h"

namespace runnel::features {
namespace {

TEST(Log, IsAccurateToAboutOneUnitInTheLastPlace) {
  const Kernels& kernels = kernels_for(best_isa());
  double worst = 0;
  std::vector<float> x;
  for (std::uint32_t bits = 0x00800000; bits < 0x7f800000; bits += 997)
    x.push_back(std::bit_cast<float>(bits));
  for (float v = 0.7F; v < 1.6F; v += 1e-6F) x.push_back(v);
  std::vector<float> y = x;
  kernels.log(y.data(), y.size(), std::numeric_limits<float>::min());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::log(static_cast<double>(x[i]));
    const float rounded = static_cast<float>(exact);
    const double unit =
        std::abs(static_cast<double>(std::nextafter(rounded, 1e9F)) - static_cast<double>(rounded));
    if (rounded != 0)
      worst = std::max(worst, std::abs(y[i] - exact) / unit);
    else
      EXPECT_EQ(y[i], 0.0F);
  }
  EXPECT_LT(worst, 1.5);
}

TEST(Log, DefinesWhatIsNotPositiveOrNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Isa isa : test::isas()) {
    float x[] = {0, -1, std::nanf(""), kInfinity, -kInfinity, 1};
    kernels_for(isa).log(x, 6, 1.1920929e-7F);
    for (const int i : {0, 1, 2, 4}) EXPECT_FLOAT_EQ(x[i], -15.942385F) << i;
    EXPECT_FLOAT_EQ(x[3], 88.722839F);
    EXPECT_EQ(x[5], 0.0F);
  }
}

TEST(ExactMath, AgreesWithTheLibraryNearlyToTheLastBit) {
  for (int n = 1; n < 200; ++n) {
    for (int k = -n; k < 2 * n; ++k) {
      const SinCos got = turn(k, n);
      EXPECT_NEAR(got.sin, static_cast<double>(std::sin(2 * 3.14159265358979323846264L * k / n)), 4e-16);
      EXPECT_NEAR(got.cos, static_cast<double>(std::cos(2 * 3.14159265358979323846264L * k / n)), 4e-16);
      EXPECT_NEAR(turn(static_cast<double>(k) / n).sin, got.sin, 1e-14);
    }
  }
  EXPECT_EQ(turn(1, 4).cos, 0.0);
  EXPECT_EQ(turn(1, 4).sin, 1.0);
  EXPECT_EQ(turn(2, 4).cos, -1.0);
  EXPECT_EQ(turn(2, 4).sin, 0.0);
  for (double x = 1e-300; x < 1e300; x *= 1.37) {
    EXPECT_NEAR(log(x), std::log(x), 4e-16 * std::max(1.0, std::abs(std::log(x))));
    EXPECT_NEAR(exp(log(x) / 3), std::exp(std::log(x) / 3), 1e-13 * std::exp(std::log(x) / 3));
  }
  for (double x = -0.9; x < 30; x += 0.0137)
    EXPECT_NEAR(log1p(x), std::log1p(x), 5e-16 * std::max(1.0, std::abs(std::log1p(x))));
  for (double x = 0; x < 1; x += 0.01) EXPECT_NEAR(pow(x, 0.85), std::pow(x, 0.85), 5e-16);
  EXPECT_NEAR(bessel_i0(0), 1, 1e-16);
  EXPECT_NEAR(bessel_i0(8), 427.56411572180474, 1e-10);
}

TEST(Window, IsSymmetricWithItsPeakInTheMiddle) {
  for (const WindowType type : {WindowType::povey, WindowType::hamming, WindowType::hanning,
                                WindowType::blackman, WindowType::sine}) {
    std::vector<float> w(401);
    fill_window(type, 0.42, w);
    for (std::size_t i = 0; i < w.size(); ++i) EXPECT_EQ(w[i], w[400 - i]) << i;
    EXPECT_NEAR(w[200], 1.0F, 1e-6F);
  }
  std::vector<float> hann(400);
  fill_window(WindowType::hann, 0, hann);
  for (std::size_t i = 1; i < 400; ++i) EXPECT_EQ(hann[i], hann[400 - i]);
}

TEST(Kernels, HaveTheSameBitsOnEveryInstructionSet) {
  std::mt19937 random(2);
  const auto noise = [&](std::size_t count) {
    std::vector<float> x(count);
    for (float& value : x) value = static_cast<float>(static_cast<std::int32_t>(random())) / 65536.0F;
    return x;
  };
  for (const std::size_t n : {1, 2, 3, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 400, 401}) {
    const std::vector<float> x = noise(n), w = noise(n), matrix = noise(n * 32),
                             bulk = noise((n + 15) / 16 * 16);
    std::vector<float> expected;
    for (const Isa isa : test::isas()) {
      const Kernels& k = kernels_for(isa);
      std::vector<float> all{k.sum(x.data(), n), k.sum_of_squares(x.data(), n, 0.3F),
                             k.dot(bulk.data(), bulk.data(), bulk.size())};
      const auto run = [&](auto step, std::size_t size) {
        std::vector<float> out = x;
        out.resize(size);
        step(out.data());
        all.insert(all.end(), out.begin(), out.end());
      };
      for (const float c : {0.0F, 0.5F, 0.97F, 1.0F}) {
        // At every place of a cache line, since full vectors are stored at aligned addresses.
        for (std::size_t place = 0; place < 17; ++place) {
          run([&](float* out) { k.shape_frame(x.data(), n, 0.7F, c, w.data(), out + place); }, n + 18);
        }
      }
      run([&](float* out) { k.power(x.data(), w.data(), n, out); }, n);
      run([&](float* out) { k.floor_at(out, n, 1.0F); }, n);
      run([&](float* out) { k.log(out, n, 1e-7F); }, n);
      run([&](float* out) { k.power(x.data(), w.data(), n, out), k.square_root(out, n); }, n);
      run([&](float* out) { k.times_matrix(x.data(), n, matrix.data(), 32, out); }, 32);
      run([&](float* out) { k.normalize(out, w.data(), x.data(), n); }, n);
      run([&](float* out) { k.copy_finite(x.data(), n, 32768.0F, out); }, n);
      if (expected.empty()) expected = all;
      ASSERT_EQ(all.size(), expected.size());
      EXPECT_EQ(std::memcmp(all.data(), expected.data(), all.size() * sizeof(float)), 0)
          << n << " " << name_of(isa);
    }
    double sum = 0;
    for (const float value : x) sum += value;
    EXPECT_NEAR(expected[0], sum, 0.2) << "of terms up to 32768";
  }
}

TEST(Kernels, CountWhatIsNotFiniteAnywhere) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Isa isa : test::isas()) {
    for (const std::size_t n : {1, 4, 7, 8, 16, 31, 64, 100, 160}) {
      std::vector<float> x(n, 0.5F), y(n);
      EXPECT_EQ(kernels_for(isa).copy_finite(x.data(), n, 2.0F, y.data()), 0U);
      EXPECT_EQ(y, std::vector<float>(n, 1.0F));
      std::vector<float> wanted = y;
      std::size_t bad = 0;
      for (std::size_t i = 0; i < n; i += 1 + i / 3, ++bad) {
        x[i] = i % 3 == 0 ? std::nanf("") : i % 3 == 1 ? kInfinity : -kInfinity;
        wanted[i] = 0;
      }
      EXPECT_EQ(kernels_for(isa).copy_finite(x.data(), n, 2.0F, y.data()), bad) << n << name_of(isa);
      EXPECT_EQ(y, wanted);
      EXPECT_EQ(kernels_for(isa).copy_finite(x.data(), n, 2.0F, x.data()), bad) << "in place";
      EXPECT_EQ(x, wanted);
    }
  }
}

}  // namespace
}  // namespace runnel::features
