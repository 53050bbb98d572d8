#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "pipeline/host/json.h"
#include "pipeline/host/step_times.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

namespace fs = std::filesystem;
using runnel::test::TemporaryFolder;

TEST(Sinks, ThatCannotBeWrittenLeaveNothing) {
  const TemporaryFolder folder;
  const std::string wav = (folder.path() / "a.wav").string(),
                    missing = (folder.path() / "no" / "where").string();
  write_recording(wav, make_samples(2000));
  for (const std::string& sink :
       {"npy path=" + missing, "wav path=" + missing, "fbank ! detect ! jsonl path=" + missing}) {
    const std::string text = failure_of("wav path=" + wav + " ! " + sink);
    EXPECT_NE(text.find(missing), std::string::npos) << text;
  }
  EXPECT_FALSE(fs::exists(folder.path() / "no"));
  // A folder in the way.
  fs::create_directory(folder.path() / "out");
  EXPECT_NE(failure_of("wav path=" + wav + " ! npy path=" + (folder.path() / "out").string()).find("folder"),
            std::string::npos);
}

TEST(Sinks, LeaveNothingBehindAFailedRun) {
  const TemporaryFolder folder;
  std::vector<std::int16_t> samples = make_samples(20000);
  const fs::path flac = folder.path() / "a.flac";
  write_recording(flac, samples, 16000, 1, 0x170002);
  fs::resize_file(flac, fs::file_size(flac) / 2);  // found at the end only
  const std::string out = (folder.path() / "out").string();
  for (const std::string& sink :
       {"npy path=" + out, "wav path=" + out, "fbank ! detect ! jsonl path=" + out}) {
    failure_of("wav path=" + flac.string() + " ! " + sink);
    EXPECT_FALSE(fs::exists(out)) << sink;
    EXPECT_FALSE(fs::exists(out + ".part")) << sink;
  }
  // Neither does a graph that was built and never run.
  { const auto graph = Graph::build("wav path=" + flac.string() + " ! npy path=" + out, {}); }
  EXPECT_FALSE(fs::exists(out + ".part"));
}

TEST(Sinks, AFullDiskIsAFailure) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "SKIPPED: there is no /dev/full";
  const TemporaryFolder folder;
  const std::string wav = (folder.path() / "a.wav").string();
  write_recording(wav, make_samples(200000));
  fs::create_symlink("/dev/full", folder.path() / "full.part");
  EXPECT_NE(failure_of("wav path=" + wav + " ! npy path=" + (folder.path() / "full").string())
                .find("No space left"),
            std::string::npos);
}

// Renamed into place, a file would take the place of /dev/null.
TEST(Sinks, ADeviceIsNotReplacedByAFile) {
  const TemporaryFolder folder;
  const std::string wav = (folder.path() / "a.wav").string(), link = (folder.path() / "link").string();
  write_recording(wav, make_samples(2000));
  fs::create_symlink("/dev/null", link);
  for (const char* const sink : {"npy path=", "wav path=", "fbank ! detect ! jsonl path="}) {
    run_graph("wav path=" + wav + " ! " + sink + link, {});
    EXPECT_TRUE(fs::is_symlink(link) && fs::is_character_file(link)) << sink;
  }
}

// The link stays, and what it leads to is complete.
TEST(Sinks, ALinkIsWrittenThrough) {
  const TemporaryFolder folder;
  const std::string wav = (folder.path() / "a.wav").string(), link = (folder.path() / "link.wav").string(),
                    to = (folder.path() / "to.wav").string();
  write_recording(wav, make_samples(2000));
  std::ofstream(to) << "old";
  fs::create_symlink(to, link);
  run_graph("wav path=" + wav + " ! wav path=" + link, {});
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_GT(fs::file_size(to), 4000u);
  EXPECT_FALSE(fs::exists(to + ".part") || fs::exists(link + ".part"));
}

TEST(Npy, WritesIntegersAndEmptyArrays) {
  const TemporaryFolder folder;
  Rows::dims = 3;
  Rows::values.clear();
  const fs::path out = folder.path() / "a.npy";
  run_graph("rows ! npy path=" + out.string(), {.nodes = test_nodes()});
  EXPECT_EQ(read_npy(out).rows, 0);
  EXPECT_EQ(read_npy(out).columns, 3);
}

