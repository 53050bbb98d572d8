// The machinery of a batch, with a worker that only looks at names: lists, shards, journals, resuming,
// merging, answers.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <thread>

#include "services/batch/merge.h"
#include "services/batch/pipe.h"
#include "services/batch/progress.h"
#include "services/batch/recordings/recording_list.h"
#include "services/batch/recordings/shard.h"
#include "services/batch/run.h"
#include "tests/support/data.h"

namespace runnel::batch::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// A record for each recording, of a length that depends on its name; names with "bad" fail.
class NameWorker final : public Worker {
 public:
  Outcome process(const Recording& recording) override {
    ++worked;
    Outcome outcome;
    outcome.counts.audio_seconds = 0.1 * static_cast<double>(recording.bytes);
    const std::string name = fs::path(recording.path).filename().string();
    if (name.find("bad") != std::string::npos) {
      add_error(outcome, recording.path, Status(Code::invalid_data, "bad"));
      return outcome;
    }
    outcome.records =
        with_fields("{\"type\":\"event\",\"source\":" + path_string(name) + "}", recording) + '\n';
    outcome.counts.events = 1;
    return outcome;
  }
  static inline std::atomic<int> worked{0};
};
std::unique_ptr<Worker> make_worker() { return std::make_unique<NameWorker>(); }

// Everything but the time it took.
std::string timeless(std::string text) {
  const std::size_t from = text.find("\"real_time_factor\":");
  if (from != std::string::npos) text.erase(from, text.find(',', from) - from);
  return text;
}

