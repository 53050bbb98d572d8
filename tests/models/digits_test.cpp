// The bundled digits by their name: they stream exactly, hear ten digits of a voice that the training never
// heard, also in noise, hear nothing where no digit is, and compile for the Ethos-U (docs/accuracy.md).
// digits.wav: flite's voice awb says zero to nine, with pauses of 0.45 s; commands.wav: espeak-ng, three
// phrases without digits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <string>
#include <vector>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;

const std::string kDigits = RUNNEL_SOURCE_FOLDER "/tests/models/digits.wav";
const std::string kPhrases = RUNNEL_SOURCE_FOLDER "/tests/models/commands.wav";

// Between -1 and 1, the same everywhere.
class Noise {
 public:
  double white() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state_ >> 40U) / (1U << 23U) - 1;
  }
  // Darker, as in a vehicle.
  double low() { return low_ = 0.95 * low_ + 0.3 * white(); }

 private:
  std::uint64_t state_ = 1;
  double low_ = 0;
};

class DigitsModel : public testing::Test {
 protected:
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  static std::string heard(const std::string& wav) {
    std::string labels;
    for (const Json& event : events_of(call_well({"listen", "digits", "--wav", wav}).out))
      labels += event["label"].get<std::string>();
    return labels;
  }
  // The ten digits in noise whose power is so many decibels below theirs.
  [[nodiscard]] std::string heard_at(double decibels, bool low) const {
    const std::vector<float> clean = runnel::test::read_wav(kDigits).floats();
    double speech = 0, hiss = 0;
    Noise noise;
    std::vector<double> mixed;
    for (const float s : clean) {
      speech += static_cast<double>(s) * s;
      mixed.push_back(low ? noise.low() : noise.white());
      hiss += mixed.back() * mixed.back();
    }
    // Four tenths of the recording are speech.
    const double gain = std::sqrt(speech / 0.4 / hiss * std::pow(10, -decibels / 10));
    std::vector<std::int16_t> samples;
    for (std::size_t i = 0; i < clean.size(); ++i) {
      const double value = std::lround(16384 * (clean[i] + gain * mixed[i]));
      samples.push_back(static_cast<std::int16_t>(std::clamp(value, -32768.0, 32767.0)));
    }
    write_wav(file("a.wav"), samples);
    return heard(file("a.wav"));
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(DigitsModel, StreamsExactlyWithoutLookAhead) {
  const Json last = json_lines(call_well({"check", "digits"}).out).back();
  EXPECT_EQ(last["exact"], true);
  EXPECT_EQ(last["streamed"], true);
  EXPECT_EQ(last["lookahead_frames"], 0.0);
}

// How many of the ten are in what was heard, each once and in their order; anything else counts against it.
int right(const std::string& labels) {
  int count = 0;
  char last = '0' - 1;
  for (const char digit : labels) {
    count += digit > last ? 1 : -1;
    last = digit;
  }
  return count;
}

TEST_F(DigitsModel, HearsDigitsOfAStrangeVoice) {
  const std::string labels = heard(kDigits);
  std::printf("clean: %s\n", labels.c_str());
  EXPECT_GE(right(labels), 7) << labels;
}

TEST_F(DigitsModel, HearsThemInNoise) {
  for (const bool low : {false, true}) {
    const std::string labels = heard_at(20, low);
    std::printf("%s noise, 20 dB: %s\n", low ? "low" : "white", labels.c_str());
    EXPECT_GE(right(labels), 6) << labels;
  }
}

TEST_F(DigitsModel, HearsNoneInSilenceNoiseTonesAndOtherWords) {
  Noise noise;
  std::vector<std::int16_t> quiet(5 * 16000), hiss, low, tone;
  for (int i = 0; i < 5 * 16000; ++i) {
    hiss.push_back(static_cast<std::int16_t>(3000 * noise.white()));
    low.push_back(static_cast<std::int16_t>(3000 * noise.low()));
    tone.push_back(static_cast<std::int16_t>(6000 * std::sin(2 * std::numbers::pi * 440 * i / 16000)));
  }
  for (const auto& samples : {quiet, hiss, low, tone}) {
    write_wav(file("a.wav"), samples);
    EXPECT_EQ(heard(file("a.wav")), "");
  }
  EXPECT_EQ(heard(kPhrases), "");
}

TEST_F(DigitsModel, CompilesForTheNpu) {
  const std::string bundled =
      (fs::path(runnel::test::program()).parent_path() / "models/digits/digits.rnl").string();
  for (const std::string accelerator : {"ethos-u55-128", "ethos-u85-256"}) {
    const std::string compiled = file(accelerator + ".rnl");
    call_well({"npu", "compile", bundled, "-o", compiled, "--accelerator", accelerator, "--quiet"});
    call_well({"npu", "validate", compiled});
    call_well({"npu", "compare", bundled, compiled});
  }
}

TEST_F(DigitsModel, IsListedWithItsCard) {
  for (const Json& model : json_lines(call_well({"models", "--json"}).out)) {
    if (model["name"] != "digits") continue;
    EXPECT_EQ(model["licence"], "Apache-2.0");
    EXPECT_EQ(model["labels"],
              Json({"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "silence", "unknown"}));
    return;
  }
  ADD_FAILURE() << "digits is not listed";
}

}  // namespace
}  // namespace runnel::apps::test
