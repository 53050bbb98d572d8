// Workers of a queue of recordings as processes, over a real server: killed, stopped, started, without the
// server; the merged output is that of one machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "services/fleet/nats/jetstream_queue.h"
#include "tests/apps/fleet/background.h"
#include "tests/apps/support.h"
#include "tests/services/fleet/nats/nats_server.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

class QueueTest : public testing::Test {
 protected:
  static constexpr int kRate = 16000;

  void SetUp() override {
    std::string why;
    server_ = fleet::test::NatsServer::start(why);
    if (server_ == nullptr) GTEST_SKIP() << "SKIPPED: " << why;
  }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  // Recordings below FOLDER/set, with so many seconds of silence after each. The fourth cannot be read.
  void make_set(const std::string& folder, int count, int silence = 0) const {
    fs::create_directories(fs::path(file(folder)) / "set");
    for (int i = 0; i < count; ++i) {
      const fs::path path = fs::path(file(folder)) / "set" / (std::to_string(100 + i) + ".wav");
      if (i == 3) {
        write_text(path, "not a recording");
        continue;
      }
      std::vector<std::int16_t> sound = tone_words(2 + i % 3, kRate);
      std::rotate(sound.begin(), sound.begin() + 777 * i % kRate, sound.end());
      std::string bytes(reinterpret_cast<const char*>(sound.data()), 2 * sound.size());
      const std::size_t rest = 2UL * kRate * static_cast<std::size_t>(silence);
      const std::string header =
          wav_bytes({}, kRate, 1, 16, 1, static_cast<std::uint32_t>(bytes.size() + rest));
      write_text(path, header + bytes);
      // Takes no room on the disk.
      fs::resize_file(path, header.size() + bytes.size() + rest);
    }
  }
  std::vector<std::string> with_queue(std::vector<std::string> arguments, const std::string& queue) const {
    arguments.insert(arguments.end(), {"--nats", server_->url(), "--queue", queue});
    return arguments;
  }
  std::vector<std::string> work_call(const std::string& queue, const std::string& output,
                                     const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = with_queue(
        {"batch", model(), "-o", file(output), "--no-timing", "--decision", kEager, "--jobs", "1"}, queue);
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Json status(const std::string& queue) const {
    return json_lines(call_well(with_queue({"batch", "--status"}, queue)).out).back();
  }
  // Waits until so many recordings are done. Returns how many are.
  int wait_until_done(const std::string& queue, int count) const {
    const auto end = Clock::now() + std::chrono::seconds(120);
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
      const Json now = status(queue);
      if (now["done"] >= count) return now["done"];
      if (Clock::now() < end) continue;
      ADD_FAILURE() << now.dump();
      return 0;
    }
  }
  // The output of one machine, with paths below a folder as that one sees them.
  std::string one_machine(const std::string& folder) const {
    call({"batch", model(), file(folder) + "/set", "-o", file("one.jsonl"), "--no-timing", "--decision",
          kEager});
    std::string text = read_text(file("one.jsonl"));
    const std::string before = file(folder) + "/";
    for (std::size_t at = text.find(before); at != std::string::npos; at = text.find(before, at))
      text.erase(at, before.size());
    return text;
  }

  runnel::test::TemporaryFolder folder_;
  std::unique_ptr<fleet::test::NatsServer> server_;
};

