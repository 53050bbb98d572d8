// runnel batch when things go wrong, and on several machines: killed, disk full, resumed, in shards, as a
// pipe; and what it reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <thread>

#include "tests/apps/killing.h"
#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string timeless(std::string text) {
  const std::size_t from = text.find("\"real_time_factor\":");
  if (from != std::string::npos) text.erase(from, text.find(',', from) - from);
  return text;
}

class BatchDependable : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  void make_set(int count) const {
    fs::create_directories(file("set"));
    for (int i = 0; i < count; ++i) {
      const std::string name = file("set/" + std::to_string(100 + i) + ".wav");
      if (i % 9 == 4)
        write_text(name, "broken");
      else
        write_wav(name, tone_words(0.6 + 0.3 * (i % 5), i % 2 == 0 ? 16000 : 8000),
                  i % 2 == 0 ? 16000 : 8000);
    }
  }
  std::vector<std::string> arguments(const std::string& output, std::vector<std::string> more = {}) const {
    std::vector<std::string> all = {"batch",  model(), file("set"),  "-o",  file(output),
                                    "--jobs", "2",     "--decision", kEager};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::string whole() const {
    EXPECT_EQ(call(arguments("whole.jsonl")).exit_code, 1) << "one in nine is broken";
    return timeless(read_text(file("whole.jsonl")));
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(BatchDependable, TenKillsChangeNothing) {
  make_set(600);
  const auto start = std::chrono::steady_clock::now();
  const std::string expected = whole();
  const auto undisturbed =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
  std::mt19937 random(3);
  int kills = 0;
  // Somewhere between a tenth and six tenths of what an undisturbed run takes on this machine.
  for (int round = 0; round < 60 && kills < 10; ++round) {
    if (run_and_kill(arguments("out.jsonl", {"--resume"}), undisturbed * (10 + random() % 50) / 100)) {
      fs::remove(file("out.jsonl"));
      fs::remove(file("out.jsonl.journal"));
    } else {
      ++kills;
    }
  }
  EXPECT_EQ(kills, 10);
  EXPECT_EQ(call(arguments("out.jsonl", {"--resume"})).exit_code, 1);
  EXPECT_EQ(timeless(read_text(file("out.jsonl"))), expected);
  EXPECT_FALSE(fs::exists(file("out.jsonl.part")));
  const std::string complete = read_text(file("out.jsonl"));
  EXPECT_THAT(call(arguments("out.jsonl", {"--resume"})).err, HasSubstr("is complete already"));
  EXPECT_EQ(read_text(file("out.jsonl")), complete);
}

TEST_F(BatchDependable, AFullDiskKeepsWhatIsFinished) {
  make_set(60);
  const std::string expected = whole();
  std::string command = "ulimit -f 26; trap '' XFSZ; exec \"$0\" \"$@\"";
  std::vector<std::string> shell = {"/bin/sh", "-c", command, runnel::test::program()};
  for (const std::string& argument : arguments("out.jsonl")) shell.push_back(argument);
  const Output full = runnel::test::run_program(shell);
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.err, testing::AllOf(HasSubstr("out.jsonl: cannot write: "),
                                       HasSubstr("of 60 recordings are kept for --resume")));
  EXPECT_FALSE(fs::exists(file("out.jsonl")));
  EXPECT_EQ(call(arguments("out.jsonl", {"--resume"})).exit_code, 1);
  EXPECT_EQ(timeless(read_text(file("out.jsonl"))), expected);
}

TEST_F(BatchDependable, ShardsMergeToTheWhole) {
  make_set(30);
  const std::string expected = whole();
  std::vector<std::string> merge = {"merge"};
  for (int i = 0; i < 3; ++i) {
    // The second way to say it: as an engine does.
    if (i == 1) setenv("PMI_RANK", "1", 1), setenv("PMI_SIZE", "3", 1);
    call(arguments(
        "s{shard}-{shards}.jsonl",
        i == 1 ? std::vector<std::string>{} : std::vector<std::string>{"--shard", std::to_string(i) + "/3"}));
    unsetenv("PMI_RANK");
    unsetenv("PMI_SIZE");
    merge.push_back(file("s" + std::to_string(i) + "-3.jsonl"));
  }
  refusal({"merge", merge[1], merge[3], "-o", file("m.jsonl")}, "of 3 shards these are missing: 1");
  EXPECT_FALSE(fs::exists(file("m.jsonl")));
  merge.insert(merge.end(), {"-o", file("m.jsonl")});
  call_well(merge);
  EXPECT_EQ(timeless(read_text(file("m.jsonl"))), expected);
}

TEST_F(BatchDependable, CallsThatMakeNoSenseAreRefused) {
  make_set(2);
  refusal(arguments("out.jsonl", {"--shard", "2/2"}), "expected I/N with I from 0 to N - 1");
  refusal({"batch", model(), "--pipe", "-o", file("x")}, "expected no INPUT, -o, --shard or --resume");
  refusal({"batch", model(), "-o", file("x")}, "expected INPUT... and -o OUT, or --pipe");
  write_text(file("plain"), "");
  refusal({"batch", model(), file("set"), "-o", file("plain/out.jsonl")}, "cannot create: Not a directory");
  // A folder in which no user can create files.
  refusal({"batch", model(), file("set"), "-o", "/proc/out.jsonl"}, "/proc/out.jsonl: cannot create: ");
  refusal({"batch", model(), file("set"), "-o", "/proc/arrays", "--format", "files", "--give", "features"},
          "cannot create: ");
  call_well(arguments("out.jsonl"));
  refusal(arguments("out.jsonl", {"--resume", "--tail", "1"}),
          "with another model, other inputs or other options");
  write_text(file("set/000.wav"), "broken");
  refusal(arguments("strict.jsonl", {"--strict"}), "recording 1 of 3 failed");
}

// As somebody who may do less than the owner of the files.
TEST_F(BatchDependable, WhatMayNotBeReadOrWrittenIsSaid) {
  make_set(2);
  std::vector<std::string> nobody;
  if (geteuid() == 0) nobody = {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  const auto as_nobody = [&](std::vector<std::string> arguments) {
    std::vector<std::string> all = nobody;
    all.push_back(runnel::test::program());
    all.insert(all.end(), arguments.begin(), arguments.end());
    return runnel::test::run_program(all);
  };
  fs::permissions(file(""), fs::perms::all);
  if (as_nobody({"inspect", model()}).exit_code != 0)
    GTEST_SKIP() << "SKIPPED: other users cannot run this program where it lies";
  fs::create_directory(file("closed"));
  fs::permissions(file("closed"), fs::perms::owner_read | fs::perms::owner_exec);
  const Output unwritable = as_nobody({"batch", model(), file("set"), "-o", file("closed/out.jsonl")});
  EXPECT_EQ(unwritable.exit_code, 1);
  EXPECT_THAT(unwritable.err, HasSubstr("closed/out.jsonl: cannot create: Permission denied"));
  EXPECT_TRUE(fs::is_empty(file("closed")));
  // A folder somewhere below: nothing is begun, because part of the recordings would be missing without a
  // word.
  fs::create_directory(file("set/deep"));
  fs::permissions(file("set/deep"), fs::perms::none);
  const Output unreadable = as_nobody(arguments("out.jsonl"));
  fs::remove(file("set/deep"));
  EXPECT_EQ(unreadable.exit_code, 1);
  EXPECT_THAT(unreadable.err, HasSubstr("set/deep: cannot be read: Permission denied"));
  EXPECT_FALSE(fs::exists(file("out.jsonl")) || fs::exists(file("out.jsonl.part")) ||
               fs::exists(file("out.jsonl.journal")));
  // A single file is a failure like any other.
  fs::permissions(file("set/100.wav"), fs::perms::none);
  const Output one = as_nobody(arguments("out.jsonl"));
  EXPECT_EQ(one.exit_code, 1);
  EXPECT_THAT(read_text(file("out.jsonl")), HasSubstr("set/100.wav: not a recording that can be read: "));
}

TEST_F(BatchDependable, ABarOnATerminalPlainLinesElsewhere) {
  make_set(8);
  const Output plain = call(arguments("plain.jsonl", {"--progress", "0.001"}));
  EXPECT_THAT(plain.err, HasSubstr("runnel: 8 of 8 recordings, 1 failed, "));
  EXPECT_THAT(plain.err, testing::Not(HasSubstr("\r")));
  EXPECT_THAT(call(arguments("none.jsonl", {"--progress", "0"})).err,
              testing::Not(HasSubstr("of 8 recordings, ")));
  // `script` is a terminal for the program that it runs.
  std::string command = "exec";
  for (const std::string& argument : arguments("terminal.jsonl")) command += " '" + argument + "'";
  command.replace(0, 4, "exec '" + runnel::test::program() + "'");
  const Output terminal = runnel::test::run_program({"script", "-qec", command, "/dev/null"});
  EXPECT_EQ(terminal.exit_code, 1) << terminal.err;
  EXPECT_THAT(terminal.out, HasSubstr("\r[########################] 100 % 8 of 8 recordings, 1 failed"));
  EXPECT_EQ(timeless(read_text(file("terminal.jsonl"))), timeless(read_text(file("plain.jsonl"))));
}

TEST_F(BatchDependable, APipeAnswersEveryLine) {
  make_set(5);
  write_text(file("in"), file("set/100.wav") + "\n{\"path\":\"" + file("set/104.wav") +
                             "\",\"id\":\"b\"}\n\n{\n" + file("gone.wav") + "\n");
  const Output output =
      runnel::test::run_program({"/bin/sh", "-c", "\"$0\" batch \"$1\" --decision \"$2\" --pipe < \"$3\"",
                                 runnel::test::program(), model(), kEager, file("in")});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  const auto answers = json_lines(output.out);
  ASSERT_EQ(answers.size(), 5u);
  EXPECT_FALSE(answers[0]["events"].empty());
  EXPECT_FALSE(answers[0].contains("error"));
  EXPECT_EQ(answers[1]["id"], "b");
  for (int i = 1; i < 5; ++i) EXPECT_TRUE(answers[static_cast<std::size_t>(i)].contains("error")) << i;
}

TEST_F(BatchDependable, PiecesAndBareSamplesAreRecordings) {
  const auto words = tone_words(3, 16000);
  const std::vector<std::int16_t> cut(words.begin() + 8000, words.begin() + 40000);
  write_wav(file("whole.wav"), words);
  write_wav(file("cut.wav"), cut);
  write_text(file("cut.raw"), std::string(reinterpret_cast<const char*>(cut.data()), cut.size() * 2));
  write_text(file("m.jsonl"), "{\"path\":\"" + file("whole.wav") + "\",\"offset\":0.5,\"duration\":2}\n");
  write_text(file("beyond.jsonl"), "{\"path\":\"" + file("whole.wav") + "\",\"offset\":2,\"duration\":2}\n");
  const auto events = [&](const std::string& name, std::vector<std::string> more = {}) {
    std::vector<std::string> all = {"batch", model(), file(name), "-o", "-", "--decision", kEager};
    all.insert(all.end(), more.begin(), more.end());
    return events_of(call_well(all).out);
  };
  const auto expected = events("cut.wav");
  EXPECT_GE(expected.size(), 1u);
  EXPECT_EQ(events("m.jsonl"), expected);
  EXPECT_EQ(events("cut.raw", {"--raw", "raw=s16le rate=16000 channels=1"}), expected);
  EXPECT_THAT(call({"batch", model(), file("cut.raw"), "-o", "-"}).out,
              HasSubstr("samples without a header"));
  EXPECT_THAT(call({"batch", model(), file("beyond.jsonl"), "-o", "-"}).out,
              HasSubstr("the piece is samples 32000 to 64000, the recording has 48000"));
}

}  // namespace
}  // namespace runnel::apps::test
