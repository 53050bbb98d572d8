// Attention and layer normalization of integers in fixed point: against the real functions, in both kinds of
// scales; streamed equals whole; refusals.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "kernels/transformer/fixed_attention.h"
#include "tests/inference/ops/stream_case.h"

namespace runnel {
namespace {

using compiler::AttentionOptions;
using compiler::NormOptions;
using test::Bytes;
using test::StreamCase;
using Id = compiler::TensorId;
using ::testing::HasSubstr;

// A tensor of a random graph: a power of two, or a scale with a zero point.
struct Scaled {
  double scale = 1;
  int zero = 0;
};
class FixedPoint : public testing::TestWithParam<std::pair<DType, bool>> {
 protected:
  [[nodiscard]] DType dtype() const { return GetParam().first; }
  [[nodiscard]] bool free_scales() const { return GetParam().second; }

  Scaled give_scale(Id id, double about, int zero) {
    compiler::Tensor& tensor = test_.graph.tensors[static_cast<std::size_t>(id)];
    tensor.exponents.clear();
    if (free_scales()) {
      tensor.scales = {static_cast<float>(about)};
      tensor.zero_points = {dtype() == DType::int8 ? zero : 0};
      return {static_cast<double>(tensor.scales[0]), tensor.zero_points[0]};
    }
    const int exponent = static_cast<int>(std::lround(std::log2(about)));
    tensor.exponents = {static_cast<std::int8_t>(exponent)};
    return {std::ldexp(1.0, exponent), 0};
  }
  [[nodiscard]] double step() const { return dtype() == DType::int8 ? 1.0 / 32 : 1.0 / 8192; }
  [[nodiscard]] double integer(const Bytes& data, std::size_t i) const {
    return dtype() == DType::int8 ? test::from_bytes<std::int8_t>(data)[i]
                                  : test::from_bytes<std::int16_t>(data)[i];
  }
  [[nodiscard]] int largest() const { return dtype() == DType::int8 ? 120 : 30000; }

