// The bundled voice detector by its name: it streams exactly, marks what is spoken, also in noise, compiles
// for the Ethos-U, and how well it tells speech of people whom it was not trained on from noise
// (docs/accuracy.md). commands.wav was made by espeak-ng, with a second between three phrases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "tests/apps/support.h"
#include "tests/support/npy.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;

const std::string kPhrases = RUNNEL_SOURCE_FOLDER "/tests/models/commands.wav";
constexpr int kHop = 160, kWindow = 400;
constexpr std::size_t kLate = 6;  // frames by which the network answers late (training/vad/vad.toml)

// Events as (start, end) in seconds.
std::vector<std::pair<double, double>> spans_of(const std::string& lines) {
  std::vector<std::pair<double, double>> spans;
  for (const Json& event : events_of(lines)) {
    EXPECT_EQ(event["label"], "speech");
    spans.emplace_back(event["start"].get<double>(), event["end"].get<double>());
  }
  return spans;
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

// Frames of 25 ms every 10 ms, as the front end makes them: mean squares.
std::vector<double> powers(const std::vector<double>& samples) {
  std::vector<double> found;
  for (std::size_t at = 0; at + kWindow <= samples.size(); at += kHop) {
    double sum = 0;
    for (std::size_t i = at; i < at + kWindow; ++i) sum += samples[i] * samples[i];
    found.push_back(sum / kWindow);
  }
  return found;
}

// Speech by the energy of a clean recording, as training/vad/material.py has it but simpler: at most 30 dB
// below the loudest frames; pauses of less than 200 ms belong to the speech.
std::vector<bool> speech_in(const std::vector<double>& clean, double below = 30) {
  const std::vector<double> power = powers(clean);
  std::vector<double> sorted = power;
  std::ranges::sort(sorted);
  const double least = sorted[sorted.size() * 95 / 100] * std::pow(10, -below / 10);
  std::vector<bool> speech;
  for (const double p : power) speech.push_back(p > least);
  for (std::size_t first = 0; first < speech.size();) {
    std::size_t end = first;
    while (end < speech.size() && !speech[end]) ++end;
    if (end > first && first > 0 && end < speech.size() && end - first < 20)
      for (std::size_t i = first; i < end; ++i) speech[i] = true;
    first = std::max(end, first + 1);
  }
  return speech;
}

// The part of the pairs of a frame of speech and another frame of which the former has the higher score.
double area(const std::vector<double>& scores, const std::vector<bool>& speech) {
  std::vector<double> yes, no;
  for (std::size_t i = 0; i + kLate < scores.size() && i < speech.size(); ++i)
    (speech[i] ? yes : no).push_back(scores[i + kLate]);
  if (yes.empty() || no.empty()) {
    ADD_FAILURE() << "needs frames of both kinds";
    return 0;
  }
  std::ranges::sort(no);
  double above = 0;
  for (const double score : yes) {
    const auto [low, high] = std::ranges::equal_range(no, score);
    above += static_cast<double>(low - no.begin()) + static_cast<double>(high - low) / 2;
  }
  return above / (static_cast<double>(yes.size()) * static_cast<double>(no.size()));
}

class VadModel : public testing::Test {
 protected:
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  static std::string bundled() {
    return (fs::path(runnel::test::program()).parent_path() / "models/vad/vad.rnl").string();
  }
  // The logit of speech above that of anything else, for each frame, in steps of the model's output.
  [[nodiscard]] std::vector<double> scores(const std::vector<double>& samples) const {
    std::vector<std::int16_t> integers;
    for (const double s : samples)
      integers.push_back(static_cast<std::int16_t>(std::clamp(std::lround(s * 32768), -32768L, 32767L)));
    write_wav(file("a.wav"), integers);
    // With the front end that the model file has.
    const std::string facts = call_well({"inspect", "vad"}).out, key = "  front end  ";
    const std::size_t at = facts.find(key);
    if (at == std::string::npos) {
      ADD_FAILURE() << "no front end: " << facts;
      return {};
    }
    const std::string front_end = facts.substr(at + key.size(), facts.find('\n', at) - at - key.size());
    call_well({"run", "wav path='" + file("a.wav") + "' ! " + front_end + " ! infer model=vad ! npy path='" +
                          file("a.npy") + "'"});
    const auto found = runnel::test::read_npy(file("a.npy"));
    EXPECT_EQ(found.dtype, "|i1");
    const auto values = found.as<std::int8_t>();
    std::vector<double> out;
    for (std::size_t i = 0; i + 1 < values.size(); i += 2) out.push_back(values[i + 1] - values[i]);
    return out;
  }
  // Of a clean recording in noise so many decibels below its speech.
  [[nodiscard]] double area_at(const std::vector<double>& clean, double decibels, bool low,
                               double below = 30) const {
    const std::vector<bool> speech = speech_in(clean, below);
    const std::vector<double> power = powers(clean);
    double loud = 0, frames = 0, hiss = 0;
    for (std::size_t i = 0; i < power.size(); ++i)
      if (speech[i]) loud += power[i], frames += 1;
    Noise noise;
    std::vector<double> mixed(clean.size());
    for (double& n : mixed) n = low ? noise.low() : noise.white();
    for (const double n : mixed) hiss += n * n;
    const double gain =
        std::sqrt(loud / frames / (hiss / static_cast<double>(mixed.size())) * std::pow(10, -decibels / 10));
    for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] = 0.5 * (clean[i] + gain * mixed[i]);
    return area(scores(mixed), speech);
  }
  static std::vector<double> samples_of(const std::string& path) {
    const std::vector<float> floats = runnel::test::read_wav(path).floats();
    return {floats.begin(), floats.end()};
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(VadModel, StreamsExactlyWithoutLookAhead) {
  const Json last = json_lines(call_well({"check", "vad"}).out).back();
  EXPECT_EQ(last["exact"], true);
  EXPECT_EQ(last["streamed"], true);
  EXPECT_EQ(last["lookahead_frames"], 0.0);
}

TEST_F(VadModel, MarksWhatIsSpoken) {
  const auto spans = spans_of(call_well({"listen", "vad", "--wav", kPhrases}).out);
  ASSERT_EQ(spans.size(), 3U);
  // The truth: runs of frames of the clean recording.
  const std::vector<bool> speech = speech_in(samples_of(kPhrases));
  std::vector<std::pair<double, double>> truth;
  for (std::size_t i = 0; i < speech.size(); ++i) {
    if (!speech[i]) continue;
    if (i == 0 || !speech[i - 1]) truth.emplace_back(0.01 * static_cast<double>(i), 0);
    truth.back().second = 0.01 * static_cast<double>(i) + 0.025;
  }
  ASSERT_EQ(truth.size(), 3U);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    EXPECT_NEAR(spans[i].first, truth[i].first, 0.2) << i;
    EXPECT_NEAR(spans[i].second, truth[i].second, 0.3) << i;
  }
}

TEST_F(VadModel, HearsNothingInSilenceNoiseAndTones) {
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
    EXPECT_EQ(spans_of(call_well({"listen", "vad", "--wav", file("a.wav")}).out).size(), 0U) << name;
  }
}

