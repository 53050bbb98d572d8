// Pipelines of gst-launch-1.0 with the element, and the node gst: the same lines as `listen --wav`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/bridges/gstreamer/own_gstreamer.h"
#include "tests/bridges/sound.h"
#include "tests/support/beside.h"
#include "tests/support/data.h"
#include "tests/support/stitched.h"
#include "tests/support/wav.h"

namespace runnel::bridges::test {
namespace {

namespace fs = std::filesystem;
using runnel::test::Output;
using testing::HasSubstr;

#define NEEDS_GSTREAMER()                                                                            \
  do {                                                                                               \
    if (std::string(RUNNEL_GST_LAUNCH).find('/') == std::string::npos)                               \
      GTEST_SKIP() << "SKIPPED: no gst-launch-1.0 (scripts/install.sh gstreamer)";                   \
    for (const std::string& plugin : missing_plugins())                                              \
      GTEST_SKIP() << "SKIPPED: GStreamer's plugin " << plugin << " (scripts/install.sh gstreamer)"; \
  } while (false)

// gst-launch-1.0 with a pipeline, whose words have no blanks in them.
Output launch(const std::string& pipeline, const std::vector<std::string>& options = {"-q"}) {
  std::vector<std::string> call = {RUNNEL_GST_LAUNCH};
  call.insert(call.end(), options.begin(), options.end());
  std::istringstream in(pipeline);
  for (std::string word; in >> word;) call.push_back(word);
  return runnel::test::run_program(call, 60);
}

std::string text_of(const fs::path& file) {
  const auto bytes = runnel::test::read_file(file);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The element with the model of digits, whose lines go to `lines`.
std::string hearing(const fs::path& lines, const std::string& more = "") {
  return "runnel name=r model=" + digits() + " " + more +
         " ! queue ! fakesink async=false r.text ! queue ! filesink async=false location=" + lines.string();
}

// What the node gst gives to the graph of the model.
Output run_gst(const std::string& pipeline, const std::string& more = "",
               const std::string& decision =
                   "detect smoothing_frames=25 threshold=0.93 release=0.56 refractory_frames=25 "
                   "ignore=silence,unknown") {
  return runnel::test::run_program(
      {runnel::test::program(), "run",
       "gst pipeline='" + pipeline + "' " + more +
           " ! fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600 ! infer model=" + digits() +
           " ! " + decision + " ! jsonl source=samples"});
}

std::string events_in(const std::string& output) {
  std::istringstream in(output);
  std::string lines;
  for (std::string line; std::getline(in, line);) {
    if (line.find("\"type\":\"event\"") != std::string::npos) lines += line + "\n";
  }
  return lines;
}

TEST(GstLaunch, FilesGiveTheLinesOfListen) {
  NEEDS_GSTREAMER();
  const runnel::test::TemporaryFolder folder;
  const fs::path wav = folder.path() / "tones.wav", lines = folder.path() / "lines.jsonl";
  write_wav(wav, tones(5), 16000);
  // The decision has blanks, so that the call is made word by word.
  const Output output = runnel::test::run_program({RUNNEL_GST_LAUNCH,
                                                   "-q",
                                                   "filesrc",
                                                   "location=" + wav.string(),
                                                   "!",
                                                   "wavparse",
                                                   "!",
                                                   "audioconvert",
                                                   "!",
                                                   "audioresample",
                                                   "!",
                                                   "runnel",
                                                   "name=r",
                                                   "model=" + digits(),
                                                   std::string("decision=") + kEager,
                                                   "!",
                                                   "queue",
                                                   "!",
                                                   "fakesink",
                                                   "async=false",
                                                   "r.text",
                                                   "!",
                                                   "queue",
                                                   "!",
                                                   "filesink",
                                                   "async=false",
                                                   "location=" + lines.string()});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const std::string expected = program_hears(wav, {"--decision", kEager});
  EXPECT_GE(std::count(expected.begin(), expected.end(), '\n'), 3);
  EXPECT_EQ(text_of(lines), expected);
  // The node with the same decision.
  EXPECT_EQ(events_in(run_gst("filesrc location=" + wav.string() + " ! decodebin", "", kEager).out),
            expected);
}

TEST(GstLaunch, TheStitchedRecordingAsAFileAndThroughOpus) {
  NEEDS_GSTREAMER();
  RUNNEL_NEEDS_DATA();
  const fs::path wav = runnel::test::data_folder() / "digits/stitched_90s.wav";
  const runnel::test::TemporaryFolder folder;
  const std::string expected = program_hears(wav);
  EXPECT_GE(std::count(expected.begin(), expected.end(), '\n'), runnel::test::kStitchedEvents);
  {
    const fs::path lines = folder.path() / "file.jsonl";
    const Output output = launch("filesrc location=" + wav.string() +
                                 " ! wavparse ! audioconvert ! audioresample ! " + hearing(lines));
    ASSERT_EQ(output.exit_code, 0) << output.err;
    EXPECT_EQ(text_of(lines), expected);
    EXPECT_EQ(events_in(run_gst("filesrc location=" + wav.string() + " ! decodebin").out), expected);
  }
  const fs::path opus = folder.path() / "sound.opus", decoded = folder.path() / "decoded.wav",
                 lines = folder.path() / "opus.jsonl";
  ASSERT_EQ(launch("filesrc location=" + wav.string() +
                   " ! wavparse ! audioconvert ! opusenc bitrate=64000 ! oggmux ! filesink location=" +
                   opus.string())
                .exit_code,
            0);
  // The decoder's samples, as a recording and through the element, in one run.
  const Output output = launch("filesrc location=" + opus.string() +
                               " ! oggdemux ! opusdec ! audioconvert ! audioresample ! "
                               "audio/x-raw,format=S16LE,rate=16000,channels=1 ! tee "
                               "name=t ! queue ! wavenc ! filesink async=false location=" +
                               decoded.string() + " t. ! queue ! " + hearing(lines));
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const std::string through_opus = program_hears(decoded);
  EXPECT_GE(std::count(through_opus.begin(), through_opus.end(), '\n'), runnel::test::kStitchedEvents);
  EXPECT_EQ(text_of(lines), through_opus);
  EXPECT_EQ(events_in(run_gst("filesrc location=" + decoded.string() + " ! decodebin").out), through_opus);
  // Straight from the Opus file; nothing rounds to 16 bits on the way, so that scores may differ.
  const Output straight =
      run_gst("filesrc location=" + opus.string() + " ! decodebin", "rate=16000 channels=1");
  EXPECT_EQ(straight.exit_code, 0) << straight.err;
  const std::string found = events_in(straight.out);
  EXPECT_GE(std::count(found.begin(), found.end(), '\n'), runnel::test::kStitchedEvents);
}

TEST(GstLaunch, MessagesCanBeSeenAndFailuresAreSentences) {
  NEEDS_GSTREAMER();
  const runnel::test::TemporaryFolder folder;
  const fs::path wav = folder.path() / "tones.wav";
  write_wav(wav, tones(2), 16000);
  const Output refused =
      launch("audiotestsrc num-buffers=5 ! audioconvert ! audioresample ! runnel model=dgits ! fakesink");
  EXPECT_THAT(refused.err, HasSubstr("did you mean 'digits'?"));
  EXPECT_NE(refused.exit_code, 0);
  const Output clip =
      runnel::test::run_program({RUNNEL_GST_LAUNCH, "-m", "filesrc", "location=" + wav.string(), "!",
                                 "wavparse", "!", "runnel", "decision=detect mode=clip", "!", "fakesink"});
  EXPECT_EQ(clip.exit_code, 0) << clip.err;
  EXPECT_THAT(clip.out, HasSubstr("runnel-event, label="));
}

TEST(GstLaunch, InspectKnowsPropertiesPadsAndLicence) {
  NEEDS_GSTREAMER();
  if (std::string(RUNNEL_GST_INSPECT).find('/') == std::string::npos)
    GTEST_SKIP() << "SKIPPED: no gst-inspect-1.0";
  const Output output = runnel::test::run_program({RUNNEL_GST_INSPECT, "runnel"});
  EXPECT_EQ(output.exit_code, 0);
  for (const char* part : {"Filter/Analyzer/Audio",
                           "Apache 2.0",
                           "SINK template: 'sink'",
                           "SRC template: 'src'",
                           "SRC template: 'text'",
                           "application/x-json",
                           "S16LE",
                           "model ",
                           "graph ",
                           "front-end ",
                           "decision ",
                           "threshold ",
                           "chunk ",
                           "on-gap ",
                           "tolerance ",
                           "any-rate ",
                           "source ",
                           "key-file ",
                           "post-messages ",
                           "delay ",
                           "events ",
                           "lost-samples "})
    EXPECT_THAT(output.out, HasSubstr(part));
}

TEST(GstNode, GivesTheSamplesOfTheFileInEveryFormat) {
  NEEDS_GSTREAMER();
  const runnel::test::TemporaryFolder folder;
  const fs::path wav = folder.path() / "tones.wav", out = folder.path() / "out.npy",
                 expected = folder.path() / "expected.npy";
  write_wav(wav, tones(1, 22050), 22050);
  const auto run = [](const std::string& graph) {
    return runnel::test::run_program({runnel::test::program(), "run", graph});
  };
  ASSERT_EQ(run("wav path=" + wav.string() + " ! npy path=" + expected.string()).exit_code, 0);
  for (const std::string format : {"S16LE", "S16BE", "S24LE", "S24_32LE", "S32LE", "F32LE", "F64LE"}) {
    const Output output =
        run("gst pipeline='filesrc location=" + wav.string() +
            " ! wavparse ! audioconvert ! audio/x-raw,format=" + format + "' ! npy path=" + out.string());
    ASSERT_EQ(output.exit_code, 0) << output.err;
    EXPECT_EQ(runnel::test::read_file(out), runnel::test::read_file(expected)) << format;
  }
}

TEST(GstNode, MissingBuffersAreGapsOfTheExactLength) {
  NEEDS_GSTREAMER();
  const runnel::test::TemporaryFolder folder;
  const fs::path out = folder.path() / "out.npy";
  // About a third of 1000 buffers are lost, wherever; the last ones cannot be missed by anybody.
  const Output output =
      runnel::test::run_program({runnel::test::program(), "run",
                                 "gst pipeline='audiotestsrc num-buffers=1000 samplesperbuffer=100 ! "
                                 "audio/x-raw,rate=16000,channels=1 ! identity "
                                 "drop-probability=0.3' ! npy path=" +
                                     out.string()});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const auto summary = nlohmann::json::parse(output.out.substr(output.out.rfind("{\"type\":\"summary\"")));
  const auto lost = summary["lost_samples"].get<std::int64_t>();
  EXPECT_GT(lost, 10000);
  EXPECT_EQ(lost % 100, 0);
  EXPECT_GT(summary["gaps"].get<int>(), 100);
}

TEST(GstNode, ErrorsOfThePipelineAreOneSentence) {
  NEEDS_GSTREAMER();
  const auto refused = [](const std::string& pipeline) {
    const Output output = runnel::test::run_program(
        {runnel::test::program(), "run", "gst pipeline='" + pipeline + "' ! wav path=/nowhere/x.wav"});
    EXPECT_EQ(output.exit_code, 1) << pipeline;
    EXPECT_EQ(std::count(output.err.begin(), output.err.end(), '\n'), 1) << output.err;
    return output.err;
  };
  EXPECT_THAT(refused("filesrc location=/no/such/file ! decodebin"),
              HasSubstr("filesrc0: Resource not found"));
  EXPECT_THAT(refused("filesrcc location=a ! decodebin"), HasSubstr("no element \"filesrcc\""));
  EXPECT_THAT(refused("audiotestsrc num-buffers=0"), HasSubstr("gave no sound"));
  EXPECT_THAT(refused("audiotestsrc !"), HasSubstr("syntax error"));
}

// SIGINT ends a pipeline that would go on, live or not: what waits is heard, the file is whole.
TEST(GstNode, AStopEndsPipelinesWithoutAnEnd) {
  NEEDS_GSTREAMER();
  for (const char* live : {"true", "false"}) {
    const runnel::test::TemporaryFolder folder;
    const fs::path wav = folder.path() / "heard.wav", part = folder.path() / "heard.wav.part";
    runnel::test::Beside running({runnel::test::program(), "run",
                                  std::string("gst pipeline='audiotestsrc is-live=") + live +
                                      "' rate=16000 channels=1 ! wav path=" + wav.string()},
                                 folder.path() / "out", folder.path() / "err");
    EXPECT_TRUE(runnel::test::soon([&] { return fs::exists(part) && fs::file_size(part) > 4096; }))
        << runnel::test::text_in(folder.path() / "err");
    running.signal(SIGINT);
    EXPECT_EQ(running.wait(), 0) << runnel::test::text_in(folder.path() / "err");
    EXPECT_GT(runnel::test::read_wav(wav).samples.size(), 1000U);
  }
}

TEST(GstNode, FailsLateWithTheSentenceAndWithoutAFile) {
  NEEDS_GSTREAMER();
  const runnel::test::TemporaryFolder folder;
  const Output output =
      runnel::test::run_program({runnel::test::program(), "run",
                                 "gst pipeline='audiotestsrc ! identity error-after=20' ! wav path=" +
                                     (folder.path() / "x.wav").string()});
  EXPECT_EQ(output.exit_code, 1);
  EXPECT_THAT(output.err, HasSubstr("identity0: "));
  EXPECT_FALSE(fs::exists(folder.path() / "x.wav"));
}

}  // namespace
}  // namespace runnel::bridges::test