  StreamCase test_{11};
};

TEST_P(FixedPoint, LayerNormIsTheFunction) {
  constexpr std::size_t kFrames = 7, kChannels = 21;
  const Id x = test_.input(dtype(), {1, kFrames, kChannels}),
           y = test_.tensor(dtype(), {1, kFrames, kChannels}),
           gain = test_.random_constant(DType::int16, {kChannels}, -15, 30000),
           offset = test_.random_constant(DType::int32, {kChannels}, 0, 20000);
  const Scaled from = give_scale(x, step(), 13), to = give_scale(y, step(), -7);
  NormOptions options;
  options.axis = 2;
  options.epsilon = 1e-3f;
  test_.node(OpCode::layer_norm, {x, gain, offset}, {y}, options);
  test_.graph.nodes[0].arithmetic = Arithmetic::fixed_point;
  test_.graph.outputs = {y};
  const Bytes data = test_.random_values(dtype(), kFrames * kChannels, largest());
  const Bytes found = test_.whole({data})[0];
  const auto gains =
      test::from_bytes<std::int16_t>(*test_.graph.tensors[static_cast<std::size_t>(gain)].data);
  const auto offsets =
      test::from_bytes<std::int32_t>(*test_.graph.tensors[static_cast<std::size_t>(offset)].data);
  for (std::size_t t = 0; t < kFrames; ++t) {
    const auto value = [&](std::size_t c) {
      return (integer(data, t * kChannels + c) - from.zero) * from.scale;
    };
    double mean = 0, squares = 0;
    for (std::size_t c = 0; c < kChannels; ++c) mean += value(c) / kChannels;
    for (std::size_t c = 0; c < kChannels; ++c) squares += (value(c) - mean) * (value(c) - mean) / kChannels;
    for (std::size_t c = 0; c < kChannels; ++c) {
      const double unit = std::ldexp(1.0, -15);
      const double real =
          (value(c) - mean) / std::sqrt(squares + 1e-3) * gains[c] * unit + offsets[c] * 2 * unit;
      const double limited = std::clamp(real / to.scale + to.zero, dtype() == DType::int8 ? -128.0 : -32768.0,
                                        dtype() == DType::int8 ? 127.0 : 32767.0);
      EXPECT_NEAR(integer(found, t * kChannels + c), limited, 0.51 + 2e-4 / to.scale);
    }
  }
  test_.check({0, 1, 3, 20}, "layer_norm");
}

TEST_P(FixedPoint, AttentionIsTheFunction) {
  constexpr std::size_t kFrames = 23, kHeads = 2, kKey = 5, kFar = 3, kValue = 4;
  AttentionOptions options;
  options.left = 6;
  options.right = 1;
  options.chunk = 2;
  options.real_scale = 0.4f;
  const std::size_t rows = 10;
  const auto frames = [&](std::size_t channels) {
    return test_.input(dtype(), {1, kFrames, kHeads, static_cast<std::int32_t>(channels)});
  };
  const Id q = frames(kKey + kFar), k = frames(kKey), v = frames(kValue),
           y = test_.tensor(dtype(), {1, kFrames, kHeads, kValue});
  const Id bias = test_.random_constant(DType::int32, {kHeads, rows}, 0, 9000),
           distances = test_.random_constant(dtype(), {rows, kHeads, kFar}, 0, largest());
  const Scaled of_q = give_scale(q, step(), 21), of_k = give_scale(k, step() / 2, -30),
               of_v = give_scale(v, step(), 3), of_d = give_scale(distances, step() / 3, 0),
               of_y = give_scale(y, step() / 1.1, -9);
  test_.node(OpCode::attention, {q, k, v, bias, distances}, {y}, options);
  test_.graph.nodes[0].arithmetic = Arithmetic::fixed_point;
  test_.graph.outputs = {y};
  const Bytes qs = test_.random_values(dtype(), kFrames * kHeads * (kKey + kFar), largest() / 2),
              ks = test_.random_values(dtype(), kFrames * kHeads * kKey, largest() / 2),
              vs = test_.random_values(dtype(), kFrames * kHeads * kValue, largest());
  const Bytes found = test_.whole({qs, ks, vs})[0];
  const Bytes& ds = *test_.graph.tensors[static_cast<std::size_t>(distances)].data;
  const auto biases =
      test::from_bytes<std::int32_t>(*test_.graph.tensors[static_cast<std::size_t>(bias)].data);
  for (std::size_t t = 0; t < kFrames; ++t) {
    const std::size_t start = t / 2 * 2, from = start < 6 ? 0 : start - 6, to = std::min(start + 3, kFrames);
    for (std::size_t h = 0; h < kHeads; ++h) {
      const auto query = [&](std::size_t c) {
        return (integer(qs, (t * kHeads + h) * (kKey + kFar) + c) - of_q.zero) * of_q.scale;
      };
      std::vector<double> weights;
      double total = 0;
      for (std::size_t i = from; i < to; ++i) {
        const std::size_t row = i + 7 - t;
        double score = biases[h * rows + row] * kernels::kScoreUnit;
        for (std::size_t c = 0; c < kKey; ++c)
          score += 0.4 * query(c) * (integer(ks, (i * kHeads + h) * kKey + c) - of_k.zero) * of_k.scale;
        for (std::size_t c = 0; c < kFar; ++c)
          score += 0.4 * query(kKey + c) * integer(ds, (row * kHeads + h) * kFar + c) * of_d.scale;
        weights.push_back(std::exp(score));
        total += weights.back();
      }
      for (std::size_t c = 0; c < kValue; ++c) {
        double mean = 0;
        for (std::size_t i = from; i < to; ++i)
          mean += weights[i - from] / total * (integer(vs, (i * kHeads + h) * kValue + c) - of_v.zero) *
                  of_v.scale;
        const double limited =
            std::clamp(mean / of_y.scale + of_y.zero, dtype() == DType::int8 ? -128.0 : -32768.0,
                       dtype() == DType::int8 ? 127.0 : 32767.0);
        EXPECT_NEAR(integer(found, (t * kHeads + h) * kValue + c), limited, 0.51 + 1e-3 / of_y.scale);
      }
    }
  }
  test_.check({0, 2, 4, 20}, "attention");
}

INSTANTIATE_TEST_SUITE_P(Scales, FixedPoint,
                         testing::Values(std::pair{DType::int8, false}, std::pair{DType::int8, true},
                                         std::pair{DType::int16, false}, std::pair{DType::int16, true}));

TEST(FixedPointRefusals, LayerNormNamesWhatDoesNotFit) {
  const auto refusal = [](auto&& damage) {
    StreamCase test;
    const Id x = test.input(DType::int8, {1, 6, 4}, -4), y = test.tensor(DType::int8, {1, 6, 4}, -4);
    test.node(OpCode::layer_norm,
              {x, test.random_constant(DType::int16, {4}, -14, 900),
               test.random_constant(DType::int32, {4}, 0, 900)},
              {y}, NormOptions{2, 1e-5f, 2});
    test.graph.nodes[0].arithmetic = Arithmetic::fixed_point;
    test.graph.outputs = {y};
    damage(test);
    return test.refusal();
  };
  EXPECT_EQ(refusal([](StreamCase&) {}), "");
  EXPECT_THAT(refusal([](StreamCase& t) {
                t.graph.tensors[2].dtype = DType::int8, t.graph.tensors[2].data->resize(4);
              }),
              HasSubstr("the scale is not a constant of 4 int16"));
  EXPECT_THAT(refusal([](StreamCase& t) { std::get<NormOptions>(t.graph.nodes[0].options).axis = 1; }),
              HasSubstr("the scale is not a constant of 24 int16"));
  EXPECT_THAT(refusal([](StreamCase& t) {
                const std::int32_t far = (1 << 26) + 1;
                std::memcpy(t.graph.tensors[3].data->data(), &far, sizeof far);
              }),
              HasSubstr("a bias of 67108865, expected at most 67108864"));
  EXPECT_THAT(refusal([](StreamCase& t) { std::get<NormOptions>(t.graph.nodes[0].options).epsilon = -1; }),
              HasSubstr("an epsilon that is not a number of at least 0"));
  EXPECT_THAT(refusal([](StreamCase& t) { t.graph.tensors[0].exponents.clear(); }),
              HasSubstr("the input has 0 scales, expected 1"));
}

TEST(FixedPointRefusals, AttentionNamesWhatDoesNotFit) {
  const auto refusal = [](auto&& damage) {
    StreamCase test;
    const auto frames = [&](int channels) { return test.input(DType::int16, {1, 6, 1, channels}, -9); };
    const Id q = frames(5), k = frames(3), v = frames(2), y = test.tensor(DType::int16, {1, 6, 1, 2}, -9);
    AttentionOptions options;
    options.left = 3;
    test.node(OpCode::attention,
              {q, k, v, test.random_constant(DType::int32, {1, 4}, 0, 900),
               test.random_constant(DType::int16, {4, 1, 2}, -9, 900)},
              {y}, options);
    test.graph.nodes[0].arithmetic = Arithmetic::fixed_point;
    test.graph.outputs = {y};
    damage(test, std::get<AttentionOptions>(test.graph.nodes[0].options));
    return test.refusal();
  };
  EXPECT_EQ(refusal([](StreamCase&, AttentionOptions&) {}), "");
  EXPECT_THAT(refusal([](StreamCase&, AttentionOptions& o) { o.real_scale = 0; }),
              HasSubstr("a factor of scores that is not above 0"));
  EXPECT_THAT(refusal([](StreamCase&, AttentionOptions& o) { o.right = 70000; }),
              HasSubstr("a row for each of"));
  EXPECT_THAT(refusal([](StreamCase& t, AttentionOptions& o) {
                o.right = 70000;
                t.graph.nodes[0].inputs.resize(3);
                t.graph.tensors[0].shape[3] = 3;
              }),
              HasSubstr("a window of 70004 keys, expected at most 65535"));
  EXPECT_THAT(refusal([](StreamCase& t, AttentionOptions&) { t.graph.tensors[4].dtype = DType::float32; }),
              HasSubstr("the table of biases is no constant of int32 without scales"));
  EXPECT_THAT(refusal([](StreamCase& t, AttentionOptions&) {
                t.graph.tensors[5].exponents.clear();
                t.graph.tensors[5].scales = {0.5f};
                t.graph.tensors[5].zero_points = {4};
              }),
              HasSubstr("the table of distances has zero point 4, expected 0"));
}

}  // namespace
}  // namespace runnel
