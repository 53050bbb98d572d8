// Streamed equals whole, bit for bit, over random graphs: the properties of docs/streaming.md.
#include <gtest/gtest.h>

#include "inference/host/check.h"
#include "inference/host/receptive_field.h"
#include "tests/inference/graph_builder.h"
#include "tests/inference/random_graph.h"

namespace runnel {
namespace {

using test::GraphBuilder;

using test::RandomGraph;

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
    const std::int64_t frames = static_cast<std::int64_t>(seed % 71);
    const auto report = check_streaming(*model, frames, {}, seed);
    ASSERT_TRUE(report.ok()) << report.status().text();
    for (const Difference& difference : report->differences) {
      ADD_FAILURE() << frames << " frames, " << difference.run << ": tensor " << difference.tensor << " frame " << difference.frame << " element "
                    << difference.element << ": expected " << difference.expected << ", found " << difference.found;
    }
    ASSERT_TRUE(report->differences.empty());
    ++done;
  }
  EXPECT_LT(refused, graphs / 4);
}

TEST(StreamingProperty, RandomInt8GraphsStreamExactly) { run(1, 400, DType::int8); }
TEST(StreamingProperty, RandomInt16GraphsStreamExactly) { run(100001, 150, DType::int16); }
TEST(StreamingPropertyLong, RandomInt8GraphsStreamExactly) { run(200001, 5000, DType::int8); }

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
      for (std::size_t c = 0; c < 2; ++c) input[static_cast<std::size_t>(changed) * 2 + c] = static_cast<std::byte>(value);
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
        if (changed[static_cast<std::size_t>(j * width + c)] == base[static_cast<std::size_t>(j * width + c)]) continue;
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
