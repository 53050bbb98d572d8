// Passes that make a graph ready to be streamed.
#include <gtest/gtest.h>

#include "inference/host/check.h"
#include "tests/inference/stream_stages.h"

namespace runnel {
namespace {

using compiler::StreamOptions;
using test::GraphBuilder;
using test::StreamStages;
using Id = GraphBuilder::Id;

using Bytes = std::vector<std::byte>;

// Output 0 of a whole run over `frames` frames of the pattern, and the frames that it has.
Bytes whole(const std::shared_ptr<const OwnedModel>& model, std::int64_t frames, std::int64_t first = 0) {
  PrepareOptions options;
  options.mode = RunMode::whole;
  options.frames = frames;
  const auto engine = Engine::make(model, options);
  EXPECT_TRUE(engine.ok()) << engine.status().text();
  if (!engine.ok()) return {};
  const auto runner = Runner::make(*engine);
  const auto input = (*runner)->session().input(0);
  const TensorView view = model->model().tensor(model->model().inputs()[0]);
  const std::size_t frame = view.bytes() / static_cast<std::size_t>(view.shape[1]);
  for (std::size_t i = 0; i < input.size(); ++i)
    input[i] = static_cast<std::byte>((i + static_cast<std::size_t>(first) * frame) * 73 % 199);
  (*runner)->session().run((*engine)->prepared().block());
  const auto out = (*runner)->session().tensor(model->model().outputs()[0]);
  return Bytes(out.begin(), out.end());
}

void expect_exact(const std::shared_ptr<const OwnedModel>& model, std::int64_t least = 0) {
  for (const std::int64_t frames : {0, 1, 19, 20, 21, 57}) {
    if (frames < least) continue;
    const auto report = check_streaming(model, frames, {}, 3);
    ASSERT_TRUE(report.ok()) << report.status().text();
    for (const Difference& difference : report->differences)
      ADD_FAILURE() << frames << " frames, " << difference.run << ": frame " << difference.frame;
  }
}

enum class Head { global_average, global_max, mean, mean_without_axis, dense, channel_first_dense };

// Convolutions without padding and a head over the clip of `frames` frames.
void build(GraphBuilder& builder, Head head, int frames) {
  Id x = builder.conv(builder.input({1, frames, 3}), 4, {.kernel = 3}, 1, true);
  const int left = frames - 2;
  if (head == Head::global_average || head == Head::global_max) {
    x = builder.pool(x, head == Head::global_max, {.kernel = left});
    std::get<compiler::PoolOptions>(builder.graph().nodes.back().options).global = true;
    x = builder.reshape(x, {1, 4});
  } else if (head == Head::mean || head == Head::mean_without_axis) {
    const Id y = builder.tensor(
        head == Head::mean ? std::vector<std::int32_t>{1, 1, 4} : std::vector<std::int32_t>{1, 4}, -4);
    builder.node(OpCode::reduce_mean, {x}, {y}, compiler::ReduceOptions{{1}});
    x = head == Head::mean ? builder.reshape(y, {1, 4}) : y;
  } else {
    if (head == Head::channel_first_dense) x = builder.transpose(x, {0, 2, 1});
    x = builder.reshape(x, {1, left * 4});
  }
  const int inputs = builder.shape(x).back();
  const Id weights = builder.constant({5, inputs}, builder.dtype(), {-7}, -1, 60),
           bias = builder.constant({5}, builder.wide(), {-11}, -1, 900);
  const Id y = builder.tensor({1, 5}, -3);
  builder.node(OpCode::fully_connected, {x, weights, bias}, {y}, compiler::FullyConnectedOptions{});
  builder.output(y);
}

// Window j of the stream gives what the clip that starts there gives alone.
TEST(Streamify, HeadsOverWindowsGiveWhatTheClipGives) {
  for (const Head head : {Head::global_average, Head::global_max, Head::mean, Head::mean_without_axis,
                          Head::dense, Head::channel_first_dense}) {
    for (const int hop : {1, 3}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(head)) + ", every " + std::to_string(hop));
      GraphBuilder builder(11);
      build(builder, head, 20);
      std::vector<std::string> refusals;
      const auto clip = builder.build(&refusals);
      ASSERT_TRUE(clip.ok()) << clip.status().text();
      EXPECT_FALSE(refusals.empty());
      StreamOptions options;
      options.pool_window = StreamOptions::kClip;
      options.pool_hop = hop;
      options.required = true;
      const auto model = builder.build(nullptr, options);
      ASSERT_TRUE(model.ok()) << model.status().text();
      const Bytes stream = whole(*model, 29);
      ASSERT_EQ(stream.size(), static_cast<std::size_t>((29 - 20) / hop + 1) * 5);
      for (int j = 0; j * hop + 20 <= 29; ++j)
        EXPECT_EQ(Bytes(stream.begin() + j * 5, stream.begin() + j * 5 + 5), whole(*clip, 0, j * hop))
            << "window " << j;
      expect_exact(*model);
    }
  }
}

