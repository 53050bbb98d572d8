// One recording, three ways in: `listen --wav`, `listen --device`, `batch`. The decisions are the same.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>

#include "tests/apps/support.h"
#include "tests/support/stitched.h"
#include "tests/support/wav.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;

class ThreeWays : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

  bool have_alsa() const { return call({"inspect", "alsa"}).exit_code == 0; }

  // Events of a device that gives these samples: alsa-lib's own plug-in "file" reads them from a file.
  std::vector<Json> through_device(const std::vector<std::int16_t>& samples,
                                   const std::vector<std::string>& more) const {
    write_text(file("in.raw"),
               std::string(reinterpret_cast<const char*>(samples.data()), samples.size() * 2));
    write_text(file("asound.conf"),
               "</usr/share/alsa/alsa.conf>\npcm.recorded { type file slave.pcm \"null\" file \"/dev/null\" "
               "infile \"" +
                   file("in.raw") + "\" format \"raw\" }\n");
    setenv("ALSA_CONFIG_PATH", file("asound.conf").c_str(), 1);
    std::vector<std::string> arguments = {
        "listen",   model(),      "--device",
        "recorded", "--duration", std::to_string(static_cast<double>(samples.size()) / 16000)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Output output = call_well(arguments);
    unsetenv("ALSA_CONFIG_PATH");
    const Json summary = expect_records(output.out);
    EXPECT_EQ(summary["lost_samples"], 0);
    EXPECT_NEAR(summary["audio_seconds"].get<double>(), static_cast<double>(samples.size()) / 16000, 0.0006);
    EXPECT_EQ(summary["source"], "recorded");
    return events_of(output.out);
  }

  // Compares all ways; gives the events.
  std::vector<Json> compare(const std::string& wav, const std::vector<std::string>& more) const {
    std::vector<std::string> listen = {"listen", model(), "--wav", wav};
    listen.insert(listen.end(), more.begin(), more.end());
    const Output output = call_well(listen);
    expect_records(output.out);
    const std::vector<Json> expected = events_of(output.out);
    for (const char* jobs : {"1", "2"}) {
      // Twice the same, so that two jobs have something to do.
      std::vector<std::string> batch = {"batch", model(), wav, wav, "-o", file("out.jsonl"), "--jobs", jobs};
      batch.insert(batch.end(), more.begin(), more.end());
      call_well(batch);
      std::vector<Json> twice = expected;
      twice.insert(twice.end(), expected.begin(), expected.end());
      const std::string text = read_text(file("out.jsonl"));
      expect_records(text);
      EXPECT_EQ(events_of(text), twice) << "batch with " << jobs << " jobs";
    }
    if (have_alsa()) {
      EXPECT_EQ(through_device(runnel::test::read_wav(wav).samples, more), expected) << "the device";
    } else {
      std::printf("SKIPPED: this build has no ALSA; the device was left out\n");
    }
    return expected;
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(ThreeWays, AGeneratedRecording) {
  // Not a whole number of frames or periods.
  write_wav(file("tones.wav"), tone_words(7.0321, 16000));
  EXPECT_GE(compare(file("tones.wav"), {"--decision", kEager}).size(), 5u);
}

TEST_F(ThreeWays, TheStitchedRecording) {
  RUNNEL_NEEDS_DATA();
  EXPECT_GE(compare((runnel::test::data_folder() / "digits/stitched_90s.wav").string(), {}).size(),
            std::size_t{runnel::test::kStitchedEvents});
}

}  // namespace
}  // namespace runnel::apps::test
