// Streamed equals whole, bit for bit, over random graphs: the properties of docs/streaming.md.
#include <gtest/gtest.h>

#include "base/checked.h"
#include "inference/host/check.h"
#include "inference/host/receptive_field.h"
#include "tests/inference/graph_builder.h"
#include "tests/inference/random_graph.h"

namespace runnel {
namespace {

using test::GraphBuilder;

using test::RandomGraph;

// No delay could be smaller: with one frame less (attention: one chunk less) some output would need input
// that has not arrived.
void expect_least_delays(const Prepared& prepared) {
  const Model& model = prepared.model();
  for (int op = 0; op < model.operator_count(); ++op) {
    const streaming::NodeRule& rule = prepared.stream_step(op).rule;
    if (rule.kind != streaming::Kind::window && rule.kind != streaming::Kind::upsample &&
        rule.kind != streaming::Kind::attention)
      continue;
    std::int64_t from = 0;
    for (const std::int32_t input : *model.op(op).inputs()) {
      if (input >= 0 && prepared.placement(input).time_axis >= 0)
        from = std::max(from, prepared.placement(input).delay);
    }
    const std::int64_t delay = prepared.placement(model.op(op).outputs()->Get(0)).delay;
    // Inputs that are there when output t is computed: whole strides, or whole chunks.
    const auto there = [&](std::int64_t t, std::int64_t d) {
      if (rule.kind == streaming::Kind::upsample) return floor_div(t + d, rule.stride) + 1;
      if (rule.kind == streaming::Kind::attention) return (floor_div(t + d, rule.chunk) + 1) * rule.chunk;
      return (t + d + 1) * rule.stride;
    };
    bool enough = true, less_is_enough = true;
    for (std::int64_t t = 0; t < 60; ++t) {
      enough = enough && streaming::due(rule, t) + from < there(t, delay);
      less_is_enough =
          less_is_enough && streaming::due(rule, t) + from <
                                there(t, delay - (rule.kind == streaming::Kind::attention ? rule.chunk : 1));
    }
    EXPECT_TRUE(enough) << "operator " << op << ": delay " << delay << " is too small";
    EXPECT_TRUE(delay == 0 || !less_is_enough)
        << "operator " << op << ": delay " << delay << " is larger than necessary";
  }
}

// The state holds what the plan says and nothing else: counters, the histories with one block each, the
// operators' own.
void expect_planned_state(const Prepared& prepared) {
  std::size_t histories = 0, rings = 0;
  for (int t = 0; t < prepared.model().tensor_count(); ++t) {
    const Placement& at = prepared.placement(t);
    if (at.capacity == 0) continue;
    ++rings;
    EXPECT_EQ(at.capacity, at.history + at.frames);
    histories += align_up(static_cast<std::size_t>(at.capacity) * at.frame_bytes, 16);
  }
  EXPECT_LE(align_up(32 + rings * sizeof(std::int64_t), 16) + histories, prepared.state_bytes());
}

void check_plan(const std::shared_ptr<const OwnedModel>& model) {
  PrepareOptions options;
  options.slack = false;
  options.alignment = 16;
  const auto engine = Engine::make(model, options);
  ASSERT_TRUE(engine.ok()) << engine.status().text();
  expect_least_delays((*engine)->prepared());
  expect_planned_state((*engine)->prepared());
}

void run(std::uint32_t first, int graphs, DType dtype) {
  int done = 0, refused = 0;
  for (std::uint32_t seed = first; done < graphs; ++seed) {
    RandomGraph random(seed, dtype);
    if (!random.legal()) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ":" + random.story());
    std::vector<std::string> refusals;
    const auto model = random.builder().build(&refusals);
    ASSERT_TRUE(model.ok()) << model.status().text();
    if (!refusals.empty()) {
      // Only joins whose lengths differ may be refused here.
      ASSERT_NE(refusals[0].find("lengths"), std::string::npos) << refusals[0];
      ++refused;
      ++done;
      continue;
    }
    if (seed % 4 == 0) check_plan(*model);
    const std::int64_t frames = static_cast<std::int64_t>(seed % 71);
    const auto report = check_streaming(*model, frames, {}, seed);
    ASSERT_TRUE(report.ok()) << report.status().text();
    for (const Difference& difference : report->differences) {
      ADD_FAILURE() << frames << " frames, " << difference.run << ": tensor " << difference.tensor
                    << " frame " << difference.frame << " element " << difference.element << ": expected "
                    << difference.expected << ", found " << difference.found;
    }
    ASSERT_TRUE(report->differences.empty());
    ++done;
  }
  EXPECT_LT(refused, graphs / 4);
}

TEST(StreamingProperty, RandomInt8GraphsStreamExactly) { run(1, 400, DType::int8); }
TEST(StreamingProperty, RandomInt16GraphsStreamExactly) { run(1000001, 120, DType::int16); }
TEST(StreamingProperty, RandomFloatGraphsStreamExactly) { run(2000001, 120, DType::float32); }
TEST(StreamingPropertyLong, RandomInt8GraphsStreamExactly) { run(200001, 20000, DType::int8); }
TEST(StreamingPropertyLong, RandomInt16GraphsStreamExactly) { run(1200001, 5000, DType::int16); }
TEST(StreamingPropertyLong, RandomFloatGraphsStreamExactly) { run(2200001, 2000, DType::float32); }

// Frames of a whole run of output 0, as bytes per frame.
std::vector<std::vector<std::byte>> whole_frames(const std::shared_ptr<const Engine>& engine,
                                                 std::uint32_t seed, std::int64_t changed) {
  const auto runner = Runner::make(engine);
  EXPECT_TRUE(runner.ok());
  Session& session = (*runner)->session();
  const auto input = session.input(0);
  std::mt19937 random(seed);
  for (std::byte& value : input) value = static_cast<std::byte>(random());
  const std::size_t frame = input.size() / static_cast<std::size_t>(engine->prepared().block());
  for (std::size_t i = 0; changed >= 0 && i < frame; ++i)
    input[static_cast<std::size_t>(changed) * frame + i] ^= std::byte{0x5A};
  session.run(engine->prepared().block());
  const std::int32_t output = engine->model().outputs()[0];
  const Placement& at = engine->prepared().placement(output);
  const auto bytes = session.tensor(output);
  std::vector<std::vector<std::byte>> frames;
  for (std::int64_t f = 0; f < at.frames; ++f) {
    const auto from =
        bytes.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(f) * at.frame_bytes);
    frames.emplace_back(from, from + static_cast<std::ptrdiff_t>(at.frame_bytes));
  }
  return frames;
}

