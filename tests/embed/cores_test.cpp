// runnel_cores.h on this machine, with a thread as the second core: the same bits as with one.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/host/heap_memory.h"
#include "digits.h"
#include "embed/cores/cores_infer.h"
#include "embed/cores/runnel_cores.h"
#include "embed/program.h"
#include "inference/host/engine.h"
#include "tests/inference/random_graph.h"
#include "twocores.h"

namespace runnel {
namespace {

// A core that waits for jobs, as on a board.
class Core {
 public:
  explicit Core(std::uint32_t index) : index_(index), thread_([this] { serve(); }) {}
  ~Core() {
    ended_ = true;
    thread_.join();
  }
  void run(const runnel_job* job) {
    ++jobs;
    job_.store(job, std::memory_order_release);
  }
  void wait() const {
    while (job_.load(std::memory_order_acquire) != nullptr) std::this_thread::yield();
  }
  int jobs = 0;

 private:
  void serve() {
    while (!ended_) {
      const runnel_job* const job = job_.load(std::memory_order_acquire);
      if (job == nullptr) {
        std::this_thread::yield();
        continue;
      }
      runnel_do(job, index_);
      job_.store(nullptr, std::memory_order_release);
    }
  }
  std::uint32_t index_;
  std::atomic<const runnel_job*> job_{nullptr};
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

// All cores but the calling one.
struct Board {
  Core second{1}, third{2};
  Core& of(std::uint32_t index) { return index == 1 ? second : third; }
  runnel_cores cores(std::uint32_t count) {
    return {count,
            [](void* board, const runnel_job* job, std::uint32_t index) {
              static_cast<Board*>(board)->of(index).run(job);
            },
            [](void* board, std::uint32_t index) { static_cast<Board*>(board)->of(index).wait(); }, this};
  }
};

constexpr std::size_t kRoom = std::size_t{256} << 10;
struct Aligned {
  alignas(64) unsigned char bytes[kRoom];
};

void keep(void* user, runnel_stage stage, const void* frames, std::size_t count, std::size_t frame_bytes,
          std::int64_t) {
  const auto* from = static_cast<const unsigned char*>(frames);
  auto& out = *static_cast<std::vector<unsigned char>*>(user);
  if (stage == RUNNEL_OUTPUT) out.insert(out.end(), from, from + count * frame_bytes);
}

std::vector<unsigned char> output_of(const runnel_program& program, const runnel_cores* cores) {
  auto memory = std::make_unique<Aligned>();
  std::vector<unsigned char> out;
  const runnel_options options = {memory->bytes, kRoom, nullptr, 0, keep, &out};
  runnel_node* node = nullptr;
  EXPECT_EQ(runnel_prepare(&program, &options, &node), RUNNEL_OK) << runnel_last_failure();
  if (node == nullptr) return out;
  if (cores != nullptr) {
    EXPECT_EQ(runnel_use_cores(node, cores), RUNNEL_OK) << runnel_last_failure();
  }
  std::uint32_t state = 5;
  std::vector<std::int16_t> samples(16000);
  for (std::int16_t& one : samples) {
    state = state * 1664525U + 1013904223U;
    one = static_cast<std::int16_t>(static_cast<int>(state >> 16) % 8000 - 4000);
  }
  EXPECT_EQ(runnel_push_int16(node, samples.data(), samples.size()), RUNNEL_OK);
  EXPECT_EQ(runnel_end(node), RUNNEL_OK);
  return out;
}

TEST(Cores, ResultsDoNotDependOnTheirNumber) {
  Board board;
  const auto plain = output_of(runnel_digits, nullptr);
  ASSERT_GT(plain.size(), 1000U);
  EXPECT_EQ(output_of(runnel_twocores, nullptr), plain);
  const runnel_cores one = board.cores(1), two = board.cores(2);
  EXPECT_EQ(output_of(runnel_twocores, &one), plain);
  EXPECT_EQ(board.second.jobs, 0);
  EXPECT_EQ(output_of(runnel_twocores, &two), plain);
  EXPECT_GT(board.second.jobs, 90) << "at least one operator of each frame is split";
}

TEST(Cores, WrongCallsHaveTheirCodes) {
  Board board;
  auto memory = std::make_unique<Aligned>();
  const runnel_options options = {memory->bytes, kRoom, nullptr, 0, nullptr, nullptr};
  runnel_node* node = nullptr;
  const runnel_cores two = board.cores(2), three = board.cores(3), none = board.cores(0);
  ASSERT_EQ(runnel_prepare(&runnel_digits, &options, &node), RUNNEL_OK);
  EXPECT_EQ(runnel_use_cores(node, &two), RUNNEL_NOT_FOUND);
  ASSERT_EQ(runnel_prepare(&runnel_twocores, &options, &node), RUNNEL_OK);
  EXPECT_EQ(runnel_use_cores(nullptr, &two), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_use_cores(node, &three), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_use_cores(node, &none), RUNNEL_INVALID_ARGUMENT);
  const runnel_cores half = {2, two.run, nullptr, two.context};
  EXPECT_EQ(runnel_use_cores(node, &half), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_use_cores(node, &two), RUNNEL_OK);
  EXPECT_EQ(runnel_use_cores(node, nullptr), RUNNEL_OK);
}

// What sessions with these workers give for noise.
std::vector<std::byte> run(const Model& model, RunMode mode, std::int64_t frames, int cores,
                           Workers* workers) {
  HeapMemory memory;
  PrepareOptions options{.mode = mode, .frames = frames, .isa = Isa::generic};
  options.threads = cores;
  options.least_part = 1;
  const auto prepared = Prepared::make(model, all_operators(), options, memory);
  EXPECT_TRUE(prepared.ok()) << prepared.status().text();
  if (!prepared.ok()) return {};
  const auto workspace = Workspace::make(**prepared, memory);
  auto* const state = static_cast<std::byte*>(memory.allocate((*prepared)->state_bytes(), 64));
  auto session = Session::make(**prepared, **workspace, {state, (*prepared)->state_bytes()});
  (*workspace)->use(workers);
  std::vector<std::byte> all;
  std::uint32_t random = 1;
  for (int call = 0; call < (mode == RunMode::whole ? 1 : 4); ++call) {
    for (std::byte& b : session->input(0))
      b = static_cast<std::byte>((random = random * 1664525 + 1013904223) >> 24);
    session->run((*prepared)->block());
    for (std::size_t i = 0; i < model.outputs().size(); ++i) {
      const OutputFrames out = session->output(static_cast<int>(i));
      all.insert(all.end(), out.data,
                 out.data + static_cast<std::size_t>(out.count) *
                                (*prepared)->placement(model.outputs()[i]).frame_bytes);
    }
  }
  return all;
}

// Windows, strides, cuts and channels that do not divide by anything.
TEST(Cores, OddShapesGiveTheSameBits) {
  Board board;
  embed::CoreWorkers two, three;
  two.set(board.cores(2));
  three.set(board.cores(3));
  int done = 0;
  for (std::uint32_t seed = 700001; done < 25; ++seed) {
    test::RandomGraph random(seed, done % 3 == 2 ? DType::int16 : DType::int8);
    if (!random.legal()) continue;
    ++done;
    SCOPED_TRACE("seed " + std::to_string(seed) + ":" + random.story());
    std::vector<std::string> refusals;
    const auto owned = random.builder().build(&refusals);
    ASSERT_TRUE(owned.ok()) << owned.status().text();
    const Model& model = (*owned)->model();
    const auto expected = run(model, RunMode::whole, 0, 1, nullptr);
    ASSERT_EQ(run(model, RunMode::whole, 0, 2, &two), expected);
    ASSERT_EQ(run(model, RunMode::whole, 0, 3, &three), expected);
    // Fewer cores than parts.
    ASSERT_EQ(run(model, RunMode::whole, 0, 3, &two), expected);
    if (!refusals.empty()) continue;
    const std::int64_t block = model.plan()->block_multiple();
    ASSERT_EQ(run(model, RunMode::stream, block, 2, &two), run(model, RunMode::stream, block, 1, nullptr));
  }
  EXPECT_GT(board.second.jobs, 50);
  EXPECT_GT(board.third.jobs, 20);
}

}  // namespace
}  // namespace runnel
