// Presets against double precision, on the recordings of the oracle: at least as accurate as the
// single-precision implementation of the training pipeline that a preset follows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/host/heap_memory.h"
#include "features/fbank/fbank_parameters.h"
#include "features/frames/deltas.h"
#include "tests/features/reference.h"
#include "tests/features/streaming.h"
#include "tests/support/data.h"
#include "tests/support/npy.h"
#include "tests/support/wav.h"

namespace runnel::features {
namespace {

using nlohmann::json;
using Matrix = std::vector<std::vector<double>>;

// Our recipe for an oracle's preset.
struct Recipe {
  const char* preset;
  std::vector<std::pair<const char*, const char*>> changes;
  bool deltas = false;
};
const std::map<std::string, Recipe>& recipes() {
  static const std::map<std::string, Recipe> all = {
      {"whisper80", {"whisper", {}}},
      {"torchaudio_mel_default", {"torchaudio", {}}},
      {"librosa_slaney40", {"slaney40", {}}},
      {"torchaudio_kaldi_fbank80", {"torchaudio-kaldi", {{"num_mel_bins", "80"}}}},
      {"torchaudio_kaldi_mfcc13", {"torchaudio-kaldi", {{"kind", "mfcc"}}}},
      {"torchaudio_kaldi_spectrogram", {"torchaudio-spectrogram", {}}},
      {"deltas5_of_fbank23", {"torchaudio-kaldi", {}, true}},
  };
  return all;
}

FbankOptions options_of(const Recipe& recipe) {
  Result<FbankOptions> options = preset(recipe.preset);
  EXPECT_TRUE(options.ok()) << options.status().text();
  for (const auto& [name, value] : recipe.changes) EXPECT_TRUE(set(*options, name, value).ok());
  return *options;
}

std::vector<float> deltas_of(const std::vector<float>& frames, std::size_t dims) {
  HeapMemory memory;
  Deltas deltas;
  EXPECT_TRUE(deltas.init({.window = 5, .order = 1, .with_static = false}, dims, memory).ok());
  std::vector<float> out(frames.size());
  float* to = out.data();
  for (std::size_t at = 0; at < frames.size(); at += dims) {
    EXPECT_TRUE(deltas.push(frames.data() + at).ok());
    while (deltas.pull(to)) to += dims;
  }
  deltas.finish();
  while (deltas.pull(to)) to += dims;
  EXPECT_EQ(to, out.data() + out.size());
  return out;
}

Matrix deltas_of(const Matrix& x) {
  Matrix out = x;
  const auto last = static_cast<std::int64_t>(x.size()) - 1;
  for (std::int64_t t = 0; t <= last; ++t) {
    for (std::size_t i = 0; i < x[0].size(); ++i) {
      double sum = 0;
      for (std::int64_t k = -2; k <= 2; ++k)
        sum +=
            static_cast<double>(k) * x[static_cast<std::size_t>(std::clamp<std::int64_t>(t + k, 0, last))][i];
      out[static_cast<std::size_t>(t)][i] = sum / 10;
    }
  }
  return out;
}

// Sorted distances from double precision.
std::vector<double> errors_of(const std::vector<float>& got, const Matrix& exact, double unit) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < got.size(); ++i)
    errors.push_back(std::abs(got[i] - exact[i / exact[0].size()][i % exact[0].size()]) / unit);
  std::sort(errors.begin(), errors.end());
  return errors;
}

