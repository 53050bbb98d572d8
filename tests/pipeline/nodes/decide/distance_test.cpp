#include "pipeline/nodes/decide/distance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/pipeline/node_chains.h"
#include "tests/pipeline/node_context.h"

namespace runnel::pipeline::test {
namespace {

const NodeChain kChain("fbank ! distance half=50");
const NodeChain kHalves("framing window=8 hop=4 ! distance of=halves");

// The distances of the frames of `x`, `channels` values each.
template <class T>
std::vector<float> distances(Distance& node, const std::vector<T>& x, std::int32_t channels, DType dtype,
                             std::int32_t exponent = 0) {
  HeapMemory memory;
  const auto count = static_cast<std::int64_t>(x.size()) / channels;
  NodeContext context = context_for(memory, Kind::frames, channels, count);
  context.input.dtype = dtype;
  context.input.exponent = exponent;
  const Status prepared = node.prepare(context);
  EXPECT_TRUE(prepared.ok()) << prepared.text();
  EXPECT_EQ(context.output.channels, 1);
  EXPECT_EQ(context.output.dtype, DType::float32);
  EXPECT_EQ(context.output.exponent, 0);
  std::vector<float> y(static_cast<std::size_t>(count), -1);
  const Block in{reinterpret_cast<const std::byte*>(x.data()), count, 0};
  Output out{reinterpret_cast<std::byte*>(y.data()), count};
  EXPECT_TRUE(node.process(in, out).ok());
  EXPECT_EQ(out.count, count);
  return y;
}

TEST(Distance, IsTheMeanSquareOfEachFrame) {
  Distance node;
  EXPECT_EQ(distances<float>(node, {1, -2, 3, 0, 0, 0.5F}, 3, DType::float32),
            (std::vector<float>{14.0F / 3, 0.25F / 3}));
}

TEST(Distance, OfHalvesIsThatOfTheirDifference) {
  Distance node;
  node.of = "halves";
  EXPECT_EQ(distances<float>(node, {1, 2, 3, -2, 5, 5, 5, 5}, 4, DType::float32),
            (std::vector<float>{10, 0}));
  EXPECT_EQ(distances<std::int8_t>(node, {127, 0, -128, 0}, 4, DType::int8, -1),
            (std::vector<float>{255.0F * 255 / 4 / 2}));
}

TEST(Distance, OfIntegersHasTheirScale) {
  Distance node;
  EXPECT_EQ(distances<std::int8_t>(node, {3, -4, -128, 127}, 2, DType::int8, -2),
            (std::vector<float>{25.0F / 16 / 2, (128.0F * 128 + 127 * 127) / 16 / 2}));
  EXPECT_EQ(distances<std::int16_t>(node, {-32768, -32768}, 2, DType::int16, 0),
            (std::vector<float>{1073741824.0F}));
  EXPECT_EQ(distances<std::int16_t>(node, {300, 400}, 1, DType::int16, 3),
            (std::vector<float>{90000.0F * 64, 160000.0F * 64}));
}

TEST(Distance, ScoresOneHalfAtHalf) {
  Distance node;
  node.half = 2;
  EXPECT_EQ(distances<float>(node, {0, 0, 2, 0, 2, 2, 6, 6}, 2, DType::float32),
            (std::vector<float>{0, 0.5F, 4.0F / 6, 36.0F / 38}));
}

TEST(Distance, OfEndlessValuesIsOneAndOfNoNumberIsNone) {
  Distance node;
  node.half = 1;
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(distances<float>(node, {infinity, 1e30F, 1}, 1, DType::float32),
            (std::vector<float>{1, 1, 0.5F}));
  EXPECT_TRUE(
      std::isnan(distances<float>(node, {std::numeric_limits<float>::quiet_NaN()}, 1, DType::float32)[0]));
}

TEST(Distance, RefusesHalvesOfAnOddNumberAndOtherTypes) {
  HeapMemory memory;
  Distance node;
  node.of = "halves";
  NodeContext odd = context_for(memory, Kind::frames, 3, 1);
  Status status = node.prepare(odd);
  EXPECT_EQ(status.code(), Code::mismatch) << status.text();
  EXPECT_NE(status.text().find("even"), std::string_view::npos) << status.text();
  NodeContext bytes = context_for(memory, Kind::frames, 4, 1);
  bytes.input.dtype = DType::uint8;
  status = node.prepare(bytes);
  EXPECT_EQ(status.code(), Code::mismatch) << status.text();
  EXPECT_NE(status.text().find("int8"), std::string_view::npos) << status.text();
}

}  // namespace
}  // namespace runnel::pipeline::test