// Nothing outside its predicted receptive field reaches an output.
TEST(StreamingProperty, NothingOutsideTheReceptiveFieldCounts) {
  int changes = 0;
  for (std::uint32_t seed = 1; seed <= 150; ++seed) {
    RandomGraph random(seed + 5000, DType::int8, true);
    if (!random.legal()) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ":" + random.story());
    std::vector<std::string> refusals;
    const auto model = random.builder().build(&refusals);
    ASSERT_TRUE(model.ok()) << model.status().text();
    if (!refusals.empty()) continue;
    const auto streamed = Engine::make(*model);
    ASSERT_TRUE(streamed.ok());
    const ReceptiveField field =
        receptive_fields((*streamed)->prepared())[static_cast<std::size_t>((*model)->model().outputs()[0])];
    PrepareOptions options;
    options.mode = RunMode::whole;
    options.frames = 120;
    const auto engine = Engine::make(*model, options);
    if (!engine.ok()) continue;
    const auto base = whole_frames(*engine, seed, -1);
    for (const std::int64_t changed : {std::int64_t{0}, std::int64_t{seed % 120}, std::int64_t{119}}) {
      const auto found = whole_frames(*engine, seed, changed);
      for (std::size_t j = 0; j < base.size(); ++j) {
        if (found[j] == base[j]) continue;
        ++changes;
        const double from = static_cast<double>(j) * field.stride + field.first,
                     to = static_cast<double>(j) * field.stride + field.last;
        EXPECT_GE(static_cast<double>(changed), from) << "frame " << j;
        EXPECT_LE(static_cast<double>(changed), to) << "frame " << j;
      }
    }
  }
  EXPECT_GT(changes, 500);
}

