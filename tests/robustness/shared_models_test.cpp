// Shared between threads: models loaded once, and prepared models run by many sessions.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "compiler/import/load.h"
#include "inference/host/check.h"
#include "inference/host/engine.h"
#include "tests/robustness/originals.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

using Bytes = std::vector<std::byte>;
constexpr int kThreads = 6;

// All threads begin at once.
template <class Work>
void together(const Work& work) {
  std::atomic<int> waiting{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The output of `blocks` blocks of a stream that begins with byte `seed`.
Bytes stream(Session& session, unsigned seed, int blocks) {
  Bytes out;
  for (int block = 0; block < blocks; ++block) {
    for (std::byte& byte : session.input(0))
      byte = static_cast<std::byte>((seed = seed * 1664525 + 1013904223) >> 24);
    session.run(session.prepared().block());
    const OutputFrames frames = session.output(0);
    const std::size_t bytes =
        static_cast<std::size_t>(frames.count) *
        session.prepared().placement(session.prepared().model().outputs()[0]).frame_bytes;
    out.insert(out.end(), frames.data, frames.data + bytes);
  }
  return out;
}

TEST(SharedModels, ManySessionsOfOneEngine) {
  const auto model = OwnedModel::from_bytes(digits_rnl());
  ASSERT_TRUE(model.ok()) << model.status().text();
  const auto engine = Engine::make(*model, {.frames = 3});
  ASSERT_TRUE(engine.ok()) << engine.status().text();
  constexpr int kBlocks = 40;
  std::vector<Bytes> expected, found(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    auto runner = Runner::make(*engine);
    ASSERT_TRUE(runner.ok());
    expected.push_back(stream((*runner)->session(), static_cast<unsigned>(i), kBlocks));
  }
  EXPECT_NE(expected[0], expected[1]);
  together([&](int i) {
    // Creates, runs and recreates a session while others run.
    for (int round = 0; round < 3; ++round) {
      auto runner = Runner::make(*engine);
      if (runner.ok())
        found[static_cast<std::size_t>(i)] = stream((*runner)->session(), static_cast<unsigned>(i), kBlocks);
    }
  });
  EXPECT_EQ(found, expected);
}

TEST(SharedModels, PreparedByManyAtOnce) {
  const auto model = OwnedModel::from_bytes(digits_rnl());
  ASSERT_TRUE(model.ok()) << model.status().text();
  std::atomic<int> exact{0};
  together([&](int i) {
    const auto report = check_streaming(*model, 20, {}, static_cast<std::uint32_t>(i) + 1);
    if (report.ok() && report->differences.empty()) ++exact;
  });
  EXPECT_EQ(exact, kThreads);
}

TEST(SharedModels, LoaderGivesAllThreadsOneModel) {
  const TemporaryFolder folder;
  const auto write = [&](const char* name, const Bytes& bytes) {
    const auto path = folder.path() / name;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path.string();
  };
  const std::string files[] = {write("a.rnl", digits_rnl()), write("b.espdl", digits_espdl()),
                               (folder.path() / "missing.rnl").string()};
  compiler::FileLoader loader;
  std::vector<std::vector<const Model*>> found(kThreads);
  std::vector<std::size_t> notes(kThreads);
  std::atomic<int> refused{0};
  together([&](int i) {
    for (int round = 0; round < 6; ++round) {
      const auto loaded = loader.load(files[static_cast<std::size_t>(i + round) % 3]);
      if (loaded.ok())
        found[static_cast<std::size_t>(i)].push_back(*loaded);
      else
        ++refused;
      notes[static_cast<std::size_t>(i)] += loader.take_notes().size();
    }
  });
  EXPECT_EQ(refused, 2 * kThreads);
  std::vector<const Model*> distinct;
  for (const auto& models : found) distinct.insert(distinct.end(), models.begin(), models.end());
  EXPECT_EQ(distinct.size(), static_cast<std::size_t>(4 * kThreads));
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  EXPECT_EQ(distinct.size(), 2u) << "each file is loaded once";
  std::size_t told = 0;
  for (const std::size_t count : notes) told += count;
  EXPECT_EQ(told, 1u) << "the importer reports its note once";
}

}  // namespace
}  // namespace runnel::test
