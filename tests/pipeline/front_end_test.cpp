#include "pipeline/host/front_end.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/host/npy.h"
#include "features/fbank/fbank_parameters.h"
#include "tests/pipeline/support.h"

namespace runnel::pipeline {
namespace {

namespace fs = std::filesystem;

TEST(FrontEnd, ResolvesPresetsCompletely) {
  const auto found = resolve_front_end("fbank preset=kaldi num_mel_bins=40 low_freq=20");
  ASSERT_TRUE(found.ok()) << found.status().text();
  EXPECT_NE(found->text.find("num_mel_bins=40"), std::string::npos);
  EXPECT_NE(found->text.find("window_type=povey"), std::string::npos) << found->text;
  EXPECT_NE(found->text.find("preemphasis_coefficient=0.97 "), std::string::npos) << found->text;
  EXPECT_EQ(found->frames.channels, 40);
  EXPECT_EQ(found->frames.dtype, DType::float32);
  EXPECT_EQ(found->sample_rate, 16000);
}

// Every preset says the same in full, and the full text is its own full text.
TEST(FrontEnd, EveryPresetSurvivesBeingWrittenOut) {
  for (const features::Preset& preset : features::presets()) {
    const std::string text = "fbank preset=" + std::string(preset.name);
    const auto once = resolve_front_end(text);
    ASSERT_TRUE(once.ok()) << text << ": " << once.status().text();
    const auto twice = resolve_front_end(once->text);
    ASSERT_TRUE(twice.ok()) << once->text << ": " << twice.status().text();
    EXPECT_EQ(once->text, twice->text);
    EXPECT_EQ(once->frames.clock, twice->frames.clock);
    EXPECT_EQ(once->frames.channels, twice->frames.channels);
  }
}

TEST(FrontEnd, NamesUnknownParametersAndRatesThatDoNotFit) {
  const auto unknown = resolve_front_end("fbank presett=kaldi");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.status().text().find("presett"), std::string_view::npos) << unknown.status().text();
  const auto rate = resolve_front_end("fbank preset=kaldi", 8000);
  ASSERT_FALSE(rate.ok());
  EXPECT_EQ(rate.status().code(), Code::mismatch);
  EXPECT_NE(rate.status().text().find("8000"), std::string_view::npos) << rate.status().text();
  EXPECT_NE(rate.status().text().find("16000"), std::string_view::npos) << rate.status().text();
  EXPECT_FALSE(resolve_front_end("").ok());
}

TEST(FrontEnd, FrameSizesThatDifferNameBothNumbers) {
  Format frames;
  frames.channels = 40;
  EXPECT_TRUE(check_frame_size(frames, 40, "the input").ok());
  const Status status = check_frame_size(frames, 80, "the input \"x\"");
  EXPECT_EQ(status.code(), Code::mismatch);
  EXPECT_NE(status.text().find("40"), std::string_view::npos);
  EXPECT_NE(status.text().find("80"), std::string_view::npos);
}

// The same frames as the graph writes to a file.
TEST(FrontEnd, RunsARecordingAsTheGraphDoes) {
  const fs::path folder = fs::path(testing::TempDir()) / "front_end_test";
  fs::create_directories(folder);
  const fs::path wav = folder / "tone.wav", npy = folder / "frames.npy";
  test::write_recording(wav, test::make_samples(8000));
  const std::string text = "fbank preset=kaldi num_mel_bins=23";
  const auto found = run_front_end(text, wav);
  ASSERT_TRUE(found.ok()) << found.status().text();
  auto graph = Graph::build("wav path=" + wav.string() + " ! " + text + " ! npy path=" + npy.string(), {});
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  ASSERT_TRUE((*graph)->run().ok());
  const auto expected = runnel::read_npy(npy);
  ASSERT_TRUE(expected.ok());
  EXPECT_EQ(found->frames, expected->shape[0]);
  EXPECT_GT(found->frames, 40);
  EXPECT_EQ(found->format.channels, 23);
  EXPECT_EQ(found->data, expected->data);
  // The full text gives the same bits.
  const auto full = resolve_front_end(text);
  ASSERT_TRUE(full.ok());
  const auto again = run_front_end(full->text, wav);
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ(again->data, found->data);
  EXPECT_FALSE(run_front_end(text, folder / "missing.wav").ok());
}

// What passes by a model is not among the values that it gets.
TEST(FrontEnd, LeavesOutWhatPassesByTheModel) {
  const fs::path folder = fs::path(testing::TempDir()) / "front_end_beside_test";
  fs::create_directories(folder);
  const fs::path wav = folder / "tone.wav";
  test::write_recording(wav, test::make_samples(4000));
  const std::string text = "stft n_fft=64 hop_length=32 ! log_power";
  const auto with = run_front_end(text, wav), without = run_front_end(text + " keep=false", wav);
  ASSERT_TRUE(with.ok()) << with.status().text();
  ASSERT_TRUE(without.ok()) << without.status().text();
  EXPECT_EQ(with->format.channels, 33);
  EXPECT_EQ(with->frames, without->frames);
  EXPECT_FALSE(with->data.empty());
  EXPECT_EQ(with->data, without->data);
  const auto resolved = resolve_front_end(text);
  ASSERT_TRUE(resolved.ok()) << resolved.status().text();
  EXPECT_EQ(resolved->frames.channels, 33);
  EXPECT_NE(resolved->text.find("keep=true"), std::string::npos) << resolved->text;
}

}  // namespace
}  // namespace runnel::pipeline
