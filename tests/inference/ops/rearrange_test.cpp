// Depth to space, space to depth, insert zeros, expand, resize: against formulas over indices, streamed
// equals whole, refusals.
#include <algorithm>
#include <cmath>

#include "tests/inference/ops/stream_case.h"

namespace runnel {
namespace {

using test::Bytes;
using test::StreamCase;
using Id = compiler::TensorId;

std::vector<std::int8_t> counted(std::size_t count) {
  std::vector<std::int8_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int8_t>(i % 251 - 125);
  return values;
}

TEST(Rearrange, DepthToSpaceAndBack) {
  for (const bool channel_major : {false, true}) {
    StreamCase test;
    const std::size_t H = 3, W = 2, C = 2, b = 3;
    const Id x = test.input(DType::int8, {1, 3, 2, 18}, -5), y = test.tensor(DType::int8, {1, 9, 6, 2}, -5);
    test.node(OpCode::depth_to_space, {x}, {y}, compiler::BlockOptions{3, channel_major});
    test.graph.outputs = {y};
    const auto data = counted(H * W * C * b * b);
    const auto found = test::from_bytes<std::int8_t>(test.whole({test::to_bytes(data)})[0]);
    for (std::size_t h = 0; h < H * b; ++h) {
      for (std::size_t w = 0; w < W * b; ++w) {
        for (std::size_t c = 0; c < C; ++c) {
          const std::size_t place = h % b * b + w % b,
                            channel = channel_major ? c * b * b + place : place * C + c;
          ASSERT_EQ(found[(h * W * b + w) * C + c], data[(h / b * W + w / b) * C * b * b + channel]);
        }
      }
    }
    test.check({0, 1, 2, 3, 10}, "depth to space");
    if (channel_major) continue;
    const Id z = test.tensor(DType::int8, {1, 3, 2, 18}, -5);
    test.node(OpCode::space_to_depth, {y}, {z}, compiler::BlockOptions{3, false});
    test.graph.outputs = {z};
    EXPECT_EQ(test.whole({test::to_bytes(data)})[0], test::to_bytes(data));
    test.check({0, 1, 2, 3, 10}, "there and back");
  }
}

TEST(Rearrange, SpaceToDepthStreamsBehindALookAhead) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    StreamCase test(seed);
    const int b = test.pick(1, 4);
    const Id x = test.input(DType::int8, {1, 12, 4}, -5), a = test.conv(x, 4, 1, test.pick(0, 3), -5),
             image = test.tensor(DType::int8, {1, 12, 4, 1}, -5);
    test.node(OpCode::reshape, {a}, {image});
    const Id y = test.tensor(DType::int8, {1, 12 / b, 4 / b, b * b}, -4);
    test.node(OpCode::space_to_depth, {image}, {y}, compiler::BlockOptions{b, false});
    test.graph.outputs = {y};
    test.check({0, 1, 5, 12, 25}, "seed " + std::to_string(seed));
  }
}

TEST(Rearrange, InsertZeros) {
  StreamCase test;
  const Id x = test.input(DType::int8, {1, 3, 2, 2}, -5), y = test.tensor(DType::int8, {1, 6, 3, 2}, -6);
  test.node(OpCode::insert_zeros, {x}, {y}, compiler::InsertZerosOptions{2, 2, 1, 0});
  test.graph.outputs = {y};
  const auto data = counted(12);
  const auto found = test::from_bytes<std::int8_t>(test.whole({test::to_bytes(data)})[0]);
  for (std::size_t h = 0; h < 6; ++h) {
    for (std::size_t w = 0; w < 3; ++w) {
      for (std::size_t c = 0; c < 2; ++c) {
        const int doubled =
            h % 2 == 0 && w % 2 == 0 ? 2 * data[(h / 2 * 2 + w / 2) * 2 + c] : 0;  // one exponent lower
        EXPECT_EQ(found[(h * 3 + w) * 2 + c], std::clamp(doubled, -128, 127)) << h << ' ' << w << ' ' << c;
      }
    }
  }
  test.check({0, 1, 2, 7}, "insert zeros");
}

TEST(Rearrange, Expand) {
  StreamCase test;
  const Id x = test.input(DType::int8, {1, 4, 1}, -5), y = test.tensor(DType::int8, {2, 4, 3}, -5);
  test.node(OpCode::expand, {x}, {y});
  test.graph.outputs = {y};
  EXPECT_EQ(
      test::from_bytes<std::int8_t>(test.whole({test::to_bytes(std::vector<std::int8_t>{1, 2, 3, 4})})[0]),
      (std::vector<std::int8_t>{1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4}));
  test.check({0, 1, 5}, "expand");
}

