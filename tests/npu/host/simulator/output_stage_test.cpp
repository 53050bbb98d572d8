// From a sum to the stored element: width of accumulators, choice of scale, rounding, limits.
#include <gtest/gtest.h>

#include <cstring>

#include "npu/host/simulator/simulator.h"
#include "tests/npu/stream_maker.h"

namespace runnel::test {
namespace {

using npu::Long;
using npu::OpCode;
using npu::Rounding;
using npu::Short;

// The first output element of a stream whose input is all `value`, as int8 or int16; it lies at byte 1024.
std::int64_t first_element(const StreamMaker& maker, int value, std::span<const std::byte> constants = {},
                           int element = 1) {
  const auto payload = maker.payload();
  const auto segment = segment_of(payload, constants, 4096);
  EXPECT_TRUE(segment.ok()) << segment.status().text();
  if (!segment.ok()) return 0;
  const auto simulator = npu::Simulator::make(*segment);
  EXPECT_TRUE(simulator.ok()) << simulator.status().text();
  if (!simulator.ok()) return 0;
  const auto memory = (*simulator)->region(npu::kScratch);
  for (std::size_t i = 0; i < 64; ++i)
    std::memcpy(memory.data() + i * static_cast<std::size_t>(element), &value,
                static_cast<std::size_t>(element));
  const Status status = (*simulator)->run();
  EXPECT_TRUE(status.ok()) << status.text();
  if (element == 1) return static_cast<std::int8_t>(memory[1024]);
  std::int16_t word = 0;
  std::memcpy(&word, memory.data() + 1024, 2);
  return word;
}

constexpr MapSpec kIn{1, 1, 8, 1, true, false, 0, 0}, kOut{1, 1, 8, 1, true, false, 0, 1024};

// Eight channels of eight weights of 1, a bias, and a scale for each channel, or one for all.
std::int64_t convolved(std::int64_t bias, int value, std::uint32_t multiplier, int shift, bool global,
                       int accumulator = 0) {
  std::vector<std::byte> constants;
  for (int i = 0; i < 8; ++i)
    append_scale_record(constants, bias, global ? 1u << 30 : multiplier, global ? 60 : shift);
  const auto at = static_cast<std::int64_t>(constants.size());
  const auto stream = plain_weights(std::vector<std::int16_t>(8 * 32, 1));
  constants.insert(constants.end(), stream.begin(), stream.end());
  StreamMaker maker;
  maker.ifm(kIn)
      .ofm(kOut, Rounding::natural, global)
      .kernel({})
      .set(Short::weight_region, 0)
      .set(Short::scale_region, 0)
      .set(Short::acc_format, accumulator);
  if (global) maker.scale(Long::ofm_scale, multiplier, shift);
  maker.set(Long::weight_base, at)
      .set(Long::weight_length, static_cast<std::int64_t>(stream.size()), 0)
      .set(Long::scale_base, 0)
      .set(Long::scale_length, 80, 0)
      .op(OpCode::conv);
  return first_element(maker, value, constants);
}

TEST(OutputStage, AccumulatorsOverflowAtTheirWidth) {
  constexpr std::int64_t kMax = (std::int64_t{1} << 31) - 1;
  EXPECT_EQ(convolved(kMax, 0, 1, 24, false), 127);
  EXPECT_EQ(convolved(kMax, 1, 1, 24, false), -128) << "8 more are too many for 32 bits";
  EXPECT_EQ(convolved(kMax, 1, 1, 26, false, 1), 32) << "but not for 40";
}

TEST(OutputStage, OneScaleForAllChannelsOrOneForEach) {
  EXPECT_EQ(convolved(40, 1, 1, 3, false), 6);
  EXPECT_EQ(convolved(40, 1, 1, 3, true), 6);
}

// An average of one element, scaled.
std::int64_t scaled(int value, Rounding rounding, std::uint32_t multiplier, int shift) {
  StreamMaker maker;
  maker.ifm(kIn)
      .ofm(kOut, rounding, true)
      .kernel({})
      .scale(Long::ofm_scale, multiplier, shift)
      .op(OpCode::pool, 1);
  return first_element(maker, value);
}

TEST(OutputStage, RoundsAsTheStreamSays) {
  EXPECT_EQ(scaled(-3, Rounding::truncate, 1, 1), -1);
  EXPECT_EQ(scaled(-3, Rounding::natural, 1, 1), -1);
  EXPECT_EQ(scaled(-5, Rounding::truncate, 1, 2), -1);
  EXPECT_EQ(scaled(-7, Rounding::natural, 1, 2), -2);
  EXPECT_EQ(scaled(-3, Rounding::tfl, 1u << 31, 32), -2);
  EXPECT_EQ(scaled(-3, Rounding::truncate, 1u << 31, 32), -1);
}

std::int64_t limited(int value, int low, int high, int clip, int element) {
  const MapSpec in{1, 1, 8, element, true, false, 0, 0}, out{1, 1, 8, element, true, false, 0, 1024};
  StreamMaker maker;
  maker.ifm(in).ofm(out, Rounding::natural, true).kernel({}).scale(Long::ofm_scale, 1, 0);
  maker.set(Short::activation, clip << 12)
      .set(Short::activation_min, low)
      .set(Short::activation_max, high)
      .op(OpCode::pool, 1);
  return first_element(maker, value, {}, element);
}

TEST(OutputStage, KeepsTheLimits) {
  EXPECT_EQ(limited(-100, -5, 7, 0, 1), -5);
  EXPECT_EQ(limited(100, -5, 7, 0, 1), 7);
  EXPECT_EQ(limited(3, -5, 7, 0, 1), 3);
  EXPECT_EQ(limited(3000, -32768, 32767, 0, 2), 3000);
  // Of 8 bits, signed and unsigned, whatever the output's type.
  EXPECT_EQ(limited(3000, -32768, 32767, 3, 2), 127);
  EXPECT_EQ(limited(-3000, -32768, 32767, 3, 2), -128);
  EXPECT_EQ(limited(3000, -32768, 32767, 2, 2), 255);
  EXPECT_EQ(limited(-3000, -32768, 32767, 2, 2), 0);
}

}  // namespace
}  // namespace runnel::test
