// How good the bundled int8 model is, from the samples of recordings to decisions, through the program.
// docs/accuracy.md keeps the table that this test prints.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;

class Accuracy : public testing::Test {
 protected:
  static std::string data(const std::string& name) {
    return (runnel::test::data_folder() / "digits" / name).string();
  }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  void batch(const std::vector<std::string>& inputs, const std::string& output,
             const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"batch", model()};
    arguments.insert(arguments.end(), inputs.begin(), inputs.end());
    arguments.insert(arguments.end(), {"-o", file(output)});
    arguments.insert(arguments.end(), more.begin(), more.end());
    call_well(arguments);
  }
  Json score(const std::string& records, const std::string& labels) const {
    const Output output = call_well({"score", file(records), "--labels", data(labels)});
    return Json::parse(output.out, nullptr, false);
  }
  static void print(const char* name, const Json& result) {
    std::printf("| %s | %d | %d | %.1f %% |\n", name, result["clips"].get<int>(),
                result["correct"].get<int>(), 100 * result["accuracy"].get<double>());
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(Accuracy, OfClips) {
  RUNNEL_NEEDS_DATA();
  batch({data("eval_wav")}, "clips.jsonl", {"--decision", "detect mode=clip"});
  const Json int8 = score("clips.jsonl", "labels.csv");
  std::printf("| official test | clips | right | accuracy |\n|---|---|---|---|\n");
  print("int8", int8);
  ASSERT_EQ(int8["clips"], 300);
  EXPECT_EQ(int8["undecided"], 0);
  EXPECT_GE(int8["correct"].get<int>(), 285);
#ifdef RUNNEL_HAVE_ONNX
  // The same network in float32.
  const fs::path source = fs::path(RUNNEL_SOURCE_FOLDER) / "models/digits";
  call_well({"import", (source / "digits.onnx").string(), "-o", file("float.rnl"), "--front-end",
             "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600", "--labels",
             (source / "labels.txt").string()});
  call_well({"batch", file("float.rnl"), data("eval_wav"), "-o", file("float.jsonl"), "--decision",
             "detect mode=clip"});
  const Json floats = score("float.jsonl", "labels.csv");
  print("float", floats);
  EXPECT_GE(int8["correct"].get<int>(), floats["correct"].get<int>() - 1)
      << "int8 costs half a point at most";
#endif
}

TEST_F(Accuracy, OfStreams) {
  RUNNEL_NEEDS_DATA();
  batch({data("stitched_90s.wav")}, "stitched.jsonl");
  batch({data("negatives_600s.flac")}, "negatives.jsonl");
  const Json stitched = score("stitched.jsonl", "stitched_90s.json"),
             negatives = score("negatives.jsonl", "negatives_600s.json");
  std::printf(
      "| recording | words | hits | misses | wrong labels | duplicates | false accepts | per hour "
      "|\n|---|---|---|---|---|---|---|---|\n");
  for (const auto& [name, result] :
       {std::pair("stitched, 90 s", stitched), {"negatives, 600 s", negatives}}) {
    std::printf("| %s | %d | %d | %d | %d | %d | %d | %.0f |\n", name, result["words"].get<int>(),
                result["hits"].get<int>(), result["misses"].get<int>(), result["wrong_labels"].get<int>(),
                result["duplicates"].get<int>(), result["false_accepts"].get<int>(),
                result["false_accepts_per_hour"].get<double>());
  }
  std::printf("latency after the end of the word: median %.0f ms, 90 %% %.0f ms\n",
              1000 * stitched["latency_seconds"]["median"].get<double>(),
              1000 * stitched["latency_seconds"]["p90"].get<double>());

  // Where the false accepts of the negatives fall.
  const Json segments = Json::parse(read_text(data("negatives_600s.json")))["segments"];
  std::map<std::string, std::pair<int, double>> kinds;
  for (const Json& segment : segments)
    kinds[segment["kind"]].second += segment["end"].get<double>() - segment["start"].get<double>();
  for (const Json& event : events_of(read_text(file("negatives.jsonl")))) {
    std::string kind;
    for (const Json& segment : segments) {
      if (segment["start"].get<double>() <= event["end"].get<double>()) kind = segment["kind"];
    }
    ++kinds[kind].first;
  }
  std::printf("| negatives | seconds | false accepts |\n|---|---|---|\n");
  for (const auto& [kind, value] : kinds)
    std::printf("| %s | %.0f | %d |\n", kind.c_str(), value.second, value.first);

  EXPECT_EQ(stitched["words"], 44);
  EXPECT_GE(stitched["hits"].get<int>(), 36);
  EXPECT_EQ(stitched["wrong_labels"], 0);
  EXPECT_LE(stitched["false_accepts"].get<int>(), 1);
  EXPECT_EQ(stitched["audio_seconds"], 90.0);
  EXPECT_EQ(negatives["words"], 0);
  EXPECT_LE(negatives["false_accepts"].get<int>(), 3);
  EXPECT_EQ(negatives["audio_seconds"], 600.0);
}

}  // namespace
}  // namespace runnel::apps::test
