// Graphs on several threads: whatever the placement, every node gets the calls that it gets on one thread.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <sstream>
#include <thread>

#include "pipeline/host/threads/placement.h"
#include "tests/pipeline/support.h"
#include "tests/support/allocations.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

using namespace std::chrono_literals;
using runnel::test::TemporaryFolder;

// ---- nodes of these tests

// A sink that writes down every call with its data, under its number.
class Log final : public Node {
 public:
  static const NodeType type;
  static std::mutex mutex;
  static std::map<std::int64_t, std::string> logs;

  std::int64_t number = 0;

  ~Log() override {
    const std::lock_guard lock(mutex);
    logs[number] = log_;
  }
  Status prepare(NodeContext& context) noexcept override {
    frame_ = context.input.frame_bytes();
    events_ = context.input.kind == Kind::events;
    return {};
  }
  std::int64_t reset(std::int64_t first) noexcept override {
    log_ += "reset " + std::to_string(first) + "\n";
    return first;
  }
  Status process(const Block& in, Output&) noexcept override {
    log_ += "block " + std::to_string(in.first) + " " + std::to_string(in.count) + " ";
    if (events_) {
      for (std::int64_t i = 0; i < in.count; ++i) {
        const Event& event = in.as<Event>()[i];
        log_ += std::string(event.label) + " " + std::to_string(event.begin) + " " +
                std::to_string(event.end) + " " + std::to_string(event.frame) + ";";
      }
    } else {
      log_.append(reinterpret_cast<const char*>(in.data), static_cast<std::size_t>(in.count) * frame_);
    }
    log_ += "\n";
    return {};
  }
  Status flush(Output& out) noexcept override {
    log_ += "flush\n";
    out.end = true;
    return {};
  }
  Status gap(const Gap& gap) noexcept override {
    log_ += "gap " + std::to_string(gap.begin) + " " + std::to_string(gap.lost) + "\n";
    return {};
  }
  Status finish() noexcept override {
    log_ += "finish\n";
    return {};
  }

 private:
  std::size_t frame_ = 0;
  bool events_ = false;
  std::string log_;
};
std::mutex Log::mutex;
std::map<std::int64_t, std::string> Log::logs;
constexpr Parameter kLogParameters[] = {parameter<&Log::number>("number", "", 0, 1000, "of the log")};
const NodeType Log::type = {.name = "log",
                            .help = "Writes down its calls.",
                            .input = {Kind::audio | Kind::frames | Kind::events, "anything"},
                            .output = {},
                            .parameters = kLogParameters,
                            .make = make_node<Log>};

// Passes sound on, and takes its time or fails.
class Trouble final : public Node {
 public:
  static const NodeType type;
  static std::atomic<int> finished;

  std::int64_t at = -1;           // fails with this sample
  bool in_flush = false;          // fails in flush()
  std::int64_t microseconds = 0;  // sleeps before each block
  std::int64_t work = 0;          // loops over each sample

  Status prepare(NodeContext& context) noexcept override {
    context.max_output = context.max_input;
    return {};
  }
  Status process(const Block& in, Output& out) noexcept override {
    if (microseconds > 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    if (at >= in.first && at < in.first + in.count)
      return Status(Code::invalid_data) << "trouble at sample " << at;
    for (std::int64_t i = 0; i < in.count; ++i) {
      float value = in.as<float>()[i];
      for (std::int64_t k = 0; k < work; ++k) value = value * 0.999F + 0.001F;
      out.as<float>()[i] = value;
    }
    out.count = in.count;
    out.first = in.first;
    return {};
  }
  Status flush(Output& out) noexcept override {
    out.end = true;
    return in_flush ? Status(Code::invalid_data, "trouble at the end") : Status();
  }
  Status finish() noexcept override {
    ++finished;
    return {};
  }
};
std::atomic<int> Trouble::finished{0};
constexpr Parameter kTroubleParameters[] = {
    parameter<&Trouble::at>("at", "", -1, 1e9, "sample to fail at"),
    switch_parameter<&Trouble::in_flush>("in_flush", "fails at the end"),
    parameter<&Trouble::microseconds>("microseconds", "", 0, 1e9, "to sleep"),
    parameter<&Trouble::work>("work", "", 0, 1e9, "loops per sample")};
const NodeType Trouble::type = {.name = "trouble",
                                .help = "Passes sound on.",
                                .input = {static_cast<Kinds>(Kind::audio), "sound"},
                                .output = {static_cast<Kinds>(Kind::audio), "sound"},
                                .parameters = kTroubleParameters,
                                .make = make_node<Trouble>};

// Counts the allocations of the thread that runs it, from its tenth block on.
class CountsAllocations final : public Node {
 public:
  static const NodeType type;
  static std::atomic<std::size_t> allocations;
  static std::atomic<int> blocks;