TEST_F(VadModel, TellsSpeechFromNoise) {
  const std::vector<double> clean = samples_of(kPhrases);
  std::printf("| noise | area under the curve, per cent |\n|---|---|\n");
  for (const bool low : {false, true}) {
    for (const auto& [decibels, least] : {std::pair{20.0, 0.96}, {10.0, 0.95}, {5.0, 0.94}, {0.0, 0.92}}) {
      const double found = area_at(clean, decibels, low);
      std::printf("| %s, %g dB | %.2f |\n", low ? "low" : "white", decibels, 100 * found);
      EXPECT_GE(found, least) << decibels << " dB";
    }
  }
}

TEST_F(VadModel, TellsSpeechOfStrangersFromNoise) {
  RUNNEL_NEEDS_DATA();
  // Words of two speakers of the Free Spoken Digit Dataset, which the training does not use: 8 kHz, eight
  // words in a row with pauses of half a second.
  std::vector<fs::path> words;
  for (const auto& entry : fs::directory_iterator(runnel::test::data_folder() / "digits/eval_wav"))
    if (entry.path().filename().string().find("theo") != std::string::npos) words.push_back(entry.path());
  std::ranges::sort(words);
  ASSERT_GE(words.size(), 8U);
  std::vector<double> clean(8000);
  for (std::size_t i = 0; i < 8; ++i) {
    const std::vector<double> word = samples_of(words[i * (words.size() / 8)].string());
    clean.insert(clean.end(), word.begin(), word.end());
    clean.resize(clean.size() + 8000);
  }
  std::printf("| a stranger in noise | area under the curve, per cent |\n|---|---|\n");
  for (const auto& [decibels, least] : {std::pair{10.0, 0.88}, {5.0, 0.85}, {0.0, 0.83}}) {
    const double found = area_at(clean, decibels, true, 20);  // their own noise is some 30 dB below them
    std::printf("| %g dB | %.2f |\n", decibels, 100 * found);
    EXPECT_GE(found, least) << decibels << " dB";
  }
}

TEST_F(VadModel, CompilesForTheNpu) {
  for (const std::string accelerator : {"ethos-u55-128", "ethos-u85-256"}) {
    const std::string compiled = file(accelerator + ".rnl");
    call_well({"npu", "compile", bundled(), "-o", compiled, "--accelerator", accelerator, "--quiet"});
    call_well({"npu", "validate", compiled});
    call_well({"npu", "compare", bundled(), compiled});
  }
}

TEST_F(VadModel, IsListedWithItsCard) {
  for (const Json& model : json_lines(call_well({"models", "--json"}).out)) {
    if (model["name"] != "vad") continue;
    EXPECT_EQ(model["licence"], "Apache-2.0");
    EXPECT_EQ(model["labels"], Json({"other", "speech"}));
    return;
  }
  ADD_FAILURE() << "`runnel models` does not list vad";
}

}  // namespace
}  // namespace runnel::apps::test