TEST_F(QueueTest, MergedIsWhatOneMachineGivesWhoeverDies) {
  constexpr int kRecordings = 40;
  // Two machines name the root otherwise.
  make_set("here", kRecordings, 300);
  fs::create_directories(file("there"));
  fs::create_directory_symlink(file("here") + "/set", file("there") + "/set");
  const std::vector<std::string> fill = with_queue(
      {"batch", "--enqueue", file("here") + "/set", "--root", file("here"), "--redeliver", "2"}, "calls");
  EXPECT_EQ(json_lines(call_well(fill).out)[0]["added"], kRecordings);
  EXPECT_EQ(json_lines(call_well(fill).out)[0]["added"], 0);
  EXPECT_EQ(json_lines(call_well(with_queue({"batch", "--enqueue", "set", "--root", file("there")}, "calls"))
                           .out)[0]["known"],
            kRecordings);

  const auto start = [&](const std::string& output, const std::string& root) {
    return std::make_unique<Background>(work_call("calls", output, {"--root", file(root), "--wait"}),
                                        folder_.path() / (output + ".log"));
  };
  std::vector<std::unique_ptr<Background>> workers;
  workers.push_back(start("a.jsonl", "here"));
  wait_until_done("calls", 2);
  workers[0]->end(SIGKILL);
  workers.push_back(start("b.jsonl", "there"));
  workers.push_back(start("c.jsonl", "here"));
  EXPECT_LT(wait_until_done("calls", 8), kRecordings) << "too fast for this test";
  // Each worker has its share.
  const std::string journal = file("b.jsonl") + ".journal";
  const auto end = Clock::now() + std::chrono::seconds(60);
  while (!fs::exists(journal) || read_text(journal).find("{\"done\"") == std::string::npos) {
    ASSERT_LT(Clock::now(), end);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  workers[1]->signal(SIGSTOP);
  workers[0] = start("a.jsonl", "here");
  EXPECT_LT(wait_until_done("calls", 16), kRecordings) << "too fast for this test";
  ASSERT_TRUE(server_->restart());
  EXPECT_LT(wait_until_done("calls", 20), kRecordings) << "too fast for this test";
  workers[2]->end(SIGKILL);
  workers[2] = start("c.jsonl", "here");
  wait_until_done("calls", kRecordings);
  workers[1]->signal(SIGCONT);
  // The first ends for ever; the others end as services do.
  workers[0]->end(SIGKILL);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    workers[i]->signal(SIGTERM);
    EXPECT_EQ(workers[i]->wait(), 1) << "a recording is set apart";
  }
  const Output merged =
      call({"merge", file("c.jsonl"), file("a.jsonl"), file("b.jsonl"), "-o", file("merged.jsonl")});
  ASSERT_EQ(merged.exit_code, 0) << merged.err;
  for (const char* name : {"a.jsonl", "b.jsonl", "c.jsonl"})
    EXPECT_NE(read_text(file(name) + ".journal").find("{\"done\""), std::string::npos)
        << name << " did nothing";
  const std::string expected = one_machine("here");
  EXPECT_EQ(read_text(file("merged.jsonl")), expected);
  EXPECT_GT(events_of(expected).size(), static_cast<std::size_t>(kRecordings));
  const Json now = status("calls");
  EXPECT_EQ(now["set_apart"], 1);
  EXPECT_EQ(now["recordings"], kRecordings);
  // The same call goes on with what was enqueued since, and says that all is done.
  call_well(with_queue({"batch", "--enqueue", file("there") + "/set/100.wav", file("there") + "/set/100.wav"},
                       "calls"));
  const Output more = call(work_call("calls", "b.jsonl", {"--root", file("there")}));
  EXPECT_EQ(more.exit_code, 1);
  EXPECT_NE(more.err.find("100.wav: leads out of the root of this worker"), std::string::npos) << more.err;
  EXPECT_NE(more.err.find("3 of 42 recordings of queue calls are set apart"), std::string::npos) << more.err;
}

// A sound file of so many hours, of which only the first bytes take room.
void write_long_silence(const fs::path& path, int hours, int rate) {
  const std::uint32_t data =
      static_cast<std::uint32_t>(hours) * 3600U * 2U * static_cast<std::uint32_t>(rate);
  const std::string bytes = wav_bytes({}, rate, 1, 16, 1, data);
  write_text(path, bytes);
  fs::resize_file(path, bytes.size() + data);
}

