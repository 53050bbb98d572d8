// Workers of a queue of recordings without threads, over a queue in memory: killed, stopped, without a
// server; the merged outputs are those of one machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "services/batch/merge.h"
#include "services/batch/recordings/recording_list.h"
#include "services/batch/run.h"
#include "services/fleet/recordings/desk.h"
#include "services/fleet/recordings/queued_recording.h"
#include "tests/services/fleet/memory_queue.h"
#include "tests/support/data.h"

namespace runnel::fleet::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kPatience(3000), kTick(20);

// What processing gives: names with "bad" fail.
batch::Outcome outcome_of(const batch::Recording& recording) {
  const std::string name = fs::path(recording.path).filename().string();
  if (name.find("bad") != std::string::npos)
    return batch::failure_of(recording, Status(Code::invalid_data, "bad"));
  batch::Outcome outcome;
  outcome.counts.audio_seconds = 0.5;
  outcome.counts.events = 1;
  outcome.records = "{\"type\":\"event\",\"source\":\"" + name + "\"}\n";
  return outcome;
}

batch::JournalHead head() {
  return {.call = 7, .shard = {}, .prefix = {}, .timing = false, .queue = "test of today"};
}

Result<std::string> merged(const std::vector<fs::path>& outputs) {
  std::string text;
  RUNNEL_ASSIGN(const batch::Merged all, batch::merge(outputs, [&](std::string_view some) {
                  text += some;
                  return Status();
                }));
  return text;
}

class Worker {
 public:
  Worker(MemoryQueueServer& server, fs::path output, std::string name)
      : queue(server),
        output_(*batch::QueueOutput::open(output, head())),
        desk(queue, output_, options(name)) {}

  // One tick; false: it has died of a recording.
  bool work(milliseconds now, std::mt19937& random) {
    desk.work(now);
    for (Desk::Job job; desk.begin(job);) {
      const bool is_long = job.recording.path.find("long") != std::string::npos;
      running.emplace_back(std::move(job), now + milliseconds(is_long ? 8000 : 20 + random() % 200));
    }
    if (!desk.busy_with_suspects())
      queue.pull(std::max(0, 4 - static_cast<int>(desk.held()) - queue.coming()));
    for (QueueItem item; queue.next(item, 0);) desk.take(std::move(item), now);
    for (std::size_t i = 0; i < running.size();) {
      if (running[i].second > now) {
        ++i;
        continue;
      }
      const batch::Recording recording = running[i].first.recording;
      if (recording.path.find("deadly") != std::string::npos) return false;
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      desk.finished(recording, outcome_of(recording));
    }
    return random() % 8 != 0 || desk.settle(now).ok();
  }
  [[nodiscard]] bool idle() const { return desk.idle(); }
  Status finish(std::int64_t total) { return output_.finish(total); }

  MemoryQueue queue;
  milliseconds paused_until{0};

 private:
  static DeskOptions options(const std::string& name) {
    DeskOptions out;
    out.worker = name;
    out.queue = "test";
    out.patience = kPatience;
    return out;
  }
  batch::QueueOutput output_;
  Desk desk;
  std::vector<std::pair<Desk::Job, milliseconds>> running;
};

