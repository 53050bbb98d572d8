// The state of a stream is as small as its contexts, and steps write little more than what is new.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "tests/inference/random_graph.h"

namespace runnel {
namespace {

using test::GraphBuilder;

// Frames of each tensor that a later block still reads, from the rules alone: the largest context of its
// windows and delay of its joins, each tensor once however many read it.
std::vector<std::int64_t> needed_frames(const Prepared& prepared) {
  const Model& model = prepared.model();
  std::vector<std::int64_t> needed(static_cast<std::size_t>(model.tensor_count()), 0);
  for (int op = 0; op < model.operator_count(); ++op) {
    const streaming::NodeRule& rule = prepared.stream_step(op).rule;
    if (rule.kind == streaming::Kind::constant || rule.kind == streaming::Kind::recurrent || rule.own_history)
      continue;
    const auto& inputs = *model.op(op).inputs();
    const std::int64_t to = prepared.placement(model.op(op).outputs()->Get(0)).delay;
    std::int64_t latest = 0;
    for (const std::int32_t input : inputs) {
      if (input >= 0 && prepared.placement(input).time_axis >= 0)
        latest = std::max(latest, prepared.placement(input).delay);
    }
    for (std::uint32_t i = 0; i < inputs.size(); ++i) {
      if (inputs.Get(i) < 0 || prepared.placement(inputs.Get(i)).time_axis < 0) continue;
      const std::int64_t from = prepared.placement(inputs.Get(i)).delay;
      std::int64_t context = latest - from;
      if (rule.kind == streaming::Kind::window) context = rule.left + rule.stride * to - from;
      if (rule.kind == streaming::Kind::upsample)
        context =
            floor_div(rule.extent() - 1 + std::max<std::int64_t>(0, rule.right + rule.stride - rule.extent()),
                      rule.stride);
      if (rule.kind == streaming::Kind::attention) context = to - from + (i == 0 ? 0 : rule.left);
      std::int64_t& most = needed[static_cast<std::size_t>(inputs.Get(i))];
      most = std::max(most, context);
    }
  }
  return needed;
}

// Device plans keep exactly that; plans of hosts at most twice as many frames, and their steps write, with
// what is moved, at most twice the frames that are new.
void check_state(const std::shared_ptr<const OwnedModel>& model, std::int64_t blocks) {
  PrepareOptions device;
  device.slack = false;
  device.alignment = 16;
  PrepareOptions host;
  {
    const auto engine = Engine::make(model, device);
    ASSERT_TRUE(engine.ok()) << engine.status().text();
    device.frames = host.frames = (*engine)->prepared().block() * blocks;
  }
  const auto small = Engine::make(model, device), roomy = Engine::make(model, host);
  ASSERT_TRUE(small.ok() && roomy.ok());
  const std::vector<std::int64_t> needed = needed_frames((*small)->prepared());
  for (int t = 0; t < (*small)->model().tensor_count(); ++t) {
    const Placement &least = (*small)->prepared().placement(t), &most = (*roomy)->prepared().placement(t);
    if (least.constant || least.time_axis < 0) continue;
    EXPECT_EQ(least.history, needed[static_cast<std::size_t>(t)]) << "tensor " << t;
    if (least.capacity > 0) {
      EXPECT_EQ(least.capacity, least.history + least.frames);
    }
    if (most.capacity == 0) continue;
    EXPECT_LE(most.capacity, 2 * (most.history + most.frames));
    const streaming::Ring ring = most.ring();
    std::int64_t cursor = ring.start(), written = most.frames;
    constexpr std::int64_t kSteps = 1000;
    for (std::int64_t step = 1; step < kSteps; ++step) {
      const auto next = ring.next(cursor);
      written += most.frames + (next.move_from >= 0 ? most.history : 0);
      cursor = next.cursor;
    }
    EXPECT_LE(written, 2 * kSteps * most.frames) << "tensor " << t;
  }
}

TEST(StreamState, IsTheBoundOfTheContexts) {
  int checked = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    test::RandomGraph random(seed + 9000, DType::int8);
    if (!random.legal()) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ":" + random.story());
    std::vector<std::string> refusals;
    const auto model = random.builder().build(&refusals);
    ASSERT_TRUE(model.ok()) << model.status().text();
    if (!refusals.empty()) continue;
    check_state(*model, 1 + seed % 5);
    ++checked;
  }
  EXPECT_GT(checked, 100);
}

// Several windows on one tensor share its history, and a residual branch is a tap of it.
TEST(StreamState, ReadersShareOneHistory) {
  GraphBuilder builder(3);
  const auto x = builder.input({1, 60, 4});
  const auto narrow = builder.conv(x, 4, {.kernel = 3, .left = 1, .right = 1}),
             wide = builder.conv(x, 4, {.kernel = 9, .left = 4, .right = 4});
  builder.output(builder.binary(OpCode::add, builder.binary(OpCode::add, narrow, wide), x));
  const auto model = builder.build();
  ASSERT_TRUE(model.ok()) << model.status().text();
  const auto engine = Engine::make(*model);
  ASSERT_TRUE(engine.ok());
  std::int64_t frames = 0;
  for (int t = 0; t < (*model)->model().tensor_count(); ++t)
    frames += (*engine)->prepared().placement(t).history;
  // Eight frames of x for the wide one, of which the sum reads the fourth; three of the narrow one, which is
  // three frames early.
  EXPECT_EQ(frames, 8 + 3);
}

TEST(StreamState, PinnedContextsAreKept) {
  GraphBuilder builder(4);
  const auto x = builder.input({1, 60, 4});
  builder.output(builder.conv(x, 4, {.kernel = 3}));
  const std::string name = builder.graph().tensors[static_cast<std::size_t>(x)].name;
  compiler::StreamOptions options;
  options.contexts[name] = 7;
  const auto model = builder.build(nullptr, options);
  ASSERT_TRUE(model.ok()) << model.status().text();
  const auto engine = Engine::make(*model);
  ASSERT_TRUE(engine.ok()) << engine.status().text();
  EXPECT_EQ((*engine)->prepared().placement((*model)->model().inputs()[0]).history, 7);
  options.contexts[name] = 1;
  const Status less = builder.build(nullptr, options).status();
  EXPECT_NE(less.text().find('"' + name + "\": 1 frames, but its readers need 2"), std::string::npos)
      << less.text();
  options.contexts = {{"nobody", 3}};
  EXPECT_EQ(builder.build(nullptr, options).status().code(), Code::not_found);
}

}  // namespace
}  // namespace runnel
