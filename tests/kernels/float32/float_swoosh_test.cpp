// Swoosh at every instruction level, against its formula in double precision.
#include "kernels/float32/float_swoosh.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/kernels/float_levels.h"

namespace runnel::kernels {
namespace {

constexpr Swoosh kSpecs[] = {{4.0f, 0.08f, 0.035f}, {1.0f, 0.08f, 0.313261687f}, {-2.5f, -0.5f, 3.0f}, {}};

std::vector<float> arguments() {
  std::vector<float> x;
  for (int i = -120000; i <= 120000; ++i) x.push_back(static_cast<float>(i) / 1000 + 1e-4f);
  for (const float size : {0.0f, 1e-30f, 1e-7f, 87.0f, 88.8f, 104.1f, 1e4f, 3e38f})
    x.insert(x.end(), {size, -size});
  return x;
}

TEST(FloatSwoosh, WithinFourUnitsOfItsLargestTerm) {
  const std::vector<float> x = arguments();
  for (const Swoosh& spec : kSpecs) {
    std::vector<float> y(x.size());
    swoosh_generic(spec, x.size(), x.data(), y.data());
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double v = x[i], t = static_cast<double>(x[i] - spec.alpha);
      const double sum = std::max(t, 0.0) + std::log1p(std::exp(-std::fabs(t))),
                   slope = static_cast<double>(spec.beta) * v;
      const double exact = sum - slope - static_cast<double>(spec.gamma);
      const double size =
          std::max({std::fabs(sum), std::fabs(slope), std::fabs(static_cast<double>(spec.gamma))});
      if (std::max(size, std::fabs(exact)) > static_cast<double>(std::numeric_limits<float>::max())) continue;
      const double unit = size > 0 ? std::max(std::ldexp(1.0, std::ilogb(size) - 23), 1.5e-45) : 1.5e-45;
      worst = std::max(worst, std::fabs(static_cast<double>(y[i]) - exact) / unit);
    }
    EXPECT_LE(worst, 4) << "alpha " << spec.alpha;
  }
}

TEST(FloatSwoosh, TheSameBitsAtEveryLevelAndInPlace) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> all = arguments();
  all.insert(all.begin() + 5, {std::nanf(""), inf, -inf});
  for (const Swoosh& spec : kSpecs) {
    for (const std::size_t count :
         {std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{17}, std::size_t{33}, all.size()}) {
      const std::vector<float> x(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
      std::vector<float> expected(count);
      swoosh_generic(spec, count, x.data(), expected.data());
      for (const Isa isa : float_levels()) {
        std::vector<float> found(count), place = x;
        float_swoosh(isa)(spec, count, x.data(), found.data());
        float_swoosh(isa)(spec, count, place.data(), place.data());
        for (std::size_t i = 0; i < count; ++i) {
          if (std::isnan(expected[i])) {
            EXPECT_TRUE(std::isnan(found[i]) && std::isnan(place[i]));
            continue;
          }
          ASSERT_EQ(std::memcmp(&found[i], &expected[i], sizeof(float)), 0) << name_of(isa) << " at " << x[i];
          ASSERT_EQ(std::memcmp(&place[i], &expected[i], sizeof(float)), 0) << name_of(isa) << " at " << x[i];
        }
      }
    }
  }
}

}  // namespace
}  // namespace runnel::kernels
