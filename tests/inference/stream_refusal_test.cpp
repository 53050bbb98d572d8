// What cannot be streamed is refused, by name and with the reason.
#include <gtest/gtest.h>

#include "inference/plan/stream_plan.h"
#include "tests/inference/graph_builder.h"

namespace runnel {
namespace {

using test::GraphBuilder;

std::string refusal_of(GraphBuilder& builder) {
  std::vector<std::string> refusals;
  const auto model = builder.build(&refusals);
  EXPECT_TRUE(model.ok()) << model.status().text();
  if (!model.ok()) return {};
  EXPECT_EQ((*model)->model().plan() == nullptr, !refusals.empty());
  if (refusals.empty()) return {};
  PrepareOptions options;
  EXPECT_EQ(Engine::make(*model, options).status().code(), Code::unsupported);
  options.mode = RunMode::whole;
  EXPECT_TRUE(Engine::make(*model, options).ok());
  return refusals[0];
}

TEST(StreamRefusal, GlobalPooling) {
  GraphBuilder builder;
  auto x = builder.input({1, 20, 3});
  builder.output(builder.pool(x, false, {.kernel = 4}));
  EXPECT_EQ(refusal_of(builder), "");
  GraphBuilder global;
  x = global.input({1, 20, 3});
  global.output(global.pool(x, false, {.kernel = 20}));
  std::get<compiler::PoolOptions>(global.graph().nodes[0].options).global = true;
  const std::string why = refusal_of(global);
  EXPECT_NE(why.find("average_pool"), std::string::npos) << why;
  EXPECT_NE(why.find("whole recording"), std::string::npos) << why;
}

TEST(StreamRefusal, ReversalOfTime) {
  GraphBuilder builder;
  const auto x = builder.input({1, 20, 3});
  builder.output(builder.slice(x, 1, 19, 20, -1));
  EXPECT_NE(refusal_of(builder).find("reverses time"), std::string::npos);
}

TEST(StreamRefusal, TimeMixedIntoChannels) {
  GraphBuilder builder;
  const auto x = builder.input({1, 20, 3});
  builder.output(builder.reshape(x, {1, 60}));
  const std::string why = refusal_of(builder);
  EXPECT_NE(why.find("mixes time (axis 1) into another axis"), std::string::npos) << why;
}

TEST(StreamRefusal, JoinsOfDifferentRate) {
  GraphBuilder builder;
  const auto x = builder.input({1, 20, 3});
  const auto fast = builder.slice(x, 1, 0, 10), slow = builder.conv(x, 3, {.kernel = 2, .stride = 2});
  builder.output(builder.binary(OpCode::add, fast, slow));
  EXPECT_NE(refusal_of(builder).find("rates differ: 1/1 and 1/2"), std::string::npos);
}

TEST(StreamRefusal, JoinsWhoseLengthsAgreeByChance) {
  // 20 frames: both branches have 10. 21 frames: 10 and 11.
  GraphBuilder builder;
  const auto x = builder.input({1, 20, 3});
  const auto a = builder.conv(x, 3, {.kernel = 2, .stride = 2}),
             b = builder.conv(x, 3, {.kernel = 1, .stride = 2});
  builder.output(builder.binary(OpCode::add, a, b));
  const std::string why = refusal_of(builder);
  EXPECT_NE(why.find("different lengths"), std::string::npos) << why;
}

TEST(StreamRefusal, EveryOffenderIsNamed) {
  GraphBuilder builder;
  auto x = builder.input({1, 20, 3});
  x = builder.slice(x, 1, 19, 20, -1);
  x = builder.pool(x, true, {.kernel = 20});
  std::get<compiler::PoolOptions>(builder.graph().nodes[1].options).global = true;
  builder.output(x);
  std::vector<std::string> refusals;
  ASSERT_TRUE(builder.build(&refusals).ok());
  ASSERT_EQ(refusals.size(), 2u);
  EXPECT_NE(refusals[0].find("slice"), std::string::npos);
  EXPECT_NE(refusals[1].find("max_pool"), std::string::npos);
}

}  // namespace
}  // namespace runnel