TEST_F(QueueTest, WhatKillsWorkersIsSetApartByName) {
  make_set("all", 3);
  // It takes so long that the test can kill its worker while it is under way.
  write_long_silence(fs::path(file("all")) / "set" / "zz-deadly.wav", 10, kRate);
  call_well(with_queue({"batch", "--enqueue", "set", "--root", file("all"), "--redeliver", "1"}, "calls"));
  fleet::JetStreamQueue queue(*fleet::make_wire());
  fleet::Wire::Settings settings;
  settings.urls = server_->url();
  settings.name = "test";
  ASSERT_TRUE(queue.open(settings, {"calls", 1, 1, false}).ok());
  const std::vector<std::string> root = {"--root", file("all")};
  for (int death = 1; death <= 3; ++death) {
    SCOPED_TRACE(death);
    Background worker(work_call("calls", "a.jsonl", root), folder_.path() / "a.log");
    // What came again is noted before it begins. The first time it is the last that is not done.
    const std::string begun = "\"tries\":" + std::to_string(death);
    const auto end = Clock::now() + std::chrono::seconds(60);
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
      ASSERT_LT(Clock::now(), end);
      const auto state = queue.state();
      const auto note = queue.note("note.4");
      if (!state.ok() || !note.ok()) continue;
      if (death == 1 ? state->waiting == 0 && state->under_way == 1
                     : note->text.find(begun) != std::string::npos)
        break;
    }
    worker.end(SIGKILL);
  }
  const std::string line =
      refusal(work_call("calls", "a.jsonl", root), "1 of 4 recordings of queue calls are set apart");
  EXPECT_NE(line.find("set/zz-deadly.wav: 3 workers ended or were silent"), std::string::npos) << line;
  const auto lines = json_lines(call_well(with_queue({"batch", "--status"}, "calls")).out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["recording"], "set/zz-deadly.wav");
  EXPECT_EQ(lines[0]["place"], 4);
  EXPECT_EQ(lines[0]["tries"], 3);
  EXPECT_EQ(lines[1]["done"], 4);
  call_well({"merge", file("a.jsonl"), "-o", file("merged.jsonl")});
  const auto records = json_lines(read_text(file("merged.jsonl")));
  EXPECT_EQ(records[records.size() - 2]["source"], "set/zz-deadly.wav");
  EXPECT_EQ(records[records.size() - 2]["type"], "error");
  EXPECT_EQ(records.back()["failures"], 1);
}

TEST_F(QueueTest, WrongCalls) {
  make_set("all", 5);
  const std::string set = file("all") + "/set";
  refusal(work_call("nothing", "x.jsonl"), "no queue of this name");
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"all"});
  refusal(with_queue({"batch", "--enqueue", set}, "a.b"), "expected 1 to 64 letters");
  refusal(with_queue({"batch", model(), set, "-o", file("x.jsonl")}, "calls"), "expected MODEL and -o OUT");
  refusal(with_queue({"batch", model(), "-o", "-"}, "calls"), "expected a file");
  refusal(with_queue({"batch", model(), "-o", file("x.jsonl"), "--shard", "0/2"}, "calls"),
          "no --pipe, --shard");
  refusal(with_queue({"batch", "--enqueue", "--status", set}, "calls"), "expected one of");
  refusal({"batch", "--enqueue", set}, "expected --queue NAME");
  refusal({"batch", "-o", file("x.jsonl")}, "MODEL is required");
  refusal({"batch", "--enqueue", set, "--queue", "q", "--nats", "nats://127.0.0.1:1"}, "127.0.0.1:1");
  // Another model, or other options, on the same queue.
  call_well(with_queue({"batch", "--enqueue", set}, "calls"));
  refusal(work_call("calls", "files", {"--give", "features", "--format", "files"}), "is a folder");
  EXPECT_EQ(call(work_call("calls", "a.jsonl")).exit_code, 1);
  refusal(with_queue({"batch", model(), "-o", file("b.jsonl")}, "calls"), "another model or other options");
  EXPECT_FALSE(fs::exists(file("b.jsonl")));
}

}  // namespace
}  // namespace runnel::apps::test
