#include "kernels/elementwise/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace runnel::kernels {
namespace {

std::vector<Isa> levels() {
  std::vector<Isa> levels;
  for (int level = 1; level <= static_cast<int>(best_isa()); ++level) {
    if (runs_here(static_cast<Isa>(level))) levels.push_back(static_cast<Isa>(level));
  }
  return levels;
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
  Rounding rounding() { return pick(0, 1) == 0 ? Rounding::half_up : Rounding::half_even; }
  // Random values with many extremes, at an odd address when T has one byte.
  template <class T>
  std::vector<T> values(std::size_t count) {
    constexpr int low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    std::vector<T> values(count);
    const bool extreme = pick(0, 3) == 0;
    for (T& v : values) v = static_cast<T>(extreme ? (pick(0, 1) != 0 ? low : high) : pick(low, high));
    return values;
  }

 private:
  std::mt19937 engine_;
};

template <class T>
void binary_cases(unsigned seed) {
  Random random(seed);
  for (int repeat = 0; repeat < 3000; ++repeat) {
    BinarySpec s;
    s.op = static_cast<BinaryOp>(random.pick(0, 5));
    s.dtype = sizeof(T) == 1 ? DType::int8 : DType::int16;
    s.count = static_cast<std::size_t>(random.pick(0, 300));
    const auto operand = [&] {
      return random.pick(0, 2) == 0   ? static_cast<std::size_t>(random.pick(1, 70))
             : random.pick(0, 3) == 0 ? 1
                                      : s.count + (s.count == 0 ? 1 : 0);
    };
    s.a_count = operand();
    s.b_count = operand();
    s.a_exponent = random.pick(-8, 4);
    s.b_exponent = random.pick(0, 2) == 0 ? s.a_exponent : random.pick(-8, 4);
    s.y_exponent = random.pick(0, 2) == 0 ? s.a_exponent : random.pick(-12, 8);
    if (random.pick(0, 9) == 0) s.y_exponent = random.pick(-80, 80);
    if (random.pick(0, 9) == 0) s.a_exponent = random.pick(-30, 30);
    s.rounding = random.rounding();
    s.exact = random.pick(0, 1) == 1;
    s.low = random.pick(0, 2) == 0 ? 0 : -40000;
    s.high = random.pick(0, 2) == 0 ? 100 : 40000;
    const auto a = random.values<T>(s.a_count + 1), b = random.values<T>(s.b_count + 1);
    std::vector<T> expected(s.count + 2, T{7}), y(s.count + 2, T{7});
    elementwise(Isa::reference).binary(s, a.data() + 1, b.data() + 1, expected.data() + 1);
    for (const Isa isa : levels()) {
      elementwise(isa).binary(s, a.data() + 1, b.data() + 1, y.data() + 1);
      ASSERT_EQ(y, expected) << name_of(isa) << " op " << int(s.op) << " exponents " << s.a_exponent << " "
                             << s.b_exponent << " " << s.y_exponent << " exact " << s.exact << " counts "
                             << s.count << " " << s.a_count << " " << s.b_count;
    }
    if (s.a_count == s.count) {  // in place
      std::vector<T> place = a;
      elementwise(best_isa()).binary(s, place.data() + 1, b.data() + 1, place.data() + 1);
      for (std::size_t i = 1; i <= s.count; ++i) ASSERT_EQ(place[i], expected[i]);
    }
  }
}

TEST(Elementwise, BinaryEqualsReferenceInInt8) { binary_cases<std::int8_t>(1); }
TEST(Elementwise, BinaryEqualsReferenceInInt16) { binary_cases<std::int16_t>(2); }

std::int32_t one(BinaryOp op, bool exact, Rounding rounding, int ea, int eb, int ey, int a, int b) {
  BinarySpec s{op, DType::int8, 1, 1, 1, ea, eb, ey, rounding, exact, -128, 127};
  const auto x = static_cast<std::int8_t>(a), z = static_cast<std::int8_t>(b);
  std::int8_t y = 0;
  elementwise(Isa::reference).binary(s, &x, &z, &y);
  return y;
}

TEST(Elementwise, ReferenceKnowsItsOrders) {
  EXPECT_EQ(one(BinaryOp::add, true, Rounding::half_up, 0, 0, 0, 100, 100), 127);
  EXPECT_EQ(one(BinaryOp::sub, true, Rounding::half_up, 0, 0, 0, -100, 100), -128);
  // 1/2 + 1/2 is 1 exactly; rounding each operand first gives 2 (half up) or 0 (half even).
  EXPECT_EQ(one(BinaryOp::add, true, Rounding::half_up, -1, -1, 0, 1, 1), 1);
  EXPECT_EQ(one(BinaryOp::add, false, Rounding::half_up, -1, -1, 0, 1, 1), 2);
  EXPECT_EQ(one(BinaryOp::add, false, Rounding::half_even, -1, -1, 0, 1, 1), 0);
  // 5 * 2^-2 + 3 * 2^-1 = 2.75.
  EXPECT_EQ(one(BinaryOp::add, true, Rounding::half_up, -2, -1, 0, 5, 3), 3);
  EXPECT_EQ(one(BinaryOp::max, true, Rounding::half_up, -2, -1, 0, 5, 3), 2);
  EXPECT_EQ(one(BinaryOp::min, true, Rounding::half_up, -2, -1, 0, 5, 3), 1);
  EXPECT_EQ(one(BinaryOp::mul, true, Rounding::half_up, -1, -1, 0, 5, 2), 3);  // 2.5
  EXPECT_EQ(one(BinaryOp::mul, true, Rounding::half_even, -1, -1, 0, 5, 2), 2);
  EXPECT_EQ(one(BinaryOp::mul, false, Rounding::half_up, -1, -1, 0, -5, 2), -2);  // floor(-2.5 + 0.5)
  EXPECT_EQ(one(BinaryOp::mul, false, Rounding::half_even, -1, -1, 0, -5, 2), -2);
  EXPECT_EQ(one(BinaryOp::mul, true, Rounding::half_up, 0, 0, -3, 5, 2), 80);
  EXPECT_EQ(one(BinaryOp::prelu, true, Rounding::half_up, -1, -1, 0, -5, 2), -2);  // -2.5
  EXPECT_EQ(one(BinaryOp::prelu, true, Rounding::half_even, -1, -1, 0, 5, 2), 2);  // 2.5
}

template <class From, class To>
void requantize_cases(DType from, DType to, unsigned seed) {
  Random random(seed);
  for (int repeat = 0; repeat < 400; ++repeat) {
    const auto count = static_cast<std::size_t>(random.pick(0, 200));
    const auto x = random.values<From>(count + 1);
    const int shift = random.pick(0, 5) == 0 ? random.pick(-70, 70) : random.pick(0, 16);
    const Rounding rounding = random.rounding();
    const int low = random.pick(0, 1) == 0 ? -100000 : 0, high = random.pick(0, 1) == 0 ? 100000 : 90;
    std::vector<To> expected(count + 2, To{9}), y(count + 2, To{9});
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t value = round_shift(x[i + 1], shift, rounding);
      value = value < low ? low : value > high ? high : value;
      expected[i + 1] = saturate<To>(value);
    }
    for (int level = 0; level <= static_cast<int>(best_isa()); ++level) {
      if (!runs_here(static_cast<Isa>(level))) continue;
      elementwise(static_cast<Isa>(level))
          .requantize(from, to, count, x.data() + 1, y.data() + 1, shift, rounding, low, high);
      ASSERT_EQ(y, expected) << level << " shift " << shift;
    }
  }
}

