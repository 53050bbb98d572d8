// The bundled noise filter by its name: `runnel run denoise in=... out=...` takes noise out of speech and
// leaves speech, with the same bits for any blocks; it streams exactly and compiles for the Ethos-U. How good
// it is beside others: docs/accuracy.md. commands.wav was made by espeak-ng.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <utility>
#include <vector>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;

const std::string kPhrases = RUNNEL_SOURCE_FOLDER "/tests/models/commands.wav";
constexpr std::size_t kHop = 160;
// Decibels that the model gains at least at 10, 5 and 0 dB, and has at least on clean speech.
constexpr double kGain[] = {4.5, 5.5, 6.5}, kClean = 15;

// Between -1 and 1, the same everywhere; `low`: darker, as in a vehicle.
std::vector<double> noise_of(std::size_t count, bool low) {
  std::uint64_t state = 1;
  double last = 0;
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const double white = static_cast<double>(state >> 40U) / (1U << 23U) - 1;
    last = low ? 0.95 * last + 0.3 * white : white;
    out.push_back(last);
  }
  return out;
}

double power(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return sum / static_cast<double>(x.size());
}

// J. Le Roux et al., SDR - half-baked or well done?, 2019; in decibels, over the samples of both.
double si_sdr(const std::vector<double>& clean, const std::vector<double>& found) {
  const std::size_t count = std::min(clean.size(), found.size());
  double both = 0, own = 0, rest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    both += clean[i] * found[i];
    own += clean[i] * clean[i];
  }
  const double scale = both / own;
  for (std::size_t i = 0; i < count; ++i) rest += std::pow(found[i] - scale * clean[i], 2);
  return 10 * std::log10(scale * scale * own / rest);
}

