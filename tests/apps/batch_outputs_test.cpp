// What batches write besides events as JSON lines: tables, arrays, archives of Kaldi, posteriors; and the
// same from `features`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <sstream>

#include "tests/apps/killing.h"
#include "tests/apps/support.h"
#include "tests/support/npy.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;
using runnel::test::read_npy;
using testing::ElementsAre;
using testing::HasSubstr;

class BatchOutputs : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(file("set/deep"));
    write_wav(file("set/a.wav"), tone_words(1.3, 16000));
    write_text(file("set/b.wav"), "broken");
    write_wav(file("set/deep/c.wav"), tone_words(2.1, 8000), 8000);
    write_wav(file("set/deep/d.wav"), tone_words(0.7, 16000));
  }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  std::vector<std::string> arguments(const std::string& output, const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"batch",      model(),      file("set"), "-o",
                                    file(output), "--decision", kEager,      "--no-timing"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // One recording is broken.
  void batch(const std::string& output, const std::vector<std::string>& more) const {
    const Output ended = call(arguments(output, more));
    EXPECT_EQ(ended.exit_code, 1) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("1 of 4 recordings failed"));
    EXPECT_EQ(ended.out, "");
  }
  std::vector<Json> lines(const std::string& name) const { return json_lines(read_text(file(name))); }
  // Values of one recording after the other, of those that are no failures.
  std::vector<float> apart(const std::string& folder) const {
    std::vector<float> all;
    for (const char* name : {"a.npy", "deep/c.npy", "deep/d.npy"}) {
      const auto values = read_npy(file(folder + "/" + name)).as<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(BatchOutputs, ATableHasARowForEachEvent) {
  batch("events.jsonl", {});
  batch("events.csv", {});
  std::istringstream table(read_text(file("events.csv")));
  std::string line;
  ASSERT_TRUE(std::getline(table, line));
  EXPECT_EQ(line, "source,id,label,score,start,end,frame");
  std::size_t rows = 0;
  for (const Json& event : lines("events.jsonl")) {
    if (event["type"] != "event") continue;
    ASSERT_TRUE(std::getline(table, line));
    ++rows;
    EXPECT_THAT(line, testing::StartsWith(event["source"].get<std::string>() + ",," +
                                          event["label"].get<std::string>() + ","));
    EXPECT_THAT(line, testing::EndsWith("," + std::to_string(event["frame"].get<int>())));
  }
  EXPECT_FALSE(std::getline(table, line));
  const auto index = lines("events.csv.index.jsonl");
  ASSERT_EQ(index.size(), 5u);
  EXPECT_EQ(index[1]["type"], "error");
  EXPECT_EQ(index[0]["rows"].get<std::size_t>() + index[2]["rows"].get<std::size_t>() +
                index[3]["rows"].get<std::size_t>(),
            rows);
  EXPECT_EQ(index[4], lines("events.jsonl").back()) << "the summary";
  // A row can be found by its place.
  const std::string text = read_text(file("events.csv"));
  ASSERT_GT(index[2]["rows"], 0);
  EXPECT_EQ(text.find(file("set/deep/c.wav")), index[2]["at"].get<std::size_t>());
}

TEST_F(BatchOutputs, PosteriorsAreOneArrayOrAFileEach) {
  batch("apart", {"--give", "posteriors", "--format", "files"});
  EXPECT_EQ(names_in(file("apart")), (std::vector<std::string>{"a.npy", "deep"}));
  batch("all.npy", {"--give", "posteriors"});
  const auto all = read_npy(file("all.npy"));
  EXPECT_EQ(all.dtype, "<f4");
  ASSERT_EQ(all.shape.size(), 2u);
  EXPECT_EQ(all.shape[1], 12u);
  EXPECT_EQ(all.as<float>(), apart("apart"));
  const auto values = all.as<float>();
  for (std::size_t row = 0; row < all.shape[0]; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < 12; ++i) sum += static_cast<double>(values[row * 12 + i]);
    ASSERT_NEAR(sum, 1, 1e-5) << row;
  }
  const auto index = lines("all.npy.index.jsonl");
  ASSERT_EQ(index.size(), 5u);
  EXPECT_EQ(index[1]["type"], "error");
  std::int64_t row = 0;
  for (const std::size_t i : {0u, 2u, 3u}) {
    EXPECT_EQ(index[i]["row"], row);
    EXPECT_EQ(index[i]["rows"],
              read_npy(file("apart/" + index[i]["key"].get<std::string>() + ".npy")).shape[0]);
    EXPECT_EQ(index[i]["rows_per_second"], 100);
    row += index[i]["rows"].get<std::int64_t>();
  }
  EXPECT_EQ(row, static_cast<std::int64_t>(all.shape[0]));
  // The files say the same in their own index.
  EXPECT_EQ(lines("apart.index.jsonl")[2]["file"], "apart/deep/c.npy");
  // Among JSON lines: beside the same events.
  batch("events.jsonl", {});
  batch("both.jsonl", {"--give", "posteriors"});
  std::vector<Json> events;
  std::vector<float> frames;
  for (const Json& record : lines("both.jsonl")) {
    if (record["type"] != "frame") {
      events.push_back(record);
      continue;
    }
    for (const Json& value : record["values"]) frames.push_back(value.get<float>());
  }
  EXPECT_EQ(events, lines("events.jsonl"));
  EXPECT_EQ(frames, values);
  // As a table with the labels above.
  batch("rows.csv", {"--give", "posteriors"});
  EXPECT_THAT(read_text(file("rows.csv")), testing::StartsWith("source,id,frame,start,end,0,1,2,3"));
  refusal(arguments("events.npy", {}), "holds arrays: expected --give posteriors, outputs or features");
}

TEST_F(BatchOutputs, ArraysComeTogetherFromShards) {
  for (const char* format : {"npy", "ark", "csv"}) {
    SCOPED_TRACE(format);
    const std::string whole = std::string("whole.") + format;
    batch(whole, {"--give", "outputs"});
    std::vector<std::string> merge = {"merge"};
    for (int i = 0; i < 3; ++i) {
      call(arguments("part" + std::to_string(i) + "." + format,
                     {"--give", "outputs", "--shard", std::to_string(i) + "/3"}));
      merge.push_back(file("part" + std::to_string(i) + "." + format));
    }
    const std::string merged = std::string("merged.") + format;
    merge.insert(merge.end(), {"-o", file(merged)});
    call_well(merge);
    EXPECT_TRUE(read_text(file(merged)) == read_text(file(whole)));
    EXPECT_EQ(read_text(file(merged + ".index.jsonl")), read_text(file(whole + ".index.jsonl")));
  }
  std::string table = read_text(file("merged.scp"));
  for (std::size_t at = table.find("merged"); at != std::string::npos; at = table.find("merged"))
    table.replace(at, 6, "whole");
  EXPECT_EQ(table, read_text(file("whole.scp")));
}

TEST_F(BatchOutputs, ArraysSurviveKills) {
  for (int i = 0; i < 60; ++i)
    write_wav(file("set/" + std::to_string(100 + i) + ".wav"), tone_words(0.5 + 0.1 * (i % 7), 16000));
  for (const char* output : {"whole.npy", "whole"}) {
    SCOPED_TRACE(output);
    const bool files = fs::path(output).extension().empty();
    const std::vector<std::string> what =
        files ? std::vector<std::string>{"--give", "features", "--format", "files"}
              : std::vector<std::string>{"--give", "features"};
    EXPECT_EQ(call(arguments(output, what)).exit_code, 1);
    const std::string killed = files ? "killed" : "killed.npy";
    std::vector<std::string> resume = what;
    resume.push_back("--resume");
    for (int round = 0; round < 8; ++round)
      run_and_kill(arguments(killed, resume), std::chrono::milliseconds(15 + 12 * round));
    EXPECT_EQ(call(arguments(killed, resume)).exit_code, 1);
    if (!files) {
      EXPECT_TRUE(read_text(file(killed)) == read_text(file(output)));
      EXPECT_EQ(read_text(file(killed + ".index.jsonl")),
                read_text(file(std::string(output) + ".index.jsonl")));
    } else {
      EXPECT_EQ(apart(killed), apart(output));
      EXPECT_EQ(names_in(file(killed)), names_in(file(output)));
      // What was lost after the journal's back is made again.
      fs::remove(file("killed/a.npy"));
      fs::rename(file("killed.index.jsonl"), file("killed.index.jsonl.part"));
      EXPECT_EQ(call(arguments(killed, resume)).exit_code, 1);
      EXPECT_EQ(apart(killed), apart(output));
    }
  }
}

TEST_F(BatchOutputs, PiecesOfLongRecordingsChangeNothing) {
  fs::remove(file("set/b.wav"));
  int number = 0;
  for (const int rate : {16000, 8000, 44100}) {
    write_wav(file("set/long" + std::to_string(number) + ".wav"), tone_words(7.3 + number, rate), rate);
    ++number;
  }
  write_wav(file("set/stereo.wav"), tone_words(5.1, 16000), 16000, 2);
  for (const char* give : {"events", "posteriors", "outputs", "features"}) {
    SCOPED_TRACE(give);
    const std::string whole = std::string("whole-") + give + ".jsonl",
                      pieces = std::string("pieces-") + give + ".jsonl";
    call_well(arguments(whole, {"--give", give, "--jobs", "1", "--tail", "0.7"}));
    for (const char* seconds : {"1", "2.2"}) {
      call_well(arguments(pieces, {"--give", give, "--jobs", "3", "--tail", "0.7", "--piece", seconds}));
      EXPECT_TRUE(read_text(file(pieces)) == read_text(file(whole))) << seconds;
    }
  }
}

TEST_F(BatchOutputs, KeysHaveToBeUnique) {
  write_text(file("m.jsonl"), "{\"path\":\"" + file("set/a.wav") + "\",\"duration\":0.5}\n{\"path\":\"" +
                                  file("set/a.wav") + "\",\"offset\":0.5,\"duration\":0.5}\n");
  const std::vector<std::string> pieces = {"features", file("m.jsonl"), "-o", file("pieces")};
  refusal(pieces, "pieces of one recording need ids");
  EXPECT_FALSE(fs::exists(file("pieces")));
  write_text(file("m.jsonl"), "{\"path\":\"" + file("set/a.wav") +
                                  "\",\"duration\":0.5,\"id\":\"first\"}\n{\"path\":\"" + file("set/a.wav") +
                                  "\",\"id\":\"../second\"}\n");
  refusal(pieces, "expected the name of a file below the output");
  EXPECT_FALSE(fs::exists(file("second.npy")));
}

TEST_F(BatchOutputs, FeaturesOfAFolderAreAnArchiveOfKaldi) {
  EXPECT_EQ(call({"features", file("set"), "-o", file("apart"), "--no-timing"}).exit_code, 1);
  EXPECT_EQ(call({"features", file("set"), "-o", file("all.ark"), "--no-timing", "--jobs", "2"}).exit_code,
            1);
  // One alone is the same.
  call_well({"features", file("set/a.wav"), "-o", file("a.npy")});
  EXPECT_EQ(read_npy(file("a.npy")).as<float>(), read_npy(file("apart/a.npy")).as<float>());
  const std::string ark = read_text(file("all.ark"));
  std::istringstream table(read_text(file("all.scp")));
  std::vector<std::string> keys;
  std::vector<float> all;
  for (std::string line; std::getline(table, line);) {
    keys.push_back(line.substr(0, line.find(' ')));
    const std::size_t colon = line.rfind(':');
    EXPECT_EQ(line.substr(keys.back().size() + 1, colon - keys.back().size() - 1), file("all.ark"));
    const std::size_t at = std::stoull(line.substr(colon + 1));
    ASSERT_EQ(ark.substr(at, 6), std::string("\0BFM \4", 6)) << line;
    std::int32_t rows = 0, values = 0;
    std::memcpy(&rows, ark.data() + at + 6, 4);
    ASSERT_EQ(ark[at + 10], '\4');
    std::memcpy(&values, ark.data() + at + 11, 4);
    EXPECT_EQ(values, 23);
    const std::size_t before = all.size();
    all.resize(before + static_cast<std::size_t>(rows) * 23);
    std::memcpy(all.data() + before, ark.data() + at + 15, static_cast<std::size_t>(rows) * 23 * 4);
  }
  EXPECT_THAT(keys, ElementsAre("a", "deep/c", "deep/d"));
  EXPECT_EQ(all, apart("apart"));
}

TEST_F(BatchOutputs, RowsOfAnotherWidthAreAFailure) {
  write_text(file("x.csv"), "x,y\n1,2\n3,4\n5,6\n7,8\n");
  write_text(file("y.csv"), "x\n1\n3\n5\n7\n");
  const Output output = call({"features", file("x.csv"), file("y.csv"), "-o", file("all.npy"), "--kind",
                              "framing", "--source", "rate=10", "--set", "window=2", "hop=2"});
  EXPECT_EQ(output.exit_code, 1) << output.err;
  EXPECT_EQ(read_npy(file("all.npy")).shape, (std::vector<std::size_t>{2, 4}));
  EXPECT_THAT(lines("all.npy.index.jsonl")[1]["reason"].get<std::string>(),
              HasSubstr("its rows are not of 4 values"));
}

TEST_F(BatchOutputs, ScoresAreTablesAndPictures) {
  write_text(file("run.jsonl"),
             R"({"type":"event","source":"a.wav","label":"yes","score":0.9,"start":0,"end":1,"frame":1}
{"type":"event","source":"b.wav","label":"no","score":0.6,"start":0,"end":1,"frame":1}
{"type":"event","source":"c.wav","label":"yes","score":0.8,"start":0,"end":1,"frame":1}
{"type":"event","source":"x.wav","label":"yes","score":0.99,"start":0,"end":1,"frame":1}
{"type":"summary","audio_seconds":3}
)");
  write_text(file("labels.csv"), "file,label\na.wav,yes\nb.wav,no\nc.wav,no\nd.wav,no\n");
  const Json score = Json::parse(
      call_well({"score", file("run.jsonl"), "--labels", file("labels.csv"), "--png", file("score.png")})
          .out);
  EXPECT_EQ(score["curve"],
            Json::parse(
                R"([{"threshold":0.6,"correct":2,"false_accepts":1,"miss_rate":0.5,"false_accept_rate":0.25},
                                            {"threshold":0.8,"correct":1,"false_accepts":1,"miss_rate":0.75,"false_accept_rate":0.25},
                                            {"threshold":0.9,"correct":1,"false_accepts":0,"miss_rate":0.75,"false_accept_rate":0.0},
                                            {"threshold":0.99,"correct":0,"false_accepts":0,"miss_rate":1.0,"false_accept_rate":0.0}])"));
  EXPECT_EQ(read_text(file("score.png")).substr(0, 8), "\x89PNG\r\n\x1a\n");
  const std::string table =
      call_well({"score", file("run.jsonl"), "--labels", file("labels.csv"), "--table"}).out;
  EXPECT_THAT(table, HasSubstr("accuracy      0.5000\n"));
  EXPECT_THAT(table, HasSubstr("truth  no  yes  -\nno      1    1  1\nyes     .    1  .\n"));
  EXPECT_THAT(table, HasSubstr("0.8000"));
}

}  // namespace
}  // namespace runnel::apps::test
