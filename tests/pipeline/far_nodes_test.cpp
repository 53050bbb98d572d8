// Feature nodes one at a time, beyond the reach of a recording: streams that have run for years, samples one by one, samples that are no
// numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/host/heap_memory.h"
#include "pipeline/host/registry.h"
#include "pipeline/host/text.h"
#include "tests/pipeline/support.h"

namespace runnel::pipeline::test {
namespace {

struct Frames {
  std::vector<std::byte> bytes;
  std::vector<std::int64_t> indices;
};

// Prepares the only node of `text`, and runs it over values in pieces of so many frames, the first of which has the index `first`.
Frames run_node(const std::string& text, std::int32_t channels, const std::vector<float>& values, std::int64_t piece, std::int64_t first) {
  Frames out;
  const auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << text;
  const NodeText& node_text = graph->nodes[0];
  const auto type = find_node(host_nodes(), node_text.type, true);
  EXPECT_TRUE(type.ok()) << type.status().text();
  HeapMemory memory;
  Node* const node = (*type)->make(memory);
  for (const ParameterText& given : node_text.parameters) {
    const auto parameter = find_parameter(**type, given.key);
    const auto value = parse_value(**parameter, given.value);
    EXPECT_TRUE(value.ok() && (*parameter)->set(**parameter, *node, *value).ok()) << given.key;
  }
  PrepareContext context{.memory = memory, .label = node_text.type, .input_label = "test", .input = {}, .operators = {}, .fast = {}, .output = {}, .fix = {}};
  context.input.kind = channels == 1 ? Kind::audio : Kind::frames;
  context.input.dtype = DType::float32;
  context.input.channels = channels;
  context.input.clock.sample_rate = channels == 1 ? 16000 : 100;
  context.output = context.input;
  context.max_input = piece;
  context.isa = best_isa();
  const Status prepared = node->prepare(context);
  EXPECT_TRUE(prepared.ok()) << text << ": " << prepared.text();
  if (!prepared.ok()) return out;
  const std::size_t frame_bytes = context.output.frame_bytes();
  auto* room = static_cast<std::byte*>(memory.allocate(static_cast<std::size_t>(context.max_output) * frame_bytes, 64));
  auto* input = static_cast<float*>(memory.allocate(static_cast<std::size_t>(piece * channels) * sizeof(float), 64));
  const auto keep = [&](const Output& block) {
    for (std::int64_t i = 0; i < block.count; ++i) out.indices.push_back(block.first + i);
    out.bytes.insert(out.bytes.end(), block.data, block.data + static_cast<std::size_t>(block.count) * frame_bytes);
  };
  node->reset(first);
  const auto frames = static_cast<std::int64_t>(values.size()) / channels;
  for (std::int64_t at = 0; at < frames; at += piece) {
    const std::int64_t count = std::min(piece, frames - at);
    std::copy_n(values.begin() + at * channels, count * channels, input);
    Output block{.data = room, .capacity = context.max_output};
    const Status status = node->process({.data = reinterpret_cast<const std::byte*>(input), .count = count, .first = first + at}, block);
    EXPECT_TRUE(status.ok()) << text << ": " << status.text();
    keep(block);
  }
  for (bool end = false; !end;) {
    Output block{.data = room, .capacity = context.max_output};
    EXPECT_TRUE(node->flush(block).ok());
    keep(block);
    end = block.end;
  }
  node->~Node();
  return out;
}

struct Case {
  const char* text;
  std::int32_t channels;
  std::int64_t hop;       // input frames per output frame
};
constexpr Case kCases[] = {{"fbank", 1, 160},
                           {"fbank preset=zipformer", 1, 160},
                           {"fbank preset=whisper log_max=running", 1, 160},
                           {"fbank kind=stft", 1, 160},
                           {"microfrontend preset=micro-wake-word", 1, 160},
                           {"stft", 1, 128},
                           {"levels", 1, 160},
                           {"gain db=-6", 1, 1},
                           {"preemphasis", 1, 1},
                           {"highpass cutoff=80", 1, 1},
                           {"deltas", 3, 1},
                           {"stack frames=3 step=2", 3, 2},
                           {"cmvn mean=1 deviation=2", 3, 1},
                           {"cmvn mode=sliding window=20 min_window=5", 3, 1},
                           {"cmvn mode=mirror window=11", 3, 1},
                           {"cmvn mode=exponential frames=20", 3, 1},
                           {"statistics window=16 hop=5", 3, 5},
                           {"statistics window=16 hop=5 statistics=band_power bands=1-20", 3, 5},
                           {"framing window=4 hop=3", 3, 3}};

std::vector<float> values_for(const Case& one) {
  std::mt19937 random(3);
  std::vector<float> values(static_cast<std::size_t>(one.channels == 1 ? 3000 : 300));
  for (float& value : values) value = 0.5F * static_cast<float>(static_cast<std::int32_t>(random())) / 2147483648.0F;
  return values;
}

// Behind 2^40 frames of output a stream gives what it gave in the beginning, with indices that much larger.
TEST(FarNodes, CountBeyondTwoToTheForty) {
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.text);
    const std::vector<float> values = values_for(one);
    const Frames near = run_node(one.text, one.channels, values, 100, 0), far = run_node(one.text, one.channels, values, 100, kFar * one.hop);
    EXPECT_FALSE(near.indices.empty());
    EXPECT_EQ(far.bytes, near.bytes);
    ASSERT_EQ(far.indices.size(), near.indices.size());
    for (std::size_t i = 0; i < far.indices.size(); ++i) ASSERT_EQ(far.indices[i], near.indices[i] + kFar) << i;
    // Off the grid: the next point of it.
    const Frames off = run_node(one.text, one.channels, values, 100, kFar * one.hop - 1);
    ASSERT_FALSE(off.indices.empty());
    EXPECT_EQ(off.indices[0] - near.indices[0], one.hop == 1 ? kFar - 1 : kFar);
  }
}

TEST(FarNodes, TakeSamplesOneByOne) {
  for (const Case& one : kCases) {
    const std::vector<float> values = values_for(one);
    const Frames whole = run_node(one.text, one.channels, values, 3000, 0), single = run_node(one.text, one.channels, values, 1, 0);
    EXPECT_EQ(single.bytes, whole.bytes) << one.text;
    EXPECT_EQ(single.indices, whole.indices) << one.text;
  }
}

}  // namespace
}  // namespace runnel::pipeline::test
