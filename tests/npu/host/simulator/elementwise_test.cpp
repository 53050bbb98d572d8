// Hand-made element-wise operations, pooling, tables, hardware functions and copies
// against their definitions.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "npu/arithmetic.h"
#include "npu/host/simulator/simulator.h"
#include "tests/npu/stream_maker.h"

namespace runnel::test {
namespace {

using npu::ElementwiseMode;
using npu::Long;
using npu::OpCode;
using npu::PoolMode;
using npu::Rounding;
using npu::Scale;
using npu::Short;
using Numbers = std::vector<std::int64_t>;

void put(std::span<std::byte> memory, const MapSpec& map, const Numbers& values) {
  std::size_t i = 0;
  for (int y = 0; y < map.height; ++y)
    for (int x = 0; x < map.width; ++x)
      for (int c = 0; c < map.depth; ++c, ++i)
        std::memcpy(memory.data() + map.base + map.at(y, x, c), &values[i],
                    static_cast<std::size_t>(map.element));
}
Numbers get(std::span<const std::byte> memory, const MapSpec& map) {
  Numbers values;
  for (int y = 0; y < map.height; ++y)
    for (int x = 0; x < map.width; ++x)
      for (int c = 0; c < map.depth; ++c) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, memory.data() + map.base + map.at(y, x, c), static_cast<std::size_t>(map.element));
        const int shift = 64 - 8 * map.element;
        values.push_back(map.is_signed ? static_cast<std::int64_t>(bits << shift) >> shift
                                       : static_cast<std::int64_t>(bits));
      }
  return values;
}

// Runs a stream over scratch memory filled by `fill`; a test failure and no numbers if it is refused.
template <class Fill>
Numbers run(const StreamMaker& maker, const Fill& fill, const MapSpec& out,
            std::span<const std::byte> constants = {}, std::size_t scratch = 65536) {
  const auto payload = maker.payload();
  const auto segment = segment_of(payload, constants, scratch);
  EXPECT_TRUE(segment.ok()) << segment.status().text();
  if (!segment.ok()) return {};
  const auto simulator = npu::Simulator::make(*segment);
  EXPECT_TRUE(simulator.ok()) << simulator.status().text();
  if (!simulator.ok()) return {};
  fill((*simulator)->region(npu::kScratch));
  const Status status = (*simulator)->run();
  EXPECT_TRUE(status.ok()) << status.text();
  return get((*simulator)->region(npu::kScratch), out);
}

Numbers random_numbers(std::mt19937& random, std::size_t count, std::int64_t low, std::int64_t high) {
  Numbers values(count);
  for (auto& value : values)
    value = low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  return values;
}

// ---- roundings, by hand

TEST(Arithmetic, RoundsAsNamed) {
  const auto scaled = [](std::int64_t value, std::uint32_t multiplier, int shift, Rounding rounding) {
    return static_cast<std::int64_t>(
        npu::scale_and_round(value, Scale{multiplier, static_cast<std::uint8_t>(shift)}, rounding));
  };
  EXPECT_EQ(scaled(3, 1, 1, Rounding::natural), 2);
  EXPECT_EQ(scaled(-3, 1, 1, Rounding::natural), -1);
  EXPECT_EQ(scaled(-3, 1, 1, Rounding::tfl), -1);  // one rounding up to 31
  EXPECT_EQ(scaled(-3, 1, 1, Rounding::truncate), -1);
  EXPECT_EQ(scaled(-5, 3, 0, Rounding::truncate), -15);
  EXPECT_EQ(scaled(-3, 1u << 31, 32, Rounding::tfl), -2);  // two roundings, ties away from zero
  EXPECT_EQ(scaled(-3, 1u << 31, 32, Rounding::natural), -1);
  EXPECT_EQ(scaled(3, 1u << 31, 32, Rounding::truncate), 1);
  EXPECT_EQ(scaled(-7, 1u << 31, 33, Rounding::truncate), -1);
  // 1.4999 rounds to 1, but its high word is 3 halves.
  EXPECT_EQ(scaled(3, 0x7fffffffu, 32, Rounding::tfl), 2);
  EXPECT_EQ(scaled(3, 0x7fffffffu, 32, Rounding::natural), 1);
  EXPECT_EQ(npu::divide_half_away(-5, 2), -3);
  EXPECT_EQ(npu::divide_half_away(5, 2), 3);
  EXPECT_EQ(npu::wrap((std::int64_t{1} << 31) + 5, 32), -(std::int64_t{1} << 31) + 5);
}