class BatchRun : public testing::Test {
 protected:
  fs::path file(const std::string& name) const { return folder_.path() / name; }
  // `count` files of 1 to 9 bytes; every seventh fails.
  std::vector<std::string> make_files(int count) const {
    fs::create_directories(file("set"));
    for (int i = 0; i < count; ++i)
      write(file("set/" + std::to_string(1000 + i) + (i % 7 == 3 ? "bad" : "") + ".wav"),
            std::string(static_cast<std::size_t>(1 + i * 5 % 9), 'x'));
    return {file("set").string()};
  }
  std::vector<std::string> names(const std::vector<std::string>& inputs) const {
    std::vector<std::string> found;
    auto list = list_recordings(inputs);
    EXPECT_TRUE(list.ok()) << list.status().text();
    if (!list.ok()) return found;
    for (const Recording& recording : *list)
      found.push_back(recording.path.substr(folder_.path().string().size() + 1));
    return found;
  }
  std::string refused(const std::vector<std::string>& inputs) const {
    const auto list = list_recordings(inputs);
    EXPECT_FALSE(list.ok());
    return std::string(list.status().text());
  }
  Result<RunOutput> begin(const fs::path& output, const std::vector<std::string>& inputs,
                          Shard shard = {}) const {
    RUNNEL_ASSIGN(Recordings all, list_recordings(inputs));
    JournalHead head{.call = 1,
                     .list = checksum(all),
                     .total = static_cast<std::int64_t>(all.size()),
                     .here = 0,
                     .shard = shard,
                     .prefix = {}};
    auto share = share_of(std::move(all), shard);
    head.here = static_cast<std::int64_t>(share.size());
    return RunOutput::create(output, head, std::move(share));
  }
  // A complete run; gives the output.
  std::string complete(const fs::path& output, const std::vector<std::string>& inputs, Shard shard = {},
                       unsigned jobs = 1) const {
    auto opened = begin(output, inputs, shard);
    EXPECT_TRUE(opened.ok()) << opened.status().text();
    const Status status = run(*opened, make_worker, {.jobs = jobs});
    EXPECT_TRUE(status.ok()) << status.text();
    return read(output);
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(BatchRun, FoldersAreWalkedOnceWhateverLinksSay) {
  fs::create_directories(file("a/b"));
  for (const char* name : {"a/2.wav", "a/b/1.FLAC", "a/notes.txt", "a/b.wav"}) write(file(name), "x");
  fs::create_directory_symlink(file("a"), file("a/b/up"));
  fs::create_directory_symlink(file("a/b"), file("a/again"));
  fs::create_symlink(file("nowhere"), file("a/gone.wav"));
  EXPECT_THAT(names({file("a").string()}), ElementsAre("a/2.wav", "a/again/1.FLAC", "a/b.wav", "a/gone.wav"));
}

TEST_F(BatchRun, PathsComeInByteOrder) {
  // Names that begin with one another, and bytes on both sides of the slash.
  for (const char* folder :
       {"set/a", "set/a/b", "set/a b", "set/a-1", "set/a.wav.d", "set/A", "set/\xC3\xA9", "set/a/b.wav"})
    fs::create_directories(file(folder));
  std::vector<std::string> expected;
  for (const char* name : {"a.wav", "a/x.wav", "a/b/x.wav", "a/b.wav/x.wav", "a/b-.wav", "a b/x.wav",
                           "a-1/x.wav", "a.wav.d/x.wav", "A/x.wav", "\xC3\xA9/x.wav", "z.wav", "\xFF.wav"}) {
    write(file("set") / name, "x");
    expected.push_back("set/" + std::string(name));
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(names({file("set").string()}), expected);
  // A slash at the end changes nothing.
  EXPECT_EQ(names({file("set").string() + "/"}), expected);
}

TEST_F(BatchRun, WhatCannotBeReadIsAnErrorNotAWait) {
  fs::create_directory(file("set"));
  ASSERT_EQ(mkfifo(file("set/pipe.wav").c_str(), 0600), 0);
  fs::create_symlink(file("nowhere"), file("set/gone.wav"));
  const std::string text =
      complete(file("out"), {file("set").string(), file("set/../set").string() + "/pipe.wav"});
  EXPECT_THAT(text, HasSubstr("pipe.wav: is a FIFO, expected a file"));
  EXPECT_THAT(text, HasSubstr("gone.wav: there is no such file"));
  EXPECT_THAT(text, HasSubstr("\"files\":3,\"failures\":3"));
  EXPECT_THAT(text, HasSubstr("\"failures_by_reason\":{\"invalid argument\":2,\"not found\":1}"));
}

// Its recordings would be missing without a word.
TEST_F(BatchRun, AFolderThatCannotBeReachedIsAnError) {
  const int top = open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_GE(top, 0);
  int at = top;
  const std::string name(200, 'd');
  for (int i = 0; i < 25; ++i) {  // more than the 4096 bytes that a path may have
    ASSERT_EQ(mkdirat(at, name.c_str(), 0700), 0);
    const int inside = openat(at, name.c_str(), O_RDONLY | O_DIRECTORY);
    ASSERT_GE(inside, 0);
    close(at);
    at = inside;
  }
  close(at);
  write(file("a.wav"), "x");
  const std::string inputs[] = {folder_.path().string()};
  EXPECT_EQ(list_recordings(inputs).status().code(), Code::io_error);
}

// Renamed into place, it would take the place of /dev/null.
TEST_F(BatchRun, AnOutputThatIsNoFileIsNotReplacedByOne) {
  const auto inputs = make_files(2);
  ASSERT_EQ(mkfifo(file("fifo").c_str(), 0600), 0);
  fs::create_symlink("/dev/null", file("link"));
  EXPECT_THAT(std::string(begin(file("fifo"), inputs).status().text()),
              HasSubstr("fifo: cannot create: it is a FIFO"));
  EXPECT_THAT(std::string(begin(file("link"), inputs).status().text()),
              HasSubstr("link: cannot create: it is a device"));
  for (const char* name : {"fifo", "link"})
    EXPECT_FALSE(fs::exists(file(name + std::string(".part"))) ||
                 fs::exists(file(name + std::string(".journal"))));
}

TEST_F(BatchRun, AListWithoutLineEndsIsRefused) {
  write(file("list"), "a.wav\n" + std::string((1 << 20) + 1, 'x'));
  EXPECT_THAT(refused({"@" + file("list").string()}),
              HasSubstr("list, line 2: more than 1048576 bytes without a line end"));
}

TEST_F(BatchRun, NamesOfAnyBytesComeThrough) {
  fs::create_directory(file("set"));
  const std::string line = "two\nlines.wav", bytes = "caf\xE9 \xFF%41.wav";
  write(file("set") / line, "x");
  write(file("set") / bytes, "x");
  EXPECT_THAT(names({file("set").string()}), ElementsAre("set/" + bytes, "set/" + line));
  const std::string text = complete(file("out"), {file("set").string()});
  EXPECT_THAT(text, HasSubstr("\"source\":\"two\\u000alines.wav\""));
  EXPECT_THAT(text, HasSubstr("\"source\":\"file:caf%E9%20%FF%2541.wav\""));
  EXPECT_THAT(text, HasSubstr("\"failures\":0"));
  // The journal says them so that they are found again.
  auto reader = JournalReader::open(journal_path(file("out")));
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->recordings()[0].path, (file("set") / bytes).string());
  // A manifest says such names as URIs.
  write(file("m.jsonl"), "{\"path\":\"file://" + folder_.path().string() +
                             "/set/caf%E9%20%ff%2541.wav\"}\n{\"path\":\"" + file("set/two").string() +
                             "\\nlines.wav\"}\n");
  EXPECT_THAT(names({file("m.jsonl").string()}), ElementsAre("set/" + bytes, "set/" + line));
}

TEST_F(BatchRun, ManifestsCarryTheirFields) {
  write(file("a.wav"), "xyz");
  write(file("m.ndjson"),
        "{\"path\":\"" + file("a.wav").string() +
            "\",\"offset\":1.25,\"duration\":2,\"id\":\"a1\",\"label\":\"yes\",\"n\":{\"k\":[1]}}\n\n" +
            file("a.wav").string() + "\r\n");
  auto list = list_recordings(std::vector<std::string>{file("m.ndjson").string()});
  ASSERT_TRUE(list.ok()) << list.status().text();
  ASSERT_EQ(list->size(), 2u);
  EXPECT_EQ((*list)[0].offset, 1.25);
  EXPECT_EQ((*list)[0].duration, 2);
  EXPECT_EQ((*list)[0].cost(), 64000);
  EXPECT_EQ((*list)[1].cost(), 3);
  EXPECT_EQ((*list)[1].index, 1);
  EXPECT_THAT(complete(file("out"), {file("m.ndjson").string()}),
              HasSubstr("{\"type\":\"event\",\"source\":\"a.wav\",\"id\":\"a1\",\"fields\":{\"label\":"
                        "\"yes\",\"n\":{\"k\":[1]}}}\n{\"type\":\"event\",\"source\":\"a.wav\"}\n"));
  const std::string deep(100, '[');
  for (const auto& [line, reason] :
       std::map<std::string, std::string>{{"{\"path\":3}", "no \"path\""},
                                          {"{\"path\":\"a\"", "not a JSON object"},
                                          {"{\"path\":\"a\",\"offset\":-1}", "offset is -1"},
                                          {"{\"path\":\"a\",\"duration\":\"1\"}", "duration is \"1\""},
                                          {"{\"path\":\"a\",\"x\":" + deep, "deep"},
                                          {"{\"path\":\"file://host/a\"}", "another machine"},
                                          {"{\"path\":\"file:///a%0\"}", "two hexadecimal digits"},
                                          {"{\"path\":\"a\\u0000b\"}", "zero byte"}}) {
    write(file("m.jsonl"), "fine.wav\n" + line + "\n");
    EXPECT_THAT(refused({file("m.jsonl").string()}),
                testing::AllOf(HasSubstr("m.jsonl, line 2: "), HasSubstr(reason)));
  }
}

TEST_F(BatchRun, SharesAreBalancedAndComplete) {
  std::mt19937 random(5);
  std::vector<Recording> all(1000);
  std::int64_t dearest = 0, sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].index = static_cast<std::int64_t>(i);
    all[i].bytes = static_cast<std::int64_t>(random() % 100 == 0 ? random() % 4000000 : random() % 50000);
    // What share_of() weighs: opening a recording costs something, too.
    dearest = std::max(dearest, all[i].bytes + 4096);
    sum += all[i].bytes + 4096;
  }
  for (const int count : {1, 2, 7, 64}) {
    std::vector<int> times(all.size(), 0);
    std::int64_t most = 0, least = sum;
    for (int s = 0; s < count; ++s) {
      std::int64_t cost = 0, last = -1;
      for (const Recording& recording : share_of(all, {s, count})) {
        EXPECT_GT(recording.index, last) << "the order of the list stays";
        last = recording.index;
        ++times[static_cast<std::size_t>(recording.index)];
        cost += recording.bytes + 4096;
      }
      most = std::max(most, cost);
      least = std::min(least, cost);
    }
    EXPECT_THAT(times, testing::Each(1)) << count << " shards";
    EXPECT_LE(most - least, dearest) << count << " shards";
    if (count == 7) {
      EXPECT_LE(static_cast<double>(most - least), 0.01 * static_cast<double>(sum) / 7);
    }
  }
}

