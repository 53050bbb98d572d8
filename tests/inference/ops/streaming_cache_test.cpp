// A StreamingCache that stays an operator: its frames belong to the session.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "compiler/write/writer.h"
#include "inference/host/engine.h"

namespace runnel {
namespace {

using Values = std::vector<std::int8_t>;

compiler::Graph cached(int frames, int axis, std::vector<std::int32_t> from, std::vector<std::int32_t> to,
                       int exponent = -4) {
  compiler::Graph graph;
  const auto add = [&](const char* name, std::vector<std::int32_t> shape, int scale) {
    compiler::Tensor tensor;
    tensor.name = name;
    tensor.shape = std::move(shape);
    tensor.dtype = DType::int8;
    tensor.exponents = {static_cast<std::int8_t>(scale)};
    graph.tensors.push_back(std::move(tensor));
  };
  add("x", std::move(from), -4);
  add("y", std::move(to), exponent);
  compiler::Node node;
  node.name = "cache";
  node.code = OpCode::streaming_cache;
  node.inputs = {0};
  node.outputs = {1};
  node.options = compiler::StreamingCacheOptions{frames, axis};
  graph.nodes = {node};
  graph.inputs = {0};
  graph.outputs = {1};
  return graph;
}

std::unique_ptr<Runner> runner_of(const compiler::Graph& graph) {
  const auto written = compiler::write_model(graph);
  EXPECT_TRUE(written.ok()) << written.status().text();
  EXPECT_THAT(written->refusals, testing::ElementsAre(testing::HasSubstr("keeps frames from call to call")));
  const auto model = OwnedModel::from_bytes(written->bytes);
  EXPECT_TRUE(model.ok()) << model.status().text();
  const auto engine = Engine::make(*model, {.mode = RunMode::whole});
  EXPECT_TRUE(engine.ok()) << engine.status().text();
  auto runner = Runner::make(*engine);
  EXPECT_TRUE(runner.ok());
  return std::move(runner).value();
}

Values call(Session& session, const Values& x) {
  std::memcpy(session.input(0).data(), x.data(), x.size());
  session.run(session.prepared().block());
  const auto bytes = session.tensor(session.prepared().model().outputs()[0]);
  Values y(bytes.size());
  std::memcpy(y.data(), bytes.data(), bytes.size());
  return y;
}

TEST(StreamingCache, PutsTheFramesOfEarlierCallsInFront) {
  const auto runner = runner_of(cached(3, 1, {1, 2, 2}, {1, 5, 2}));
  Session& session = runner->session();
  EXPECT_EQ(call(session, {1, 2, 3, 4}), (Values{0, 0, 0, 0, 0, 0, 1, 2, 3, 4}));
  EXPECT_EQ(call(session, {5, 6, 7, 8}), (Values{0, 0, 1, 2, 3, 4, 5, 6, 7, 8}))
      << "more frames kept than a call brings";
  EXPECT_EQ(call(session, {9, 10, 11, 12}), (Values{3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  session.reset();
  EXPECT_EQ(call(session, {1, 2, 3, 4}), (Values{0, 0, 0, 0, 0, 0, 1, 2, 3, 4}));
}

TEST(StreamingCache, IsSavedAndRestored) {
  const compiler::Graph graph = cached(1, 2, {1, 2, 2}, {1, 2, 3});
  const auto first = runner_of(graph), second = runner_of(graph);
  call(first->session(), {1, 2, 3, 4});
  std::vector<std::byte> saved(first->session().saved_bytes());
  ASSERT_TRUE(first->session().save(saved).ok());
  ASSERT_TRUE(second->session().restore(saved).ok());
  EXPECT_EQ(call(second->session(), {5, 6, 7, 8}), (Values{2, 5, 6, 4, 7, 8}));
  EXPECT_EQ(call(first->session(), {5, 6, 7, 8}), (Values{2, 5, 6, 4, 7, 8}));
}

TEST(StreamingCache, WhatDoesNotFitIsRefused) {
  const auto refusal = [](const compiler::Graph& graph) {
    return std::string(compiler::write_model(graph).status().text());
  };
  EXPECT_THAT(refusal(cached(3, 1, {1, 2, 2}, {1, 4, 2})), testing::HasSubstr("expected [1,5,2]"));
  EXPECT_THAT(refusal(cached(0, 1, {1, 2, 2}, {1, 2, 2})), testing::HasSubstr("keeps 0 frames"));
  EXPECT_THAT(refusal(cached(1, 3, {1, 2, 2}, {1, 3, 2})), testing::HasSubstr("axis 3"));
  EXPECT_THAT(refusal(cached(1, -1, {1, 2, 2}, {1, 2, 3})), testing::HasSubstr("axis -1"));
  EXPECT_THAT(refusal(cached(1, 1, {1, 2, 2}, {1, 3, 2}, -5)), testing::HasSubstr("different scales"));
}

}  // namespace
}  // namespace runnel