class DenoiseModel : public testing::Test {
 protected:
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  static std::string bundled() {
    return (fs::path(runnel::test::program()).parent_path() / "models/denoise/denoise.rnl").string();
  }
  static std::vector<double> samples_of(const std::string& path) {
    const std::vector<float> floats = runnel::test::read_wav(path).floats();
    return {floats.begin(), floats.end()};
  }
  static std::vector<std::int16_t> integers(const std::vector<double>& samples) {
    std::vector<std::int16_t> out;
    for (const double s : samples)
      out.push_back(static_cast<std::int16_t>(std::clamp(std::lround(s * 32768), -32768L, 32767L)));
    return out;
  }
  // The clean phrases at half their level, and the same in noise.
  static std::pair<std::vector<double>, std::vector<double>> mixture(double decibels, bool low) {
    std::vector<double> clean = samples_of(kPhrases);
    for (double& s : clean) s *= 0.5;
    std::vector<double> mixed = noise_of(clean.size(), low);
    const double gain = std::sqrt(power(clean) / power(mixed) * std::pow(10, -decibels / 10));
    for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] = clean[i] + gain * mixed[i];
    return {clean, mixed};
  }
  [[nodiscard]] std::vector<double> cleaned(const std::vector<double>& samples) const {
    write_wav(file("in.wav"), integers(samples));
    call_well({"run", "denoise", "in=" + file("in.wav"), "out=" + file("out.wav")});
    return samples_of(file("out.wav"));
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(DenoiseModel, StreamsExactlyWithoutLookAhead) {
  const Json last = json_lines(call_well({"check", "denoise"}).out).back();
  EXPECT_EQ(last["exact"], true);
  EXPECT_EQ(last["streamed"], true);
  EXPECT_EQ(last["lookahead_frames"], 0.0);
}

TEST_F(DenoiseModel, TakesNoiseOutOfSpeech) {
  std::printf("| noise | before, dB | after, dB |\n|---|---|---|\n");
  for (const bool low : {false, true}) {
    for (const auto& [decibels, gain] : {std::pair{10.0, kGain[0]}, {5.0, kGain[1]}, {0.0, kGain[2]}}) {
      const auto [clean, mixed] = mixture(decibels, low);
      const double before = si_sdr(clean, mixed), after = si_sdr(clean, cleaned(mixed));
      std::printf("| %s | %.2f | %.2f |\n", low ? "low" : "white", before, after);
      EXPECT_GE(after, before + gain) << (low ? "low" : "white") << " noise, " << decibels << " dB";
    }
  }
}

TEST_F(DenoiseModel, LeavesCleanSpeech) {
  std::vector<double> clean = samples_of(kPhrases);
  for (double& s : clean) s *= 0.5;
  const std::vector<double> found = cleaned(clean);
  // Sample n is sample n, up to the last whole hop.
  EXPECT_EQ(found.size(), clean.size() / kHop * kHop);
  EXPECT_GE(si_sdr(clean, found), kClean);
}

TEST_F(DenoiseModel, GivesTheSameBytesForBlocksOfAnySize) {
  const auto [clean, mixed] = mixture(5, true);
  EXPECT_FALSE(cleaned(mixed).empty());
  const std::string expected = read_text(file("out.wav"));
  for (const char* tick : {"1", "77", "160", "100000"}) {
    call_well({"run", "denoise", "in=" + file("in.wav"), "out=" + file("again.wav"), "--tick", tick});
    EXPECT_EQ(read_text(file("again.wav")), expected) << "tick " << tick;
  }
  // The graph, written out.
  const std::string settings = " n_fft=320 hop_length=160 window_type=sqrt_hann pad_mode=zero";
  call_well({"run", "wav path='" + file("in.wav") + "' ! stft" + settings +
                        " ! log_power ! infer model=denoise ! mask ! istft" + settings + " ! wav path='" +
                        file("graph.wav") + "'"});
  EXPECT_EQ(read_text(file("graph.wav")), expected);
}

TEST_F(DenoiseModel, CleansALiveStreamAsItCleansTheRecording) {
  const auto [clean, mixed] = mixture(5, true);
  const std::vector<double> expected = cleaned(mixed);
  const std::vector<std::int16_t> samples = integers(mixed);
  std::ofstream(file("in.s16"), std::ios::binary)
      .write(reinterpret_cast<const char*>(samples.data()),
             static_cast<std::streamsize>(samples.size() * sizeof(samples[0])));
  // Through a pipe, as from a program that records.
  const std::string line = R"(cat "$1" | "$0" run denoise in="stdin format=s16" out="$2")";
  const auto output = runnel::test::run_program(
      {"/bin/sh", "-c", line, runnel::test::program(), file("in.s16"), file("live.wav")});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_EQ(samples_of(file("live.wav")), expected);
}

TEST_F(DenoiseModel, TakesSoundOfOtherFormats) {
  std::vector<std::int16_t> stereo;
  for (int i = 0; i < 2 * 44100; ++i) stereo.push_back(static_cast<std::int16_t>(i * 77 % 8000 - 4000));
  write_wav(file("stereo.wav"), stereo, 44100, 2);
  call_well({"run", "denoise", "in=" + file("stereo.wav"), "out=" + file("out.wav")});
  EXPECT_EQ(runnel::test::read_wav(file("out.wav")).rate, 16000);
  EXPECT_NEAR(static_cast<double>(runnel::test::read_wav(file("out.wav")).samples.size()), 16000, kHop);
}

TEST_F(DenoiseModel, SaysWhatIsMissing) {
  const std::string in = "in=" + kPhrases, out = "out=" + file("x.wav");
  refusal({"run", "denoise", in}, "denoise: out= is missing");
  refusal({"run", "denoise", out}, "denoise: in= is missing");
  refusal({"run", "denoise", in, out, in}, "given twice");
  refusal({"run", "denoise", "in=", out}, "nothing after the sign");
  refusal({"run", "denoise", in, "to=x.wav"}, "to=x.wav: expected in=RECORDING or out=RECORDING");
  refusal({"run", "wav path=a.wav ! null", in, out}, "a graph has its own source and sinks");
  refusal({"run", "denoise", in, out, "--source", "stdin"}, "in= is the source");
  refusal({"run", "denois", in, out}, "denoise");
  EXPECT_FALSE(fs::exists(file("x.wav")));
}

TEST_F(DenoiseModel, CompilesForTheNpu) {
  for (const std::string accelerator : {"ethos-u55-128", "ethos-u85-256"}) {
    const std::string compiled = file(accelerator + ".rnl");
    call_well({"npu", "compile", bundled(), "-o", compiled, "--accelerator", accelerator, "--quiet"});
    call_well({"npu", "validate", compiled});
    call_well({"npu", "compare", bundled(), compiled});
  }
}

TEST_F(DenoiseModel, IsListedWithItsCard) {
  for (const Json& model : json_lines(call_well({"models", "--json"}).out)) {
    if (model["name"] != "denoise") continue;
    EXPECT_EQ(model["licence"], "Apache-2.0");
    return;
  }
  ADD_FAILURE() << "`runnel models` does not list denoise";
}

}  // namespace
}  // namespace runnel::apps::test