TEST(BatchShard, EnginesSayTheirShard) {
  const auto found = [](std::map<std::string, std::string> variables) {
    const auto shard = engine_shard(
        [&](const char* name) { return variables.contains(name) ? variables[name].c_str() : nullptr; });
    return shard.ok() ? shard->from + " " + std::to_string(shard->shard.index) + "/" +
                            std::to_string(shard->shard.count)
                      : std::string(shard.status().text());
  };
  EXPECT_EQ(found({}), " 0/1");
  EXPECT_EQ(found({{"SLURM_ARRAY_TASK_ID", "12"},
                   {"SLURM_ARRAY_TASK_COUNT", "8"},
                   {"SLURM_ARRAY_TASK_MIN", "10"},
                   {"PMI_RANK", "0"},
                   {"PMI_SIZE", "2"}}),
            "SLURM_ARRAY_TASK_ID 2/8");
  EXPECT_EQ(found({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}}),
            "OMPI_COMM_WORLD_RANK 3/4");
  EXPECT_EQ(found({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}), "PMI_RANK 1/2");
  EXPECT_EQ(found({{"SGE_TASK_ID", "5"}, {"SGE_TASK_LAST", "5"}}), "SGE_TASK_ID 4/5");
  EXPECT_EQ(found({{"SGE_TASK_ID", "undefined"}, {"JOB_COMPLETION_INDEX", "0"}, {"RUNNEL_SHARDS", "3"}}),
            "JOB_COMPLETION_INDEX 0/3");
  EXPECT_THAT(found({{"JOB_COMPLETION_INDEX", "0"}}),
              HasSubstr("JOB_COMPLETION_INDEX=0 with RUNNEL_SHARDS=: no shard"));
  EXPECT_THAT(found({{"SLURM_ARRAY_TASK_ID", "4"}, {"SLURM_ARRAY_TASK_COUNT", "4"}}), HasSubstr("no shard"));
  for (const char* text : {"", "1", "2/2", "-1/2", "0/0", "0/2x", "a/b", "0/99999999"})
    EXPECT_FALSE(parse_shard(text).ok()) << text;
  EXPECT_EQ(parse_shard("1/3")->index, 1);
}