// ---- element-wise

struct Sum {
  int element;
  bool subtract, reversed;
};

// Scales that are powers of two, so that the sums are exact.
TEST(Elementwise, SumsWithTwoScales) {
  std::mt19937 random(3);
  for (const Sum& sum : {Sum{1, false, false}, Sum{1, true, false}, Sum{1, true, true}, Sum{2, false, false},
                         Sum{2, true, true}}) {
    const MapSpec a{3, 2, 20, sum.element, true, true, 3, 0}, b{3, 2, 20, sum.element, true, false, -5, 1024},
        y{3, 2, 20, sum.element, true, true, 7, 2048};
    const Numbers first = random_numbers(random, 120, -100, 100),
                  second = random_numbers(random, 120, -100, 100);
    StreamMaker maker;
    maker.ifm(a)
        .ifm2(b, sum.reversed ? 64 : 0)
        .ofm(y, Rounding::natural, true)
        .scale(Long::opa_scale, 4, 0)
        .scale(Long::opb_scale, 2, 0)
        .scale(Long::ofm_scale, 1, 3);
    maker.op(OpCode::elementwise, sum.subtract ? 2 : 1);
    const Numbers found = run(
        maker,
        [&](auto memory) {
          put(memory, a, first);
          put(memory, b, second);
        },
        y);
    ASSERT_EQ(found.size(), 120u);
    for (std::size_t i = 0; i < 120; ++i) {
      const double p = 4.0 * static_cast<double>(first[i] - 3), q = 2.0 * static_cast<double>(second[i] + 5);
      const double exact = (!sum.subtract ? p + q : sum.reversed ? q - p : p - q) / 8;
      EXPECT_EQ(found[i],
                std::max(-128.0, std::min(sum.element == 1 ? 127.0 : 32767.0, std::floor(exact + 0.5) + 7)))
          << i;
    }
  }
}

// One operand is scaled by 1/2 with 32 bits, the other one only shifted.
TEST(Elementwise, SumsWithOneScaledOperand) {
  std::mt19937 random(4);
  for (const int which : {1, 2}) {
    for (const int element : {1, 2}) {
      const MapSpec a{2, 3, 5, element, true, false, 0, 0}, b{2, 3, 5, element, true, false, 0, 1024},
          y{2, 3, 5, element, true, false, 0, 2048};
      const Numbers first = random_numbers(random, 30, -60, 60), second = random_numbers(random, 30, -60, 60);
      const int headroom = element == 1 ? 20 : 15;
      StreamMaker maker;
      // x * 2^headroom * 2^30 / 2^(32 + headroom) = x / 4 with the headroom on top: a quarter and a half.
      maker.ifm(a, which)
          .ifm2(b)
          .ofm(y, Rounding::tfl, true)
          .scale(Long::opa_scale, 1u << 30, 32 - headroom)
          .scale(Long::ofm_scale, 1u << 30, 30 + headroom - 1);
      maker.op(OpCode::elementwise, 1);
      const Numbers found = run(
          maker,
          [&](auto memory) {
            put(memory, a, first);
            put(memory, b, second);
          },
          y);
      ASSERT_EQ(found.size(), 30u);
      for (std::size_t i = 0; i < 30; ++i) {
        // By definition, with long arithmetic: shift of the operand's scale plus the headroom is 32 here.
        const std::int64_t scaled_value = which == 1 ? first[i] : second[i],
                           moved = which == 1 ? second[i] : first[i];
        const std::int64_t product = (scaled_value << headroom) * (std::int64_t{1} << 30);
        const std::int64_t high = (product + (std::int64_t{1} << 30)) >> 31;
        const std::int64_t part = high < 0 ? -((-high + 1) >> 1) : (high + 1) >> 1;
        const std::int64_t total = part + (moved << (headroom - 1));
        const std::int64_t high2 = (total * (std::int64_t{1} << 30) + (std::int64_t{1} << 30)) >> 31;
        const int rest = headroom - 2;
        const std::int64_t expected =
            high2 < 0 ? -((-high2 + (1 << (rest - 1))) >> rest) : (high2 + (1 << (rest - 1))) >> rest;
        EXPECT_EQ(found[i], expected) << i << " element " << element << " operand " << which;
      }
    }
  }
}