class QueueCourse : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_.path() / "set");
    for (int i = 0; i < 60; ++i) {
      const std::string kind = i % 13 == 5 ? "bad" : i == 7 || i == 30 ? "deadly" : i % 11 == 9 ? "long" : "";
      std::ofstream(folder_.path() / "set" / (std::to_string(100 + i) + kind + ".wav")) << "x";
    }
    const std::vector<std::string> inputs = {(folder_.path() / "set").string()};
    list_ = *batch::list_recordings(inputs);
    ASSERT_EQ(list_.size(), 60U);
  }
  // The bytes of one machine, where those that kill have the reason that the queue names.
  std::string expected(WorkQueue& queue) {
    std::string text;
    batch::Totals totals;
    for (const batch::Recording& recording : list_) {
      batch::Outcome outcome = outcome_of(recording);
      if (recording.path.find("deadly") != std::string::npos) {
        const auto trial =
            parse_trial(queue.note(apart_name(static_cast<std::uint64_t>(recording.index) + 1))->text);
        EXPECT_TRUE(trial.ok()) << recording.path;
        if (!trial.ok()) return {};
        EXPECT_EQ(trial->tries, 3);
        EXPECT_NE(trial->reason.find("3 workers ended or were silent"), std::string::npos) << trial->reason;
        outcome = batch::failure_of(recording, Status(Code::invalid_data)
                                                   << recording.path << ": " << trial->reason);
      }
      text += outcome.records;
      totals.add(outcome);
    }
    return text + batch::summary_line(totals, false);
  }
  std::set<std::string> names_apart(WorkQueue& queue) {
    std::set<std::string> out;
    const std::vector<std::string> names = *queue.notes("apart");
    for (const std::string& name : names)
      out.insert(fs::path(parse_trial(queue.note(name)->text)->recording).filename().string());
    return out;
  }
  void course(unsigned seed);

  runnel::test::TemporaryFolder folder_;
  batch::Recordings list_;
  std::size_t results_ = 0;  // in all outputs of all courses
  int kills_ = 0, pauses_ = 0;
};

void QueueCourse::course(unsigned seed) {
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  MemoryQueueServer server(seed, {0.05, 0.05}, kPatience);
  MemoryQueue client(server);
  const std::vector<QueueEntry> entries = entries_of(list_, "");
  // Whoever fills it dies, too, and starts anew.
  for (int i = 0; i < 100; ++i)
    if (client.add(entries).ok()) break;
  ASSERT_EQ(client.state()->total, list_.size());
  ASSERT_EQ(*client.add(entries), 0U);

  constexpr std::size_t kWorkers = 3;
  std::vector<fs::path> outputs;
  std::vector<std::unique_ptr<Worker>> workers(kWorkers);
  std::vector<milliseconds> starts(kWorkers);
  for (std::size_t i = 0; i < kWorkers; ++i)
    outputs.push_back(folder_.path() / (std::to_string(seed) + "-" + std::to_string(i) + ".jsonl"));
  // Who holds a recording three times in vain is set apart: so often is none disturbed by chance.
  std::map<std::uint64_t, int> hits;
  const auto hit = [&](const Worker& worker, bool anyway) {
    const auto held = server.held_by(worker.queue);
    const bool may = std::all_of(held.begin(), held.end(), [&](std::uint64_t one) { return hits[one] < 2; });
    if (may || anyway)
      for (const std::uint64_t one : held) ++hits[one];
    return may;
  };
  int started = 0;
  milliseconds now(0), down_until(0);
  const auto all_idle = [&] {
    return std::all_of(workers.begin(), workers.end(), [](const auto& one) { return !one || one->idle(); });
  };
  while (!server.done() || !all_idle()) {
    now += kTick;
    ASSERT_LT(now, std::chrono::hours(1)) << "it does not end";
    server.at(now);
    if (random() % 400 == 0) down_until = now + kPatience / 4;
    server.down(now < down_until);
    for (std::size_t i = 0; i < kWorkers; ++i) {
      std::unique_ptr<Worker>& worker = workers[i];
      if (!worker) {
        if (now < starts[i]) continue;
        const std::string name = "worker" + std::to_string(++started);
        worker = std::make_unique<Worker>(server, outputs[i], name);
      }
      if (now < worker->paused_until) continue;
      const bool alive = worker->work(now, random);
      const bool killed = alive && random() % 300 == 0 && hit(*worker, false);
      if (!alive) hit(*worker, true);
      if (!alive || killed) {
        ++kills_;
        worker = nullptr;
        starts[i] = now + milliseconds(random() % 8000);
      } else if (random() % 500 == 0 && hit(*worker, false)) {
        worker->paused_until = now + 2 * kPatience;
        ++pauses_;
      }
    }
  }
  server.down(false);
  // Those that are dead now stay so: their outputs are merged as they are.
  int finished = 0;
  for (auto& worker : workers) {
    if (!worker) continue;
    ASSERT_TRUE(worker->finish(static_cast<std::int64_t>(list_.size())).ok());
    ++finished;
  }
  if (finished == 0) {
    Worker last(server, outputs[0], "last");
    ASSERT_TRUE(last.finish(static_cast<std::int64_t>(list_.size())).ok());
  }
  std::shuffle(outputs.begin(), outputs.end(), random);
  std::erase_if(outputs, [](const fs::path& path) { return !fs::exists(path.string() + ".journal"); });
  const auto text = merged(outputs);
  ASSERT_TRUE(text.ok()) << text.status().text();
  EXPECT_EQ(*text, expected(client));
  std::set<std::string> apart;
  for (const batch::Recording& recording : list_) {
    const std::string name = fs::path(recording.path).filename().string();
    if (name.find("bad") != std::string::npos || name.find("deadly") != std::string::npos) apart.insert(name);
  }
  EXPECT_EQ(names_apart(client), apart);
  for (const fs::path& path : outputs) {
    std::ifstream journal(path.string() + ".journal");
    for (std::string line; std::getline(journal, line);) results_ += line.starts_with("{\"done\"") ? 1 : 0;
  }
}

