// runnel batch with several jobs: the records of one job, in any order of processing.
#include <gtest/gtest.h>

#include <set>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

TEST(BatchThreads, JobsGiveTheRecordsOfOne) {
  const runnel::test::TemporaryFolder folder;
  for (int i = 0; i < 8; ++i) {
    auto samples = tone_words(1.0 + 0.25 * (i % 3), 16000);
    for (std::int16_t& sample : samples) sample = static_cast<std::int16_t>(sample * (i + 1) / 8);
    write_wav(folder.path() / ("w" + std::to_string(i) + ".wav"), samples);
  }
  // One of them fails: its record has a place of its own.
  write_text(folder.path() / "w3x.wav", "no recording");
  const auto events = [&](const char* jobs) {
    const Output output =
        call({"batch", model(), folder.path().string(), "-o", "-", "--jobs", jobs, "--decision", kEager});
    EXPECT_EQ(output.exit_code, 1) << output.err;
    EXPECT_EQ(output.err.find("ThreadSanitizer"), std::string::npos) << output.err;
    std::vector<Json> records = json_lines(output.out);
    EXPECT_FALSE(records.empty());
    records.pop_back();  // the summary has times in it
    return records;
  };
  const auto one = events("1");
  std::set<std::string> sources;
  for (const Json& record : one) sources.insert(record["source"].get<std::string>());
  EXPECT_EQ(sources.size(), 9u) << "every recording has a record";
  for (const char* jobs : {"2", "4", "9"}) EXPECT_EQ(events(jobs), one) << jobs << " jobs";
}

// A model for an Ethos-U runs in simulators, which the streams of all jobs share.
TEST(BatchThreads, JobsShareTheSimulatedNpu) {
  const runnel::test::TemporaryFolder folder;
  const std::string compiled = (folder.path() / "npu.rnl").string();
  call_well({"npu", "compile", model(), "-o", compiled, "--block", "4", "--quiet"});
  for (int i = 0; i < 3; ++i)
    write_wav(folder.path() / ("w" + std::to_string(i) + ".wav"), tone_words(0.5 + 0.1 * i, 16000));
  const auto events = [&](const char* jobs) {
    const Output output =
        call({"batch", compiled, folder.path().string(), "-o", "-", "--jobs", jobs, "--decision", kEager});
    EXPECT_EQ(output.exit_code, 0) << output.err;
    EXPECT_EQ(output.err.find("ThreadSanitizer"), std::string::npos) << output.err;
    std::vector<Json> records = json_lines(output.out);
    EXPECT_FALSE(records.empty());
    records.pop_back();  // the summary has times in it
    return records;
  };
  const auto one = events("1");
  EXPECT_FALSE(one.empty());
  EXPECT_EQ(events("3"), one);
}

}  // namespace
}  // namespace runnel::apps::test
