#include "inference/session.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "inference/reblocker.h"
#include "inference/slab.h"
#include "tests/inference/graph_builder.h"

namespace runnel {
namespace {

using test::GraphBuilder;

// Look-ahead, stride and a residual: everything that a state can hold.
std::shared_ptr<const OwnedModel> small_model(std::uint32_t seed = 1) {
  GraphBuilder builder(seed);
  auto x = builder.input({1, 40, 3});
  x = builder.conv(x, 4, {.kernel = 4, .stride = 2, .dilation = 1, .left = 1, .right = 2});
  auto y = builder.conv(x, 4, {.kernel = 3, .stride = 1, .dilation = 2, .left = 2, .right = 2}, 4);
  builder.output(builder.binary(OpCode::add, x, y));
  auto model = builder.build();
  EXPECT_TRUE(model.ok()) << model.status().text();
  return model.ok() ? *model : nullptr;
}

std::shared_ptr<const Engine> engine_of(const std::shared_ptr<const OwnedModel>& model,
                                        std::int64_t block = 0) {
  PrepareOptions options;
  options.frames = block;
  auto engine = Engine::make(model, options);
  EXPECT_TRUE(engine.ok()) << engine.status().text();
  return engine.ok() ? *engine : nullptr;
}

TEST(Session, BlockSizesMustBeMultiplesOfTheSmallest) {
  PrepareOptions options;
  options.frames = 3;
  const auto engine = Engine::make(small_model(), options);
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.status().text(), "a block of 3 frames, expected a positive multiple of 2");
}

TEST(Session, FlushIsComputedNotGuessed) {
  const auto engine = engine_of(small_model());
  for (std::int64_t frames = 0; frames < 20; ++frames) {
    const auto runner = Runner::make(engine);
    ASSERT_TRUE(runner.ok());
    Session& session = (*runner)->session();
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(engine->model().tensor_count()));
    engine->prepared().lengths(frames, lengths);
    std::int64_t got = 0, calls = 0;
    const auto take = [&] {
      const OutputFrames out = session.output(0);
      if (out.count > 0) {
        EXPECT_EQ(out.first, got);
      }
      got += out.count;
      ++calls;
    };
    std::vector<std::byte> input(static_cast<std::size_t>(frames) * 3, std::byte{5});
    const std::byte* pointer = input.data();
    Reblocker reblocker(session);
    reblocker.push({&pointer, 1}, frames, take);
    reblocker.finish(take);
    EXPECT_EQ(got, lengths[static_cast<std::size_t>(engine->model().outputs()[0])]) << frames;
    // finish() always runs the block in which the end is told, which is one more than needed when it is
    // empty.
    EXPECT_LE(calls, engine->prepared().calls(frames, lengths) + 1);
    EXPECT_EQ(session.flush_calls_left(), 0);
  }
}

TEST(Session, StateTooSmallOrMisalignedIsRefused) {
  const auto engine = engine_of(small_model());
  HeapMemory memory;
  const auto workspace = Workspace::make(engine->prepared(), memory);
  ASSERT_TRUE(workspace.ok());
  const std::size_t bytes = engine->prepared().state_bytes();
  auto* state = static_cast<std::byte*>(memory.allocate(bytes + 16, 64));
  EXPECT_EQ(Session::make(engine->prepared(), **workspace, {state, bytes - 1}).status().code(),
            Code::out_of_memory);
  EXPECT_EQ(Session::make(engine->prepared(), **workspace, {state + 1, bytes}).status().code(),
            Code::invalid_argument);
  EXPECT_TRUE(Session::make(engine->prepared(), **workspace, {state, bytes}).ok());
}

TEST(Session, SavedStatesOfOthersAreRefused) {
  const auto model = small_model(), other = small_model(2);
  const auto engine = engine_of(model), wide = engine_of(model, 8), foreign = engine_of(other);
  const auto runner = Runner::make(engine), wide_runner = Runner::make(wide),
             foreign_runner = Runner::make(foreign);
  ASSERT_TRUE(runner.ok() && wide_runner.ok() && foreign_runner.ok());
  Session& session = (*runner)->session();
  session.run(2);
  std::vector<std::byte> saved(session.saved_bytes());
  ASSERT_TRUE(session.save(saved).ok());
  EXPECT_TRUE(session.restore(saved).ok());
  EXPECT_FALSE((*wide_runner)->session().restore(saved).ok());
  EXPECT_EQ((*foreign_runner)->session().restore(saved).code(), Code::mismatch);
  EXPECT_EQ(session.save(std::span(saved).first(saved.size() - 1)).code(), Code::out_of_memory);
  EXPECT_FALSE(session.restore(std::span(saved).first(10)).ok());
  saved[saved.size() / 2] ^= std::byte{1};
  EXPECT_EQ(session.restore(saved).code(), Code::invalid_data);
}

TEST(Session, SlabsHoldIndependentSessions) {
  const auto engine = engine_of(small_model());
  HeapMemory memory;
  const auto slab = StateSlab::make(engine->prepared(), 5, memory);
  const auto workspace = Workspace::make(engine->prepared(), memory);
  ASSERT_TRUE(slab.ok() && workspace.ok());
  EXPECT_EQ(slab->stride() % 64, 0u);
  std::vector<Session> sessions;
  for (std::size_t i = 0; i < slab->count(); ++i) {
    auto session = Session::make(engine->prepared(), **workspace, slab->state(i));
    ASSERT_TRUE(session.ok());
    sessions.push_back(*session);
  }
  // Each stream gets a constant of its own; all must answer like a stream that runs alone.
  for (int round = 0; round < 12; ++round) {
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      auto input = sessions[i].input(0);
      std::memset(input.data(), static_cast<int>(i * 9 + static_cast<std::size_t>(round)), input.size());
      sessions[i].run(2);
      const OutputFrames together = sessions[i].output(0);
      const auto alone = Runner::make(engine);
      Session& single = (*alone)->session();
      for (int again = 0; again <= round; ++again) {
        auto same = single.input(0);
        std::memset(same.data(), static_cast<int>(i * 9 + static_cast<std::size_t>(again)), same.size());
        single.run(2);
      }
      const OutputFrames expected = single.output(0);
      ASSERT_EQ(together.count, expected.count);
      ASSERT_EQ(together.first, expected.first);
      EXPECT_EQ(std::memcmp(together.data, expected.data, static_cast<std::size_t>(expected.count) * 4), 0);
    }
  }
}

TEST(Session, OneConstantIsIndependentOfVectorInstructions) {
  const auto model = small_model();
  std::vector<std::vector<std::byte>> results;
  for (int level = 0; level <= static_cast<int>(best_isa()); ++level) {
    if (!runs_here(static_cast<Isa>(level))) continue;
    PrepareOptions options;
    options.mode = RunMode::whole;
    options.isa = static_cast<Isa>(level);
    const auto engine = Engine::make(model, options);
    ASSERT_TRUE(engine.ok()) << engine.status().text();
    const auto runner = Runner::make(*engine);
    Session& session = (*runner)->session();
    auto input = session.input(0);
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::byte>(i * 31);
    session.run((*engine)->prepared().block());
    const auto bytes = session.tensor((*engine)->model().outputs()[0]);
    results.emplace_back(bytes.begin(), bytes.end());
    EXPECT_EQ(results.back(), results.front());
  }
}

}  // namespace
}  // namespace runnel
