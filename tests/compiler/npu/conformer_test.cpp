// Conformers of integers wholly on the Ethos-U85: between the integers that come in and those that go out, no
// operator stays on the CPU. The CPU's bytes, whole and streamed.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "compiler/import/load.h"
#include "compiler/ir/model_graph.h"
#include "compiler/quantize/integer_form.h"
#include "compiler/quantize/quantize.h"
#include "compiler/write/writer.h"
#include "tests/compiler/npu/on_npu.h"
#include "tests/support/data.h"
#include "tests/support/npy.h"

namespace runnel::test {
namespace {

namespace quantizer = compiler::quantizer;
using compiler::Graph;
using compiler::TensorId;

bool is_float(const Graph& graph, TensorId id) {
  return id >= 0 && graph.tensors[static_cast<std::size_t>(id)].dtype == DType::float32;
}

// Without what converts floats at the borders, and without operators of floats after the last integers.
Graph integers_of(const Graph& graph) {
  Graph out = graph;
  out.nodes.clear();
  out.inputs.clear();
  out.outputs.clear();
  for (const TensorId id : graph.inputs) {
    if (!is_float(graph, id)) out.inputs.push_back(id);
  }
  for (const compiler::Node& node : graph.nodes) {
    if (is_float(graph, node.outputs[0])) {
      if (!is_float(graph, node.inputs[0])) out.outputs.push_back(node.inputs[0]);
      continue;
    }
    if (is_float(graph, node.inputs[0]))
      out.inputs.push_back(node.outputs[0]);
    else
      out.nodes.push_back(node);
  }
  return out;
}

// Quantized for the NPU, affine, over a window of 16 frames, as the program writes and reads it.
Graph conformer(const std::string& name) {
  auto imported = compiler::import_file(data_folder() / "speech/conformer" / (name + ".onnx"), {});
  EXPECT_TRUE(imported.ok()) << imported.status().text();
  if (!imported.ok()) return {};
  std::vector<quantizer::Clip> clips = {
      {read_npy(data_folder() / "speech/conformer" / (name + "_x.npy")).as<float>()}};
  compiler::StreamOptions stream;
  stream.time_axis = 1;
  stream.attention = compiler::AttentionWindow{16, 0, 1};
  quantizer::Options options;
  options.target = *quantizer::target_rules("ethos-u");
  options.scheme = quantizer::Scheme::affine;
  options.methods = quantizer::Methods{false, false, false, false, false};
  options.threads = 1;
  const auto notes = quantizer::take_integer_form(options.target, stream, imported->graph);
  EXPECT_TRUE(notes.ok()) << notes.status().text();
  const auto made = quantizer::quantize(imported->graph, quantizer::MemoryClips(clips), options);
  EXPECT_TRUE(made.ok()) << made.status().text();
  if (!made.ok()) return {};
  compiler::WriteOptions write;
  write.blocks.clear();
  write.stream = stream;
  write.stream.required = true;
  const auto written = compiler::write_model(made->graph, write);
  EXPECT_TRUE(written.ok()) << written.status().text();
  if (!written.ok()) return {};
  const auto owned = OwnedModel::from_bytes(written->bytes);
  if (!owned.ok()) return {};
  Graph graph = integers_of(compiler::graph_of((*owned)->model()));
  graph.time_axes = {1};
  return graph;
}

class Conformers : public testing::TestWithParam<const char*> {};
// Everything, on as many configurations as the program has time for; names differ, because CTest knows tests
// by name.
#ifdef RUNNEL_CONFORMER_ACCELERATORS
INSTANTIATE_TEST_SUITE_P(All, Conformers, testing::Values("c_none13", "c_learned"));
#else
#define RUNNEL_CONFORMER_ACCELERATORS 1
INSTANTIATE_TEST_SUITE_P(One, Conformers, testing::Values("c_none13", "c_learned"));
#endif

TEST_P(Conformers, RunWhollyOnTheU85) {
  RUNNEL_NEEDS_DATA();
  const Graph graph = conformer(GetParam());
  ASSERT_FALSE(graph.nodes.empty());
  ASSERT_EQ(graph.inputs.size(), 1u);
  for (std::size_t i = 0; i < RUNNEL_CONFORMER_ACCELERATORS; ++i) {
    const char* accelerator = kU85.of(i + 1);
    auto options = npu_options(accelerator, "Dedicated_Sram");
    compiler::ethos_u::CompiledGraph compiled;
    const Status status = compare_whole(graph, options, 3, 1, &compiled);
    EXPECT_TRUE(status.ok()) << accelerator << ": " << status.text();
    EXPECT_EQ(compiled.segments.size(), 1u);
    for (const auto& node : compiled.nodes)
      EXPECT_GE(node.segment, 0) << node.type << " " << node.name << ": " << node.reason;
    const auto cycles = cycles_of(compiled, options.program);
    ASSERT_TRUE(cycles.ok()) << cycles.status().text();
    std::cout << GetParam() << ", " << accelerator << ": " << static_cast<std::int64_t>(*cycles)
              << " cycles, scratch " << compiled.segments[0].scratch << "\n";
  }
}

#if RUNNEL_CONFORMER_ACCELERATORS > 1
TEST_P(Conformers, StepStreamsOnTheU85) {
  RUNNEL_NEEDS_DATA();
  const Graph graph = conformer(GetParam());
  ASSERT_FALSE(graph.nodes.empty());
  for (std::size_t i = 0; i < RUNNEL_CONFORMER_ACCELERATORS; ++i) {
    const char* accelerator = kU85.of(i + 1);
    auto options = npu_options(accelerator, "Dedicated_Sram");
    options.block = compiler::ethos_u::Options::kSmallestBlock;
    const auto compiled = compiler::ethos_u::compile(graph, options);
    ASSERT_TRUE(compiled.ok()) << accelerator << ": " << compiled.status().text();
    for (const auto& node : compiled->nodes)
      EXPECT_GE(node.segment, 0) << node.type << " " << node.name << ": " << node.reason;
    const Status status = compare_streamed(graph, options, 75, 4);
    EXPECT_TRUE(status.ok()) << accelerator << ": " << status.text();
  }
}
#endif

}  // namespace
}  // namespace runnel::test