TEST(Streamify, WindowsOfAnotherLengthThanTheClip) {
  GraphBuilder builder(12);
  build(builder, Head::mean, 20);
  StreamOptions options;
  options.pool_window = 9;
  const auto model = builder.build(nullptr, options);
  ASSERT_TRUE(model.ok()) << model.status().text();
  GraphBuilder shorter(12);
  build(shorter, Head::mean, 9);
  const Bytes stream = whole(*model, 12);
  ASSERT_EQ(stream.size(), 4u * 5);
  EXPECT_EQ(Bytes(stream.begin(), stream.begin() + 5), whole(*shorter.build(), 0));
  expect_exact(*model);
}

// x - mean(x), over windows that end at each frame and over all frames so far.
TEST(Streamify, NormalisationsKeepTheLengthOfTheirStream) {
  for (const std::int64_t window : {StreamOptions::kClip, StreamOptions::kSoFar}) {
    GraphBuilder builder(13);
    const Id x = builder.input({1, 20, 3}), mean = builder.tensor({1, 1, 3}, -4);
    builder.node(OpCode::reduce_mean, {x}, {mean}, compiler::ReduceOptions{{1}});
    const Id y = builder.tensor({1, 20, 3}, -4);
    builder.node(OpCode::sub, {x, builder.relu(mean)}, {y}, compiler::BinaryOptions{});
    builder.output(y);
    StreamOptions options;
    options.pool_window = window;
    const auto model = builder.build(nullptr, options);
    ASSERT_TRUE(model.ok()) << model.status().text();
    EXPECT_EQ(whole(*model, 31).size(), 31u * 3);
    expect_exact(*model);
  }
}

// Attention over projections, as exporters write it; [1, heads, T, C] or [heads, T, C].
void build_attention(GraphBuilder& builder, bool batch, bool scaled) {
  const Id x = builder.input({1, 20, 6});
  const auto heads = [&](bool keys) {
    const Id y = builder.reshape(builder.conv(x, 6, {}), batch ? std::vector<std::int32_t>{1, 20, 2, 3}
                                                               : std::vector<std::int32_t>{20, 2, 3});
    if (batch)
      return builder.transpose(
          y, keys ? std::vector<std::uint8_t>{0, 2, 3, 1} : std::vector<std::uint8_t>{0, 2, 1, 3});
    return builder.transpose(y,
                             keys ? std::vector<std::uint8_t>{1, 2, 0} : std::vector<std::uint8_t>{1, 0, 2});
  };
  const auto shaped = [&](int a, int b, int exponent) {
    return builder.tensor(batch ? std::vector<std::int32_t>{1, 2, a, b} : std::vector<std::int32_t>{2, a, b},
                          exponent);
  };
  Id scores = shaped(20, 20, -3);
  builder.node(OpCode::matmul, {heads(false), heads(true)}, {scores}, compiler::FullyConnectedOptions{});
  if (scaled) {
    const Id factor = builder.constant({1}, builder.dtype(), {-7}, -1, 100), y = shaped(20, 20, -4);
    builder.node(OpCode::mul, {scores, factor}, {y}, compiler::BinaryOptions{},
                 builder.dtype() == DType::float32 ? Arithmetic::espdl : Arithmetic::exact);
    scores = y;
  }
  const Id weights = shaped(20, 20, builder.dtype() == DType::int16 ? -15 : -7), y = shaped(20, 3, -5);
  builder.node(OpCode::softmax, {scores}, {weights}, compiler::AxisOptions{batch ? 3 : 2});
  builder.node(OpCode::matmul, {weights, heads(false)}, {y}, compiler::FullyConnectedOptions{});
  const Id back = builder.transpose(
      y, batch ? std::vector<std::uint8_t>{0, 2, 1, 3} : std::vector<std::uint8_t>{1, 0, 2});
  builder.output(builder.reshape(back, {1, 20, 6}));
}

