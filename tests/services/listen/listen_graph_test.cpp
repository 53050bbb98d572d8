// The text of the graph that `runnel listen` runs.
#include "services/listen/listen_graph.h"

#include <gtest/gtest.h>

namespace runnel::listen {
namespace {

const std::string kAround = "fbank ! infer model=m.rnl ! detect threshold=0.6";

std::string text_of(const ListenOptions& options) {
  const Result<std::string> text = graph_text(options, kAround);
  return text.ok() ? *text : "error";
}

TEST(ListenGraph, TakesADeviceAndWritesJsonByDefault) {
  const std::string text = text_of({});
  EXPECT_TRUE(
      text.starts_with(R"(alsa device="default" rate="16000" channels="1" period="10" buffer="200" )"))
      << text;
  EXPECT_TRUE(text.ends_with(" ! " + kAround + " ! jsonl")) << text;
}

// As builds without ALSA do it. Its thread cannot wait for room.
TEST(ListenGraph, TakesADeviceThroughPortAudio) {
  ListenOptions options;
  options.device = "ALSA: Mic";
  EXPECT_EQ(source_text(options, "portaudio"),
            R"(portaudio device="ALSA: Mic" rate="16000" channels="1" period="10" buffer="200" )"
            R"(overload="drop-newest" replug="0" duration="0")");
  options.overload = "skip-inference";
  EXPECT_NE(source_text(options, "portaudio").find(R"(overload="skip-inference")"), std::string::npos);
}

TEST(ListenGraph, TakesARecordingBeforeAllOtherSources) {
  ListenOptions options;
  options.wav = "a b.wav";
  options.from_stdin = true;
  options.tcp = "tcp:127.0.0.1:1";
  EXPECT_EQ(text_of(options), "wav path=\"a b.wav\" ! " + kAround + " ! jsonl");
  options.wav.clear();
  EXPECT_EQ(text_of(options), R"(stdin format="s16" rate="16000" channels="1" ! )" + kAround + " ! jsonl");
}

TEST(ListenGraph, ReplacesTheThresholdOfTheDecision) {
  ListenOptions options;
  options.from_stdin = true;
  options.threshold = 0.25;
  const std::string text = text_of(options);
  EXPECT_NE(text.find("0.25"), std::string::npos) << text;
  EXPECT_EQ(text.find("threshold=0.6"), std::string::npos) << text;
  const Result<std::string> none = graph_text(options, "fbank ! infer model=m.rnl ! argmax");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), Code::invalid_argument);
}

TEST(ListenGraph, LowersTheReleaseWithTheThreshold) {
  const std::string own = "fbank ! infer model=m.rnl ! detect threshold=0.9 release=0.85";
  const Result<std::string> lower = with_threshold(own, 0.25);
  ASSERT_TRUE(lower.ok());
  EXPECT_NE(lower->find("release=0.25"), std::string::npos) << *lower;
  const Result<std::string> higher = with_threshold(own, 0.95);
  ASSERT_TRUE(higher.ok());
  EXPECT_NE(higher->find("0.85"), std::string::npos) << *higher;
}

TEST(ListenGraph, GivesEventsANameWhereSeveralSinksHearOfThem) {
  ListenOptions options;
  options.from_stdin = true;
  options.no_json = true;
  options.sends = {"unix:/s"};
  options.record = "folder";
  const std::string text = text_of(options);
  EXPECT_NE(text.find(R"( ! history seconds="11" ! fbank)"), std::string::npos) << text;
  EXPECT_TRUE(
      text.ends_with(" name=events ! null\nevents. ! send to=\"unix:/s\"\n"
                     "events. ! record folder=\"folder\" before=\"1\" after=\"1\""))
      << text;
}

}  // namespace
}  // namespace runnel::listen
