// Front ends on Cortex-M boards in QEMU give the bytes that this machine gives. Run by
// scripts/firmware_tests.sh, which builds the images.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "features/fbank/fbank.h"
#include "features/fbank/fbank_parameters.h"
#include "features/microfrontend/microfrontend.h"
#include "tests/features/cases.h"
#include "tests/features/streaming.h"
#include "tests/firmware/image.h"
#include "tests/support/data.h"
#include "tests/support/npy.h"
#include "tests/support/wav.h"

namespace runnel {
namespace {

using features::FbankOptions;
using namespace test;
using nlohmann::json;

// An image's frames from the samples, and its messages.
struct Outcome : ImageOutput {
  std::vector<std::byte> frames;
};
Outcome run_filter(const std::string& board, const std::string& image, const std::vector<std::byte>& samples,
                   const std::vector<std::string>& options) {
  const TemporaryFolder folder;
  const std::filesystem::path in = folder.path() / "in", out = folder.path() / "out";
  write_file(in, samples);
  std::vector<std::string> words = {in.string(), out.string()};
  words.insert(words.end(), options.begin(), options.end());
  Outcome outcome{run_image(board, image, words), {}};
  EXPECT_EQ(outcome.exit_code, 0) << board << ": " << outcome.said;
  if (outcome.exit_code == 0) outcome.frames = read_file(out);
  return outcome;
}

// Every option by name, as text that gives the same number again.
std::vector<std::string> as_words(const FbankOptions& options) {
  std::vector<std::string> words;
  for (const features::Parameter& parameter : features::parameters()) {
    Text text;
    append_value(text, parameter, options);
    words.push_back(std::string(parameter.name) + "=" + std::string(text.view()));
  }
  return words;
}

void compare_fbank(const char* board, const FbankOptions& options, const std::vector<float>& samples) {
  const Outcome run = run_filter(board, "features_image", bytes_of(samples), as_words(options));
  EXPECT_EQ(run.frames, bytes_of(test::run_whole(options, best_isa(), samples))) << board << ": " << run.said;
}

TEST(Firmware, FloatFeaturesAreThoseOfThisMachine) {
  RUNNEL_NEEDS_IMAGES();
  const auto folder = test::data_folder() / "features";
  const json cases = json::parse(std::ifstream(folder / "cases.json"));
  // One of each group and kind, and every tenth of the rest.
  std::vector<std::string> seen;
  int number = 0, compared = 0;
  for (const json& one : cases) {
    const std::string group = one["group"].get<std::string>() + one["kind"].get<std::string>();
    const bool first = std::find(seen.begin(), seen.end(), group) == seen.end();
    if (first) seen.push_back(group);
    if (!first && ++number % 10 != 0) continue;
    SCOPED_TRACE("case " + one["id"].get<std::string>() + " " + group);
    const FbankOptions options = test::fbank_options_of(one);
    const std::vector<float> samples = test::read_wav(folder / one["wav"].get<std::string>()).floats();
    for (const char* board : {kM4F, kM55}) compare_fbank(board, options, samples);
    ++compared;
  }
  EXPECT_GE(compared, 20);
}

// Compile-time tables in flash memory: the same frames, memory of exactly the size known at compile time, and
// no computation before the first frame.
TEST(Firmware, FloatFeaturesWithConstantTablesAreReadyAtOnce) {
  RUNNEL_NEEDS_IMAGES();
  FbankOptions options = *features::preset("kaldi");
  options.num_mel_bins = 40;
  const std::vector<float> samples =
      test::read_wav(test::data_folder() / "features/wav/espdl_test_16k.wav").floats();
  const auto expected = bytes_of(test::run_whole(options, best_isa(), samples));
  for (const char* board : {kM3, kM4F, kM55}) {
    const Outcome run = run_filter(board, "features_image", bytes_of(samples), {"tables=constant"});
    EXPECT_EQ(run.frames, expected) << board << ": " << run.said;
    EXPECT_EQ(run.number("bytes"), static_cast<long>(features::Fbank::state_bytes_of(options))) << board;
    EXPECT_GT(run.number("instructions_to_prepare"), 0);
    EXPECT_LT(run.number("instructions_to_prepare"), 20'000) << board << ": 0.2 ms at 100 MHz";
    std::printf("%s: %ld instructions to prepare, %ld bytes\n", board, run.number("instructions_to_prepare"),
                run.number("bytes"));
  }
}

TEST(Firmware, FloatFeaturesNeedNoFloatingPointUnit) {
  RUNNEL_NEEDS_IMAGES();
  FbankOptions options = *features::preset("kaldi");
  options.num_mel_bins = 40;
  const std::vector<float> samples =
      test::read_wav(test::data_folder() / "features/wav/espdl_test_16k.wav").floats();
  compare_fbank(kM3, options, samples);
}

// Numbers so small that a unit that flushes them to zero would show.
TEST(Firmware, SmallNumbersAreNotFlushed) {
  RUNNEL_NEEDS_IMAGES();
  FbankOptions options = *features::preset("kaldi");
  options.use_log_fbank = false;
  options.use_power = false;
  options.preemphasis_coefficient = 0;
  options.remove_dc_offset = false;
  std::vector<float> samples(1600);
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] = std::ldexp(std::sin(0.3F * static_cast<float>(i)), -76);
  const std::vector<float> expected = test::run_whole(options, best_isa(), samples);
  EXPECT_GT(*std::max_element(expected.begin(), expected.end()), 0.0F);
  for (const char* board : {kM4F, kM55}) compare_fbank(board, options, samples);
}

TEST(Firmware, FixedPointFeaturesAreThoseOfTheLibrary) {
  RUNNEL_NEEDS_IMAGES();
  const auto folder = test::data_folder() / "features";
  const json cases = json::parse(std::ifstream(folder / "microfrontend.json"));
  int number = 0;
  for (const json& one : cases) {
    if (number++ % 5 != 0) continue;
    SCOPED_TRACE(one["file"].get<std::string>());
    const test::MicrofrontendCase what = test::microfrontend_case_of(one);
    const std::vector<std::int16_t> samples = test::read_wav(folder / one["wav"].get<std::string>()).samples;
    const auto expected =
        bytes_of(test::read_npy(folder / one["file"].get<std::string>()).as<std::uint16_t>());
    for (const char* board : {kM3, kM4F, kM55}) {
      const Outcome run = run_filter(board, "microfrontend_image", bytes_of(samples),
                                     {std::string("preset=") + what.preset,
                                      std::string("enable_pcan=") + (what.pcan ? "true" : "false")});
      EXPECT_EQ(run.frames, expected) << board << ": " << run.said;
      if (std::string(what.preset) != "micro-wake-word" || !what.pcan) continue;
      // The same with compile-time tables.
      EXPECT_EQ(run_filter(board, "microfrontend_image", bytes_of(samples), {"tables=constant"}).frames,
                expected)
          << board;
    }
  }
}

// Instructions are counted, not cycles; the same in every run. The limits are a little above what it takes.
TEST(Firmware, InstructionsPerFrame) {
  RUNNEL_NEEDS_IMAGES();
  const test::Wav wav = test::read_wav(test::data_folder() / "features/wav/espdl_test_16k.wav");
  struct Row {
    const char *board, *image, *what;
    std::vector<std::string> options;
    long at_most;
  };
  const std::vector<Row> rows = {
      {kM4F, "features_image", "fbank-40", {"preset=kaldi", "num_mel_bins=40"}, 42'000},
      {kM55, "features_image", "fbank-40", {"preset=kaldi", "num_mel_bins=40"}, 42'000},
      {kM4F, "features_image", "MFCC-13", {"preset=kaldi-mfcc"}, 64'000},
      {kM3, "microfrontend_image", "microfrontend-40", {"preset=micro-wake-word"}, 70'000},
      {kM4F, "microfrontend_image", "microfrontend-40", {"preset=micro-wake-word"}, 70'000},
      {kM55, "microfrontend_image", "microfrontend-40", {"preset=micro-wake-word"}, 70'000},
  };
  for (const Row& row : rows) {
    const bool fixed = std::string(row.image) == "microfrontend_image";
    const Outcome run =
        run_filter(row.board, row.image, fixed ? bytes_of(wav.samples) : bytes_of(wav.floats()), row.options);
    const long frame = run.number("instructions_per_frame"), prepare = run.number("instructions_to_prepare"),
               bytes = run.number("bytes");
    std::printf("| %s | %s | %ld | %.2f | %.1f | %ld |\n", row.what, row.board, frame,
                static_cast<double>(frame) / 1e4, static_cast<double>(prepare) / 1e6, bytes);
    EXPECT_GT(frame, 1000) << row.what;
    EXPECT_LE(frame, row.at_most) << row.what << " on " << row.board;
  }
}

}  // namespace
}  // namespace runnel
