// What streaming converters are known to get wrong, silently, each as a small network that streams exactly
// here: every block size, odd ones included, first and last frames included.
#include <gtest/gtest.h>

#include "inference/host/check.h"
#include "inference/reblocker.h"
#include "tests/inference/stream_stages.h"

namespace runnel {
namespace {

using test::GraphBuilder;
using test::StreamStages;

void expect_exact(GraphBuilder& builder, std::int64_t delay) {
  std::vector<std::string> refusals;
  const auto model = builder.build(&refusals);
  ASSERT_TRUE(model.ok()) << model.status().text();
  ASSERT_TRUE(refusals.empty()) << refusals[0];
  const auto engine = Engine::make(*model);
  ASSERT_TRUE(engine.ok()) << engine.status().text();
  EXPECT_EQ((*engine)->prepared().placement((*model)->model().outputs()[0]).delay, delay);
  for (const std::int64_t frames : {0, 1, 2, 3, 7, 8, 50, 51}) {
    const auto report = check_streaming(*model, frames, {}, static_cast<std::uint32_t>(frames) + 1);
    ASSERT_TRUE(report.ok()) << report.status().text();
    for (const Difference& difference : report->differences)
      ADD_FAILURE() << frames << " frames, " << difference.run << ": frame " << difference.frame;
  }
}

TEST(ConverterFailures, SymmetricPadding) {
  GraphBuilder builder(1);
  builder.output(builder.conv(builder.input({1, 50, 8}), 8, {.kernel = 3, .left = 1, .right = 1}));
  expect_exact(builder, 1);
}

TEST(ConverterFailures, EvenKernelWithStrideTwo) {
  GraphBuilder builder(2);
  const auto x = builder.input({1, 50, 8});
  const auto y = builder.conv(x, 8, {.kernel = 4, .stride = 2});
  builder.output(y);
  expect_exact(builder, 1);
  // Its context: two frames, where kernel - 1 would break the phase.
  const auto model = builder.build();
  const auto engine = Engine::make(*model);
  EXPECT_EQ((*engine)->prepared().placement((*model)->model().inputs()[0]).history, 2);
}

// Frames come in pieces of seven into a network of stride two: nothing of the remainder is lost.
TEST(ConverterFailures, OddChunks) {
  GraphBuilder builder(3);
  builder.output(builder.conv(builder.input({1, 56, 4}), 4, {.kernel = 3, .stride = 2}));
  const auto model = builder.build();
  ASSERT_TRUE(model.ok());
  PrepareOptions whole;
  whole.mode = RunMode::whole;
  const auto offline = Runner::make(*Engine::make(*model, whole)),
             streamed = Runner::make(*Engine::make(*model));
  ASSERT_TRUE(offline.ok() && streamed.ok());
  const auto input = (*offline)->session().input(0);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::byte>(i * 37 % 251);
  const std::vector<std::byte> frames(input.begin(), input.end());
  (*offline)->session().run(56);
  const auto expected = (*offline)->session().tensor((*model)->model().outputs()[0]);
  std::vector<std::byte> found;
  const auto take = [&] {
    const OutputFrames out = (*streamed)->session().output(0);
    found.insert(found.end(), out.data, out.data + static_cast<std::ptrdiff_t>(out.count * 4));
  };
  Reblocker reblocker((*streamed)->session());
  for (std::size_t at = 0; at < 56; at += 7) {
    const std::byte* const chunk = frames.data() + at * 4;
    reblocker.push(std::span(&chunk, 1), 7, take);
  }
  reblocker.finish(take);
  EXPECT_EQ(found, std::vector<std::byte>(expected.begin(), expected.end()));
}

TEST(ConverterFailures, ResidualBranch) {
  GraphBuilder builder(4);
  const auto x = builder.input({1, 50, 8});
  const auto y =
      builder.conv(builder.conv(x, 8, {.kernel = 3, .dilation = 1}), 8, {.kernel = 3, .dilation = 2});
  builder.output(builder.binary(OpCode::add, y, builder.slice(x, 1, 6, 44)));
  expect_exact(builder, 6);
}

TEST(ConverterFailures, PooledPadding) {
  for (const bool max : {false, true}) {
    GraphBuilder builder(5);
    auto x = builder.conv(builder.input({1, 50, 8}), 8, {.kernel = 3, .left = 1, .right = 1});
    builder.output(builder.pool(x, max, {.kernel = 3, .stride = 2, .left = 1, .right = 1}, false));
    expect_exact(builder, 1);
  }
}

TEST(ConverterFailures, TransposedConvolution) {
  GraphBuilder builder(6);
  StreamStages stages(builder);
  builder.output(stages.transposed_conv(builder.input({1, 50, 4}), 4,
                                        {.kernel = 4, .stride = 2, .left = 1, .right = 1}));
  expect_exact(builder, 1);
}

TEST(ConverterFailures, RecurrentState) {
  for (const bool lstm : {false, true}) {
    GraphBuilder builder(7);
    StreamStages stages(builder);
    builder.output(stages.recurrent(
        builder.conv(builder.input({1, 50, 4}), 4, {.kernel = 3, .left = 1, .right = 1}), lstm, 6));
    expect_exact(builder, 1);
  }
}

}  // namespace
}  // namespace runnel
