// Element-wise kernels of compiled models against the general forms: awkward scales and zero points, operands
// that are repeated, results in the place of an operand.
#include "kernels/elementwise/rom_elementwise.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace runnel::kernels {
namespace {

template <class T>
std::vector<T> integers(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<T> out(count);
  for (T& value : out) value = static_cast<T>(random());
  return out;
}

// Scales from 2^-12 to 2^3.
float scale_of(std::mt19937& random) {
  return static_cast<float>(1 + random() % 32768) / static_cast<float>(1 << (random() % 13));
}

template <AffinePair kOp, class T>
void check_pairs(DType type) {
  constexpr bool kEqualScales = kOp == AffinePair::max || kOp == AffinePair::min;
  std::mt19937 random(3);
  int narrow = 0;
  for (int round = 0; round < 200; ++round) {
    const auto zero = [&] {
      return type == DType::int8 ? static_cast<std::int32_t>(random() % 256) - 128 : 0;
    };
    const Affine a{type, scale_of(random), zero()},
        b = kEqualScales ? a : Affine{type, scale_of(random), zero()},
        y = kEqualScales ? a : Affine{type, scale_of(random), zero()};
    AffinePairSpec spec;
    spec.op = kOp;
    set_scales(spec, a, b, y);
    spec.low = lowest(type) + static_cast<std::int32_t>(random() % 20);
    spec.high = highest(type) - static_cast<std::int32_t>(random() % 20);
    const std::size_t rows = 1 + random() % 5, columns = 1 + random() % 37;
    spec.count = rows * columns;
    spec.a_count = random() % 3 == 0 ? columns : spec.count;
    spec.b_count = random() % 3 == 0 ? 1 : random() % 2 == 0 ? columns : spec.count;
    const auto left = integers<T>(spec.a_count, random()), right = integers<T>(spec.b_count, random());
    std::vector<T> expected(spec.count), found(spec.count);
    affine_pairs(spec, left.data(), right.data(), expected.data());
    if constexpr (!kEqualScales) {
      rom_affine_pair<kOp, T>(&spec, left.data(), right.data(), found.data());
      ASSERT_EQ(found, expected) << "round " << round;
    }
    if constexpr (kOp != AffinePair::squared_difference) {
      if (!affine_pair_in_32_bits(spec)) continue;
      ++narrow;
      rom_affine_pair32<kOp, T>(&spec, left.data(), right.data(), found.data());
      ASSERT_EQ(found, expected) << "round " << round << ", 32 bits";
      if (spec.a_count != spec.count) continue;
      found = left;
      rom_affine_pair32<kOp, T>(&spec, found.data(), right.data(), found.data());
      ASSERT_EQ(found, expected) << "round " << round << ", in place";
    }
  }
  EXPECT_TRUE(narrow > 20 || kOp == AffinePair::squared_difference) << narrow;
}

TEST(RomElementwise, PairsAreThoseOfTheDefinition) {
  check_pairs<AffinePair::add, std::int8_t>(DType::int8);
  check_pairs<AffinePair::add, std::int16_t>(DType::int16);
  check_pairs<AffinePair::sub, std::int8_t>(DType::int8);
  check_pairs<AffinePair::sub, std::int16_t>(DType::int16);
  check_pairs<AffinePair::mul, std::int8_t>(DType::int8);
  check_pairs<AffinePair::mul, std::int16_t>(DType::int16);
  check_pairs<AffinePair::max, std::int8_t>(DType::int8);
  check_pairs<AffinePair::min, std::int16_t>(DType::int16);
  check_pairs<AffinePair::squared_difference, std::int8_t>(DType::int8);
  check_pairs<AffinePair::prelu, std::int8_t>(DType::int8);
  check_pairs<AffinePair::prelu, std::int16_t>(DType::int16);
}

template <class X, class Y>
void check_requantize(DType from, DType to) {
  const Elementwise& definition = elementwise(Isa::reference);
  for (int shift = -15; shift <= 30; ++shift) {
    for (const Rounding rounding : {Rounding::half_up, Rounding::half_even}) {
      ASSERT_TRUE(rom_requantize_fits(shift));
      const RomRequantize spec{77, shift, rounding, lowest(to) + 3, highest(to) - 2};
      const auto x = integers<X>(spec.count, static_cast<std::uint32_t>(shift + 40));
      std::vector<Y> expected(spec.count), found(spec.count);
      definition.requantize(from, to, spec.count, x.data(), expected.data(), shift, rounding, spec.low,
                            spec.high);
      rom_requantize<X, Y>(&spec, x.data(), nullptr, found.data());
      ASSERT_EQ(found, expected) << "shift " << shift;
    }
  }
  EXPECT_FALSE(rom_requantize_fits(-16));
  EXPECT_FALSE(rom_requantize_fits(31));
}

TEST(RomElementwise, ChangesOfScaleAreThoseOfTheDefinition) {
  check_requantize<std::int8_t, std::int8_t>(DType::int8, DType::int8);
  check_requantize<std::int8_t, std::int16_t>(DType::int8, DType::int16);
  check_requantize<std::int16_t, std::int8_t>(DType::int16, DType::int8);
  check_requantize<std::int16_t, std::int16_t>(DType::int16, DType::int16);
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    RomAffineUnary of;
    of.count = 61;
    of.spec.x = {DType::int16, scale_of(random), 0};
    of.spec.y = {round % 2 == 0 ? DType::int8 : DType::int16, scale_of(random), round % 2 == 0 ? -7 : 0};
    of.spec.low = lowest(of.spec.y.dtype);
    of.spec.high = highest(of.spec.y.dtype);
    ASSERT_TRUE(set_scales(of.spec, 0));
    const auto x = integers<std::int16_t>(of.count, random());
    std::vector<std::int16_t> expected(of.count), found(of.count);
    affine_unary(of.spec, of.count, x.data(), expected.data());
    rom_affine_requantize(&of, x.data(), nullptr, found.data());
    ASSERT_EQ(found, expected) << "round " << round;
  }
}

TEST(RomElementwise, TablesAreThoseOfTheDefinition) {
  const Elementwise& definition = elementwise(Isa::reference);
  const auto bytes = integers<std::int8_t>(256, 1), x = integers<std::int8_t>(77, 2);
  std::vector<std::int8_t> expected(77), found(77);
  const RomTable8 of{77, bytes.data()};
  definition.lut8(77, x.data(), expected.data(), bytes.data());
  rom_table8(&of, x.data(), nullptr, found.data());
  EXPECT_EQ(found, expected);
  for (const std::int32_t entries : {2, 257, 4097, 65537}) {
    for (const bool linear : {false, true}) {
      const auto table = integers<std::int16_t>(static_cast<std::size_t>(entries), 3),
                 wide = integers<std::int16_t>(91, 4);
      std::vector<std::int16_t> wide_expected(91), wide_found(91);
      const RomTable16 of16{91, table.data(), entries, linear, Rounding::half_even};
      definition.lut16(91, wide.data(), wide_expected.data(), table.data(), entries, linear,
                       Rounding::half_even);
      rom_table16(&of16, wide.data(), nullptr, wide_found.data());
      EXPECT_EQ(wide_found, wide_expected) << entries << ' ' << linear;
    }
  }
}

}  // namespace
}  // namespace runnel::kernels