TEST(Elementwise, RequantizeEqualsRoundShift) {
  requantize_cases<std::int8_t, std::int8_t>(DType::int8, DType::int8, 1);
  requantize_cases<std::int8_t, std::int16_t>(DType::int8, DType::int16, 2);
  requantize_cases<std::int16_t, std::int8_t>(DType::int16, DType::int8, 3);
  requantize_cases<std::int16_t, std::int16_t>(DType::int16, DType::int16, 4);
  requantize_cases<std::int32_t, std::int8_t>(DType::int32, DType::int8, 5);
  requantize_cases<std::int32_t, std::int16_t>(DType::int32, DType::int16, 6);
}

TEST(Elementwise, Lut8LooksUp) {
  Random random(7);
  const auto table = random.values<std::int8_t>(256);
  for (std::size_t count = 0; count <= 300; ++count) {
    const auto x = random.values<std::int8_t>(count);
    for (int level = 0; level <= static_cast<int>(best_isa()); ++level) {
      if (!runs_here(static_cast<Isa>(level))) continue;
      std::vector<std::int8_t> y(count + 1, std::int8_t{3});
      elementwise(static_cast<Isa>(level)).lut8(count, x.data(), y.data(), table.data());
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(y[i], table[static_cast<std::uint8_t>(x[i]) ^ 0x80u]);
      ASSERT_EQ(y[count], 3);
    }
  }
}