TEST(Elementwise, MinMaxMulAbsLeakyRelu) {
  std::mt19937 random(5);
  const MapSpec a{2, 2, 17, 1, true, true, 10, 0}, b{2, 2, 17, 1, true, true, -4, 1024},
      y{2, 2, 17, 1, true, false, 1, 2048};
  const Numbers first = random_numbers(random, 68, -128, 127), second = random_numbers(random, 68, -128, 127);
  const auto clamp8 = [](std::int64_t value) {
    return std::max<std::int64_t>(-128, std::min<std::int64_t>(127, value));
  };
  for (const auto mode : {ElementwiseMode::mul, ElementwiseMode::min, ElementwiseMode::max,
                          ElementwiseMode::leaky_relu, ElementwiseMode::abs}) {
    StreamMaker maker;
    maker.ifm(a)
        .ifm2(b)
        .ofm(y, Rounding::natural, true)
        .scale(Long::ofm_scale, 3, 4)
        .op(OpCode::elementwise, static_cast<int>(mode));
    const Numbers found = run(
        maker,
        [&](auto memory) {
          put(memory, a, first);
          put(memory, b, second);
        },
        y);
    ASSERT_EQ(found.size(), 68u);
    for (std::size_t i = 0; i < 68; ++i) {
      const std::int64_t p = first[i] - 10, q = second[i] + 4;
      const auto scaled = [](std::int64_t value) {
        return static_cast<std::int64_t>(std::floor(static_cast<double>(value) * 3 / 16 + 0.5));
      };
      std::int64_t value = 0;
      if (mode == ElementwiseMode::mul) value = scaled(p * q);
      if (mode == ElementwiseMode::min) value = p < q ? p : q;
      if (mode == ElementwiseMode::max) value = p > q ? p : q;
      if (mode == ElementwiseMode::leaky_relu) value = p < 0 ? scaled(p) : p;
      if (mode == ElementwiseMode::abs) value = scaled(p < 0 ? -p : p);
      EXPECT_EQ(found[i], clamp8(value + 1)) << static_cast<int>(mode) << " at " << i;
    }
  }
}

// 32 bits: shifts, leading zeros, a product whose shift alone applies; zero point and limits of the output
// have no effect.
TEST(Elementwise, WordsOf32Bits) {
  std::mt19937 random(6);
  const MapSpec a{1, 3, 16, 4, true, false, 0, 0}, b{1, 3, 16, 4, true, false, 0, 1024},
      y{1, 3, 16, 4, true, false, 99, 2048};
  const Numbers first = random_numbers(random, 48, -2000000000, 2000000000);
  const Numbers second = random_numbers(random, 48, 0, 30);
  for (const auto mode :
       {ElementwiseMode::shr, ElementwiseMode::shl, ElementwiseMode::clz, ElementwiseMode::mul}) {
    StreamMaker maker;
    maker.ifm(a)
        .ifm2(b)
        .ofm(y, Rounding::natural, true)
        .scale(Long::ofm_scale, 12345, 5)
        .op(OpCode::elementwise, static_cast<int>(mode));
    const Numbers found = run(
        maker,
        [&](auto memory) {
          put(memory, a, first);
          put(memory, b, second);
        },
        y);
    ASSERT_EQ(found.size(), 48u);
    for (std::size_t i = 0; i < 48; ++i) {
      const auto word = static_cast<std::uint32_t>(first[i]);
      std::int64_t value = 0;
      if (mode == ElementwiseMode::shr)
        value = static_cast<std::int64_t>(
            std::floor(std::ldexp(static_cast<double>(first[i]), -static_cast<int>(second[i])) +
                       (second[i] > 0 ? 0.5 : 0)));
      if (mode == ElementwiseMode::shl) value = static_cast<std::int32_t>(word << second[i]);
      if (mode == ElementwiseMode::clz)
        value = word == 0 ? 32 : 31 - static_cast<int>(std::floor(std::log2(static_cast<double>(word))));
      if (mode == ElementwiseMode::mul)
        value = std::max<std::int64_t>(INT32_MIN,
                                       std::min<std::int64_t>(INT32_MAX, (first[i] * second[i] + 16) >> 5));
      EXPECT_EQ(found[i], value) << static_cast<int>(mode) << " at " << i;
    }
  }
}

