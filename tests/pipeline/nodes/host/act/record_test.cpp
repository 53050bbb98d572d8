#include "pipeline/nodes/host/act/record.h"

#include <gtest/gtest.h>
#include <sndfile.h>

#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

namespace fs = std::filesystem;

class RecordTest : public testing::Test {
 protected:
  void SetUp() override {
    Lossy::sample_rate = 16000;
    Lossy::losses.clear();
    for (const std::int16_t sample : make_samples(32000))
      Lossy::samples.push_back(static_cast<float>(sample) / 32768);
    Events::label = "yes";
    fs::create_directory(heard_);
  }
  void TearDown() override { Lossy::samples.clear(); }
  GraphOptions options(std::int64_t tick) {
    GraphOptions result;
    result.nodes = test_nodes();
    result.tick = tick;
    return result;
  }
  std::unique_ptr<Graph> record(const std::string& parameters, std::int64_t tick = 160,
                                const std::string& seconds = "1") {
    return run_graph("lossy ! history seconds=" + seconds + " ! events ! record folder=" + heard_.string() +
                         " " + parameters,
                     options(tick));
  }
  // The samples of a file are those of the recording from `first` on.
  void expect_samples(const std::string& name, std::int64_t first, std::int64_t count) {
    SF_INFO info{};
    SNDFILE* file = sf_open((heard_ / name).c_str(), SFM_READ, &info);
    ASSERT_NE(file, nullptr) << name;
    EXPECT_EQ(info.samplerate, 16000);
    EXPECT_EQ(info.frames, count) << name;
    std::vector<float> samples(static_cast<std::size_t>(info.frames));
    sf_readf_float(file, samples.data(), info.frames);
    sf_close(file);
    for (std::size_t i = 0; i < samples.size(); ++i)
      ASSERT_EQ(samples[i], Lossy::samples[static_cast<std::size_t>(first) + i]) << name << ", sample " << i;
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(heard_), fs::directory_iterator()));
  }

  runnel::test::TemporaryFolder folder_;
  fs::path heard_ = folder_.path() / "heard";
};

TEST_F(RecordTest, KeepsTheSoundAroundAnEvent) {
  Events::at = {8000, 9600};
  for (const std::int64_t tick : {7, 160, 4096}) {
    record("before=0.25 after=0.5", tick);
    EXPECT_EQ(files(), 2u);
    expect_samples("00000.500-yes.wav", 4000, 4000 + 800 + 8000);
    expect_samples("00000.600-yes.wav", 5600, 4000 + 800 + 8000);
    fs::remove_all(heard_);
    fs::create_directory(heard_);
  }
}

TEST_F(RecordTest, BeginsAndEndsWithTheSound) {
  Events::at = {1600, 30000};
  record("before=1 after=1 format=flac", 160, "2");
  expect_samples("00000.100-yes.flac", 0, 1600 + 800 + 16000);
  expect_samples("00001.875-yes.flac", 14000, 32000 - 14000);
}

TEST_F(RecordTest, GoesBackAsFarAsTheHistoryOnly) {
  Events::at = {16000};
  record("before=0.9 after=0", 160, "0.1");
  // At the decision, in the block that begins with sample 17120, 1600 samples and a block are kept.
  expect_samples("00001.000-yes.wav", 17280 - 1600 - 160, 0 + 16800 - (17280 - 1600 - 160));
}

TEST_F(RecordTest, EndsWhereSamplesWereLost) {
  Events::at = {8000};
  Lossy::losses = {{10000, 500}};
  record("before=0.1 after=1");
  expect_samples("00000.500-yes.wav", 6400, 10000 - 6400);
}

TEST_F(RecordTest, LeavesFilesAlone) {
  Events::at = {8000};
  Events::label = "../y s";
  record("before=0 after=0");
  record("before=0 after=0");
  EXPECT_EQ(files(), 2u);
  expect_samples("00000.500-___y_s.wav", 8000, 800);
  expect_samples("00000.500-___y_s-2.wav", 8000, 800);
}

// As after a kill: the run does not come to its end.
TEST_F(RecordTest, HasPartsUntilTheyAreComplete) {
  Events::at = {4000, 8000};
  auto graph = Graph::build(
      "lossy ! history ! events ! record folder=" + heard_.string() + " before=0 after=0.2", options(160));
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  bool done = false;
  while ((*graph)->executor().samples() < 9600) ASSERT_TRUE((*graph)->step(done).ok());
  EXPECT_TRUE(fs::exists(heard_ / "00000.250-yes.wav"));
  EXPECT_TRUE(fs::exists(heard_ / "00000.500-yes.wav.part"));
  EXPECT_EQ(files(), 2u);
}

TEST_F(RecordTest, SaysWhatIsMissing) {
  Events::at = {};
  EXPECT_NE(failure_of("lossy ! events ! record folder=" + heard_.string(), options(160))
                .find("put `history seconds=10` after the source"),
            std::string::npos);
  EXPECT_NE(failure_of("lossy ! history ! events ! record folder=/nowhere", options(160))
                .find("there is no such folder"),
            std::string::npos);
  EXPECT_NE(
      failure_of("lossy ! history ! events ! record format=flac encoding=float32 folder=" + heard_.string(),
                 options(160))
          .find("expected int16 or int24"),
      std::string::npos);
}

}  // namespace
}  // namespace runnel::pipeline::test