TEST(Elementwise, Lut16FindsTheNearestEntryOrInterpolates) {
  Random random(8);
  std::vector<std::int16_t> x(65536), y(65536);
  for (int i = 0; i < 65536; ++i) x[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(i - 32768);
  for (int k = 0; k <= 16; ++k) {
    const std::int32_t entries = (1 << k) + 1;
    const int step = 65536 >> k;
    const auto table = random.values<std::int16_t>(static_cast<std::size_t>(entries));
    for (const Rounding rounding : {Rounding::half_up, Rounding::half_even}) {
      for (int level = 0; level <= static_cast<int>(best_isa()); ++level) {
        if (!runs_here(static_cast<Isa>(level))) continue;
        elementwise(static_cast<Isa>(level))
            .lut16(x.size(), x.data(), y.data(), table.data(), entries, false, rounding);
        for (std::size_t i = 0; i < x.size(); ++i) {
          const double position = static_cast<double>(i) / step;
          const double index =
              rounding == Rounding::half_up ? std::floor(position + 0.5) : std::nearbyint(position);
          ASSERT_EQ(y[i], table[static_cast<std::size_t>(index)])
              << entries << " level " << level << " at " << i;
        }
        elementwise(static_cast<Isa>(level))
            .lut16(x.size(), x.data(), y.data(), table.data(), entries, true, rounding);
        for (std::size_t i = 0; i < x.size(); ++i) {
          const std::size_t index = i / static_cast<std::size_t>(step);
          const double rest = static_cast<double>(i) / step - static_cast<double>(index);
          const double value =
              rest == 0 ? table[index] : table[index] * (1 - rest) + table[index + 1] * rest;  // exact
          ASSERT_EQ(y[i], rounding == Rounding::half_up ? std::floor(value + 0.5) : std::nearbyint(value))
              << entries << " " << i;
        }
      }
    }
  }
}

template <class T>
void quantize_cases(DType type) {
  Random random(9);
  for (int repeat = 0; repeat < 300; ++repeat) {
    const int exponent = random.pick(0, 9) == 0 ? random.pick(-140, 140) : random.pick(-16, 4);
    const auto count = static_cast<std::size_t>(random.pick(0, 100));
    std::vector<float> x(count);
    for (float& v : x) {
      v = std::ldexp(static_cast<float>(random.pick(-80000, 80000)) * 0.5f, exponent - random.pick(0, 3));
      if (random.pick(0, 20) == 0) v = std::nanf("");
      if (random.pick(0, 20) == 0)
        v = random.pick(0, 1) == 0 ? -std::numeric_limits<float>::infinity() : 3e38f;
    }
    const Rounding rounding = random.rounding();
    std::vector<T> expected(count), y(count);
    for (std::size_t i = 0; i < count; ++i)
      expected[i] = saturate<T>(round_float(x[i] * power_of_two(-exponent), rounding));
    for (int level = 0; level <= static_cast<int>(best_isa()); ++level) {
      if (!runs_here(static_cast<Isa>(level))) continue;
      elementwise(static_cast<Isa>(level)).quantize(type, count, x.data(), y.data(), exponent, rounding);
      ASSERT_EQ(y, expected) << level << " exponent " << exponent;
      std::vector<float> back(count);
      elementwise(static_cast<Isa>(level)).dequantize(type, count, y.data(), back.data(), exponent);
      for (std::size_t i = 0; i < count; ++i) {
        if (exponent < -120 || exponent > 100) continue;
        ASSERT_EQ(back[i], std::ldexp(static_cast<float>(y[i]), exponent));
      }
    }
  }
}

TEST(Elementwise, QuantizeRoundsAsSpecified) {
  quantize_cases<std::int8_t>(DType::int8);
  quantize_cases<std::int16_t>(DType::int16);
}

}  // namespace
}  // namespace runnel::kernels
