// runnel batch: many recordings, output in their order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class Batch : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(file("set/b/deep"));
    for (const auto& [name, seconds] :
         {std::pair("set/z.wav", 1.0), {"set/a.wav", 2.4}, {"set/b/deep/m.wav", 1.7}, {"set/b/c.WAV", 3.1}}) {
      write_wav(file(name), tone_words(seconds, 16000));
    }
    write_text(file("set/notes.txt"), "no recording");
  }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  std::vector<std::string> arguments(std::vector<std::string> inputs, const std::string& output,
                                     const std::string& jobs = "2") const {
    inputs.insert(inputs.begin(), {"batch", model()});
    inputs.insert(inputs.end(), {"-o", output, "--jobs", jobs, "--decision", kEager});
    return inputs;
  }
  // Recordings in the order of their first record, without the folder.
  std::vector<std::string> order(const std::string& records) const {
    std::vector<std::string> sources;
    for (const Json& record : json_lines(records)) {
      if (!record.contains("source")) continue;
      const std::string name = record["source"].get<std::string>().substr(folder_.path().string().size() + 1);
      if (sources.empty() || sources.back() != name) sources.push_back(name);
    }
    return sources;
  }
  std::string records(const std::vector<std::string>& inputs) const {
    EXPECT_EQ(call_well(arguments(inputs, file("out.jsonl"))).out, "");
    return read_text(file("out.jsonl"));
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(Batch, FoldersPatternsAndListsKeepTheirOrder) {
  EXPECT_THAT(order(records({file("set")})),
              ElementsAre("set/a.wav", "set/b/c.WAV", "set/b/deep/m.wav", "set/z.wav"));
  EXPECT_THAT(order(records({file("set/z.wav"), file("set/a.wav")})), ElementsAre("set/z.wav", "set/a.wav"));
  EXPECT_THAT(order(records({file("set/?.wav")})), ElementsAre("set/a.wav", "set/z.wav"));
  write_text(file("list"), file("set/z.wav") + "\n\n" + file("set/b/c.WAV") + "\r\n" + file("set/a.wav"));
  EXPECT_THAT(order(records({"@" + file("list")})), ElementsAre("set/z.wav", "set/b/c.WAV", "set/a.wav"));
}

TEST_F(Batch, TheNumberOfJobsChangesNothing) {
  std::vector<std::string> inputs;
  for (int i = 0; i < 12; ++i) {
    inputs.push_back(file("n" + std::to_string(i) + ".wav"));
    write_wav(inputs.back(), tone_words(0.3 + 0.37 * ((i * 5) % 7), i % 3 == 0 ? 8000 : 16000));
  }
  inputs.insert(inputs.begin() + 4, file("missing.wav"));
  std::string first;
  for (const char* jobs : {"1", "2", "5"}) {
    EXPECT_EQ(call(arguments(inputs, file("out.jsonl"), jobs)).exit_code, 1);
    std::string text = read_text(file("out.jsonl"));
    const Json summary = expect_records(text);
    EXPECT_EQ(summary["files"], 13);
    EXPECT_EQ(summary["failures"], 1);
    // The time it took is the only thing that may differ.
    const std::size_t from = text.find("\"real_time_factor\":"), to = text.find(',', from);
    ASSERT_NE(from, std::string::npos);
    text.erase(from, to - from);
    if (first.empty()) first = text;
    EXPECT_EQ(text, first) << jobs << " jobs";
  }
}

TEST_F(Batch, EventsAreThoseOfListening) {
  const std::string all = records({file("set")});
  std::vector<Json> expected;
  for (const char* name : {"set/a.wav", "set/b/c.WAV", "set/b/deep/m.wav", "set/z.wav"}) {
    for (Json& event :
         events_of(call_well({"listen", model(), "--wav", file(name), "--decision", kEager}).out))
      expected.push_back(std::move(event));
  }
  EXPECT_GE(expected.size(), 4u);
  EXPECT_EQ(events_of(all), expected);
  EXPECT_NEAR(expect_records(all)["audio_seconds"].get<double>(), 8.2, 0.001);
  EXPECT_EQ(call_well(arguments({file("set/a.wav")}, "-")).out.find("{\"type\":\"event\""), 0u)
      << "- is stdout";
}

TEST_F(Batch, ClipDecisionsAreOnePerRecording) {
  call_well({"batch", model(), file("set"), "-o", file("out.jsonl"), "--decision", "detect mode=clip"});
  EXPECT_EQ(expect_records(read_text(file("out.jsonl")))["events"], 4);
}

TEST_F(Batch, ARecordingThatFailsGetsARecord) {
  write_text(file("set/b/broken.wav"), "this is text");
  refusal(arguments({file("set")}, file("out.jsonl")), "1 of 5 recordings failed");
  const std::string text = read_text(file("out.jsonl"));
  EXPECT_THAT(order(text),
              ElementsAre("set/a.wav", "set/b/broken.wav", "set/b/c.WAV", "set/b/deep/m.wav", "set/z.wav"));
  for (const Json& record : json_lines(text)) {
    if (record["type"] != "error") continue;
    EXPECT_EQ(record["source"], file("set/b/broken.wav"));
    EXPECT_NE(record["reason"].get<std::string>().find("broken.wav: not a recording that can be read"),
              std::string::npos)
        << record;
  }
  const Json summary = expect_records(text);
  EXPECT_EQ(summary["failures"], 1);
  EXPECT_EQ(summary["files"], 5);
}

TEST_F(Batch, WhatCannotBeginLeavesNothing) {
  const std::string out = file("out.jsonl");
  fs::create_directory(file("empty"));
  refusal(arguments({file("empty")}, out), "empty: no recordings in this folder");
  refusal(arguments({file("set/*.mp4")}, out), "nothing matches");
  refusal(arguments({"@" + file("nolist")}, out), "nolist: cannot be opened");
  write_text(file("blank"), "\n\n");
  refusal(arguments({"@" + file("blank")}, out), "blank: names no recordings");
  refusal({"batch", file("no.rnl"), file("set"), "-o", out}, "no.rnl");
  refusal({"batch", model(), file("set"), "-o", out, "--decision", "detcet"}, "did you mean 'detect'?");
  refusal({"batch", model(), file("set"), "-o", out, "--front-end", "fbank num_mel_bins=23"}, "23");
  refusal(arguments({file("set")}, file("nowhere/out.jsonl")), "nowhere/out.jsonl: cannot create");
  refusal(arguments({file("set")}, file("empty")), "it is a folder");
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("blank", "empty", "set"));
  // An input that cannot be read is said before the old output is touched.
  write_text(out, "old");
  refusal(arguments({"@" + file("nolist")}, out), "nolist");
  EXPECT_EQ(read_text(out), "old");
}

}  // namespace
}  // namespace runnel::apps::test