TEST(Jsonl, WritesEventsOneObjectPerLine) {
  const TemporaryFolder folder;
  Rows::dims = 2;
  Rows::values = {5, 0, 5, 0, 0, 5, 0, 5};
  const fs::path out = folder.path() / "a.jsonl";
  run_graph(
      "rows ! detect labels='a\"b,z' threshold=0.9 smoothing_frames=1 refractory_frames=1 ! jsonl path=" +
          out.string(),
      {.nodes = test_nodes()});
  EXPECT_EQ(read_text(out),
            "{\"type\":\"event\",\"source\":\"rows\",\"label\":\"a\\\"b\",\"score\":0.9933,\"start\":0.000,"
            "\"end\":0.025,\"frame\":0}\n"
            "{\"type\":\"event\",\"source\":\"rows\",\"label\":\"z\",\"score\":0.9933,\"start\":0.020,"
            "\"end\":0.045,\"frame\":2}\n");
  run_graph("rows ! detect threshold=0.9 smoothing_frames=1 ! jsonl source=other path=" + out.string(),
            {.nodes = test_nodes()});
  const auto event = nlohmann::json::parse(read_text(out));
  EXPECT_EQ(event["source"], "other");
  EXPECT_EQ(event["label"], "0") << "classes without names have numbers";
}

TEST(Json, IsValidWhateverTheText) {
  EXPECT_EQ(json_string("a\"\\\n\x7f"), "\"a\\\"\\\\\\u000a\\u007f\"");
  EXPECT_EQ(json_string("\xc3\xa9"), "\"\xc3\xa9\"");
  EXPECT_EQ(json_string("\xff\xc3"), "\"\\ufffd\\ufffd\"");
  std::uint32_t state = 5;
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 12; ++i) text += static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
    EXPECT_TRUE(nlohmann::json::accept(json_string(text)));
  }
  EXPECT_EQ(json_seconds(123 * 160, 16000), "1.230");
  EXPECT_EQ(json_seconds(-24, 16000), "-0.001");
  EXPECT_EQ(json_number(NAN, 3), "null");
}

TEST(StepTimes, QuantilesAreAtMostTwoPercentHigh) {
  StepTimes times;
  EXPECT_EQ(times.quantile(0.5), 0);
  for (int i = 1; i <= 100000; ++i) times.add(i * 10);
  EXPECT_GE(times.quantile(0.5), 500);
  EXPECT_LE(times.quantile(0.5), 500 * 1.016);
  EXPECT_GE(times.quantile(0.99), 990);
  EXPECT_LE(times.quantile(0.99), 990 * 1.016);
  EXPECT_EQ(times.quantile(1), 1000);
  EXPECT_EQ(times.largest(), 1000);
  StepTimes huge;
  huge.add(INT64_MAX);
  huge.add(-5);
  EXPECT_GT(huge.quantile(1), 9e15);
  EXPECT_EQ(huge.quantile(0.1), 0);
}

TEST(Summary, IsOneJsonObject) {
  const TemporaryFolder folder;
  const std::string wav = (folder.path() / "a.wav").string();
  write_recording(wav, make_samples(24000));
  const auto graph = run_graph("wav path=" + wav + " ! fbank ! null");
  const auto summary = nlohmann::json::parse(graph->summary());
  EXPECT_EQ(summary["type"], "summary");
  EXPECT_EQ(summary["source"], wav);
  EXPECT_EQ(summary["audio_seconds"], 1.5);
  EXPECT_GT(summary["real_time_factor"], 0);
  EXPECT_GE(summary["step_max_us"], summary["step_p99_us"]);
  EXPECT_GE(summary["step_p99_us"], summary["step_p50_us"]);
  for (const char* field : {"lost_samples", "gaps", "failures", "events"})
    EXPECT_EQ(summary[field], 0) << field;
}

TEST(Stop, BringsOutWhatWasHeard) {
  const TemporaryFolder folder;
  const std::string wav = (folder.path() / "a.wav").string(), out = (folder.path() / "a.npy").string();
  write_recording(wav, make_samples(16000));
  std::atomic<bool> stop = false;
  auto graph = Graph::build("wav path=" + wav + " ! npy path=" + out, {.tick = 100, .stop = &stop});
  ASSERT_TRUE(graph.ok());
  bool done = false;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE((*graph)->step(done).ok());
  stop = true;
  EXPECT_TRUE((*graph)->run().ok());
  EXPECT_EQ(read_npy(out).rows, 300);
}

}  // namespace
}  // namespace runnel::pipeline::test
