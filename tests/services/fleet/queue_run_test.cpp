// The threads of workers of a queue of recordings: several workers, each with several threads, over a queue
// in memory. What they give together is what one thread gives. Under ThreadSanitizer this is what looks at
// them.
#include "services/fleet/recordings/queue_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/host/joined_thread.h"
#include "services/batch/merge.h"
#include "services/batch/recordings/recording_list.h"
#include "services/fleet/recordings/queued_recording.h"
#include "tests/services/fleet/memory_queue.h"
#include "tests/support/data.h"

namespace runnel::fleet::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// The queue in memory for one worker among several threads. The time is that of the machine.
class SharedQueue final : public WorkQueue {
 public:
  SharedQueue(MemoryQueueServer& server, std::mutex& mutex) : server_(server), mutex_(mutex) {
    // The server counts its clients.
    locked([this] { queue_.emplace(server_); });
  }

  void pull(int count) override {
    locked([&] { queue_->pull(count); });
  }
  [[nodiscard]] int coming() const override { return queue_->coming(); }
  bool next(QueueItem& out, int wait) override {
    const bool there = locked([&] { return queue_->next(out, 0); });
    if (!there && wait > 0) std::this_thread::sleep_for(milliseconds(1));
    return there;
  }
  void acknowledge(const QueueItem& item) override {
    locked([&] { queue_->acknowledge(item); });
  }
  std::vector<std::uint64_t> confirmed() override {
    return locked([&] { return queue_->confirmed(); });
  }
  void keep(const QueueItem& item) override {
    locked([&] { queue_->keep(item); });
  }
  void give_back(const QueueItem& item, double seconds) override {
    locked([&] { queue_->give_back(item, seconds); });
  }
  void flush(int) override {}
  Result<QueueState> state() override {
    return locked([&] { return queue_->state(); });
  }
  Result<std::size_t> add(std::span<const QueueEntry> entries) override {
    return locked([&] { return queue_->add(entries); });
  }
  Result<QueueNote> note(std::string_view name) override {
    return locked([&] { return queue_->note(name); });
  }
  Result<std::uint64_t> set_note(std::string_view name, std::uint64_t after, std::string_view text) override {
    return locked([&] { return queue_->set_note(name, after, text); });
  }
  Result<std::vector<std::string>> notes(std::string_view prefix) override {
    return locked([&] { return queue_->notes(prefix); });
  }

 private:
  template <typename Call>
  auto locked(const Call& call) -> decltype(call()) {
    const std::lock_guard lock(mutex_);
    server_.at(std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begun_));
    return call();
  }

  static inline const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  MemoryQueueServer& server_;
  std::mutex& mutex_;
  std::optional<MemoryQueue> queue_;
};

batch::Outcome outcome_of(const batch::Recording& recording) {
  batch::Outcome outcome;
  outcome.counts.audio_seconds = 0.5;
  outcome.counts.events = 1;
  outcome.records =
      "{\"type\":\"event\",\"source\":\"" + fs::path(recording.path).filename().string() + "\"}\n";
  return outcome;
}

class NameWorker final : public batch::Worker {
 public:
  NameWorker(std::atomic<int>& begun, const std::atomic<bool>* stop) : begun_(begun), stop_(stop) {}
  batch::Outcome process(const batch::Recording& recording) override {
    // One that will be stopped has work left then.
    if (++begun_ >= kBegunBeforeStop && stop_ != nullptr) stop_->wait(false);
    return outcome_of(recording);
  }

  static constexpr int kBegunBeforeStop = 20;

 private:
  std::atomic<int>& begun_;
  const std::atomic<bool>* stop_;
};

class QueueRun : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_.path() / "set");
    for (int i = 0; i < kRecordings; ++i)
      std::ofstream(folder_.path() / "set" / (std::to_string(1000 + i) + ".wav")) << "x";
    const std::vector<std::string> inputs = {(folder_.path() / "set").string()};
    list_ = *batch::list_recordings(inputs);
    ASSERT_EQ(list_.size(), static_cast<std::size_t>(kRecordings));
    SharedQueue filler(server_, mutex_);
    ASSERT_EQ(*filler.add(entries_of(list_, "")), list_.size());
  }

  // One worker until the queue is empty, or until it is stopped. True: it was stopped.
  bool work(int number, const std::atomic<bool>* stop) {
    SharedQueue queue(server_, mutex_);
    auto output = batch::QueueOutput::open(
        output_of(number), {.call = 7, .shard = {}, .prefix = {}, .timing = false, .queue = "test of today"});
    EXPECT_TRUE(output.ok()) << output.status().text();
    if (!output.ok()) return false;
    QueueRunOptions options;
    options.desk.worker = "worker" + std::to_string(number);
    options.desk.queue = "test";
    options.desk.patience = std::chrono::minutes(10);
    options.run.jobs = 4;
    options.run.spare = &spare_;
    options.run.stop = stop;
    const batch::MakeWorker make = [&] { return std::make_unique<NameWorker>(begun_, stop); };
    const auto end = run_queue(queue, *output, make, options);
    EXPECT_TRUE(end.ok()) << end.status().text();
    if (!end.ok()) return false;
    EXPECT_EQ(end->apart, 0);
    if (end->stopped) return true;  // its output is merged as it is
    EXPECT_TRUE(output->finish(kRecordings).ok());
    return false;
  }
  [[nodiscard]] fs::path output_of(int number) const {
    return folder_.path() / (std::to_string(number) + ".jsonl");
  }
  void expect_everything_once(int workers) {
    std::vector<fs::path> outputs;
    for (int i = 0; i < workers; ++i) outputs.push_back(output_of(i));
    std::string text, expected;
    const auto all = batch::merge(outputs, [&](std::string_view some) {
      text += some;
      return Status();
    });
    ASSERT_TRUE(all.ok()) << all.status().text();
    batch::Totals totals;
    for (const batch::Recording& recording : list_) {
      const batch::Outcome outcome = outcome_of(recording);
      expected += outcome.records;
      totals.add(outcome);
    }
    EXPECT_EQ(text, expected + batch::summary_line(totals, false));
  }

  static constexpr int kRecordings = 200;
  runnel::test::TemporaryFolder folder_;
  batch::Recordings list_;
  std::mutex mutex_;
  MemoryQueueServer server_{1, {}, std::chrono::minutes(10)};
  batch::SpareThreads spare_;
  std::atomic<int> begun_{0};
};

TEST_F(QueueRun, ThreadsOfSeveralWorkersGiveWhatOneGives) {
  {
    std::vector<JoinedThread> workers;
    for (int i = 0; i < 3; ++i) workers.emplace_back([this, i] { EXPECT_FALSE(work(i, nullptr)); });
  }
  EXPECT_GE(begun_.load(), kRecordings);
  expect_everything_once(3);
}

TEST_F(QueueRun, WhatAStoppedWorkerHadIsDoneByAnother) {
  std::atomic<bool> stop{false};
  const JoinedThread stopper([&] {
    while (begun_.load() < NameWorker::kBegunBeforeStop) std::this_thread::sleep_for(milliseconds(1));
    stop = true;
    stop.notify_all();
  });
  EXPECT_TRUE(work(0, &stop));
  EXPECT_LT(begun_.load(), kRecordings);
  EXPECT_FALSE(work(1, nullptr));
  expect_everything_once(2);
}

}  // namespace
}  // namespace runnel::fleet::test