TEST(Elementwise, BroadcastsAndScalars) {
  std::mt19937 random(7);
  const MapSpec a{3, 4, 5, 1, true, false, 0, 0}, y{3, 4, 5, 1, true, false, 0, 2048};
  const Numbers first = random_numbers(random, 60, -50, 50), second = random_numbers(random, 60, -50, 50);
  for (int broadcast = 0; broadcast <= 8; ++broadcast) {
    const bool scalar = broadcast == 8;
    const MapSpec b{(broadcast & 1) != 0 ? 1 : 3,
                    (broadcast & 2) != 0 ? 1 : 4,
                    (broadcast & 4) != 0 ? 1 : 5,
                    1,
                    true,
                    false,
                    2,
                    1024};
    StreamMaker maker;
    maker.ifm(a)
        .ifm2(b, scalar ? 0x80 : broadcast)
        .set(Short::ifm2_scalar, -7)
        .ofm(y, Rounding::natural, true);
    maker.scale(Long::opa_scale, 1, 0)
        .scale(Long::opb_scale, 1, 0)
        .scale(Long::ofm_scale, 1, 0)
        .op(OpCode::elementwise, 1);
    const Numbers found = run(
        maker,
        [&](auto memory) {
          put(memory, a, first);
          put(memory, b, second);
        },
        y);
    ASSERT_EQ(found.size(), 60u);
    for (int i = 0; i < 60; ++i) {
      const int yy = i / 20, xx = i / 5 % 4, c = i % 5;
      const int at =
          ((b.height > 1 ? yy : 0) * b.width + (b.width > 1 ? xx : 0)) * b.depth + (b.depth > 1 ? c : 0);
      const std::int64_t other = scalar ? -7 : second[static_cast<std::size_t>(at)];
      EXPECT_EQ(found[static_cast<std::size_t>(i)], first[static_cast<std::size_t>(i)] + other - 2)
          << "broadcast " << broadcast << " at " << i;
    }
  }
}

// ---- pooling

