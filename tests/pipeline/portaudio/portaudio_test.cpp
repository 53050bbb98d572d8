// The nodes portaudio with a library of the test: nothing is lost that is not counted, and every sample that
// comes is the one of its index.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/host/live/capture_devices.h"
#include "pipeline/nodes/host/live/live_sink.h"
#include "pipeline/nodes/host/live/live_source.h"
#include "tests/pipeline/portaudio/fake_portaudio.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

class PortAudioNodes : public testing::Test {
 protected:
  void SetUp() override { fake() = FakePortAudio(); }
  void TearDown() override {
    EXPECT_EQ(fake().open_streams, 0) << "every stream is closed";
    EXPECT_EQ(fake().initialised, 0) << "and the library is left";
  }
  FakeDevice& plug_in(FakeDevice device = {}) { return fake().devices.emplace_back(std::move(device)); }
  static GraphOptions options(std::int64_t tick = 256) {
    GraphOptions result;
    result.nodes = test_nodes();
    result.tick = tick;
    return result;
  }
  static CaptureFacts facts(const Graph& graph) {
    return dynamic_cast<const LiveSource&>(*graph.stage(0).node).capture_facts();
  }
  static std::string note(const Graph& graph) { return std::string(graph.stage(0).node->note().view()); }
  // Read and lost samples are all of them.
  static void expect_accounted(const Graph& graph, std::int64_t produced) {
    std::int64_t lost = 0;
    for (const Gap& gap : Keep::gaps) lost += gap.lost;
    EXPECT_EQ(graph.executor().lost(), lost);
    EXPECT_EQ(graph.executor().samples() + lost, produced);
    ASSERT_EQ(static_cast<std::int64_t>(Keep::indices.size()), graph.executor().samples());
    const int channels = Keep::format.channels;
    for (std::size_t i = 0; i < Keep::indices.size(); ++i) {
      for (int channel = 0; channel < channels; ++channel)
        ASSERT_EQ(Keep::values[i * static_cast<std::size_t>(channels) + static_cast<std::size_t>(channel)],
                  fake_sample(Keep::indices[i], channel))
            << "sample " << Keep::indices[i] << ", the " << i << "th that came";
    }
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(PortAudioNodes, GiveEverySample) {
  plug_in();
  for (const std::int64_t tick : {7, 160, 4096}) {
    for (const std::string period : {"1", "10", "33"}) {
      fake().position = 0;
      const auto graph = run_graph("portaudio duration=1.03 period=" + period + " ! keep", options(tick));
      expect_accounted(*graph, 16480);
      EXPECT_EQ(graph->executor().lost(), 0) << tick << ' ' << period;
      EXPECT_EQ(note(*graph), "");
    }
  }
}

TEST_F(PortAudioNodes, KnowDevicesByEitherName) {
  plug_in({.name = "Speaker", .input_channels = 0, .output_channels = 2});
  plug_in({.name = "Two", .input_channels = 2});
  for (const std::string name : {"default", "Two", "Fake API: Two"}) {
    fake().position = 0;
    const auto graph = run_graph("portaudio duration=0.1 channels=8 device='" + name + "' ! keep", options());
    EXPECT_EQ(Keep::format.channels, 2);
    EXPECT_EQ(Keep::format.source, name);
    expect_accounted(*graph, 1600);
  }
  EXPECT_NE(failure_of("portaudio device=nowhere ! null", options())
                .find("portaudio: device nowhere: cannot open: PortAudio lists no such device"),
            std::string::npos);
  EXPECT_NE(failure_of("portaudio device=Speaker ! null", options())
                .find("device Speaker: gives 0 channels, expected 1"),
            std::string::npos);
}

TEST_F(PortAudioNodes, TakeTheNearestRate) {
  const struct {
    double own;
    std::vector<double> rates;
    double reported;
    std::int32_t expected;
  } cases[] = {{44100, {}, 0, 44100},
               {48000, {8000, 22050, 96000}, 0, 22050},
               {48000, {16000}, 0, 16000},
               {12345, {}, 0, 12345},         // none that anybody would guess
               {44100, {}, 44099.7, 44100}};  // what a clock really does
  for (const auto& one : cases) {
    fake() = FakePortAudio();
    plug_in({.rate = one.own,
             .rates = one.rates,
             .reported_rate = one.reported,
             .overflow_at = 4000,
             .overflow = 777});
    const auto graph = run_graph("portaudio rate=16000 duration=1 period=7 ! keep", options());
    EXPECT_EQ(Keep::format.clock.sample_rate, one.expected);
    // A whole number of samples is lost at any rate.
    expect_accounted(*graph, one.expected);
    EXPECT_EQ(facts(*graph).device_lost, 777) << one.own;
  }
}

TEST_F(PortAudioNodes, CountAnOverflowAsAGap) {
  for (const bool stamps : {true, false}) {
    for (const std::int64_t lost : {1, 160, 12345}) {
      fake() = FakePortAudio();
      plug_in({.overflow_at = 8000, .overflow = lost, .stamps = stamps});
      const auto graph = run_graph("portaudio duration=2 ! keep", options());
      expect_accounted(*graph, 32000);
      ASSERT_EQ(Keep::gaps.size(), 1U);
      EXPECT_EQ(facts(*graph).device_lost, lost);
      EXPECT_EQ(facts(*graph).overruns, 1);
      EXPECT_EQ(facts(*graph).overload_lost, 0);
      EXPECT_NE(note(*graph).find("device default lost samples 1 time"), std::string::npos) << note(*graph);
    }
  }
}

TEST_F(PortAudioNodes, NoticeThatTheMachineSlept) {
  plug_in({.sleep_at = 8000, .sleep = 9001});
  const auto graph = run_graph("portaudio duration=2 ! keep", options());
  expect_accounted(*graph, 32000);
  EXPECT_EQ(facts(*graph).device_lost, 9001);
}

TEST_F(PortAudioNodes, AnUnpluggedDeviceEndsTheStream) {
  plug_in({.unplug_at = 4000});
  const auto graph = run_graph("portaudio ! keep", options());
  expect_accounted(*graph, 4000);
  EXPECT_EQ(facts(*graph).unplugs, 1);
  EXPECT_NE(note(*graph).find("device default was unplugged"), std::string::npos) << note(*graph);
}

TEST_F(PortAudioNodes, ADeviceThatIsPluggedInAgainGoesOn) {
  plug_in({.unplug_at = 4000, .back_at = 13000});
  const auto graph = run_graph("portaudio duration=2 replug=60 ! keep", options());
  expect_accounted(*graph, 32000);
  EXPECT_EQ(Keep::gaps.size(), 1U);
  EXPECT_EQ(facts(*graph).replugs, 1);
  EXPECT_GE(graph->executor().lost(), 9000);
}

TEST_F(PortAudioNodes, ADeviceThatNeverComesBackEndsTheStream) {
  plug_in({.unplug_at = 4000});
  const auto graph = run_graph("portaudio replug=0.1 ! keep", options());
  expect_accounted(*graph, 4000);
  EXPECT_EQ(facts(*graph).replugs, 0);
}

TEST_F(PortAudioNodes, ADeviceComesBackAsItWas) {
  FakeDevice& device = plug_in({.unplug_at = 4000, .back_at = 5000});
  auto graph = Graph::build("portaudio replug=60 ! keep", options());
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  device.reported_rate = 48000;
  const std::string text((*graph)->run().text());
  EXPECT_NE(text.find("device default came back with 48000 Hz, 1 channels: expected 16000 Hz"),
            std::string::npos)
      << text;
}

TEST_F(PortAudioNodes, DropWhatTheQueueCannotHoldAndCountIt) {
  for (const std::string overload : {"drop-oldest", "drop-newest", "skip-inference"}) {
    fake() = FakePortAudio();
    plug_in({.unplug_at = 16000, .blocks = 25});
    const auto graph = run_graph("portaudio queue=100 overload=" + overload + " ! keep", options());
    expect_accounted(*graph, 16000);
    // Of the first 25 blocks, which come at once, 10 find room.
    EXPECT_EQ(facts(*graph).overload_lost, graph->executor().lost()) << overload;
    EXPECT_GE(facts(*graph).overload_lost, 2400);
    EXPECT_EQ(facts(*graph).device_lost, 0);
    EXPECT_EQ(Keep::indices.front(), overload == "drop-oldest" ? 2400 : 0);
    EXPECT_NE(note(*graph).find(" samples were dropped (overload=" + overload), std::string::npos);
  }
}

TEST_F(PortAudioNodes, StopWhenTold) {
  plug_in();
  std::atomic<bool> stop = false;
  GraphOptions with_stop = options();
  with_stop.stop = &stop;
  auto graph = Graph::build("portaudio ! keep", with_stop);
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  bool done = false;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE((*graph)->step(done).ok());
  EXPECT_FALSE(done);
  stop = true;
  ASSERT_TRUE((*graph)->run().ok());
  expect_accounted(**graph, (*graph)->executor().samples());
  EXPECT_EQ(facts(**graph).unplugs, 0);
}

TEST_F(PortAudioNodes, AreListed) {
  plug_in({.name = "Speaker", .input_channels = 0, .output_channels = 2});
  plug_in({.name = "Four", .input_channels = 4, .rate = 48000});
  const auto all = capture_devices({});
  ASSERT_TRUE(all.ok()) << all.status().text();
  const auto found = std::find_if(all->begin(), all->end(),
                                  [](const CaptureDevice& one) { return one.node == "portaudio"; });
  ASSERT_NE(found, all->end());
  EXPECT_EQ(found->name, "Fake API: Four");
  EXPECT_EQ(found->most_channels, 4);
  EXPECT_EQ(found->most_rate, 48000);
  EXPECT_EQ(found->unavailable, "");
  EXPECT_TRUE(std::none_of(all->begin(), all->end(), [](const CaptureDevice& one) {
    return one.name.find("Speaker") != std::string::npos;
  }));
  const auto one = capture_devices({"Four"});
  ASSERT_TRUE(one.ok()) << one.status().text();
  EXPECT_EQ(std::count_if(one->begin(), one->end(),
                          [](const CaptureDevice& each) { return each.node == "portaudio"; }),
            1);
}

TEST_F(PortAudioNodes, PlayEverySample) {
  const std::vector<std::int16_t> sound = make_samples(16000);
  const std::string wav = folder_.path() / "a.wav";
  write_recording(wav, sound);
  plug_in({.name = "Speaker", .input_channels = 0, .output_channels = 2, .underflow_every = 10});
  const auto graph = run_graph("wav path=" + wav + " ! portaudio period=5", options());
  ASSERT_EQ(fake().played.size(), sound.size());
  for (std::size_t i = 0; i < sound.size(); ++i)
    ASSERT_EQ(fake().played[i], static_cast<float>(sound[i]) / 32768) << i;
  EXPECT_TRUE(fake().finished) << "what was written is played to its end";
  const auto& sink = dynamic_cast<const LiveSink&>(*graph->stage(1).node);
  EXPECT_EQ(sink.underruns(), 6) << "of 63 blocks";
}

TEST_F(PortAudioNodes, SayWhatASpeakerCannotPlay) {
  const std::string wav = folder_.path() / "a.wav";
  write_recording(wav, make_samples(16000));
  const std::string text = "wav path=" + wav + " ! portaudio device=";
  plug_in({.name = "Slow", .input_channels = 0, .output_channels = 2, .rate = 8000});
  EXPECT_NE(
      failure_of(text + "Slow", options()).find("portaudio: device Slow: cannot open: Invalid sample rate"),
      std::string::npos);
  plug_in({.name = "Loose", .input_channels = 0, .output_channels = 2, .unplug_at = 5000});
  EXPECT_NE(failure_of(text + "Loose", options()).find("device Loose: cannot play: Unanticipated host error"),
            std::string::npos);
  plug_in({.name = "Deaf"});
  EXPECT_NE(failure_of(text + "Deaf", options()).find("device Deaf: plays 0 channels, expected 1"),
            std::string::npos);
}

}  // namespace
}  // namespace runnel::pipeline::test
