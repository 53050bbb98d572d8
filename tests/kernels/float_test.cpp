// Functions in double precision rounded to float: bits that must be the same on every machine.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "kernels/elementwise/functions.h"
#include "kernels/softmax.h"

namespace runnel::kernels {
namespace {

std::vector<float> random_floats(std::size_t count, float range, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(count);
  for (float& value : values) value = (static_cast<float>(generator() >> 8) / 8388608.0f - 1.0f) * range;
  return values;
}

std::uint32_t fingerprint(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return crc32c(bytes);
}

// Recorded once. Another compiler, instruction set or C library must give the same bits.
TEST(FloatFunctions, BitsAreTheSameEverywhere) {
  const std::pair<Function, std::uint32_t> recorded[] = {
      {Function::exp, 0x7216C95Au},          {Function::log, 0xE74985A1u},
      {Function::sqrt, 0x99DBF6D1u},         {Function::sigmoid, 0xD6B5DBBBu},
      {Function::tanh, 0x37DC0379u},         {Function::swish, 0x37D053CDu},
      {Function::hard_sigmoid, 0xB4398339u}, {Function::hard_swish, 0xDF5DC9D3u},
      {Function::gelu, 0x960C0E8Fu},         {Function::gelu_tanh, 0x02C55AFAu},
      {Function::elu, 0x083BB503u},          {Function::leaky_relu, 0xFB9528FDu},
      {Function::mish, 0x3552CCFBu},         {Function::softplus, 0x1A8E1FC7u},
      {Function::erf, 0x84FEDF80u}};
  const auto x = random_floats(4096, 12, 99);
  for (const auto& [function, expected] : recorded) {
    std::vector<float> y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      y[i] = function == Function::log || function == Function::sqrt ? std::fabs(x[i]) : x[i];
    apply(FunctionSpec{function, 0.25f, 0.5f}, x.size(), y.data(), y.data());
    EXPECT_EQ(fingerprint(y), expected) << static_cast<int>(function);
  }
  SoftmaxSpec spec;
  spec.outer = 64;
  spec.count = 64;
  std::vector<float> y(x.size());
  std::vector<float> scratch(128);
  softmax(spec, x.data(), y.data(), scratch.data());
  EXPECT_EQ(fingerprint(y), 0x4C3E1126u);
  std::vector<float> power(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    power[i] = static_cast<float>(
        pow_of(std::fabs(static_cast<double>(x[i])), static_cast<double>(x[x.size() - 1 - i])));
  EXPECT_EQ(fingerprint(power), 0xD2864BDCu);
}

}  // namespace
}  // namespace runnel::kernels