  Status prepare(NodeContext&) noexcept override { return {}; }
  Status process(const Block&, Output&) noexcept override {
    const std::size_t now = runnel::test::allocations_of_this_thread();
    if (++seen_ > 10) allocations += now - before_;
    before_ = now;
    ++blocks;
    return {};
  }

 private:
  int seen_ = 0;
  std::size_t before_ = 0;
};
std::atomic<std::size_t> CountsAllocations::allocations{0};
std::atomic<int> CountsAllocations::blocks{0};
const NodeType CountsAllocations::type = {.name = "counts_allocations",
                                          .help = "Counts allocations.",
                                          .input = {Kind::audio | Kind::frames | Kind::events, "anything"},
                                          .output = {},
                                          .parameters = {},
                                          .make = make_node<CountsAllocations>};

NodeTable thread_nodes() {
  static const std::vector<const NodeType*> nodes = [] {
    std::vector<const NodeType*> all(test_nodes().begin(), test_nodes().end());
    all.insert(all.end(), {&Log::type, &Trouble::type, &CountsAllocations::type});
    return all;
  }();
  return nodes;
}

class GraphThreadsTest : public testing::Test {
 protected:
  void SetUp() override {
    Lossy::sample_rate = 16000;
    Lossy::losses.clear();
    fill(20000);
    Events::label = "yes";
    Events::at = {1600, 8000, 16000};
    Log::logs.clear();
    Trouble::finished = 0;
  }
  void TearDown() override { Lossy::samples.clear(); }
  static void fill(std::size_t samples) {
    Lossy::samples.clear();
    for (const std::int16_t sample : make_samples(samples))
      Lossy::samples.push_back(static_cast<float>(sample) / 32768);
  }
  static GraphOptions options(std::int64_t tick = 160) {
    GraphOptions made;
    made.nodes = thread_nodes();
    made.tick = tick;
    return made;
  }
  static GraphOptions placed(std::vector<int> placement, std::int64_t from = 0, std::int64_t tick = 160) {
    GraphOptions made = options(tick);
    made.threads = 4;
    made.placement = std::move(placement);
    made.placed_from = from;
    return made;
  }
  // What every sink was called with; "" in `failure` when the run succeeds.
  static std::map<std::int64_t, std::string> logs_of(const std::string& text, const GraphOptions& with,
                                                     std::string* failure = nullptr) {
    Log::logs.clear();
    {
      auto graph = Graph::build(text, with);
      EXPECT_TRUE(graph.ok()) << text << ": " << graph.status().text();
      if (!graph.ok()) return {};
      const Status status = (*graph)->run();
      if (failure != nullptr)
        *failure = status.text();
      else
        EXPECT_TRUE(status.ok()) << text << ": " << status.text();
      summary_ = (*graph)->summary();
      samples_ = (*graph)->executor().samples();
      events_ = (*graph)->executor().events();
    }
    return Log::logs;
  }