TEST(Pooling, MaxAverageAndSum) {
  std::mt19937 random(8);
  const MapSpec a{5, 6, 18, 1, true, true, 3, 0};
  const Numbers values = random_numbers(random, 540, -128, 127);
  npu::Kernel kernel{3, 2, 2, 1, 1, 1, false, 1, 1, 1, 0};
  for (const PoolMode mode : {PoolMode::max, PoolMode::average}) {
    const MapSpec y{3, 6, 18, 1, true, false, -2, 4096};
    StreamMaker maker;
    maker.ifm(a).ofm(y).kernel(kernel).op(OpCode::pool, static_cast<int>(mode));
    const Numbers found = run(
        maker, [&](auto memory) { put(memory, a, values); }, y);
    ASSERT_EQ(found.size(), 324u);
    std::size_t i = 0;
    for (int oy = 0; oy < 3; ++oy)
      for (int ox = 0; ox < 6; ++ox)
        for (int c = 0; c < 18; ++c, ++i) {
          double sum = 0, most = -1000, count = 0;
          for (int ky = 0; ky < 3; ++ky)
            for (int kx = 0; kx < 2; ++kx) {
              const int iy = 2 * oy + ky - 1, ix = ox + kx - 1;
              if (iy < 0 || ix < 0 || iy >= 5 || ix >= 6) continue;
              const auto value =
                  static_cast<double>(values[static_cast<std::size_t>((iy * 6 + ix) * 18 + c)] - 3);
              sum += value;
              most = std::max(most, value);
              ++count;
            }
          const double result = (mode == PoolMode::max ? most : std::round(sum / count)) - 2;
          EXPECT_EQ(found[i], std::max(-128.0, std::min(127.0, result)))
              << static_cast<int>(mode) << " at " << i;
        }
  }
  // All channels into one, 32 bits.
  const MapSpec y{5, 6, 1, 4, true, false, 55, 4096};
  StreamMaker maker;
  maker.ifm(a).ofm(y).kernel({}).op(OpCode::pool, static_cast<int>(PoolMode::reduce_sum));
  const Numbers found = run(
      maker, [&](auto memory) { put(memory, a, values); }, y);
  ASSERT_EQ(found.size(), 30u);
  for (std::size_t i = 0; i < 30; ++i) {
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < 18; ++c) sum += values[i * 18 + c] - 3;
    EXPECT_EQ(found[i], sum);
  }
}

// Without padding the quotient is a multiplication: 1/9 as 2^35 / 9, upwards.
TEST(Pooling, AverageByGlobalScale) {
  std::mt19937 random(9);
  const MapSpec a{4, 4, 8, 1, true, false, 0, 0}, y{2, 2, 8, 1, true, false, 0, 4096};
  const Numbers values = random_numbers(random, 128, -128, 127);
  StreamMaker maker;
  maker.ifm(a)
      .ofm(y, Rounding::natural, true)
      .kernel({3, 3})
      .scale(Long::ofm_scale, static_cast<std::uint32_t>(((std::int64_t{1} << 34) + 8) / 9), 34)
      .op(OpCode::pool, 1);
  const Numbers found = run(
      maker, [&](auto memory) { put(memory, a, values); }, y);
  ASSERT_EQ(found.size(), 32u);
  for (int oy = 0; oy < 2; ++oy)
    for (int ox = 0; ox < 2; ++ox)
      for (int c = 0; c < 8; ++c) {
        double sum = 0;
        for (int k = 0; k < 9; ++k)
          sum +=
              static_cast<double>(values[static_cast<std::size_t>(((oy + k / 3) * 4 + ox + k % 3) * 8 + c)]);
        EXPECT_EQ(found[static_cast<std::size_t>((oy * 2 + ox) * 8 + c)], std::round(sum / 9));
      }
}

// ---- tables, functions, copies, tiles

