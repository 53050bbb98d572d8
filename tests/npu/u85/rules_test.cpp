// Rules of the Ethos-U85 that few networks notice: rounding, the order of weights, tables.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "npu/host/simulator/u85/output_stage.h"
#include "npu/host/u85/weights.h"

namespace runnel::test {
namespace {

using npu::u85::Rounding;

std::int64_t rounded(std::int64_t value, Rounding rounding, int shift, std::uint32_t multiplier = 1,
                     int double_round = 0) {
  return static_cast<std::int64_t>(npu::u85::scale_and_round(
      value,
      {multiplier, static_cast<std::uint8_t>(shift), static_cast<std::uint8_t>(double_round), rounding}));
}
std::vector<std::int64_t> halves(Rounding rounding) {
  std::vector<std::int64_t> out;
  for (const int value : {-3, -2, -1, 0, 1, 2, 3}) out.push_back(rounded(value, rounding, 1));
  return out;
}

TEST(U85Rounding, Ties) {
  using Values = std::vector<std::int64_t>;
  EXPECT_EQ(halves(Rounding::natural), (Values{-1, -1, 0, 0, 1, 1, 2}));
  EXPECT_EQ(halves(Rounding::symmetric), (Values{-2, -1, -1, 0, 1, 1, 2}));
  EXPECT_EQ(halves(Rounding::to_zero), (Values{-1, -1, 0, 0, 0, 1, 1}));
  EXPECT_EQ(halves(Rounding::to_lower), (Values{-2, -1, -1, 0, 0, 1, 1}));
  // Up to a shift of 31 there is no first rounding.
  EXPECT_EQ(halves(Rounding::double_symmetric), halves(Rounding::natural));
  EXPECT_EQ(halves(Rounding::double_asymmetric), halves(Rounding::natural));
  for (const Rounding rounding : {Rounding::natural, Rounding::symmetric, Rounding::to_zero})
    EXPECT_EQ(rounded(-7, rounding, 0, 3), -21);
}

// TensorFlow Lite's two steps: the upper word with its half, then ties away from zero.
TEST(U85Rounding, DoubleSymmetricIsTheReferences) {
  const auto reference = [](std::int64_t value, std::uint32_t multiplier, int shift) {
    const std::int64_t product = value * multiplier, high = (product + (std::int64_t{1} << 30)) >> 31;
    const int rest = shift - 31;
    const std::int64_t magnitude = ((high < 0 ? -high : high) + (std::int64_t{1} << (rest - 1))) >> rest;
    return high < 0 ? -magnitude : magnitude;
  };
  int unlike_natural = 0, unlike_asymmetric = 0;
  for (const std::uint32_t multiplier : {1u << 30, 1296957006u, 2147483647u}) {
    for (const int shift : {32, 33, 37, 45}) {
      for (std::int64_t value = -100000; value < 100000; value += 13) {
        const std::int64_t expected = reference(value, multiplier, shift);
        ASSERT_EQ(rounded(value, Rounding::double_symmetric, shift, multiplier), expected)
            << value << ' ' << multiplier << ' ' << shift;
        unlike_natural += rounded(value, Rounding::natural, shift, multiplier) != expected ? 1 : 0;
        unlike_asymmetric +=
            rounded(value, Rounding::double_asymmetric, shift, multiplier) != expected ? 1 : 0;
      }
    }
  }
  EXPECT_GT(unlike_natural, 0);
  EXPECT_GT(unlike_asymmetric, 0);
}

// The first rounding comes that many bits lower: 2^(30 - 20) is not enough to pass the half, 2^30 is.
TEST(U85Rounding, DoubleRoundAmount) {
  const std::int64_t just_below = (std::int64_t{1} << 31) - (std::int64_t{1} << 20);
  EXPECT_EQ(rounded(just_below, Rounding::double_symmetric, 32), 1);
  EXPECT_EQ(rounded(just_below, Rounding::double_symmetric, 32, 1, 20), 0);
  EXPECT_EQ(rounded(just_below + (1 << 20) - 1024, Rounding::double_symmetric, 32, 1, 20), 1);
  // It also begins at lower shifts: above 31 - 20.
  EXPECT_EQ(rounded((1 << 11) - 1, Rounding::double_symmetric, 12, 1, 20), 1);
  EXPECT_EQ(rounded((1 << 11) - 1, Rounding::double_symmetric, 12), 0);
}

// ---- the order of weights

std::vector<std::int64_t> order_of(const npu::u85::WeightOrder& order, std::int32_t decoder = 0) {
  std::vector<std::int64_t> out;
  order.walk(decoder, [&](std::int64_t index) { out.push_back(index); });
  EXPECT_EQ(out.size(), order.count());
  return out;
}

npu::u85::WeightOrder small() {
  npu::u85::WeightOrder order;
  order.outs = 16;
  order.depth = 16;
  order.block_depth = 8;
  order.input_depth = 8;
  order.unit = 8;
  return order;
}

// The second block of outputs begins with the last block of inputs.
TEST(U85WeightOrder, BlocksOfInputsAlternateTheirDirection) {
  const auto order = order_of(small());
  ASSERT_EQ(order.size(), 256u);
  EXPECT_EQ(order[0], 0);             // output 0, input 0
  EXPECT_EQ(order[64], 8);            // output 0, input 8
  EXPECT_EQ(order[128], 8 * 16 + 8);  // output 8, input 8
  EXPECT_EQ(order[192], 8 * 16);      // output 8, input 0
}

// One input and one output channel in a block: each tap takes 8 x 8 places.
std::vector<std::int64_t> taps_of(npu::u85::WeightOrder order) {
  order.outs = order.depth = 1;
  std::vector<std::int64_t> out;
  for (const std::int64_t index : order_of(order)) {
    if (index >= 0) out.push_back(index);
  }
  return out;
}

TEST(U85WeightOrder, OddRowsOfTapsRunBackwards) {
  npu::u85::WeightOrder order = small();
  order.height = 3;
  order.width = 3;
  EXPECT_EQ(taps_of(order), (std::vector<std::int64_t>{0, 1, 2, 5, 4, 3, 6, 7, 8}));
}

// 9 x 9 taps: four sub-kernels, those below each other first.
TEST(U85WeightOrder, SubKernelsColumnByColumn) {
  npu::u85::WeightOrder order = small();
  order.height = order.width = 9;
  const auto taps = taps_of(order);
  ASSERT_EQ(taps.size(), 81u);
  EXPECT_EQ(taps[0], 0);
  EXPECT_EQ(taps[64], 8 * 9);       // row 8, column 0
  EXPECT_EQ(taps[64 + 8], 8);       // row 0, column 8
  EXPECT_EQ(taps[64 + 8 + 8], 80);  // row 8, column 8
}

// Depthwise with stride 2: the phases of the stride, and filler up to ten taps.
TEST(U85WeightOrder, PhasesOfStrides) {
  npu::u85::WeightOrder order = small();
  order.height = order.width = 3;
  order.stride_y = order.stride_x = 2;
  order.depthwise = true;
  EXPECT_EQ(taps_of(order), (std::vector<std::int64_t>{0, 2, 8, 6, 1, 7, 3, 5, 4}));
  order.outs = order.depth = 1;
  EXPECT_EQ(order.count(), 10u * 8u);
  order.depthwise_filler = 6;
  EXPECT_EQ(order.count(), (10u + 6u) * 8u);
}

// Channels are dealt to decoders by four; the fast stream holds the decoders in turn.
TEST(U85WeightOrder, Decoders) {
  npu::u85::WeightOrder order = small();
  order.outs = order.block_depth = order.unit = 16;
  order.decoders = 2;
  EXPECT_EQ(order_of(order, 0)[32], 8 * 16);
  EXPECT_EQ(order_of(order, 1)[0], 4 * 16);
  EXPECT_EQ(order_of(order, 1)[32], 12 * 16);
  std::vector<std::byte> stream(32 + 256, std::byte{0});
  stream[0] = std::byte{1};
  for (std::size_t i = 0; i < 256; ++i) stream[32 + i] = static_cast<std::byte>(i);
  const std::span<const std::byte> streams[] = {stream};
  const auto weights = npu::u85::unpack_weights(order, true, streams);
  ASSERT_TRUE(weights.ok()) << weights.status().text();
  // turn() weights of decoder 0, then as many of decoder 1.
  ASSERT_EQ(order.turn(), 64u);
  EXPECT_EQ((*weights)[0], 0);
  EXPECT_EQ((*weights)[4 * 16], 64);
  EXPECT_EQ((*weights)[8], static_cast<std::int8_t>(128));
}

TEST(U85Weights, AreRefused) {
  npu::u85::WeightOrder order = small();
  std::vector<std::byte> stream(32 + 256, std::byte{3});
  stream[0] = std::byte{1};
  for (std::size_t i = 13; i < 32; ++i) stream[i] = std::byte{0};
  const auto refusal = [&](std::size_t size) {
    const std::span<const std::byte> streams[] = {std::span(stream).first(size)};
    return std::string(npu::u85::unpack_weights(order, true, streams).status().text());
  };
  EXPECT_EQ(refusal(31), "fast weight stream: 31 bytes, expected at least 32");
  EXPECT_EQ(refusal(287), "fast weight stream: 255 weights, expected 256, and zeros");
  EXPECT_EQ(refusal(288), "");
  order.outs = 15;
  EXPECT_EQ(refusal(288), "weight stream: filler that is not zero");
  order.outs = 16;
  order.input_depth = 16;
  order.sparse = true;
  EXPECT_EQ(refusal(288), "sparse weights: 4 of four at channel 0, expected at most 2");
  for (std::size_t i = 32; i < stream.size(); ++i)
    stream[i] = std::byte{i % 4 == 3 ? std::uint8_t{0} : std::uint8_t{3}};
  EXPECT_EQ(refusal(288), "sparse weights: 3 of four at channel 0, expected at most 2");
  for (std::size_t i = 34; i < stream.size(); i += 4) stream[i] = std::byte{0};
  EXPECT_EQ(refusal(288), "");
}

TEST(U85Scales, RecordsAreRead) {
  std::vector<std::byte> bytes(10, std::byte{0xff});
  const npu::ScaleRecord narrow = npu::u85::read_scale_record(bytes.data(), false),
                         wide = npu::u85::read_scale_record(bytes.data(), true);
  EXPECT_EQ(narrow.bias, -1);
  EXPECT_EQ(narrow.multiplier, 0x7fffffffu);
  EXPECT_EQ(narrow.shift, 63);
  EXPECT_EQ(wide.bias, -1);
  EXPECT_EQ(wide.multiplier, 0x7fffu);
  bytes[5] = std::byte{0x80};
  EXPECT_EQ(npu::u85::read_scale_record(bytes.data(), true).bias, -(std::int64_t{1} << 47) + 0xffffffffff);
  EXPECT_EQ(npu::u85::read_scale_record(bytes.data(), false).multiplier, 0x7fff80ffu);
}

// ---- tables

class U85Tables : public testing::Test {
 protected:
  // Entry `index` of a table of words: base and slope.
  void entry(int index, int base, int slope) {
    const auto word = static_cast<std::uint32_t>(base & 0xffff) | static_cast<std::uint32_t>(slope) << 16;
    std::memcpy(tables.data() + 4 * index, &word, 4);
  }
  std::int64_t look_up(npu::u85::Function function, std::int64_t value, int element = 2) {
    npu::Operation op;
    op.ofm.element = static_cast<std::uint8_t>(element);
    op.ofm.is_signed = function != npu::u85::Function::u8_u8;
    op.u85.clips = false;
    op.u85.function = function;
    return npu::u85::OutputStage(op, tables).unscaled(value);
  }
  std::vector<std::byte> tables = std::vector<std::byte>(npu::u85::kTableMemory);
};

TEST_F(U85Tables, OfBytes) {
  for (int i = 0; i < 256; ++i) tables[static_cast<std::size_t>(i)] = static_cast<std::byte>(255 - i);
  EXPECT_EQ(look_up(npu::u85::Function::u8_u8, 3, 1), 252);
  EXPECT_EQ(look_up(npu::u85::Function::u8_u8, 300, 1), 0);
  EXPECT_EQ(look_up(npu::u85::Function::s8_s8, -128, 1), -1);
  EXPECT_EQ(look_up(npu::u85::Function::s8_s8, 127, 1), 0);
  EXPECT_EQ(look_up(npu::u85::Function::s8_s16, -128, 2), static_cast<std::int16_t>(0xfeff));
  EXPECT_EQ(look_up(npu::u85::Function::s8_s32, -128, 4), static_cast<std::int32_t>(0xfcfdfeff));
}

// Half of the last bit is added before the slope's product is cut.
TEST_F(U85Tables, SixteenBitsRound) {
  entry(256, 100, 1);
  EXPECT_EQ(look_up(npu::u85::Function::s16_s16, 63), 100);
  EXPECT_EQ(look_up(npu::u85::Function::s16_s16, 64), 101);
  entry(255, 100, -1);
  EXPECT_EQ(look_up(npu::u85::Function::s16_s16, -64), 100);
  EXPECT_EQ(look_up(npu::u85::Function::s16_s16, -63), 99);
  EXPECT_EQ(look_up(npu::u85::Function::s16_s32, 64, 4), 100 * 128 + 64);
}

// 17 and 18 bits of input; ties away from zero; a sigmoid is around one half.
TEST_F(U85Tables, WideFunctions) {
  entry(511, 1000, 1);
  EXPECT_EQ(look_up(npu::u85::Function::tanh, 255 * 256 + 127), 1000);
  EXPECT_EQ(look_up(npu::u85::Function::tanh, 255 * 256 + 128), 1001);
  EXPECT_EQ(look_up(npu::u85::Function::tanh, 1 << 20), 1001);
  EXPECT_EQ(look_up(npu::u85::Function::sigmoid, 255 * 512 + 511), 16384 + 500);
  entry(511, 1001, 0);
  EXPECT_EQ(look_up(npu::u85::Function::sigmoid, 1 << 20), 16384 + 501);
  entry(0, -1001, 0);
  EXPECT_EQ(look_up(npu::u85::Function::sigmoid, -(1 << 20)), 16384 - 501);
}

}  // namespace
}  // namespace runnel::test
