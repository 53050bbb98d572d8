// Feature nodes one at a time, beyond the reach of a recording: streams that have run for years, samples one
// by one, samples that are no numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/host/heap_memory.h"
#include "features/fbank/fbank_presets.h"
#include "features/fbank/fbank_tables.h"
#include "pipeline/host/registry.h"
#include "pipeline/host/text.h"
#include "pipeline/nodes/spectrum/rom_fbank.h"
#include "tests/pipeline/support.h"

namespace runnel::pipeline::test {
namespace {

struct Frames {
  std::vector<std::byte> bytes;
  std::vector<std::int64_t> indices;
  std::string note;
  Status status;  // the first that is not ok ends the run
};

// Prepares a node that lives in `memory`, and runs it over values in pieces of so many frames, the first of
// which has the index `first`.
Frames run(Node& node, const std::string& label, std::int32_t channels, const std::vector<float>& values,
           std::int64_t piece, std::int64_t first, Memory& memory) {
  Frames out;
  NodeContext context{.memory = memory,
                      .label = label,
                      .input_label = "test",
                      .input = {},
                      .operators = {},
                      .fast = {},
                      .output = {},
                      .fix = {}};
  context.input.kind = channels == 1 ? Kind::audio : Kind::frames;
  context.input.dtype = DType::float32;
  context.input.channels = channels;
  context.input.clock.sample_rate = channels == 1 ? 16000 : 100;
  context.output = context.input;
  context.max_input = piece;
  context.isa = best_isa();
  out.status = node.prepare(context);
  if (!out.status.ok()) return out;
  const std::size_t frame_bytes = context.output.frame_bytes();
  auto* room = static_cast<std::byte*>(
      memory.allocate(static_cast<std::size_t>(context.max_output) * frame_bytes, 64));
  auto* input =
      static_cast<float*>(memory.allocate(static_cast<std::size_t>(piece * channels) * sizeof(float), 64));
  const auto keep = [&](const Output& block) {
    for (std::int64_t i = 0; i < block.count; ++i) out.indices.push_back(block.first + i);
    out.bytes.insert(out.bytes.end(), block.data,
                     block.data + static_cast<std::size_t>(block.count) * frame_bytes);
  };
  node.reset(first);
  const auto frames = static_cast<std::int64_t>(values.size()) / channels;
  for (std::int64_t at = 0; at < frames; at += piece) {
    const std::int64_t count = std::min(piece, frames - at);
    std::copy_n(values.begin() + at * channels, count * channels, input);
    Output block{.data = room, .capacity = context.max_output};
    out.status = node.process(
        {.data = reinterpret_cast<const std::byte*>(input), .count = count, .first = first + at}, block);
    if (!out.status.ok()) return out;
    keep(block);
  }
  for (bool end = false; !end;) {
    Output block{.data = room, .capacity = context.max_output};
    EXPECT_TRUE(node.flush(block).ok());
    keep(block);
    end = block.end;
  }
  out.note = node.note().view();
  return out;
}

// The same for the only node of `text`.
Frames run_node(const std::string& text, std::int32_t channels, const std::vector<float>& values,
                std::int64_t piece, std::int64_t first) {
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
  Frames out = run(*node, node_text.type, channels, values, piece, first, memory);
  node->~Node();
  return out;
}

struct Case {
  const char* text;
  std::int32_t channels;
  std::int64_t hop;  // input frames per output frame
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
  for (float& value : values)
    value = 0.5F * static_cast<float>(static_cast<std::int32_t>(random())) / 2147483648.0F;
  return values;
}

// Behind 2^40 frames of output a stream gives what it gave in the beginning, with indices that much larger.
TEST(FarNodes, CountBeyondTwoToTheForty) {
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.text);
    const std::vector<float> values = values_for(one);
    const Frames near = run_node(one.text, one.channels, values, 100, 0),
                 far = run_node(one.text, one.channels, values, 100, kFar * one.hop);
    EXPECT_TRUE(near.status.ok() && far.status.ok()) << near.status.text() << far.status.text();
    EXPECT_FALSE(near.indices.empty());
    EXPECT_EQ(far.bytes, near.bytes);
    ASSERT_EQ(far.indices.size(), near.indices.size());
    for (std::size_t i = 0; i < far.indices.size(); ++i)
      ASSERT_EQ(far.indices[i], near.indices[i] + kFar) << i;
    // Off the grid: the next point of it.
    const Frames off = run_node(one.text, one.channels, values, 100, kFar * one.hop - 1);
    ASSERT_FALSE(off.indices.empty());
    EXPECT_EQ(off.indices[0] - near.indices[0], one.hop == 1 ? kFar - 1 : kFar);
  }
}

TEST(FarNodes, TakeSamplesOneByOne) {
  for (const Case& one : kCases) {
    const std::vector<float> values = values_for(one);
    const Frames whole = run_node(one.text, one.channels, values, 3000, 0),
                 single = run_node(one.text, one.channels, values, 1, 0);
    EXPECT_EQ(single.bytes, whole.bytes) << one.text;
    EXPECT_EQ(single.indices, whole.indices) << one.text;
  }
}

