// Operators shared among threads give the bits that one thread gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>
#include <vector>

#include "inference/host/engine.h"
#include "inference/host/thread_pool.h"
#include "tests/inference/random_graph.h"

namespace runnel {
namespace {

TEST(ThreadPool, RunsEveryPartOnce) {
  for (const int threads : {1, 2, 3, 5}) {
    const auto pool = ThreadPool::make(threads);
    ASSERT_TRUE(pool.ok()) << pool.status().text();
    for (int round = 0; round < 3000; ++round) {
      const int parts = 1 + round % (2 * ThreadPool::kMaxParts);
      // Plain memory: what the parts wrote is visible afterwards.
      std::vector<int> times(static_cast<std::size_t>(parts), 0);
      (*pool)->run(
          parts,
          [](const void* argument, int part) noexcept {
            ++(*static_cast<std::vector<int>*>(const_cast<void*>(argument)))[static_cast<std::size_t>(part)];
          },
          &times);
      ASSERT_TRUE(std::all_of(times.begin(), times.end(), [](int n) { return n == 1; }))
          << threads << " threads, round " << round;
    }
  }
}

TEST(ThreadPool, WorkersTakePartWhenTheyAreNeeded) {
  const auto pool = ThreadPool::make(2);
  ASSERT_TRUE(pool.ok());
  // Part 0 waits for part 1: only another thread can end this.
  std::atomic<bool> other{false};
  (*pool)->run(
      2,
      [](const void* argument, int part) noexcept {
        auto& done = *static_cast<std::atomic<bool>*>(const_cast<void*>(argument));
        if (part == 1) done = true;
        while (!done) std::this_thread::yield();
      },
      &other);
  EXPECT_TRUE(other);
}

TEST(ThreadPool, TakesNoProcessorTimeWhenIdle) {
  const auto pool = ThreadPool::make(4);
  ASSERT_TRUE(pool.ok());
  (*pool)->run(
      4, [](const void*, int) noexcept {}, nullptr);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::clock_t before = std::clock();  // of all threads of this process
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.1);
}

// What comes out: the frames that are data.
std::vector<std::byte> run(const std::shared_ptr<const OwnedModel>& model, RunMode mode, std::int64_t frames,
                           int threads, Isa isa) {
  PrepareOptions options;
  options.mode = mode;
  options.frames = frames;
  options.threads = threads;
  options.least_part = 1;
  options.isa = isa;
  const auto engine = Engine::make(model, options);
  EXPECT_TRUE(engine.ok()) << engine.status().text();
  const auto runner = Runner::make(*engine);
  EXPECT_TRUE(runner.ok()) << runner.status().text();
  Session& session = (*runner)->session();
  std::vector<std::byte> all;
  std::uint32_t random = 1;
  for (int call = 0; call < (mode == RunMode::whole ? 1 : 5); ++call) {
    for (std::byte& b : session.input(0))
      b = static_cast<std::byte>((random = random * 1664525 + 1013904223) >> 24);
    session.run((*engine)->prepared().block());
    for (std::size_t i = 0; i < model->model().outputs().size(); ++i) {
      const OutputFrames out = session.output(static_cast<int>(i));
      all.insert(all.end(), out.data,
                 out.data + static_cast<std::size_t>(out.count) *
                                (*engine)->prepared().placement(model->model().outputs()[i]).frame_bytes);
    }
  }
  return all;
}

void expect_equal(std::uint32_t first, int graphs, DType dtype) {
  int done = 0;
  for (std::uint32_t seed = first; done < graphs; ++seed) {
    test::RandomGraph random(seed, dtype);
    if (!random.legal()) continue;
    ++done;
    SCOPED_TRACE("seed " + std::to_string(seed) + ":" + random.story());
    std::vector<std::string> refusals;
    const auto model = random.builder().build(&refusals);
    ASSERT_TRUE(model.ok()) << model.status().text();
    for (const Isa isa : {Isa::reference, Isa::generic, best_isa()}) {
      const auto expected = run(*model, RunMode::whole, 0, 1, isa);
      for (const int threads : {2, 3})
        ASSERT_EQ(run(*model, RunMode::whole, 0, threads, isa), expected)
            << threads << " threads, " << name_of(isa);
    }
    if (!refusals.empty()) continue;
    const std::int64_t block = (*model)->model().plan()->block_multiple() * 3;
    ASSERT_EQ(run(*model, RunMode::stream, block, 3, best_isa()),
              run(*model, RunMode::stream, block, 1, best_isa()))
        << "streamed";
  }
}

TEST(Threads, RandomInt8GraphsAreEqual) { expect_equal(500001, 60, DType::int8); }
TEST(Threads, RandomInt16GraphsAreEqual) { expect_equal(600001, 20, DType::int16); }

// Few positions and many channels: split by channels.
TEST(Threads, WideLayersAreEqual) {
  for (const int channels : {64, 65, 130, 200, 257}) {
    test::GraphBuilder builder(static_cast<std::uint32_t>(channels));
    auto x = builder.input({1, 9, channels});
    x = builder.conv(x, channels + 3, {.kernel = 3, .left = 2}, 1, true, true);
    x = builder.conv(x, channels, {});
    builder.output(builder.binary(OpCode::add, x, builder.relu(x)));
    const auto model = builder.build();
    ASSERT_TRUE(model.ok()) << model.status().text();
    for (const int threads : {2, 3, 4}) {
      ASSERT_EQ(run(*model, RunMode::stream, 1, threads, best_isa()),
                run(*model, RunMode::stream, 1, 1, best_isa()))
          << channels << " channels, " << threads << " threads";
    }
  }
}

// Notes after each step which operators have written something.
struct Watch final : StepObserver {
  Watch(const Session& watched, const Model& of) : session(watched), model(of) {}
  void done(int index) noexcept override {
    steps.push_back(index);
    int count = 0;
    for (int op = 0; op < model.operator_count(); ++op) {
      const auto bytes = session.tensor(model.op(op).outputs()->Get(0));
      count += std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; }) ? 0 : 1;
    }
    written.push_back(count);
  }
  const Session& session;
  const Model& model;
  std::vector<int> steps, written;
};

// Layers of one frame each make a chain, which threads go through at once; an observed run goes through its
// operators one by one.
TEST(Threads, ObservedRunsGoStepByStep) {
  test::GraphBuilder builder(7);
  auto x = builder.input({1, 64, 40});
  for (int i = 0; i < 3; ++i) x = builder.conv(x, 40, {});
  builder.output(x);
  const auto model = builder.build();
  ASSERT_TRUE(model.ok()) << model.status().text();
  PrepareOptions options;
  options.mode = RunMode::whole;
  options.threads = 2;
  options.least_part = 1;
  options.share = false;
  const auto engine = Engine::make(*model, options);
  ASSERT_TRUE(engine.ok()) << engine.status().text();
  const auto runner = Runner::make(*engine);
  ASSERT_TRUE(runner.ok()) << runner.status().text();
  Session& session = (*runner)->session();
  std::fill(session.input(0).begin(), session.input(0).end(), std::byte{77});
  Watch watch(session, (*model)->model());
  session.run((*engine)->prepared().block(), watch);
  EXPECT_EQ(watch.steps, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(watch.written, (std::vector<int>{1, 2, 3}));
}

}  // namespace
}  // namespace runnel
