// The bundled wake word by its name: it streams exactly, hears the phrase of voices that its training never
// heard and nothing else, clean and in noise, and compiles for the Ethos-U (figures: docs/accuracy.md).
// wake.wav was made by espeak-ng and SVOX Pico (tests/models/wake.txt says what is said in it, and when).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;

const std::string kSaid = RUNNEL_SOURCE_FOLDER "/tests/models/wake.wav";
const std::string kOther = RUNNEL_SOURCE_FOLDER "/tests/models/commands.wav";
const std::string kPhrase = "happy zero";
constexpr double kHeard = 0.75;  // seconds after its end within which the phrase is heard

// What is said in wake.wav: start and end in seconds, voice, text.
struct Said {
  double start = 0, end = 0;
  std::string text;
};

std::vector<Said> script() {
  std::vector<Said> all;
  std::ifstream lines(RUNNEL_SOURCE_FOLDER "/tests/models/wake.txt");
  std::string line;
  while (std::getline(lines, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    Said said;
    std::string voice;
    fields >> said.start >> said.end >> voice >> std::ws;
    std::getline(fields, said.text);
    all.push_back(said);
  }
  return all;
}

// Ends of the events, which all have the phrase as their label.
std::vector<double> ends_of(const std::string& lines) {
  std::vector<double> ends;
  for (const Json& event : events_of(lines)) {
    EXPECT_EQ(event["label"], kPhrase);
    ends.push_back(event["end"].get<double>());
  }
  return ends;
}

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

class WakeModel : public testing::Test {
 protected:
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  static std::string bundled() {
    return (fs::path(runnel::test::program()).parent_path() / "models/wake/wake.rnl").string();
  }
  // Events for the phrase where it is said, one each, and none elsewhere.
  static void expect_phrases(const std::vector<double>& ends, const std::string& where) {
    std::vector<bool> used(ends.size());
    for (const Said& said : script()) {
      if (said.text != kPhrase) continue;
      std::size_t heard = 0;
      for (std::size_t i = 0; i < ends.size(); ++i)
        if (ends[i] >= said.start && ends[i] <= said.end + kHeard) used[i] = true, ++heard;
      EXPECT_EQ(heard, 1U) << where << ": the phrase that ends at " << said.end;
    }
    for (std::size_t i = 0; i < ends.size(); ++i)
      EXPECT_TRUE(used[i]) << where << ": false alarm at " << ends[i];
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(WakeModel, StreamsExactlyWithoutLookAhead) {
  const Json last = json_lines(call_well({"check", "wake"}).out).back();
  EXPECT_EQ(last["exact"], true);
  EXPECT_EQ(last["streamed"], true);
  EXPECT_EQ(last["lookahead_frames"], 0.0);
}

TEST_F(WakeModel, HearsThePhraseAndNothingElse) {
  std::size_t phrases = 0;
  for (const Said& said : script()) phrases += said.text == kPhrase ? 1 : 0;
  ASSERT_GE(phrases, 4U);
  ASSERT_GT(script().size(), phrases + 3);
  expect_phrases(ends_of(call_well({"listen", "wake", "--wav", kSaid}).out), "clean");
}

TEST_F(WakeModel, HearsThePhraseInNoiseAndAtOtherLevels) {
  const std::vector<float> clean = runnel::test::read_wav(kSaid).floats();
  double power = 0, loud = 0;
  for (const float s : clean)
    if (std::abs(s) > 0.01) power += static_cast<double>(s) * s, loud += 1;
  for (const bool low : {false, true}) {
    for (const auto& [level, decibels] : {std::pair{1.0, 20.0}, {0.1, 25.0}}) {
      Noise noise;
      std::vector<double> hiss(clean.size());
      double sum = 0;
      for (double& n : hiss) n = low ? noise.low() : noise.white(), sum += n * n;
      const double gain =
          std::sqrt(power / loud / (sum / static_cast<double>(hiss.size())) * std::pow(10, -decibels / 10));
      std::vector<std::int16_t> mixed;
      for (std::size_t i = 0; i < clean.size(); ++i)
        mixed.push_back(static_cast<std::int16_t>(
            std::clamp(std::lround(32768 * level * (clean[i] + gain * hiss[i])), -32768L, 32767L)));
      write_wav(file("a.wav"), mixed);
      expect_phrases(ends_of(call_well({"listen", "wake", "--wav", file("a.wav")}).out),
                     std::string(low ? "low" : "white") + " noise at " + std::to_string(decibels) + " dB");
    }
  }
}

TEST_F(WakeModel, HearsNothingInOtherPhrasesSilenceNoiseAndTones) {
  EXPECT_TRUE(ends_of(call_well({"listen", "wake", "--wav", kOther}).out).empty());
  Noise noise;
  std::vector<std::int16_t> quiet(5 * 16000), hiss, low, tone;
  for (int i = 0; i < 5 * 16000; ++i) {
    hiss.push_back(static_cast<std::int16_t>(3000 * noise.white()));
    low.push_back(static_cast<std::int16_t>(3000 * noise.low()));
    tone.push_back(static_cast<std::int16_t>(6000 * std::sin(2 * std::numbers::pi * 440 * i / 16000)));
  }
  for (const auto& [name, samples] :
       {std::pair{"quiet", quiet}, {"hiss", hiss}, {"low", low}, {"tone", tone}}) {
    write_wav(file("a.wav"), samples);
    EXPECT_TRUE(ends_of(call_well({"listen", "wake", "--wav", file("a.wav")}).out).empty()) << name;
  }
}

TEST_F(WakeModel, CompilesForTheNpu) {
  for (const std::string accelerator : {"ethos-u55-128", "ethos-u85-256"}) {
    const std::string compiled = file(accelerator + ".rnl");
    call_well({"npu", "compile", bundled(), "-o", compiled, "--accelerator", accelerator, "--quiet"});
    call_well({"npu", "validate", compiled});
    call_well({"npu", "compare", bundled(), compiled});
  }
}

TEST_F(WakeModel, IsListedWithItsCard) {
  for (const Json& model : json_lines(call_well({"models", "--json"}).out)) {
    if (model["name"] != "wake") continue;
    EXPECT_EQ(model["licence"], "Apache-2.0");
    EXPECT_EQ(model["labels"], Json({"other", kPhrase}));
    return;
  }
  ADD_FAILURE() << "`runnel models` does not list wake";
}

}  // namespace
}  // namespace runnel::apps::test
