// Streams of a model that runs in steps, run together, give the bits that each gives alone.
#include "inference/stepped_group.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "base/host/heap_memory.h"
#include "inference/host/engine.h"
#include "tests/inference/graph_builder.h"

namespace runnel {
namespace {

using test::GraphBuilder;
using Bytes = std::vector<std::byte>;
constexpr int kChannels = 24;

// A step of one frame beside two that are kept: a convolution of three frames, a dense layer, a frame's worth
// of state of its own. `padded`: one frame less is kept, and a zero stands in its place.
std::shared_ptr<const OwnedModel> model_of(DType dtype, bool padded) {
  GraphBuilder b(9, dtype);
  const auto x = b.input({1, 1, kChannels}), kept = b.input({1, padded ? 1 : 2, kChannels}),
             sum = b.input({1, 1, 16});
  const auto all = b.concat({kept, x}, 1);
  GraphBuilder::Window window;
  window.kernel = 3;
  window.left = padded ? 1 : 0;
  const auto deep = b.conv(b.conv(all, 70, window, 1, true), 16, {});
  const auto next = b.binary(OpCode::add, deep, sum), y = b.conv(next, 5, {});
  const auto last = b.slice(all, 1, 1, padded ? 1 : 2);
  b.output(y);
  b.output(last);
  b.output(next);
  compiler::Graph& graph = b.graph();
  // States have one scale on both sides.
  const auto as = [&](GraphBuilder::Id to, GraphBuilder::Id from) {
    graph.tensors[static_cast<std::size_t>(to)].exponents =
        graph.tensors[static_cast<std::size_t>(from)].exponents;
  };
  as(kept, last);
  as(sum, next);
  graph.pipeline.usage = UsageKind::step;
  graph.pipeline.step = 1;
  graph.pipeline.states = {{last, kept}, {next, sum}};
  const auto written = compiler::write_model(graph);
  EXPECT_TRUE(written.ok()) << written.status().text();
  const auto model = OwnedModel::from_bytes(written->bytes);
  EXPECT_TRUE(model.ok()) << model.status().text();
  return *model;
}

// Writes one frame of random values.
void put(SteppedSession& stream, std::mt19937& random, std::size_t bytes) {
  std::byte* const to = stream.room();
  for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>(random());
  stream.written(1);
}

void expect_equal(DType dtype, bool padded) {
  const auto model = model_of(dtype, padded);
  const auto usage = usage_of(model->model());
  ASSERT_TRUE(usage.ok()) << usage.status().text();
  const auto engine = Engine::make(model, prepare_options(model->model(), *usage));
  ASSERT_TRUE(engine.ok()) << engine.status().text();
  const Prepared& prepared = (*engine)->prepared();
  constexpr std::uint32_t kStreams = 40;  // more than run together
  HeapMemory memory;
  auto group = SteppedGroup::make(prepared, *usage, kStreams, memory);
  ASSERT_TRUE(group.ok()) << group.status().text();
  ASSERT_EQ(group->count(), kStreams);
  std::vector<std::mt19937> values, values_alone;
  std::vector<SteppedSession> alone;
  for (std::uint32_t s = 0; s < kStreams; ++s) {
    values.emplace_back(s);
    values_alone.emplace_back(s);
    auto made = SteppedSession::make(prepared, *usage, memory);
    ASSERT_TRUE(made.ok()) << made.status().text();
    alone.push_back(*made);
  }
  const std::size_t frame = kChannels * size_of(dtype);
  const int y = model->model().outputs()[0];
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::uint32_t> turns;
    for (std::uint32_t s = 0; s < kStreams; ++s) {
      if (round == 30 && s % 7 == 0) {
        group->stream(s).reset();
        alone[s].reset();
      }
      if (round % 9 != 0 && random() % 3 == 0) continue;
      put(group->stream(s), values[s], frame);
      ASSERT_TRUE(group->stream(s).due());
      turns.push_back(s);
    }
    group->run(turns);
    for (const std::uint32_t s : turns) {
      put(alone[s], values_alone[s], frame);
      alone[s].run();
      const auto found = group->stream(s).session().tensor(y), expected = alone[s].session().tensor(y);
      ASSERT_TRUE(std::equal(found.begin(), found.end(), expected.begin(), expected.end()))
          << "stream " << s << ", round " << round;
    }
  }
}

TEST(SteppedGroup, GivesTheBitsOfEachStreamAlone) {
  for (const DType dtype : {DType::int8, DType::int16, DType::float32}) {
    for (const bool padded : {false, true}) {
      SCOPED_TRACE(std::string(name_of(dtype)) + (padded ? " padded" : ""));
      expect_equal(dtype, padded);
    }
  }
}

}  // namespace
}  // namespace runnel
