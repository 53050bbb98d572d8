// The front end against double precision on the oracle cases: at least as accurate as the single-precision
// implementation that made them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "features/fbank/fbank_parameters.h"
#include "tests/features/cases.h"
#include "tests/features/reference.h"
#include "tests/features/streaming.h"
#include "tests/support/data.h"
#include "tests/support/npy.h"
#include "tests/support/wav.h"

namespace runnel::features {
namespace {

using nlohmann::json;

TEST(FbankOracle, IsAsAccurateAsTheImplementationThatMadeTheCases) {
  RUNNEL_NEEDS_DATA();
  const auto folder = test::data_folder() / "features";
  const json cases = json::parse(std::ifstream(folder / "cases.json"));
  ASSERT_EQ(cases.size(), 200u);
  double worst_ratio = 0;
  for (const json& one : cases) {
    SCOPED_TRACE("case " + one["id"].get<std::string>() + " " + one["group"].get<std::string>());
    const test::Wav wav = test::read_wav(folder / one["wav"].get<std::string>());
    const FbankOptions options = test::fbank_options_of(one);
    const std::vector<float> samples = wav.floats();
    std::vector<float> scaled = samples;
    if (options.scale == SampleScale::int16) {
      for (float& sample : scaled) sample *= 32768;
    }
    const auto expected = test::reference_features(scaled, options);
    const std::vector<float> got = test::run_whole(options, best_isa(), samples);
    const auto shape = shape_of(options);
    ASSERT_TRUE(shape.ok()) << shape.status().text();
    ASSERT_EQ(expected.size(), one["T"].get<std::size_t>());
    ASSERT_EQ(shape->dims, one["D"].get<std::size_t>());
    ASSERT_EQ(got.size(), expected.size() * shape->dims);

    const test::Npy stored = test::read_npy(folder / one["file"].get<std::string>());
    const std::vector<float> theirs = stored.as<float>();
    ASSERT_EQ(theirs.size(), got.size());
    double largest = 0;
    for (const auto& frame : expected) {
      for (const double value : frame) largest = std::max(largest, std::abs(value));
    }
    const double unit = one["err_vs_f64"]["metric"] == "abs" ? 1.0 : largest + 1e-30;
    std::vector<double> errors, their_errors;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double value = expected[i / shape->dims][i % shape->dims];
      errors.push_back(std::abs(got[i] - value) / unit);
      their_errors.push_back(std::abs(theirs[i] - value) / unit);
    }
    if (errors.empty()) continue;
    std::sort(errors.begin(), errors.end());
    std::sort(their_errors.begin(), their_errors.end());
    // Linear interpolation between order statistics, as for the stored figures.
    const auto p999 = [](const std::vector<double>& sorted) {
      const double at = 0.999 * static_cast<double>(sorted.size() - 1);
      const auto below = static_cast<std::size_t>(at);
      const double above = below + 1 < sorted.size() ? sorted[below + 1] : sorted[below];
      return sorted[below] + (at - static_cast<double>(below)) * (above - sorted[below]);
    };
    const double most = one["err_vs_f64"]["max"].get<double>(),
                 most999 = one["err_vs_f64"]["p999"].get<double>();
    EXPECT_NEAR(their_errors.back(), most, 1e-6 + 1e-3 * most)
        << "the reference of this test is not the one of the cases";
    EXPECT_LE(errors.back(), 1.5 * most + 1e-5);
    EXPECT_LE(p999(errors), 1.5 * most999 + 1e-5);
    worst_ratio = std::max(worst_ratio, errors.back() / (1.5 * most + 1e-5));
  }
  RecordProperty("worst_share_of_the_allowed_error", std::to_string(worst_ratio));
}

}  // namespace
}  // namespace runnel::features