TEST_F(BatchRun, JobsAndShardsChangeNothing) {
  const auto inputs = make_files(200);
  const std::string one = complete(file("one"), inputs);
  EXPECT_THAT(one, HasSubstr("\"files\":200,\"failures\":29,\"audio_seconds\":"));
  EXPECT_EQ(timeless(complete(file("three"), inputs, {}, 3)), timeless(one));
  std::vector<fs::path> shards;
  for (int i = 6; i >= 0; --i) {
    shards.push_back(file("shard" + std::to_string(i)));
    complete(shards.back(), inputs, {i, 7}, 2);
  }
  std::string merged;
  const auto take = [&](std::string_view text) {
    merged += text;
    return Status();
  };
  const auto totals = merge(shards, take);
  ASSERT_TRUE(totals.ok()) << totals.status().text();
  EXPECT_EQ(timeless(merged), timeless(one));
  EXPECT_EQ(totals->totals.failures, 29);
  // What is missing, doubled, foreign or changed is said.
  const auto reason = [&](std::vector<fs::path> some) {
    const auto result = merge(some, take);
    return result.ok() ? std::string() : std::string(result.status().text());
  };
  EXPECT_THAT(reason({shards[0], shards[2]}), HasSubstr("of 7 shards these are missing: 0, 1, 2, 3, 5"));
  EXPECT_THAT(reason({shards[0], shards[0]}), HasSubstr("shard 6 is given twice"));
  EXPECT_THAT(reason({shards[0], file("one")}), HasSubstr("one of 1 shards"));
  EXPECT_THAT(reason({file("none")}), HasSubstr("no such file"));
  std::string text = read(shards[3]);
  text[10] ^= 1;
  write(shards[3], text);
  EXPECT_THAT(reason(shards), HasSubstr("has changed since its journal was written"));
}

