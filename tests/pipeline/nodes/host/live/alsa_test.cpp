#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>

#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

namespace fs = std::filesystem;

bool have_alsa() {
  for (const NodeType* type : host_nodes()) {
    if (type->name == "alsa") return true;
  }
  return false;
}

// Devices of alsa-lib's own plug-ins, in a configuration of our own.
class Alsa : public testing::Test {
 protected:
  void SetUp() override {
    if (!have_alsa()) GTEST_SKIP() << "SKIPPED: this build has no ALSA (RUNNEL_ALSA)";
    samples_ = make_samples(8000);
    const fs::path raw = folder_.path() / "in.raw", configuration = folder_.path() / "asound.conf";
    std::ofstream(raw, std::ios::binary)
        .write(reinterpret_cast<const char*>(samples_.data()),
               static_cast<std::streamsize>(samples_.size() * 2));
    std::ofstream(configuration)
        << "</usr/share/alsa/alsa.conf>\n"
        << "pcm.filecap { type file slave.pcm \"null\" file \"/dev/null\" infile \"" << raw.string()
        << "\" format \"raw\" }\n"
        << "pcm.quiet { type null }\n"
        << "pcm.speaker { type file slave.pcm \"null\" file \"" << played().string()
        << "\" format \"raw\" }\n"
        << "pcm.plugged { type plug slave { pcm \"filecap\" rate 16000 channels 1 format S16_LE } }\n";
    setenv("ALSA_CONFIG_PATH", configuration.c_str(), 1);
  }
  GraphOptions options(std::int64_t tick = 160) {
    GraphOptions result;
    result.nodes = test_nodes();
    result.tick = tick;
    return result;
  }
  [[nodiscard]] fs::path played() const { return folder_.path() / "played.raw"; }
  runnel::test::TemporaryFolder folder_;
  std::vector<std::int16_t> samples_;
};

TEST_F(Alsa, PlaysWhatItGets) {
  write_recording(folder_.path() / "a.wav", samples_);
  const auto graph = run_graph(
      "wav path=" + (folder_.path() / "a.wav").string() + " ! alsa device=speaker format=s16", options());
  const std::string heard = read_text(played()),
                    expected(reinterpret_cast<const char*>(samples_.data()), samples_.size() * 2);
  EXPECT_EQ(heard.size(), expected.size());
  EXPECT_TRUE(heard == expected);
  EXPECT_NE(
      failure_of("wav path=" + (folder_.path() / "a.wav").string() + " ! alsa device=nowhere", options())
          .find("alsa: device nowhere: cannot open: "),
      std::string::npos);
}

TEST_F(Alsa, GivesTheSamplesOfTheDevice) {
  for (const std::int64_t tick : {7, 160, 4096}) {
    const auto graph = run_graph("alsa device=filecap rate=16000 duration=500ms ! keep", options(tick));
    ASSERT_EQ(Keep::values.size(), 8000u);
    for (std::size_t i = 0; i < samples_.size(); ++i)
      ASSERT_EQ(Keep::values[i], static_cast<float>(samples_[i]) / 32768) << i;
    EXPECT_EQ(Keep::format.clock.sample_rate, 16000);
    EXPECT_EQ(Keep::format.source, "filecap");
    EXPECT_EQ(graph->executor().lost(), 0);
  }
}

TEST_F(Alsa, TakesTheChannelsAndRateItGets) {
  run_graph("alsa device=plugged rate=48000 channels=2 duration=0.1 ! keep", options());
  EXPECT_EQ(Keep::format.channels, 2);
  EXPECT_EQ(Keep::format.clock.sample_rate, 48000);
  EXPECT_EQ(Keep::indices.size(), 4800u);
}

TEST_F(Alsa, StopsWhenTold) {
  std::atomic<bool> stop = false;
  GraphOptions with_stop = options();
  with_stop.stop = &stop;
  auto graph = Graph::build("alsa device=quiet ! downmix ! keep", with_stop);
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  bool done = false;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE((*graph)->step(done).ok());
  EXPECT_FALSE(done);
  stop = true;
  EXPECT_TRUE((*graph)->run().ok());
  EXPECT_EQ(static_cast<std::int64_t>(Keep::indices.size()), (*graph)->executor().samples());
}

TEST_F(Alsa, NamesADeviceThatIsNotThere) {
  const std::string text = failure_of("alsa device=nowhere ! null", options());
  EXPECT_NE(text.find("alsa: device nowhere: cannot open: "), std::string::npos) << text;
}

}  // namespace
}  // namespace runnel::pipeline::test
