// What stays on the CPU because somebody says so, and what a device refuses.
#include "compiler/npu/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "compiler/write/writer.h"
#include "inference/host/engine.h"
#include "npu/host/simulator/simulated_npu.h"
#include "tests/compiler/npu/on_npu.h"
#include "tests/compiler/npu/random_network.h"

namespace runnel::test {
namespace {

namespace ethos_u = compiler::ethos_u;

// A network of at least three nodes that are all computed by the NPU.
compiler::Graph all_on_npu() {
  for (std::uint32_t seed = 0;; ++seed) {
    compiler::Graph graph = random_network({false, false}, seed);
    if (graph.nodes.size() < 3) continue;
    const auto compiled = ethos_u::compile(graph, npu_options("ethos-u55-128"));
    const auto on_npu = [](const ethos_u::NodeReport& node) { return node.segment >= 0; };
    if (compiled.ok() && std::all_of(compiled->nodes.begin(), compiled->nodes.end(), on_npu) &&
        compiled->segments.size() == 1)
      return graph;
  }
}

std::vector<std::string> reasons(const compiler::Graph& graph, const ethos_u::Options& options) {
  ethos_u::CompiledGraph compiled;
  const Status status = compare_whole(graph, options, 1, 1, &compiled);
  EXPECT_TRUE(status.ok()) << status.text();
  std::vector<std::string> out;
  for (const auto& node : compiled.nodes) out.push_back(node.reason);
  return out;
}

TEST(NpuPartition, KeepsOnTheCpuWhatIsForbidden) {
  const compiler::Graph graph = all_on_npu();
  const auto options = npu_options("ethos-u55-128");
  auto by_operator = options;
  by_operator.forbidden_operators = {ethos_u::operator_name(graph.nodes[0])};
  EXPECT_EQ(reasons(graph, by_operator)[0], "the operator is forbidden");
  auto by_name = options;
  by_name.forbidden_names = {graph.nodes[1].name};
  const auto named = reasons(graph, by_name);
  EXPECT_EQ(named[0], "");
  EXPECT_EQ(named[1], "the name is forbidden");
  auto by_region = options;
  by_region.forbidden_regions = {{graph.nodes[1].name, graph.nodes[2].name}};
  const auto inside = reasons(graph, by_region);
  EXPECT_EQ(inside[0], "");
  EXPECT_EQ(inside[1], "it lies in a forbidden region");
  EXPECT_EQ(inside[2], "it lies in a forbidden region");
  auto by_predicate = options;
  by_predicate.allow = [&](const compiler::Graph&, const compiler::Node& node) {
    return node.name != graph.nodes[0].name;
  };
  EXPECT_EQ(reasons(graph, by_predicate)[0], "the predicate forbids it");
  auto everything = options;
  everything.allow = [](const compiler::Graph&, const compiler::Node&) { return false; };
  const auto none = ethos_u::compile(graph, everything);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), Code::unsupported);
}

TEST(NpuPartition, LeavesWhatTheNpuCannotRoundToTheCpu) {
  compiler::Graph graph = all_on_npu();
  for (compiler::Node& node : graph.nodes) node.rounding = kernels::Rounding::half_even;
  const auto compiled = ethos_u::compile(graph, npu_options("ethos-u55-128"));
  const std::string text = compiled.ok() ? std::string() : std::string(compiled.status().text());
  bool said = text.find("ties to even") != std::string::npos;
  if (compiled.ok()) {
    for (const auto& node : compiled->nodes)
      said = said || node.reason.find("ties to even") != std::string::npos;
  }
  EXPECT_TRUE(said) << text;
}

// Tensors between the CPU and the NPU are one buffer for both, as long as there are regions for them.
TEST(NpuPartition, BordersAreNotCopied) {
  const compiler::Graph graph = all_on_npu();
  auto options = npu_options("ethos-u55-128");
  options.forbidden_names = {graph.nodes[1].name};
  ethos_u::CompiledGraph compiled;
  const Status status = compare_whole(graph, options, 7, 3, &compiled);
  EXPECT_TRUE(status.ok()) << status.text();
  ASSERT_GE(compiled.segments.size(), 2u);
  for (const auto& segment : compiled.segments) {
    EXPECT_GT(segment.border_in, 0u);
    EXPECT_GT(segment.border_out, 0u);
    EXPECT_EQ(segment.copied_in, 0u);
    EXPECT_EQ(segment.copied_out, 0u);
  }
}