TEST_F(BatchRun, ACrashAtAnyMomentLosesAndRepeatsNothing) {
  const auto inputs = make_files(40);
  const std::string expected = timeless(complete(file("whole"), inputs));
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const fs::path out = file("out");
    {
      auto output = begin(out, inputs);
      ASSERT_TRUE(output.ok()) << output.status().text();
      for (const Recording& recording : output->recordings()) {
        if (output->done() == 25) break;
        NameWorker worker;
        ASSERT_TRUE(output->append(process_checked(worker, recording)).ok());
      }
    }
    // The system kept only a part of either file, or rubbish after it.
    const fs::path part = out.string() + ".part";
    const std::uintmax_t bytes = fs::file_size(part), journal = fs::file_size(journal_path(out));
    if (round % 3 != 0) fs::resize_file(part, random() % (bytes + 1));
    if (round % 3 != 1) fs::resize_file(journal_path(out), journal - random() % 2000);
    if (round % 5 == 0) std::ofstream(journal_path(out), std::ios::app) << "{\"done\":9,";
    auto resumed = RunOutput::resume(out, 1, {});
    if (!resumed.ok()) {  // the list was not complete: nothing had begun
      EXPECT_EQ(resumed.status().code(), Code::invalid_data) << resumed.status().text();
      continue;
    }
    EXPECT_LE(resumed->done(), 25u);
    const int before = NameWorker::worked;
    const std::size_t left = 40 - resumed->done();
    ASSERT_TRUE(run(*resumed, make_worker, {.jobs = 2}).ok());
    EXPECT_EQ(NameWorker::worked - before, static_cast<int>(left));
    EXPECT_EQ(timeless(read(out)), expected);
    EXPECT_FALSE(fs::exists(part));
    const std::int64_t failures = resumed->totals().failures;
    { const RunOutput ended = std::move(*resumed); }  // lets go of the journal
    // Once more: nothing to do, also when the last line of the journal is gone.
    if (round % 2 == 0) fs::resize_file(journal_path(out), fs::file_size(journal_path(out)) - 5);
    auto again = RunOutput::resume(out, 1, {});
    ASSERT_TRUE(again.ok()) << again.status().text();
    EXPECT_TRUE(again->complete());
    EXPECT_EQ(again->totals().failures, failures);
    fs::remove(out);
  }
}