TEST(PresetOracle, IsAsAccurateAsTheTrainingPipeline) {
  RUNNEL_NEEDS_DATA();
  const auto folder = test::data_folder() / "features";
  const json cases = json::parse(std::ifstream(folder / "presets.json"));
  ASSERT_EQ(cases.size(), 42u);
  struct Worst {
    double ours = 0, ours999 = 0, theirs = 0, theirs999 = 0;
  };
  std::map<std::string, Worst> table;
  for (const json& one : cases) {
    SCOPED_TRACE(one["file"].get<std::string>());
    const Recipe& recipe = recipes().at(one["preset"].get<std::string>());
    const FbankOptions options = options_of(recipe);
    const std::vector<float> samples = test::read_wav(folder / one["wav"].get<std::string>()).floats();
    Matrix exact = test::reference_features(samples, options);
    const std::size_t dims = shape_of(options)->dims, frames = one["shape"][0].get<std::size_t>();
    ASSERT_EQ(one["shape"][1].get<std::size_t>(), dims);
    std::vector<float> got = test::run_whole(options, best_isa(), samples);
    ASSERT_EQ(got.size(), exact.size() * dims);
    if (recipe.deltas) {
      got = deltas_of(got, dims);
      exact = deltas_of(exact);
    }
    if (options.kind == FeatureKind::spectrogram)
      ASSERT_GE(exact.size(), frames);  // the first ones are stored
    else
      ASSERT_EQ(exact.size(), frames);
    got.resize(frames * dims);
    const std::vector<float> theirs = test::read_npy(folder / one["file"].get<std::string>()).as<float>();
    ASSERT_EQ(theirs.size(), got.size());
    double largest = 1e-30;
    for (std::size_t t = 0; t < frames; ++t) {
      for (const double value : exact[t]) largest = std::max(largest, std::abs(value));
    }
    const bool linear = !options.use_log_fbank;
    const std::vector<double> ours = errors_of(got, exact, linear ? largest : 1),
                              allowed = errors_of(theirs, exact, linear ? largest : 1);
    // With another recipe, their errors would be large.
    EXPECT_LT(allowed.back(), linear ? 1e-4 : 0.1) << "the reference of this test is not the one of the case";
    const double slack = linear ? 1e-7 : 1e-5;
    EXPECT_LE(ours.back(), 1.5 * allowed.back() + slack);
    const auto p999 = static_cast<std::size_t>(0.999 * static_cast<double>(ours.size() - 1));
    EXPECT_LE(ours[p999], 1.5 * allowed[p999] + slack);
    Worst& row = table[one["preset"].get<std::string>()];
    row = {std::max(row.ours, ours.back()), std::max(row.ours999, ours[p999]),
           std::max(row.theirs, allowed.back()), std::max(row.theirs999, allowed[p999])};
  }
  // Read by scripts/feature_accuracy.sh.
  for (const auto& [name, row] : table) {
    char text[100];
    std::snprintf(text, sizeof text, "%.2g | %.2g | %.2g | %.2g", row.ours, row.ours999, row.theirs,
                  row.theirs999);
    RecordProperty(name, text);
  }
}

// Every preset, including those without stored cases, against the formula.
TEST(PresetOracle, EveryPresetIsItsFormula) {
  RUNNEL_NEEDS_DATA();
  const auto folder = test::data_folder() / "features";
  std::vector<float> samples = test::read_wav(folder / "wav/espdl_test_16k.wav").floats();
  samples.resize(16000);
  for (const Preset& one : presets()) {
    SCOPED_TRACE(std::string(one.name));
    std::vector<float> scaled = samples;
    if (one.options.scale == SampleScale::int16) {
      for (float& sample : scaled) sample *= 32768;
    }
    const Matrix exact = test::reference_features(scaled, one.options);
    const std::vector<float> got = test::run_whole(one.options, best_isa(), samples);
    ASSERT_EQ(got.size(), exact.size() * exact[0].size());
    double largest = 0;
    for (const auto& frame : exact) {
      for (const double value : frame) largest = std::max(largest, std::abs(value));
    }
    const bool linear = !one.options.use_log_fbank && one.options.kind != FeatureKind::mfcc;
    const std::vector<double> errors = errors_of(got, exact, linear ? largest : 1);
    if (one.options.output_steps > 0) {
      // A value between two steps may go either way.
      EXPECT_LE(errors.back(), 1.01 / one.options.output_steps);
      EXPECT_LE(errors[errors.size() * 99 / 100], 1e-6);
    } else {
      // The weakest bins hold rounding noise of the strongest.
      EXPECT_LE(errors.back(), linear ? 1e-6 : 0.02);
      EXPECT_LE(errors[errors.size() * 99 / 100], linear ? 1e-6 : 1e-3);
    }
  }
}

}  // namespace
}  // namespace runnel::features