// DMA copies a table into the internal memory, after 22 of its 24 KiB; slot 3 of 256 bytes.
TEST(Tables, Of8And16And32Bits) {
  std::mt19937 random(10);
  std::vector<std::byte> constants(2048);
  for (std::byte& byte : constants) byte = static_cast<std::byte>(random());
  for (const int element : {1, 2, 4}) {
    const int slot = element == 1 ? 3 : 0;
    const MapSpec a{1, 1, 200, element == 4 ? 1 : element, true, false, 0, 0},
        y{1, 1, 200, element, true, false, 0, 4096};
    const std::int64_t low = element == 2 ? -32768 : -128;
    const Numbers values = random_numbers(random, 200, low, -low - 1);
    StreamMaker maker;
    maker.set(Short::dma_source_region, 0)
        .set(Long::dma_source, 0)
        .set(Short::dma_target_region, 0x103)
        .set(Long::dma_target, 22 * 1024 + (element == 1 ? 256 * slot : 0));
    maker.set(Long::dma_length,
              element == 1   ? 256
              : element == 2 ? 2048
                             : 1024,
              0)
        .op(OpCode::dma_start)
        .op(OpCode::dma_wait);
    maker.ifm(a)
        .ofm(y, Rounding::natural, true)
        .kernel({})
        .scale(Long::ofm_scale, 1, 0)
        .set(Short::activation, 16 + slot)
        .op(OpCode::pool, 1);
    const Numbers found = run(
        maker, [&](auto memory) { put(memory, a, values); }, y, constants);
    ASSERT_EQ(found.size(), 200u);
    for (std::size_t i = 0; i < 200; ++i) {
      std::int64_t expected = 0;
      if (element == 1)
        expected = static_cast<std::int8_t>(constants[static_cast<std::size_t>(values[i] + 128)]);
      if (element == 4) {
        std::int32_t word = 0;
        std::memcpy(&word, constants.data() + 4 * (values[i] + 128), 4);
        expected = word;
      }
      if (element == 2) {
        const std::size_t at =
            4 * static_cast<std::size_t>(std::floor(static_cast<double>(values[i]) / 128) + 256);
        std::int16_t base = 0, slope = 0;
        std::memcpy(&base, constants.data() + at, 2);
        std::memcpy(&slope, constants.data() + at + 2, 2);
        const double along =
            static_cast<double>(values[i]) - std::floor(static_cast<double>(values[i]) / 128) * 128;
        expected = static_cast<std::int64_t>(
            std::max(-32768.0, std::min(32767.0, base + std::floor((slope * along + 64) / 128))));
      }
      EXPECT_EQ(found[i], expected) << "element " << element << " value " << values[i];
    }
  }
}

// Arguments in units of 1/12288, results with 15 fractional bits: the function to within two steps.
TEST(HardwareFunctions, SigmoidAndTanh) {
  const MapSpec a{1, 1, 401, 2, true, false, 0, 0}, y{1, 1, 401, 2, true, false, 0, 4096};
  Numbers values;
  for (int i = 0; i <= 400; ++i) values.push_back((i - 200) * 163);
  for (const int function : {3, 4}) {
    StreamMaker maker;
    maker.ifm(a)
        .ofm(y, Rounding::natural, true)
        .kernel({})
        .scale(Long::ofm_scale, 3, 0)
        .set(Short::activation, function)
        .set(Short::activation_max, 32000)
        .op(OpCode::pool, 1);
    const Numbers found = run(
        maker, [&](auto memory) { put(memory, a, values); }, y);
    ASSERT_EQ(found.size(), 401u);
    for (std::size_t i = 0; i < 401; ++i) {
      const double x = 3 * static_cast<double>(values[i]) / 12288;  // beyond 16 bits
      const double exact = function == 3 ? std::tanh(x) : 1 / (1 + std::exp(-x));
      // Limits apply to the result.
      EXPECT_NEAR(static_cast<double>(found[i]), std::min(32000.0, exact * 32768), 24) << x;
    }
  }
}

TEST(Copies, OfOneTwoAndThreeDimensions) {
  const MapSpec all{1, 1, 4096, 1, false, false, 0, 0};
  const auto fill = [](auto memory) {
    for (std::size_t i = 0; i < memory.size(); ++i)
      memory[i] = static_cast<std::byte>(i < 1024 ? i % 251 : 0);
  };
  for (int dimensions = 1; dimensions <= 3; ++dimensions) {
    StreamMaker maker(0x10003008);
    maker.set(Short::dma_source_region, 1)
        .set(Long::dma_source, 16)
        .set(Short::dma_target_region, 1 | (dimensions - 1) << 9)
        .set(Long::dma_target, 1024);
    maker.set(Long::dma_length, 32, 0)
        .set(Short::dma_size0, 3)
        .set(Short::dma_size1, 2)
        .set(Long::dma_skip0, 16)
        .set(Long::dma_skip1, 64)
        .op(OpCode::dma_start);
    const Numbers found = run(maker, fill, all, {}, 4096);
    ASSERT_EQ(found.size(), 4096u);
    std::vector<std::int64_t> expected(4096);
    for (std::size_t i = 0; i < 1024; ++i) expected[i] = static_cast<std::int64_t>(i % 251);
    const int rows = dimensions > 1 ? 3 : 1, planes = dimensions > 2 ? 2 : 1;
    for (int p = 0; p < planes; ++p)
      for (int r = 0; r < rows; ++r)
        for (int i = 0; i < 32; ++i) {
          const int from = 16 + (p * rows + r) * 32 + i, to = 1024 + p * (3 * 48 + 64) + r * 48 + i;
          expected[static_cast<std::size_t>(to)] = from % 251;
        }
    EXPECT_EQ(found, expected) << dimensions;
  }
}