TEST_F(BatchRun, ResumingIsForTheSameRun) {
  const auto inputs = make_files(8);
  const fs::path out = file("out");
  EXPECT_EQ(RunOutput::resume(out, 1, {}).status().code(), Code::not_found);
  {
    auto output = begin(out, inputs);
    ASSERT_TRUE(output.ok());
    EXPECT_THAT(std::string(begin(out, inputs).status().text()), HasSubstr("another run is writing it"));
    EXPECT_THAT(std::string(RunOutput::resume(out, 1, {}).status().text()),
                HasSubstr("another run is writing it"));
    NameWorker worker;
    for (int i = 0; i < 3; ++i)
      ASSERT_TRUE(output->append(process_checked(worker, output->recordings()[output->done()])).ok());
  }
  EXPECT_EQ(RunOutput::resume(out, 2, {}).status().code(), Code::mismatch);
  EXPECT_EQ(RunOutput::resume(out, 1, {0, 2}).status().code(), Code::mismatch);
  // One of the finished has changed, one to come has gone, one has grown.
  write(file("set/1001.wav"), "something else");
  fs::remove(file("set/1005.wav"));
  write(file("set/1006.wav"), "grown by much");
  auto resumed = RunOutput::resume(out, 1, {});
  ASSERT_TRUE(resumed.ok()) << resumed.status().text();
  EXPECT_EQ(resumed->done(), 3u);
  EXPECT_THAT(resumed->changed(), ElementsAre(file("set/1001.wav").string()));
  ASSERT_TRUE(run(*resumed, make_worker, {}).ok());
  EXPECT_THAT(read(out), HasSubstr("1005.wav: has been removed since the run began"));
  EXPECT_THAT(read(out), HasSubstr("1006.wav: has changed since the run began"));
  EXPECT_EQ(resumed->totals().recordings, 8);
}

// Rewrites, or removes, what it works on.
class MeddlingWorker final : public Worker {
 public:
  Outcome process(const Recording& recording) override {
    const std::string name = fs::path(recording.path).filename().string();
    if (name == "1001.wav") write(recording.path, "longer than it was");
    if (name == "1002.wav") fs::remove(recording.path);
    return NameWorker().process(recording);
  }
  void forget(const Recording& recording) override {
    forgotten.push_back(fs::path(recording.path).filename().string());
  }
  static inline std::vector<std::string> forgotten;
};

TEST_F(BatchRun, WhatChangesUnderTheHandsIsAFailure) {
  auto output = begin(file("out"), make_files(6));
  ASSERT_TRUE(output.ok());
  ASSERT_TRUE(run(*output, [] { return std::make_unique<MeddlingWorker>(); }, {.jobs = 1}).ok());
  const std::string text = read(file("out"));
  EXPECT_THAT(text, HasSubstr("1001.wav: has changed since the run began"));
  EXPECT_THAT(text, HasSubstr("1002.wav: has been removed since the run began"));
  EXPECT_THAT(text, HasSubstr("\"files\":6,\"failures\":3"));
  EXPECT_THAT(MeddlingWorker::forgotten, ElementsAre("1001.wav", "1002.wav"));
}

// The first one takes its time, and all others are finished meanwhile by another thread; no more of them than
// there is room for.
class SlowWorker final : public Worker {
 public:
  Outcome process(const Recording& recording) override {
    if (recording.index == 0) {
      while (finished < 30) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      most = finished.load();
    }
    Outcome outcome;
    outcome.records.assign(std::size_t{2} << 20, 'x');
    ++finished;
    return outcome;
  }
  static inline std::atomic<int> finished{0}, most{0};
};