TEST(NpuPartition, BordersBeyondTheRegionsAreCopied) {
  compiler::Graph graph;
  for (std::uint32_t seed = 0; graph.nodes.size() < 3; ++seed) {
    graph = random_network({false, false}, seed);
    // All that is computed is wanted.
    std::set<compiler::TensorId> wanted;
    for (const compiler::Node& node : graph.nodes) wanted.insert(node.outputs.begin(), node.outputs.end());
    graph.outputs.assign(wanted.begin(), wanted.end());
    if (graph.outputs.size() < 7) graph.nodes.clear();
  }
  ethos_u::CompiledGraph compiled;
  const Status status = compare_whole(graph, npu_options("ethos-u65-256"), 8, 2, &compiled);
  EXPECT_TRUE(status.ok()) << status.text();
  bool copied = false, shared = false;
  for (const auto& segment : compiled.segments) {
    copied = copied || segment.copied_out > 0;
    shared = shared || segment.copied_out < segment.border_out;
  }
  EXPECT_TRUE(copied);
  EXPECT_TRUE(shared);
}

// Models of several segments in a program that runs any model: simulators last as long as it does, and end
// with it.
TEST(NpuDevice, SimulatorsOfSeveralSegmentsEndWithTheProgram) {
  const compiler::Graph graph = all_on_npu();
  auto options = npu_options("ethos-u55-128");
  options.forbidden_names = {graph.nodes[1].name};
  const auto compiled = ethos_u::compile(graph, options);
  ASSERT_TRUE(compiled.ok()) << compiled.status().text();
  ASSERT_GE(compiled->segments.size(), 2u);
  compiler::WriteOptions write;
  write.blocks.clear();
  const auto written = compiler::write_model(compiled->graph, write);
  ASSERT_TRUE(written.ok()) << written.status().text();
  const auto prepare_and_end = [&] {
    const auto owned = OwnedModel::from_bytes(written->bytes);
    PrepareOptions whole;
    whole.mode = RunMode::whole;
    std::exit(owned.ok() && Engine::make(*owned, whole, npu::simulating_operators()).ok() ? 0 : 1);
  };
  EXPECT_EXIT(prepare_and_end(), testing::ExitedWithCode(0), "");
}

TEST(NpuDevice, RefusesModelsOfAnotherOne) {
  const compiler::Graph graph = all_on_npu();
  const auto compiled = ethos_u::compile(graph, npu_options("ethos-u55-128", "Shared_Sram"));
  ASSERT_TRUE(compiled.ok()) << compiled.status().text();
  compiler::WriteOptions write;
  write.blocks.clear();
  const auto written = compiler::write_model(compiled->graph, write);
  ASSERT_TRUE(written.ok()) << written.status().text();
  const auto owned = OwnedModel::from_bytes(written->bytes);
  ASSERT_TRUE(owned.ok());
  PrepareOptions whole;
  whole.mode = RunMode::whole;
  const auto prepared = [&](const npu::DeviceDescription& device) {
    npu::SimulatorOptions options;
    options.device = device;
    npu::SimulatedNpu npu((*owned)->model(), options);
    return Engine::make(*owned, whole, npu.table()).status();
  };
  EXPECT_TRUE(prepared({}).ok());
  EXPECT_TRUE(prepared({"ethos-u55-128", "Shared_Sram", "Ethos_U55_High_End_Embedded"}).ok());
  EXPECT_EQ(prepared({"ethos-u55-256", "", ""}).code(), Code::mismatch);
  EXPECT_EQ(prepared({"", "Sram_Only", ""}).code(), Code::mismatch);
  EXPECT_EQ(prepared({"", "", "Ethos_U55_Deep_Embedded"}).code(), Code::mismatch);
}

}  // namespace
}  // namespace runnel::test