TEST(Streamify, AttentionOverAWindow) {
  for (const DType dtype : {DType::int8, DType::int16, DType::float32}) {
    for (int kind = 0; kind < 4; ++kind) {
      SCOPED_TRACE(std::string(name_of(dtype)) + ", kind " + std::to_string(kind));
      GraphBuilder builder(14, dtype);
      build_attention(builder, (kind & 1) != 0, (kind & 2) != 0);
      std::vector<std::string> refusals;
      const auto clip = builder.build(&refusals);
      ASSERT_TRUE(clip.ok()) << clip.status().text();
      ASSERT_FALSE(refusals.empty());
      EXPECT_NE(refusals[0].find("attention over all frames"), std::string::npos) << refusals[0];
      StreamOptions options;
      options.attention = compiler::AttentionWindow{5, 2, kind == 3 ? 4 : 1};
      const auto model = builder.build(nullptr, options);
      ASSERT_TRUE(model.ok()) << model.status().text();
      expect_exact(*model);
      // A window that holds the clip is no window: the same integers as before.
      options.attention = compiler::AttentionWindow{40, 40, 1};
      const auto wide = builder.build(nullptr, options);
      ASSERT_TRUE(wide.ok()) << wide.status().text();
      if (dtype != DType::float32) {
        EXPECT_EQ(whole(*wide, 20), whole(*clip, 0));
      }
    }
  }
}

TEST(Streamify, WindowsWithoutAPlaceForThemAreErrors) {
  GraphBuilder builder(15);
  builder.output(builder.conv(builder.input({1, 20, 3}), 4, {.kernel = 3}));
  StreamOptions pool, attention;
  pool.pool_window = 5;
  attention.attention = compiler::AttentionWindow{3, 0, 1};
  for (const StreamOptions& options : {pool, attention})
    EXPECT_EQ(builder.build(nullptr, options).status().code(), Code::invalid_argument);
}

TEST(Streamify, LookAheadBeyondTheLimitNamesWhatLooksAhead) {
  GraphBuilder builder(16);
  const Id y = builder.conv(builder.input({1, 20, 3}), 4, {.kernel = 7, .left = 3, .right = 3});
  builder.output(y);
  StreamOptions options;
  options.max_lookahead = 3;
  EXPECT_TRUE(builder.build(nullptr, options).ok());
  options.max_lookahead = 2;
  const Status status = builder.build(nullptr, options).status();
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_NE(status.text().find("\"" + builder.graph().tensors[static_cast<std::size_t>(y)].name +
                               "\" looks 3 frames ahead, expected at most 2"),
            std::string::npos)
      << status.text();
}

// One error names them all.
TEST(Streamify, ARequiredStreamListsAllThatPreventsIt) {
  GraphBuilder builder(17);
  Id x = builder.slice(builder.input({1, 20, 3}), 1, 19, 20, -1);
  const Id all = builder.tensor({1, 1, 3}, -4);
  builder.node(OpCode::reduce_max, {x}, {all}, compiler::ReduceOptions{{1}});
  builder.output(all);
  StreamOptions options;
  options.required = true;
  const Status status = builder.build(nullptr, options).status();
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_NE(status.text().find("reverses time"), std::string::npos) << status.text();
  EXPECT_NE(status.text().find("--pool-window"), std::string::npos) << status.text();
}

// Time as the last axis of an image, after frequency: transposed once, and joins, pools and padding follow.
TEST(Streamify, TimeBehindOtherAxes) {
  for (const DType dtype : {DType::int8, DType::float32}) {
    GraphBuilder builder(18, dtype);
    Id x = builder.input({1, 6, 40, 2});
    builder.graph().time_axes = {2};
    const Id y =
        builder.conv2d(x, 2, {.kernel = 3, .left = 1, .right = 1}, {.kernel = 5, .left = 2, .right = 2});
    x = builder.binary(OpCode::add, y, x);
    x = builder.conv2d(builder.relu(x), 3, {.kernel = 2, .stride = 2},
                       {.kernel = 3, .stride = 2, .left = 1, .right = 1});
    builder.output(x);
    std::vector<std::string> refusals;
    const auto model = builder.build(&refusals);
    ASSERT_TRUE(model.ok()) << model.status().text();
    ASSERT_TRUE(refusals.empty()) << refusals[0];
    // Shorter ones are defined by the event-driven reference, which takes frames one by one.
    expect_exact(*model, 19);
  }
}

// A padding of time and of frequency at once is two.
TEST(Streamify, PaddingOfTwoAxes) {
  GraphBuilder builder(19);
  const Id x = builder.input({1, 20, 4, 2}), y = builder.tensor({1, 23, 6, 2}, -4);
  builder.node(OpCode::pad, {x}, {y}, compiler::PadOptions{{0, 2, 1, 0}, {0, 1, 1, 0}, PadMode::zero, 9});
  builder.output(builder.conv2d(y, 3, {.kernel = 3}, {.kernel = 3}));
  std::vector<std::string> refusals;
  const auto model = builder.build(&refusals);
  ASSERT_TRUE(model.ok()) << model.status().text();
  ASSERT_TRUE(refusals.empty()) << refusals[0];
  expect_exact(*model);
}

}  // namespace
}  // namespace runnel