  static std::string summary_;
  static std::int64_t samples_, events_;
};
std::string GraphThreadsTest::summary_;
std::int64_t GraphThreadsTest::samples_, GraphThreadsTest::events_;

// A random tree of nodes that each get what they take; every leaf is a log.
class RandomGraph {
 public:
  explicit RandomGraph(std::mt19937& random) : random_(random) {
    text_ = "lossy name=n0";
    input_ = {-1};
    grow(0, Kind::audio, 0);
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::size_t size() const { return input_.size(); }
  // A random placement that is possible.
  std::vector<int> placement(int threads) {
    Stages stages;
    stages.input = input_;
    stages.with.resize(size());
    std::iota(stages.with.begin(), stages.with.end(), 0);
    for (;;) {
      std::vector<int> thread = {0};
      for (std::size_t i = 1; i < size(); ++i) {
        const int input = thread[static_cast<std::size_t>(input_[i])];
        thread.push_back(random_() % 2 == 0 ? input
                                            : static_cast<int>(random_() % static_cast<unsigned>(threads)));
      }
      if (is_possible(stages, thread, threads)) return thread;
    }
  }

 private:
  std::string pick(std::initializer_list<const char*> from) {
    return *(from.begin() + random_() % from.size());
  }
  void add(int input, const std::string& node) {
    const std::string own = "n" + std::to_string(input_.size());
    text_ += (input == 0 && input_.size() == 1 ? " ! " : " n" + std::to_string(input) + ". ! ") + node +
             " name=" + own;
    input_.push_back(input);
  }
  void grow(int from, Kind kind, int depth, bool resampled = false) {
    const int readers = 1 + static_cast<int>(random_() % 3);
    for (int r = 0; r < readers; ++r) {
      const auto own = static_cast<int>(input_.size());
      if (kind == Kind::events || depth > 3 || (depth > 0 && random_() % 3 == 0)) {
        add(from, "log number=" + std::to_string(own));
      } else if (kind == Kind::audio && random_() % 8 == 0) {
        add(from, "events");
        grow(own, Kind::events, depth + 1);
      } else if (kind == Kind::audio && random_() % 2 == 0) {
        const std::string node = pick({"fbank num_mel_bins=10", "framing window=25ms hop=10ms", "stft"});
        add(from, resampled ? "stft" : node);
        grow(own, Kind::frames, depth + 1);
      } else if (kind == Kind::audio) {
        const std::string node = pick({"gain db=-6", "highpass cutoff=80", "preemphasis", "dither seed=3",
                                       "resample rate=11025", "levels", "trouble work=3"});
        add(from, node);
        grow(own, node == "levels" ? Kind::frames : Kind::audio, depth + 1,
             resampled || node.starts_with("resample"));
      } else {
        add(from, pick({"deltas", "stack", "cmvn mode=sliding window=20 min_window=5",
                        "cmvn mode=utterance max_frames=3000"}));
        grow(own, Kind::frames, depth + 1);
      }
    }
  }
  std::mt19937& random_;
  std::string text_;
  std::vector<int> input_;
};

TEST_F(GraphThreadsTest, AnyPlacementGivesTheSameCallsAndBits) {
  std::mt19937 random(11);
  std::size_t several = 0;
  const int rounds = runnel::test::allocations_are_counted() ? 24 : 3;  // sanitizers are slow
  for (int round = 0; round < rounds; ++round) {
    RandomGraph tree(random);
    SCOPED_TRACE(tree.text());
    Lossy::losses.clear();
    if (round % 3 != 0) Lossy::losses = {{0, 5}, {900, 37}, {3000, 2500}, {16003, 1}};
    GraphOptions one = options(std::array{1000, 160, 37}[static_cast<std::size_t>(round % 3)]);
    one.on_gap = round % 2 == 0 ? OnGap::reset : OnGap::zeros;
    const auto expected = logs_of(tree.text(), one);
    const std::int64_t samples = samples_, events = events_;
    ASSERT_FALSE(expected.empty());
    for (const int threads : {2, 3, 4}) {
      GraphOptions many = one;
      many.threads = threads;
      many.placement = tree.placement(threads);
      many.placed_from = std::array{0, 3, 40}[random() % 3];
      const auto found = logs_of(tree.text(), many);
      if (summary_.find("\"threads\":1") == std::string::npos) ++several;
      ASSERT_EQ(found.size(), expected.size());
      for (const auto& [number, log] : expected) EXPECT_TRUE(found.at(number) == log) << "log " << number;
      EXPECT_EQ(samples_, samples);
      EXPECT_EQ(events_, events);
    }
  }
  EXPECT_GT(several, static_cast<std::size_t>(rounds));
}

// The same with another tick does not change what comes out of the nodes, only its blocks.
TEST_F(GraphThreadsTest, AnyTickGivesTheSameFiles) {
  const TemporaryFolder folder;
  Lossy::losses = {{900, 37}, {3000, 1500}};
  const std::string text =
      "lossy name=in ! fbank num_mel_bins=20 name=f ! npy path=" + (folder.path() / "f.npy").string() +
      " f. ! deltas ! npy path=" + (folder.path() / "d.npy").string() +
      " in. ! events ! jsonl path=" + (folder.path() / "e.jsonl").string() +
      " in. ! wav path=" + (folder.path() / "w.wav").string();
  const auto files = [&] {
    std::string all;
    for (const char* name : {"f.npy", "d.npy", "e.jsonl", "w.wav"}) all += read_text(folder.path() / name);
    return all;
  };
  run_graph(text, options(100000));
  const std::string expected = files();
  // lossy, fbank, npy, deltas, npy, events, jsonl, wav
  for (const std::int64_t tick : {7, 160, 1000}) {
    for (const auto& placement :
         {std::vector<int>{0, 1, 1, 1, 1, 0, 0, 0}, std::vector<int>{0, 1, 2, 3, 3, 2, 2, 3},
          std::vector<int>{0, 0, 1, 0, 2, 1, 3, 1}, std::vector<int>{0, 1, 1, 2, 2, 1, 2, 0}}) {
      run_graph(text, placed(placement, 5, tick));
      EXPECT_TRUE(files() == expected) << tick;
    }
  }
}

TEST_F(GraphThreadsTest, PlacesHeavyBranchesByThemselves) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "SKIPPED: one processor";
  fill(16000 * 30);
  const std::string text =
      "lossy name=in ! trouble work=60 name=a ! log number=1 in. ! trouble work=60 name=b ! log number=2";
  GraphOptions one = options(1024);
  const auto expected = logs_of(text, one);
  std::string notes;
  one.threads = 2;
  one.note = [&](std::string_view note) { notes += std::string(note) + "\n"; };
  EXPECT_TRUE(logs_of(text, one) == expected);
  EXPECT_NE(summary_.find("\"threads\":2"), std::string::npos) << summary_;
  // a in one of them, b in the other.
  const std::size_t second = notes.find("; 2:");
  ASSERT_NE(second, std::string::npos) << notes;
  EXPECT_NE(notes.find(" a") < second, notes.find(" b") < second) << notes;
}

TEST_F(GraphThreadsTest, StaysOnOneThreadWhereNothingIsGained) {
  if (!runnel::test::allocations_are_counted()) GTEST_SKIP() << "SKIPPED: a sanitizer makes every node heavy";
  fill(16000 * 30);
  for (const char* text : {"lossy name=in ! log number=1 in. ! log number=2", "lossy ! log"}) {
    GraphOptions with = options(64);
    with.threads = 4;
    logs_of(text, with);
    EXPECT_NE(summary_.find("\"threads\":1"), std::string::npos) << summary_;
  }
}

TEST_F(GraphThreadsTest, RefusesWrongNumbers) {
  for (const int threads : {0, -1, 33, 1000}) {
    GraphOptions with = options();
    with.threads = threads;
    EXPECT_EQ(failure_of("lossy ! log", with), std::to_string(threads) + " threads: expected 1 to 32");
  }
  EXPECT_NE(failure_of("lossy ! gain ! log", placed({0, 1, 0})).find("not possible"), std::string::npos);
  EXPECT_NE(failure_of("lossy ! gain ! log", placed({0, 1})).find("not possible"), std::string::npos);
  EXPECT_NE(failure_of("lossy ! gain ! log", placed({0, 1, 4})).find("not possible"), std::string::npos);
}

// A failure ends the run with its sentence, wherever it happens; no sink is completed.
TEST_F(GraphThreadsTest, AFailureInAnyThreadEndsTheRun) {
  const std::string head = "lossy name=in ! ",
                    tail = " ! log number=1 in. ! trouble name=late microseconds=50 ! log number=2";
  for (const char* middle :
       {"trouble name=t at=5000", "trouble name=t at=0", "trouble name=t in_flush=true"}) {
    const std::string text = head + middle + tail;
    std::string expected, found;
    logs_of(text, options(), &expected);
    EXPECT_EQ(expected.rfind("t: trouble at ", 0), 0u) << expected;
    for (const auto& placement : {std::vector<int>{0, 1, 1, 0, 0}, std::vector<int>{0, 0, 0, 1, 1},
                                  std::vector<int>{0, 1, 2, 3, 3}, std::vector<int>{0, 1, 2, 1, 1}}) {
      Trouble::finished = 0;
      const auto logs = logs_of(text, placed(placement), &found);
      EXPECT_EQ(found, expected);
      EXPECT_EQ(Trouble::finished, 0);
      for (const auto& [number, log] : logs) EXPECT_EQ(log.find("finish"), std::string::npos) << number;
      EXPECT_NE(summary_.find("\"failures\":1"), std::string::npos);
    }
  }
}

// Of several failures, the one that one thread would have come to first.
TEST_F(GraphThreadsTest, TheEarliestFailureIsReported) {
  const std::string text =
      "lossy name=in ! trouble name=a at=9000 ! log number=1 in. ! trouble name=b at=4000 microseconds=100 ! "
      "log number=2 "
      "in. ! trouble name=c at=4100 ! log number=3";
  std::string expected, found;
  logs_of(text, options(), &expected);
  EXPECT_EQ(expected, "b: trouble at sample 4000");
  for (const auto& placement :
       {std::vector<int>{0, 0, 0, 1, 1, 0, 0}, std::vector<int>{0, 1, 1, 0, 0, 1, 1},
        std::vector<int>{0, 1, 1, 2, 2, 3, 3}, std::vector<int>{0, 0, 0, 1, 1, 1, 1}}) {
    logs_of(text, placed(placement), &found);
    EXPECT_EQ(found, expected);
  }
}

TEST_F(GraphThreadsTest, ASlowConsumerHoldsItsProducerBack) {
  fill(160 * 300);
  const std::string text = "lossy ! trouble microseconds=300 ! log number=1";
  const auto expected = logs_of(text, options());
  auto graph = Graph::build(text, placed({0, 1, 1}));
  ASSERT_TRUE(graph.ok());
  const auto start = std::chrono::steady_clock::now();
  bool done = false;
  for (int i = 0; i < 200; ++i) ASSERT_TRUE((*graph)->step(done).ok());
  // Of 200 blocks at most 32 wait and one is at work.
  EXPECT_GE(std::chrono::steady_clock::now() - start, 300us * 160);
  ASSERT_TRUE((*graph)->run().ok());
  graph->reset();
  EXPECT_TRUE(Log::logs == expected);
}

TEST_F(GraphThreadsTest, CanBeLeftOrStoppedOrRestartedInTheMiddle) {
  const std::string text =
      "lossy name=in ! trouble microseconds=100 ! log number=1 in. ! fbank num_mel_bins=10 ! log number=2";
  // Left: the graph goes while messages wait.
  {
    auto graph = Graph::build(text, placed({0, 1, 2, 3, 3}));
    ASSERT_TRUE(graph.ok());
    bool done = false;
    for (int i = 0; i < 50; ++i) ASSERT_TRUE((*graph)->step(done).ok());
  }
  EXPECT_EQ(Log::logs.at(1).find("finish"), std::string::npos);
  // Stopped: everything that was read is processed, and the sinks are completed.
  for (const bool several : {false, true}) {
    std::atomic<bool> stop{false};
    GraphOptions with = several ? placed({0, 1, 2, 3, 3}) : options();
    with.stop = &stop;
    static std::map<std::int64_t, std::string> expected;
    {
      auto graph = Graph::build(text, with);
      ASSERT_TRUE(graph.ok());
      bool done = false;
      for (int i = 0; i < 50; ++i) ASSERT_TRUE((*graph)->step(done).ok());
      stop = true;
      EXPECT_TRUE((*graph)->run().ok());
      EXPECT_EQ((*graph)->executor().samples(), 50 * 160);
    }
    EXPECT_TRUE(!several || Log::logs == expected);
    expected = Log::logs;
    EXPECT_NE(expected.at(1).find("finish"), std::string::npos);
  }
  // Restarted: nothing is left of what was under way.
  const auto whole = logs_of(text, options());
  {
    auto graph = Graph::build(text, placed({0, 1, 2, 3, 3}, 2));
    ASSERT_TRUE(graph.ok());
    bool done = false;
    for (int i = 0; i < 30; ++i) ASSERT_TRUE((*graph)->step(done).ok());
    (*graph)->restart();
    Lossy::start_again();
    ASSERT_TRUE((*graph)->run().ok());
    EXPECT_EQ((*graph)->executor().samples(), static_cast<std::int64_t>(Lossy::samples.size()));
  }
  for (const auto& [number, log] : whole) {
    const std::string& found = Log::logs.at(number);
    const std::size_t again = found.rfind("reset 0\n");
    ASSERT_NE(again, std::string::npos);
    EXPECT_TRUE(found.substr(again) == log.substr(log.rfind("reset 0\n"))) << number;
  }
}

// With a history, everything up to its records is in one thread, even if that thread has the most to do.
TEST_F(GraphThreadsTest, RecordsShareTheThreadOfTheirHistory) {
  const TemporaryFolder folder;
  fill(16000 * 10);
  const std::string text = "lossy name=in ! history seconds=1 ! trouble work=40 ! events ! record folder=" +
                           folder.path().string() + " in. ! trouble work=40 ! log number=1";
  GraphOptions with = options(1024);
  with.threads = 4;
  run_graph(text, with);
  // lossy, history, trouble, events, record, trouble, log
  EXPECT_EQ(failure_of(text, placed({0, 1, 1, 1, 2, 0, 0})).find("the placement of 7 nodes"), 0u);
  run_graph(text, placed({0, 1, 1, 1, 1, 0, 0}));
}

// The text of an event lies in the memory of its decoder.
TEST_F(GraphThreadsTest, ReadersOfTextShareTheThreadOfTheirDecoder) {
  const TemporaryFolder folder;
  fill(16000);
  const std::string tokens = (folder.path() / "tokens.txt").string(),
                    lines = (folder.path() / "lines.jsonl").string();
  std::ofstream(tokens) << "<blk> 0\na 1\nb 2\nc 3\n";
  const std::string text =
      "lossy name=in ! fbank num_mel_bins=4 ! ctc tokens=" + tokens + " ! jsonl path=" + lines;
  EXPECT_EQ(failure_of(text, placed({0, 1, 1, 0})).find("the placement of 4 nodes"), 0u);
  EXPECT_EQ(failure_of(text, placed({0, 1, 2, 1})).find("the placement of 4 nodes"), 0u);
  run_graph(text, placed({0, 1, 2, 2}));
}

// What comes before a join stays on its thread; what follows is divided.
TEST_F(GraphThreadsTest, DividesWhatFollowsAJoin) {
  const TemporaryFolder folder;
  std::vector<std::int16_t> samples = make_samples(20000);
  const std::string a = (folder.path() / "a.wav").string(), b = (folder.path() / "b.wav").string();
  write_recording(a, samples);
  samples.resize(15000);
  write_recording(b, samples);
  const std::string text = "wav path=" + a +
                           " name=a ! join name=j ! gain db=-6 ! log number=1 wav path=" + b +
                           " ! j. a. ! log number=2 j. ! highpass ! log number=3";
  const auto expected = logs_of(text, options());
  // Of the last section: join, gain, log, highpass, log.
  for (const auto& placement : {std::vector<int>{0, 1, 1, 2, 2}, std::vector<int>{0, 0, 1, 1, 1}})
    EXPECT_TRUE(logs_of(text, placed(placement)) == expected);
}

// Two sinks on the standard output: whole lines, and each one's in its order.
TEST_F(GraphThreadsTest, LinesOnTheStandardOutputStayWhole) {
  fill(16000 * 20);
  Events::at.clear();
  for (std::int64_t at = 0; at < 300000; at += 500) Events::at.push_back(at);
  const std::string text = "lossy name=in ! events ! jsonl source=a in. ! events ! jsonl source=b";
  const auto lines_of = [&](const GraphOptions& with) {
    testing::internal::CaptureStdout();
    run_graph(text, with);
    std::map<std::string, std::vector<std::string>> lines;
    std::istringstream out(testing::internal::GetCapturedStdout());
    for (std::string line; std::getline(out, line);)
      lines[line.find(R"("source":"a")") != std::string::npos ? "a" : "b"].push_back(line);
    return lines;
  };
  const auto expected = lines_of(options());
  EXPECT_EQ(expected.at("a").size(), 600u);
  EXPECT_EQ(lines_of(placed({0, 1, 1, 2, 2})), expected);
  EXPECT_EQ(lines_of(placed({0, 0, 1, 1, 2})), expected);
}

TEST_F(GraphThreadsTest, ReportsTheTimesOfNodesInOtherThreads) {
  fill(16000 * 4);
  GraphOptions with = placed({0, 1, 1}, 3);
  with.time_nodes = true;
  auto graph = Graph::build("lossy ! trouble work=50 ! null", with);
  ASSERT_TRUE(graph.ok());
  ASSERT_TRUE((*graph)->run().ok());
  // Four seconds of sound, 50 additions and multiplications for each sample: 50 ns at the very least.
  EXPECT_GT((*graph)->busy_nanoseconds(1), 64000 * 50 / 10);
  EXPECT_GT((*graph)->busy_nanoseconds(1), (*graph)->busy_nanoseconds(0));
}

TEST_F(GraphThreadsTest, AllocatesNothingWhileItRuns) {
  fill(16000 * 20);
  Lossy::losses = {{100000, 12345}};
  auto graph = Graph::build(
      "lossy name=in ! fbank num_mel_bins=20 name=f ! counts_allocations f. ! deltas ! counts_allocations "
      "in. ! highpass ! counts_allocations",
      placed({0, 1, 1, 2, 2, 3, 3}));
  ASSERT_TRUE(graph.ok());
  runnel::test::expect_that_allocations_are_counted();
  CountsAllocations::allocations = 0;
  CountsAllocations::blocks = 0;
  bool done = false;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE((*graph)->step(done).ok());
  const std::size_t before = runnel::test::allocations_of_this_thread();
  for (int i = 0; i < 1500; ++i) ASSERT_TRUE((*graph)->step(done).ok());
  EXPECT_EQ(runnel::test::allocations_of_this_thread(), before);
  ASSERT_TRUE((*graph)->run().ok());
  EXPECT_EQ(CountsAllocations::allocations, 0u);
  EXPECT_GT(CountsAllocations::blocks, 5000);
}

}  // namespace
}  // namespace runnel::pipeline::test
