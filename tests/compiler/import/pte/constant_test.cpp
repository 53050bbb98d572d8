// Elements of constants as numbers, by their types.
#include "compiler/import/pte/constant.h"

#include <gtest/gtest.h>

#include <limits>

namespace runnel::compiler::pte_source {
namespace {

template <class T>
Constant constant(DType type, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {type, {static_cast<std::int32_t>(values.size())}, {bytes.begin(), bytes.end()}};
}

// The extremes of a type, and what a wrong width or sign would make of them.
template <class T>
void expect_integers(DType type) {
  using Limits = std::numeric_limits<T>;
  const auto found = integers_of(constant<T>(type, {Limits::lowest(), 0, 1, 100, Limits::max()}));
  ASSERT_TRUE(found.ok()) << found.status().text();
  EXPECT_EQ(*found, (std::vector<std::int64_t>{Limits::lowest(), 0, 1, 100, Limits::max()})) << name_of(type);
}

TEST(PteConstant, IntegersOfEveryType) {
  expect_integers<std::int8_t>(DType::int8);
  expect_integers<std::uint8_t>(DType::uint8);
  expect_integers<std::int16_t>(DType::int16);
  expect_integers<std::int32_t>(DType::int32);
  expect_integers<std::int64_t>(DType::int64);
}

TEST(PteConstant, NumbersOfBothTypes) {
  const auto single = numbers_of(constant<float>(DType::float32, {0.1F, -3, 1e30F}));
  ASSERT_TRUE(single.ok()) << single.status().text();
  EXPECT_EQ(*single, (std::vector<double>{static_cast<double>(0.1F), -3, static_cast<double>(1e30F)}));
  const auto twice = numbers_of(constant<double>(DType::float64, {0.1, -3, 1e300}));
  ASSERT_TRUE(twice.ok()) << twice.status().text();
  EXPECT_EQ(*twice, (std::vector<double>{0.1, -3, 1e300}));
}

TEST(PteConstant, OtherTypesAreRefused) {
  const auto integers = integers_of(constant<float>(DType::float32, {1}));
  ASSERT_FALSE(integers.ok());
  EXPECT_EQ(integers.status().code(), Code::unsupported);
  EXPECT_EQ(integers.status().text(), "a constant of float32, expected integers");
  const auto numbers = numbers_of(constant<std::int16_t>(DType::int16, {1}));
  ASSERT_FALSE(numbers.ok());
  EXPECT_EQ(numbers.status().code(), Code::unsupported);
  EXPECT_EQ(numbers.status().text(), "a constant of int16, expected float32 or float64");
}

TEST(PteConstant, TransposedAxes) {
  Constant x = constant<std::int16_t>(DType::int16, {0, 1, 2, 3, 4, 5});
  x.dims = {1, 2, 3};
  const Constant y = transposed(x, {2, 0, 1});
  EXPECT_EQ(y.dims, (Dims{3, 1, 2}));
  const auto values = integers_of(y);
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(*values, (std::vector<std::int64_t>{0, 3, 1, 4, 2, 5}));
}

}  // namespace
}  // namespace runnel::compiler::pte_source