TEST_F(QueueCourse, MergedIsWhatOneMachineGives) {
  constexpr unsigned kCourses = 10;
  for (unsigned seed = 1; seed <= kCourses && !HasFatalFailure(); ++seed) course(seed);
  // The courses were rough enough to try something.
  EXPECT_GT(kills_, 3 * static_cast<int>(kCourses));
  EXPECT_GT(pauses_, static_cast<int>(kCourses));
  EXPECT_GT(results_, kCourses * list_.size()) << "no recording was done twice";
}

TEST(QueuedRecording, SamePathsAreTheSameEntriesUnderAnyRoot) {
  batch::Recording one;
  one.path = "/here/set/a.wav";
  one.named = 10;
  one.bytes = 5;
  batch::Recording part = one;
  part.offset = 1;
  const batch::Recordings here(std::vector<batch::Recording>{one, part, one});
  one.path = "/there/it/is/set/a.wav";
  one.named = 17;
  one.bytes = 9;
  part = one;
  part.offset = 1;
  const batch::Recordings there(std::vector<batch::Recording>{one, part, one});
  const auto first = entries_of(here, "/here"), second = entries_of(there, "/there/it/is");
  ASSERT_EQ(first.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(first[i].key, second[i].key);
  // Three recordings, although two have one path: so says the list.
  EXPECT_EQ((std::set<std::string>{first[0].key, first[1].key, first[2].key}).size(), 3U);
  EXPECT_NE(entries_of(here, "")[0].key, first[0].key);
}

TEST(QueuedRecording, AMessageIsChecked) {
  std::int64_t bytes = 0;
  for (const char* text : {"", "{", "[]", "{\"path\":1}", "{\"path\":\"a\"}",
                           "{\"path\":\"a\\u0000b\",\"listed\":{}}", "{\"path\":\"\",\"listed\":{}}"}) {
    QueueItem item;
    item.sequence = 1;
    item.data = text;
    EXPECT_FALSE(recording_of(item, bytes).ok()) << text;
  }
  batch::Recording recording;
  recording.bytes = 3;
  for (const char* path : {"/etc/passwd", "../a.wav", "set/../../a.wav", ".."}) {
    recording.path = path;
    EXPECT_FALSE(check_queued(recording, 3, true).ok()) << path;
    EXPECT_TRUE(check_queued(recording, 3, false).ok()) << path;
  }
  recording.path = "set/..a.wav";
  EXPECT_TRUE(check_queued(recording, 3, true).ok());
  EXPECT_TRUE(check_queued(recording, -1, true).ok());
  EXPECT_EQ(check_queued(recording, 4, true).code(), Code::mismatch);
}

}  // namespace
}  // namespace runnel::fleet::test
