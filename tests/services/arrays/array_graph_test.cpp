#include "services/arrays/array_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace runnel::arrays::test {
namespace {

std::unique_ptr<ArrayGraph> graph_of(std::string_view text, int threads = 1) {
  pipeline::GraphOptions options;
  options.threads = threads;
  auto made = ArrayGraph::build(text, options);
  EXPECT_TRUE(made.ok()) << made.status().text();
  return made.ok() ? std::move(*made) : nullptr;
}

std::vector<float> ramp(std::size_t count) {
  std::vector<float> samples(count);
  std::iota(samples.begin(), samples.end(), 0.0F);
  return samples;
}

TEST(ArrayGraph, OpenEndsAreCollectedUnderTheirNames) {
  const auto graph =
      graph_of("samples ! gain db=2 name=loud ! gain db=3\nloud. ! gain db=5\nloud. ! collect name=kept");
  ASSERT_NE(graph, nullptr);
  std::vector<std::string> names;
  for (const auto& end : graph->ends()) names.push_back(end.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"gain", "gain_2", "kept"}));
}

TEST(ArrayGraph, SamplesComeOutAsTheyWentInAnyPieces) {
  const auto graph = graph_of("samples channels=2");
  ASSERT_NE(graph, nullptr);
  const std::vector<float> samples = ramp(2 * 5000);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(graph->feed(samples.data(), 17).ok());
    ASSERT_TRUE(graph->feed(samples.data() + 2 * 17, 4983).ok());
    ASSERT_TRUE(graph->finish().ok());
    const Collected got = graph->ends()[0].sink->take();
    EXPECT_EQ(got.frames, 5000);
    ASSERT_EQ(got.data.size(), samples.size() * sizeof(float));
    EXPECT_EQ(std::memcmp(got.data.data(), samples.data(), got.data.size()), 0);
    ASSERT_EQ(got.runs.size(), 1U);
    EXPECT_EQ(got.runs[0].first, 0);
    EXPECT_EQ(graph->feed(samples.data(), 1).code(), Code::invalid_argument);
    graph->restart();
  }
}

TEST(ArrayGraph, FramesAsInput) {
  const auto graph = graph_of("samples values=4 hop=160 span=400 ! deltas order=1");
  ASSERT_NE(graph, nullptr);
  const std::vector<float> frames = ramp(4 * 20);
  ASSERT_TRUE(graph->feed(frames.data(), 20).ok());
  ASSERT_TRUE(graph->finish().ok());
  const Collected got = graph->ends()[0].sink->take();
  EXPECT_EQ(got.frames, 20);
  EXPECT_EQ(graph->ends()[0].sink->format().channels, 8);
  EXPECT_EQ(graph->ends()[0].sink->format().clock.hop, 160);
}

TEST(ArrayGraph, Refusals) {
  const float sample = 0;
  EXPECT_EQ(graph_of("samples ! gain", 2)->feed(&sample, 1).code(), Code::invalid_argument);
  pipeline::GraphOptions options;
  EXPECT_EQ(ArrayGraph::build("samples ! nothing", options).status().code(), Code::not_found);
}

}  // namespace
}  // namespace runnel::arrays::test