TEST_F(BatchRun, OneThatIsSlowHoldsNobodyUpAndMemoryIsBounded) {
  const auto list = list_recordings(make_files(80));
  ASSERT_TRUE(list.ok());
  std::vector<std::int64_t> taken;
  ASSERT_TRUE(work(
                  *list, 0, [] { return std::make_unique<SlowWorker>(); }, {.jobs = 3},
                  [&](const Recording& recording, const Outcome&) {
                    taken.push_back(recording.index);
                    return Status();
                  })
                  .ok());
  EXPECT_EQ(taken.size(), 80u);
  EXPECT_TRUE(std::is_sorted(taken.begin(), taken.end()));
  // 64 MiB, and one for each thread.
  EXPECT_LE(SlowWorker::most, 32 + 3);
}

TEST_F(BatchRun, StrictEndsAtTheFirstFailure) {
  const auto inputs = make_files(20);
  auto output = begin(file("out"), inputs);
  ASSERT_TRUE(output.ok());
  const Status status = run(*output, make_worker, {.jobs = 3, .strict = true});
  EXPECT_THAT(std::string(status.text()), HasSubstr("recording 4 of 20 failed"));
  EXPECT_EQ(output->done(), 3u);
  EXPECT_FALSE(fs::exists(file("out")));
}

TEST_F(BatchRun, AHundredThousandInOneFolder) {
  fs::create_directory(file("set"));
  for (int i = 0; i < 100000; ++i) {
    std::error_code error;
    if (i == 0)
      write(file("set/0.wav"), "x");
    else
      fs::create_hard_link(file("set/" + std::to_string((i - 1) / 20000 * 20000) + ".wav"),
                           file("set/" + std::to_string(i) + ".wav"), error);
    if (error || i % 20000 == 0) write(file("set/" + std::to_string(i) + ".wav"), "x");
  }
  auto list = list_recordings(std::vector<std::string>{file("set").string()});
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->size(), 100000u);
  EXPECT_TRUE(std::is_sorted(list->begin(), list->end(),
                             [](const Recording& a, const Recording& b) { return a.path < b.path; }));
  // A name, and little more.
  EXPECT_LE(list->memory_bytes(), 30 * list->size());
  EXPECT_EQ(share_of(std::move(*list), {3, 10}).size(), 10000u);
}

TEST_F(BatchRun, EveryLineGetsAnAnswer) {
  write(file("a.wav"), "x");
  NameWorker worker;
  Totals totals;
  EXPECT_EQ(answer(file("a.wav").string() + "\r", worker, totals),
            "{\"source\":\"" + file("a.wav").string() +
                "\",\"audio_seconds\":0.100,\"events\":[{\"type\":\"event\",\"source\":\"a.wav\"}]}\n");
  EXPECT_THAT(answer("{\"path\":\"" + file("a.wav").string() + "\",\"id\":\"7\",\"k\":1}", worker, totals),
              testing::EndsWith("\"source\":\"a.wav\"}],\"id\":\"7\",\"fields\":{\"k\":1}}\n"));
  EXPECT_THAT(answer("gone.wav", worker, totals),
              HasSubstr("\"events\":[],\"error\":\"gone.wav: there is no such file\"}\n"));
  for (const std::string line : {"", "{", "{\"path\":1}", "\xFF\n"})
    EXPECT_THAT(answer(line, worker, totals),
                testing::AllOf(HasSubstr("\"error\":\""), testing::EndsWith("}\n")))
        << line;
  EXPECT_EQ(totals.recordings, 7);
  EXPECT_EQ(totals.failures, 5);
}

TEST(BatchProgress, SaysWhereARunStands) {
  const ProgressState state{.recordings = 1200,
                            .of = 20000,
                            .failures = 3,
                            .audio_seconds = 8316,
                            .seconds = 10,
                            .share = 0.25,
                            .share_before = 0.05};
  EXPECT_EQ(progress_text(state),
            "1200 of 20000 recordings, 3 failed, 2.31 hours of sound, 832 times real time, 00:00:38 left");
  EXPECT_EQ(progress_bar(state, 40), "[######..................]  25 % 1200 of");
}

}  // namespace
}  // namespace runnel::batch::test