// The source has two dimensions and the target three: only the target uses SKIP1, and each end has
// its own bounds.
TEST(Copies, EndsOfDifferentDimensions) {
  const MapSpec all{1, 1, 1024, 1, false, false, 0, 0};
  StreamMaker maker(0x10003008);
  maker.set(Short::dma_source_region, 1 | 1 << 9)
      .set(Long::dma_source, 0)
      .set(Short::dma_target_region, 1 | 2 << 9)
      .set(Long::dma_target, 512);
  maker.set(Long::dma_length, 16, 0)
      .set(Short::dma_size0, 2)
      .set(Short::dma_size1, 2)
      .set(Long::dma_skip0, 16)
      .set(Long::dma_skip1, -16)
      .op(OpCode::dma_start);
  const auto fill = [](auto memory) {
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i < 512 ? i % 251 : 0);
  };
  const Numbers found = run(maker, fill, all, {}, 1024);
  ASSERT_EQ(found.size(), 1024u);
  std::vector<std::int64_t> expected(1024);
  for (std::size_t i = 0; i < 512; ++i) expected[i] = static_cast<std::int64_t>(i % 251);
  for (int p = 0; p < 2; ++p)
    for (int r = 0; r < 2; ++r)
      for (int i = 0; i < 16; ++i)
        expected[static_cast<std::size_t>(512 + p * 48 + r * 32 + i)] = (p * 64 + r * 32 + i) % 251;
  EXPECT_EQ(found, expected);
  // The source reaches byte 112; with SKIP1 it would seem to be 96.
  const auto payload = maker.payload();
  EXPECT_TRUE(npu::Simulator::make(*segment_of(payload, {}, 608)).ok());
  EXPECT_FALSE(npu::Simulator::make(*segment_of(payload, {}, 607)).ok());
}

// A ring: rows 0 and 1 of the window are the last two of the memory, the rest begins again at its front.
TEST(Tiles, WrapAround) {
  MapSpec a{5, 3, 4, 1, true, false, 0, 12 * 3}, y{5, 3, 4, 1, true, false, 0, 4096};
  StreamMaker maker;
  maker.ifm(a).ofm(y, Rounding::natural, true).kernel({}).scale(Long::ofm_scale, 1, 0);
  maker.set(Short::ifm_height0_m1, 1).set(static_cast<Long>(2), 0);
  maker.op(OpCode::pool, 1);
  const Numbers found = run(
      maker,
      [](auto memory) {
        for (std::size_t i = 0; i < 60; ++i) memory[i] = static_cast<std::byte>(i);
      },
      y);
  ASSERT_EQ(found.size(), 60u);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(found[static_cast<std::size_t>(i)], (i / 12 < 2 ? 36 : -24) + i);
  // Columns, too: the right tile is elsewhere.
  StreamMaker columns;
  columns.ifm(a).ofm(y, Rounding::natural, true).kernel({}).scale(Long::ofm_scale, 1, 0);
  columns.set(Short::ifm_width0_m1, 0).set(static_cast<Long>(1), 0).op(OpCode::pool, 1);
  const Numbers side = run(
      columns,
      [](auto memory) {
        for (std::size_t i = 0; i < 100; ++i) memory[i] = static_cast<std::byte>(i);
      },
      y);
  ASSERT_EQ(side.size(), 60u);
  for (int i = 0; i < 60; ++i)
    EXPECT_EQ(side[static_cast<std::size_t>(i)], i / 12 * 12 + (i % 12 < 4 ? 36 + i % 12 : i % 12 - 4));
}

}  // namespace
}  // namespace runnel::test
