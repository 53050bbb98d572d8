#include "inference/host/noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace runnel {
namespace {

TEST(Noise, HasBothSignsAndOrdinaryFloats) {
  std::mt19937 random(1);
  std::vector<float> floats(1000);
  fill_noise(std::as_writable_bytes(std::span(floats)), DType::float32, random);
  EXPECT_TRUE(std::all_of(floats.begin(), floats.end(), [](float v) { return v >= -1 && v <= 1; }));
  const auto below = std::count_if(floats.begin(), floats.end(), [](float v) { return v < 0; });
  EXPECT_GT(below, 400);
  EXPECT_LT(below, 600);
  std::vector<std::int8_t> bytes(1000);
  fill_noise(std::as_writable_bytes(std::span(bytes)), DType::int8, random);
  EXPECT_LT(*std::min_element(bytes.begin(), bytes.end()), -120);
  EXPECT_GT(*std::max_element(bytes.begin(), bytes.end()), 120);
}

TEST(Noise, IndicesAreZero) {
  std::mt19937 random(1);
  std::vector<std::int32_t> indices(10, 77);
  fill_noise(std::as_writable_bytes(std::span(indices)), DType::int32, random);
  EXPECT_EQ(indices, std::vector<std::int32_t>(10));
}

}  // namespace
}  // namespace runnel