// The finite test of joins (streaming/plan.h) and brute force over 200 lengths agree.
TEST(StreamingProperty, JoinsOfEqualLengthsAndNoOthersAreTaken) {
  std::mt19937 random(7);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  int equal = 0, different = 0;
  for (int i = 0; i < 300; ++i) {
    GraphBuilder builder(static_cast<std::uint32_t>(i));
    const auto x = builder.input({1, 240, 2});
    streaming::NodeRule rules[2][2];
    compiler::TensorId ends[2];
    const int strides[2] = {pick(1, 3), pick(1, 2)};
    for (int branch = 0; branch < 2; ++branch) {
      ends[branch] = x;
      for (int n = 0; n < 2; ++n) {
        GraphBuilder::Window w;
        w.kernel = pick(1, 3);
        w.stride = strides[n];
        w.left = pick(0, w.kernel - 1);
        w.right = pick(0, w.kernel - 1);
        rules[branch][n] = {streaming::Kind::window, w.kernel, w.stride, 1, w.left, w.right};
        ends[branch] = builder.conv(ends[branch], 2, w);
      }
    }
    bool same = true;
    for (std::int64_t length = 20; length < 220; ++length) {
      std::int64_t lengths[2] = {length, length};
      for (int branch = 0; branch < 2; ++branch) {
        for (const auto& rule : rules[branch])
          lengths[branch] = streaming::output_length(rule, lengths[branch]);
      }
      same = same && lengths[0] == lengths[1];
    }
    if (builder.shape(ends[0]) != builder.shape(ends[1])) {
      EXPECT_FALSE(same);
      continue;
    }
    builder.output(builder.binary(OpCode::add, ends[0], ends[1]));
    std::vector<std::string> refusals;
    ASSERT_TRUE(builder.build(&refusals).ok());
    EXPECT_EQ(refusals.empty(), same) << i;
    ++(same ? equal : different);
  }
  EXPECT_GT(equal, 20);
  EXPECT_GT(different, 20);
}

// Changing a source frame outside the predicted receptive field changes nothing; at its edges something does.
TEST(StreamingProperty, ReceptiveFieldsAreTight) {
  GraphBuilder builder(5);
  auto x = builder.input({1, 60, 2});
  x = builder.conv(x, 3, {.kernel = 5, .stride = 2, .dilation = 2, .left = 3, .right = 5});
  x = builder.conv(x, 2, {.kernel = 3, .stride = 1, .dilation = 1, .left = 1, .right = 1});
  builder.output(x);
  const auto model = builder.build();
  ASSERT_TRUE(model.ok()) << model.status().text();
  PrepareOptions options;
  options.mode = RunMode::whole;
  const auto engine = Engine::make(*model, options);
  ASSERT_TRUE(engine.ok()) << engine.status().text();
  const auto runner = Runner::make(*engine);
  ASSERT_TRUE(runner.ok());
  Session& session = (*runner)->session();
  const std::int32_t out = (*model)->model().outputs()[0];
  const auto outputs = [&](int changed, int value) {
    auto input = session.input(0);
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::byte>((i * 37 + 11) % 40);
    if (changed >= 0) {
      for (std::size_t c = 0; c < 2; ++c)
        input[static_cast<std::size_t>(changed) * 2 + c] = static_cast<std::byte>(value);
    }
    session.run((*engine)->prepared().block());
    const auto bytes = session.tensor(out);
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  PrepareOptions stream;
  const auto streamed = Engine::make(*model, stream);
  ASSERT_TRUE(streamed.ok()) << streamed.status().text();
  const ReceptiveField field = receptive_fields((*streamed)->prepared())[static_cast<std::size_t>(out)];
  const std::vector<std::byte> base = outputs(-1, 0);
  const std::int64_t j = 12, width = 2;
  std::int64_t lowest = 1000, highest = -1;
  for (int frame = 0; frame < 60; ++frame) {
    for (const int value : {-128, 127, 60}) {
      const auto changed = outputs(frame, value);
      for (std::int64_t c = 0; c < width; ++c) {
        if (changed[static_cast<std::size_t>(j * width + c)] == base[static_cast<std::size_t>(j * width + c)])
          continue;
        lowest = std::min<std::int64_t>(lowest, frame);
        highest = std::max<std::int64_t>(highest, frame);
      }
    }
  }
  EXPECT_EQ(static_cast<double>(lowest), static_cast<double>(j) * field.stride + field.first);
  EXPECT_EQ(static_cast<double>(highest), static_cast<double>(j) * field.stride + field.last);
}

}  // namespace
}  // namespace runnel