// Along time after a look-ahead: nearest by repetition, linear between neighbours, by any whole factor.
TEST(Resize, StreamedEqualsWhole) {
  for (unsigned seed = 1; seed <= 24; ++seed) {
    StreamCase test(seed);
    const int factor = test.pick(1, 5), ahead = test.pick(0, 2);
    const Id x = test.input(DType::int8, {1, 9, 3}, -5), a = test.conv(x, 3, 0, ahead, -5),
             y = test.tensor(DType::int8, {1, 9 * factor, 3}, test.pick(-6, -4));
    compiler::ResizeOptions o;
    o.mode = seed % 3 == 0 ? ResizeMode::nearest : ResizeMode::linear;
    o.coordinates = seed % 3 == 1 ? ResizeCoordinates::half_pixel : ResizeCoordinates::asymmetric;
    test.node(OpCode::resize, {a}, {y}, o);
    test.graph.outputs = {test.conv(y, 2, test.pick(0, 2), test.pick(0, 2), -5), y};
    test.check({0, 1, 2, 3, 9, 14}, "seed " + std::to_string(seed));
  }
}

TEST(Resize, IsTheFormula) {
  struct Sizes {
    int height, width, to_height, to_width;
  };
  for (const Sizes& s : {Sizes{4, 5, 8, 10}, {4, 5, 7, 3}, {1, 6, 1, 13}, {6, 1, 3, 4}}) {
    for (const auto coordinates :
         {ResizeCoordinates::asymmetric, ResizeCoordinates::half_pixel, ResizeCoordinates::align_corners}) {
      StreamCase test(3);
      const Id x = test.input(DType::float32, {1, s.height, s.width, 2}),
               y = test.tensor(DType::float32, {1, s.to_height, s.to_width, 2});
      test.node(OpCode::resize, {x}, {y}, compiler::ResizeOptions{ResizeMode::linear, coordinates});
      test.graph.outputs = {y};
      const Bytes data =
          test.random_values(DType::float32, static_cast<std::size_t>(s.height * s.width * 2), 1);
      const auto found = test::from_bytes<float>(test.whole({data})[0]),
                 values = test::from_bytes<float>(data);
      const auto position = [&](int i, int before, int after) {
        if (coordinates == ResizeCoordinates::asymmetric)
          return std::clamp(static_cast<double>(i) * before / after, 0.0, before - 1.0);
        if (coordinates == ResizeCoordinates::half_pixel)
          return std::clamp((i + 0.5) * before / after - 0.5, 0.0, before - 1.0);
        return after == 1 ? 0.0 : static_cast<double>(i) * (before - 1) / (after - 1);
      };
      for (int h = 0; h < s.to_height; ++h) {
        for (int w = 0; w < s.to_width; ++w) {
          const double ph = position(h, s.height, s.to_height), pw = position(w, s.width, s.to_width);
          for (int c = 0; c < 2; ++c) {
            double expected = 0;
            for (int i = 0; i < s.height; ++i) {
              for (int k = 0; k < s.width; ++k) {
                expected += std::max(0.0, 1 - std::abs(ph - i)) * std::max(0.0, 1 - std::abs(pw - k)) *
                            static_cast<double>(values[static_cast<std::size_t>((i * s.width + k) * 2 + c)]);
              }
            }
            EXPECT_NEAR(found[static_cast<std::size_t>((h * s.to_width + w) * 2 + c)], expected, 1e-6)
                << h << ' ' << w << ' ' << c;
          }
        }
      }
    }
  }
}

TEST(Resize, RefusesWhatDependsOnTheLength) {
  StreamCase test;
  const Id x = test.input(DType::int8, {1, 4, 2}, -5), y = test.tensor(DType::int8, {1, 6, 2}, -5);
  test.node(OpCode::resize, {x}, {y},
            compiler::ResizeOptions{ResizeMode::linear, ResizeCoordinates::half_pixel});
  test.graph.outputs = {y};
  EXPECT_NE(test.refusal().find("resizes time from 4 to 6 frames; only whole factors can be streamed"),
            std::string::npos)
      << test.refusal();
  test.graph.tensors[static_cast<std::size_t>(y)].shape = {1, 8, 2};
  EXPECT_EQ(test.refusal(), "");
  std::get<compiler::ResizeOptions>(test.graph.nodes[0].options).coordinates =
      ResizeCoordinates::align_corners;
  EXPECT_NE(test.refusal().find("aligns the corners, which depends on the recording's length"),
            std::string::npos)
      << test.refusal();
}

}  // namespace
}  // namespace runnel
