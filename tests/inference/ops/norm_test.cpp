// Normalizations against double precision, streamed equals whole, refusals.
#include <cmath>

#include "tests/inference/ops/stream_case.h"

namespace runnel {
namespace {

using compiler::NormOptions;
using test::Bytes;
using test::StreamCase;
using Id = compiler::TensorId;

constexpr int kFrames = 5, kChannels = 19;

double value(DType dtype, const Bytes& data, std::size_t i, int exponent) {
  if (dtype == DType::float32) return test::from_bytes<float>(data)[i];
  return std::ldexp(
      dtype == DType::int8 ? test::from_bytes<std::int8_t>(data)[i] : test::from_bytes<std::int16_t>(data)[i],
      exponent);
}

// y[frame] = gain * (x - mean) / norm + offset with what each normalization takes for mean and norm.
void check(OpCode code, DType dtype, NormOptions options) {
  StreamCase test(7);
  const int e = dtype == DType::int16 ? -12 : -5, ey = dtype == DType::int16 ? -12 : -4;
  options.axis = 2;
  options.epsilon = 1e-3f;
  std::vector<Id> inputs = {test.input(dtype, {1, kFrames, kChannels}, e)};
  if (code != OpCode::lp_norm) inputs.push_back(test.random_constant(dtype, {kChannels}, e, 100));
  if (code == OpCode::layer_norm) inputs.push_back(test.random_constant(dtype, {kChannels}, e, 100));
  const Id y = test.tensor(dtype, {1, kFrames, kChannels}, ey);
  test.node(code, inputs, {y}, options);
  test.graph.outputs = {y};
  const Bytes data = test.random_values(dtype, kFrames * kChannels, 120);
  const Bytes found = test.whole({data})[0];
  const auto factor = [&](std::size_t position, std::size_t i) {
    return value(dtype, *test.graph.tensors[static_cast<std::size_t>(inputs[position])].data, i, e);
  };
  for (std::size_t t = 0; t < kFrames; ++t) {
    double mean = 0, squares = 0, absolute = 0;
    const auto x = [&](std::size_t c) { return value(dtype, data, t * kChannels + c, e); };
    for (std::size_t c = 0; c < kChannels; ++c) mean += code == OpCode::layer_norm ? x(c) / kChannels : 0;
    for (std::size_t c = 0; c < kChannels; ++c) {
      squares += (x(c) - mean) * (x(c) - mean);
      absolute += std::abs(x(c));
    }
    const double norm = code != OpCode::lp_norm ? std::sqrt(squares / kChannels + options.epsilon)
                        : options.p == 1        ? absolute
                                                : std::sqrt(squares);
    for (std::size_t c = 0; c < kChannels; ++c) {
      double expected = (x(c) - mean) / norm;
      if (inputs.size() > 1) expected *= factor(1, c);
      if (inputs.size() > 2) expected += factor(2, c);
      const double step = dtype == DType::float32 ? 0 : std::ldexp(1.0, ey);
      const double most = step == 0 ? 1e9 : (dtype == DType::int8 ? 127 : 32767) * step;
      EXPECT_NEAR(value(dtype, found, t * kChannels + c, ey), std::clamp(expected, -most, most),
                  0.501 * step + 1e-5 + (step > 0 ? step * 0.01 : 0))
          << name_of(code) << ' ' << name_of(dtype) << " frame " << t << " channel " << c;
    }
  }
  test.check({0, 1, 3, 20}, name_of(code));
}

TEST(Norm, IsTheFormula) {
  for (const DType dtype : {DType::int8, DType::int16, DType::float32}) {
    check(OpCode::layer_norm, dtype, {});
    check(OpCode::rms_norm, dtype, {});
    check(OpCode::lp_norm, dtype, {0, 0, 1});
    check(OpCode::lp_norm, dtype, {0, 0, 2});
  }
}

TEST(Norm, ZerosStayZeros) {
  StreamCase test;
  const Id x = test.input(DType::float32, {1, 1, 4}), y = test.tensor(DType::float32, {1, 1, 4});
  test.node(OpCode::lp_norm, {x}, {y}, NormOptions{2, 0, 2});
  test.graph.outputs = {y};
  EXPECT_EQ(test.whole({Bytes(16)})[0], Bytes(16));
}

TEST(Norm, RefusesToNormalizeOverTime) {
  StreamCase test;
  const Id x = test.input(DType::float32, {1, 6, 4}), y = test.tensor(DType::float32, {1, 6, 4});
  test.node(OpCode::layer_norm, {x, test.random_constant(DType::float32, {6, 4})}, {y},
            NormOptions{1, 1e-5f, 2});
  test.graph.outputs = {y};
  EXPECT_NE(test.refusal().find("normalizes over the whole recording"), std::string::npos) << test.refusal();
  std::get<NormOptions>(test.graph.nodes[0].options).axis = 2;
  EXPECT_NE(test.refusal().find("the scale is not a constant of 4 elements"), std::string::npos)
      << test.refusal();
}

}  // namespace
}  // namespace runnel