// Nodes that remember, and what a frame of their input is. The others pass on what they get.
constexpr Case kRemembering[] = {{"fbank", 1, 160},
                                 {"microfrontend preset=micro-wake-word", 1, 160},
                                 {"stft", 1, 128},
                                 {"istft n_fft=8 hop_length=4", 10, 4},
                                 {"levels", 1, 160},
                                 {"resample rate=11025", 1, 1},
                                 {"resample rate=32000", 1, 1},
                                 {"preemphasis", 1, 1},
                                 {"highpass cutoff=80", 1, 1},
                                 {"deltas", 3, 1},
                                 {"stack frames=3 step=2", 3, 2},
                                 {"cmvn mode=sliding window=20 min_window=5", 3, 1},
                                 {"cmvn mode=mirror window=11", 3, 1},
                                 {"cmvn mode=exponential frames=20", 3, 1},
                                 {"cmvn mode=utterance", 3, 1},
                                 {"cmvn mode=range", 3, 1},
                                 {"statistics window=16 hop=5", 3, 5}};

// NaN counts as 0 and is reported, or fails with its position.
TEST(RememberingNodes, CountValuesThatAreNoNumbersOrRefuseThem) {
  for (const Case& one : kRemembering) {
    SCOPED_TRACE(one.text);
    std::vector<float> zeros = values_for(one), bad = zeros;
    const float wrong[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity()};
    for (std::size_t i = 0; i < 3; ++i) {
      zeros[155 + i] = 0;
      bad[155 + i] = wrong[i];
    }
    const Frames expected = run_node(one.text, one.channels, zeros, 100, 0),
                 got = run_node(one.text, one.channels, bad, 100, 0);
    EXPECT_TRUE(expected.status.ok() && got.status.ok()) << got.status.text();
    EXPECT_FALSE(got.bytes.empty());
    EXPECT_EQ(got.bytes, expected.bytes);
    const std::string name = std::string(one.text).substr(0, std::string(one.text).find(' '));
    EXPECT_EQ(expected.note, "");
    EXPECT_EQ(got.note, name + ": 3 values were not finite and were read as 0");
    const Status refused =
        run_node(std::string(one.text) + " non_finite=error", one.channels, bad, 100, 0).status;
    EXPECT_EQ(refused.code(), Code::invalid_data);
    EXPECT_NE(refused.text().find("non_finite="), std::string_view::npos) << refused.text();
    EXPECT_TRUE(
        run_node(std::string(one.text) + " non_finite=error", one.channels, zeros, 100, 0).status.ok());
  }
}

// The front end whose tables are constants, as a device has it: the same frames, indices and notes.
struct Forty {
  static constexpr features::FbankOptions kOptions = features::changed(
      features::constant_preset("kaldi"), [](features::FbankOptions& o) { o.num_mel_bins = 40; });
};
TEST(RomFbank, GivesWhatTheNodeFbankGives) {
  constexpr features::FbankTables kTables = features::RomFbankTables<Forty>::view();
  std::vector<float> values = values_for({"fbank", 1, 160});
  values[1000] = std::numeric_limits<float>::infinity();
  for (const std::int64_t first : {std::int64_t{0}, std::int64_t{7}, (std::int64_t{1} << 40) * 160}) {
    const auto constant = [&](std::int64_t piece) {
      HeapMemory memory;
      RomFbank node;
      node.tables = &kTables;
      return run(node, "fbank", 1, values, piece, first, memory);
    };
    const Frames expected = run_node("fbank num_mel_bins=40", 1, values, 100, first), got = constant(100),
                 single = constant(1);
    EXPECT_TRUE(got.status.ok()) << got.status.text();
    EXPECT_GT(expected.indices.size(), 10u);
    EXPECT_EQ(got.bytes, expected.bytes);
    EXPECT_EQ(got.indices, expected.indices);
    EXPECT_EQ(got.note, "fbank: 1 value was not finite and was read as 0");
    EXPECT_EQ(expected.note, got.note);
    EXPECT_EQ(single.bytes, expected.bytes);
  }
  HeapMemory memory;
  RomFbank node;
  node.tables = &kTables;
  EXPECT_EQ(run(node, "fbank", 3, values, 100, 0, memory).status.code(), Code::mismatch);
}

TEST(RememberingNodes, NameThePlaceOfWhatTheyRefuse) {
  std::vector<float> values(30, 1.0F);
  values[16] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(run_node("cmvn mode=sliding non_finite=error", 3, values, 4, 70).status.text(),
            "value 1 of frame 75 is infinite (non_finite=zero reads such values as 0)");
  values[16] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(run_node("highpass non_finite=error", 1, values, 4, 70).status.text(),
            "value 0 of frame 86 is not a number (non_finite=zero reads such values as 0)");
}

}  // namespace
}  // namespace runnel::pipeline::test
