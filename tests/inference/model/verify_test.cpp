// Files that are not what they claim to be.
#include "inference/model/verify.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "tests/inference/graph_builder.h"

namespace runnel {
namespace {

using test::GraphBuilder;

compiler::Graph small_graph() {
  GraphBuilder builder;
  auto x = builder.input({1, 20, 3});
  x = builder.conv(x, 4, {.kernel = 3, .stride = 1, .dilation = 1, .left = 2, .right = 0});
  builder.output(builder.relu(x));
  return builder.graph();
}

std::vector<std::byte> bytes_of(const compiler::Graph& graph) {
  auto written = compiler::write_model(graph);
  EXPECT_TRUE(written.ok()) << written.status().text();
  return written.ok() ? written->bytes : std::vector<std::byte>();
}

// The sentence with which a changed graph is refused by writer or reader.
std::string refusal(const std::function<void(compiler::Graph&)>& change) {
  compiler::Graph graph = small_graph();
  change(graph);
  const auto written = compiler::write_model(graph);
  return written.ok() ? std::string() : std::string(written.status().text());
}

TEST(Verify, EveryTruncationIsRefused) {
  const std::vector<std::byte> bytes = bytes_of(small_graph());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto model = OwnedModel::from_bytes(std::span(bytes).first(size));
    ASSERT_FALSE(model.ok()) << size;
    ASSERT_FALSE(model.status().text().empty()) << size;
  }
}

TEST(Verify, EveryFlippedBitOfASectionIsNoticed) {
  const std::vector<std::byte> bytes = bytes_of(small_graph());
  std::size_t unnoticed = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::vector<std::byte> damaged = bytes;
    damaged[at] ^= std::byte{0x10};
    if (!OwnedModel::from_bytes(damaged).ok()) continue;
    // Padding between the sections, which is zero, may change unnoticed; and of the container itself the
    // sizes of tables in its vtables, which no FlatBuffers reader looks at.
    unnoticed += bytes[at] != std::byte{0} ? 1 : 0;
  }
  EXPECT_LE(unnoticed, 4u);
}

TEST(Verify, NamesPlaceExpectedAndFound) {
  EXPECT_EQ(OwnedModel::from_bytes({}).status().text(), "empty, expected a model file");
  const std::vector<std::byte> zeros(64);
  EXPECT_EQ(OwnedModel::from_bytes(zeros).status().text(),
            "no RNL1 identifier at byte 4: not a runnel model file");
  EXPECT_NE(refusal([](auto& graph) {
              graph.tensors[0].shape = {1, 20, 3, 1, 1, 1, 1};
            }).find("rank 7, expected at most 6"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& graph) { graph.tensors[0].exponents = {100}; }).find("exponent"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& graph) { graph.nodes[0].inputs[0] = 77; }).find("77"), std::string::npos);
  EXPECT_NE(refusal([](auto& graph) {
              std::get<compiler::ConvOptions>(graph.nodes[0].options).stride_width = 0;
            }).find("stride"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& graph) {
              std::get<compiler::ConvOptions>(graph.nodes[0].options).pad_left = 7;
            }).find("expected [1,25,4]"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& graph) { graph.nodes[0].options = compiler::AxisOptions{0}; }).find("options"),
            std::string::npos);
}

TEST(Verify, ALyingPlanIsRefused) {
  std::vector<std::byte> bytes = bytes_of(small_graph());
  ModelOptions options;
  options.check_crc = false;
  // Where the history is not 0, another value must not pass. It stands after two ints and a long.
  constexpr std::size_t kHistory = 16;
  const auto honest = OwnedModel::from_bytes(bytes, options);
  ASSERT_TRUE(honest.ok());
  const fb::StreamPlan* plan = (*honest)->model().plan();
  ASSERT_NE(plan, nullptr);
  const auto* base = reinterpret_cast<const std::uint8_t*>((*honest)->model().bytes().data());
  int changed = 0;
  for (const fb::StreamTensor* tensor : *plan->tensors()) {
    if (tensor->history() == 0) continue;
    const auto offset =
        static_cast<std::size_t>(reinterpret_cast<const std::uint8_t*>(tensor) - base) + kHistory;
    std::vector<std::byte> lying = bytes;
    lying[offset] = std::byte{1};
    const auto model = OwnedModel::from_bytes(lying, options);
    ASSERT_TRUE(model.ok());
    const auto engine = Engine::make(*model);
    ASSERT_FALSE(engine.ok());
    EXPECT_NE(engine.status().text().find("section plan"), std::string::npos) << engine.status().text();
    ++changed;
  }
  EXPECT_GT(changed, 0);
}

TEST(Verify, AllMissingOperatorsAreNamedAtOnce) {
  const auto model = OwnedModel::from_bytes(bytes_of(small_graph()));
  ASSERT_TRUE(model.ok());
  const auto engine = Engine::make(*model, {}, OperatorTable{});
  ASSERT_FALSE(engine.ok());
  const std::string text(engine.status().text());
  EXPECT_NE(text.find("conv version 1 'conv0'"), std::string::npos) << text;
  EXPECT_NE(text.find("relu version 1 'relu1'"), std::string::npos) << text;
}

}  // namespace
}  // namespace runnel
