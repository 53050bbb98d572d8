// Transposed convolution: against adding every input into the result; streamed equals whole over random
// kernels, strides, dilations and crops, between layers that see padding; taken apart and put together again.
#include "kernels/conv/transposed_conv.h"

#include "compiler/passes/transposed.h"
#include "tests/inference/ops/stream_case.h"

namespace runnel {
namespace {

using compiler::kAbsent;
using compiler::TransposedConvOptions;
using test::Bytes;
using test::StreamCase;
using Id = compiler::TensorId;

std::int64_t grown(std::int64_t size, int stride, int kernel, int dilation, int crops) {
  return (size - 1) * stride + (kernel - 1) * dilation + 1 - crops;
}

// Random options for a kernel; at least one output for `height` by `width` inputs.
TransposedConvOptions random_options(StreamCase& test, int height, int width, int kernel_height,
                                     int kernel_width) {
  TransposedConvOptions o;
  do {
    o.stride_height = test.pick(1, 4);
    o.stride_width = test.pick(1, 4);
    o.dilation_height = test.pick(1, 3);
    o.dilation_width = test.pick(1, 3);
    o.crop_top = test.pick(0, (kernel_height - 1) * o.dilation_height);
    o.crop_left = test.pick(0, (kernel_width - 1) * o.dilation_width);
    o.crop_bottom = test.pick(-2, (kernel_height - 1) * o.dilation_height);
    o.crop_right = test.pick(-2, (kernel_width - 1) * o.dilation_width);
  } while (grown(height, o.stride_height, kernel_height, o.dilation_height, o.crop_top + o.crop_bottom) < 1 ||
           grown(width, o.stride_width, kernel_width, o.dilation_width, o.crop_left + o.crop_right) < 1);
  return o;
}

template <class T, class Wide>
void check_whole(unsigned seed, DType dtype) {
  StreamCase test(seed);
  const int height = test.pick(1, 5), width = test.pick(1, 6), kh = test.pick(1, 4), kw = test.pick(1, 5),
            groups = test.pick(1, 3);
  const int in = groups * test.pick(1, 3), out = groups * test.pick(1, 4), shift = 6;
  TransposedConvOptions o = random_options(test, height, width, kh, kw);
  o.groups = groups;
  const int out_height =
      static_cast<int>(grown(height, o.stride_height, kh, o.dilation_height, o.crop_top + o.crop_bottom));
  const int out_width =
      static_cast<int>(grown(width, o.stride_width, kw, o.dilation_width, o.crop_left + o.crop_right));
  const Id x = test.input(dtype, {1, height, width, in}, -5),
           w = test.random_constant(dtype, {out, kh, kw, in / groups}, -7, 100);
  const Id bias = test.tensor(sizeof(Wide) == 4 ? DType::int32 : DType::int64, {out});
  std::vector<Wide> biases;
  for (int n = 0; n < out; ++n) biases.push_back(test.pick(-3000, 3000));
  test.graph.tensors[static_cast<std::size_t>(bias)].data = test::to_bytes(biases);
  const Id y = test.tensor(dtype, {1, out_height, out_width, out}, -12 + shift);
  const auto rounding = seed % 2 == 0 ? kernels::Rounding::half_up : kernels::Rounding::half_even;
  test.node(OpCode::transposed_conv, {x, w, bias}, {y}, o, rounding);
  test.graph.outputs = {y};
  const Bytes data = test.random_values(dtype, static_cast<std::size_t>(height * width * in), 120);
  const auto found = test::from_bytes<T>(test.whole({data})[0]);

  const auto values = test::from_bytes<T>(data),
             weights = test::from_bytes<T>(*test.graph.tensors[static_cast<std::size_t>(w)].data);
  std::vector<std::int64_t> sums(static_cast<std::size_t>(out_height * out_width * out));
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = biases[i % static_cast<std::size_t>(out)];
  for (int h = 0; h < height; ++h) {
    for (int v = 0; v < width; ++v) {
      for (int a = 0; a < kh; ++a) {
        for (int b = 0; b < kw; ++b) {
          const int to_h = h * o.stride_height + a * o.dilation_height - o.crop_top,
                    to_w = v * o.stride_width + b * o.dilation_width - o.crop_left;
          if (to_h < 0 || to_h >= out_height || to_w < 0 || to_w >= out_width) continue;
          for (int n = 0; n < out; ++n) {
            for (int c = 0; c < in / groups; ++c) {
              const int channel = n / (out / groups) * (in / groups) + c;
              sums[static_cast<std::size_t>((to_h * out_width + to_w) * out + n)] +=
                  std::int64_t{values[static_cast<std::size_t>((h * width + v) * in + channel)]} *
                  weights[static_cast<std::size_t>(((n * kh + a) * kw + b) * (in / groups) + c)];
            }
          }
        }
      }
    }
  }
  ASSERT_EQ(found.size(), sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    ASSERT_EQ(found[i], kernels::saturate<T>(kernels::round_shift(sums[i], shift, rounding)))
        << "seed " << seed << " element " << i;
  }
}

TEST(TransposedConv, AddsEveryInputOnce) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    check_whole<std::int8_t, std::int32_t>(seed, DType::int8);
    check_whole<std::int16_t, std::int64_t>(seed, DType::int16);
  }
}

TEST(TransposedConv, StreamedEqualsWhole) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    StreamCase test(seed);
    const int frames = 20, kernel = test.pick(1, 6), channels = test.pick(1, 3);
    Id x = test.input(DType::int8, {1, frames, channels}, -5);
    if (test.pick(0, 1) == 1) x = test.conv(x, channels, test.pick(0, 2), test.pick(0, 2), -5);
    TransposedConvOptions o = random_options(test, 1, frames, 1, kernel);
    o.stride_height = o.dilation_height = 1;
    o.crop_top = o.crop_bottom = 0;
    const int length =
        static_cast<int>(grown(frames, o.stride_width, kernel, o.dilation_width, o.crop_left + o.crop_right));
    const Id w = test.random_constant(DType::int8, {2, 1, kernel, channels}, -7),
             y = test.tensor(DType::int8, {1, length, 2}, -5);
    const Id bias = test.constant<std::int32_t>(DType::int32, {2}, {900, -700});
    test.node(OpCode::transposed_conv, {x, w, bias}, {y}, o);
    // What follows sees padding where the result ends: nothing beyond it may be taken for data.
    test.graph.outputs = {test.conv(y, 2, test.pick(0, 3), test.pick(0, 3), -5)};
    if (seed % 3 == 0) test.graph.outputs.push_back(y);
    test.check({0, 1, 2, 3, 7, 20, 31}, "seed " + std::to_string(seed));
  }
}

TEST(TransposedConv, TwoDimensionalStreamsAlongHeight) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    StreamCase test(seed);
    const int kh = test.pick(1, 4), kw = test.pick(1, 3);
    const TransposedConvOptions o = random_options(test, 9, 4, kh, kw);
    const int height =
        static_cast<int>(grown(9, o.stride_height, kh, o.dilation_height, o.crop_top + o.crop_bottom));
    const int width =
        static_cast<int>(grown(4, o.stride_width, kw, o.dilation_width, o.crop_left + o.crop_right));
    const Id x = test.input(DType::int8, {1, 9, 4, 2}, -5),
             w = test.random_constant(DType::int8, {3, kh, kw, 2}, -7),
             y = test.tensor(DType::int8, {1, height, width, 3}, -5);
    test.node(OpCode::transposed_conv, {x, w, kAbsent}, {y}, o);
    test.graph.outputs = {y};
    test.check({1, 4, 9, 15}, "seed " + std::to_string(seed));
  }
}

TEST(TransposedConv, KernelEqualsReference) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    StreamCase test(seed);
    kernels::TransposedConvSpec spec;
    spec.groups = test.pick(1, 2);
    spec.in_channels = spec.groups * test.pick(1, 9);
    spec.out_channels = spec.groups * test.pick(1, 19);
    for (kernels::TransposedAxis* axis : {&spec.height, &spec.width}) {
      *axis = {test.pick(1, 5), test.pick(1, 9), test.pick(1, 4),
               test.pick(1, 3), test.pick(1, 3), test.pick(-2, 4)};
    }
    const std::int32_t shift = 5;
    spec.requant.shift = &shift;
    const auto count = [](std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d) {
      return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c) *
             static_cast<std::size_t>(d);
    };
    const Bytes weights = test.random_values(
        DType::int8,
        count(spec.out_channels, spec.height.kernel, spec.width.kernel, spec.in_channels / spec.groups), 127);
    const Bytes x =
        test.random_values(DType::int8, count(spec.height.in, spec.width.in, spec.in_channels, 1), 127);
    spec.weights = weights.data();
    Bytes expected(count(spec.height.out, spec.width.out, spec.out_channels, 1)), found(expected.size());
    HeapMemory memory;
    kernels::TransposedConv conv;
    ASSERT_TRUE(kernels::prepare_transposed_conv(spec, memory, conv).ok());
    std::vector<std::int64_t> scratch(conv.scratch_bytes / 8 + 1);
    kernels::transposed_conv_reference(spec, x.data(), expected.data());
    kernels::run_transposed_conv(conv, x.data(), found.data(), scratch.data());
    EXPECT_EQ(found, expected) << "seed " << seed;
  }
}

TEST(TransposedConv, PutsTogetherWhatWasTakenApart) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    StreamCase test(seed);
    const int stride = test.pick(1, 4), kernel = test.pick(1, 5), frames = 7,
              after = test.pick(0, stride - 1), spread = (frames - 1) * stride + 1 + after;
    compiler::ConvOptions o;
    o.dilation_width = test.pick(1, 2);
    const int extent = (kernel - 1) * o.dilation_width + 1;
    o.pad_left = test.pick(0, extent - 1);
    o.pad_right = test.pick(0, extent);
    const int length = spread + o.pad_left + o.pad_right - extent + 1;
    if (length < 1) continue;
    const Id x = test.input(DType::int8, {1, frames, 3}, -5),
             z = test.tensor(DType::int8, {1, spread, 3}, -5),
             y = test.tensor(DType::int8, {1, length, 4}, -5);
    test.node(OpCode::insert_zeros, {x}, {z}, compiler::InsertZerosOptions{1, stride, 0, after});
    test.node(OpCode::conv, {z, test.random_constant(DType::int8, {4, 1, kernel, 3}, -7), kAbsent}, {y}, o);
    test.graph.outputs = {y};
    StreamCase folded = test;
    compiler::fold_inserted_zeros(folded.graph);
    ASSERT_EQ(folded.graph.nodes.size(), 1u) << "seed " << seed;
    EXPECT_EQ(folded.graph.nodes[0].code, OpCode::transposed_conv);
    const Bytes data = test.random_values(DType::int8, frames * 3, 127);
    EXPECT_EQ(folded.whole({data}), test.whole({data})) << "seed " << seed;
    folded.check({0, 1, 2, 9}, "put together, seed " + std::to_string(seed));
    test.check({0, 1, 2, 9}, "apart, seed " + std::to_string(seed));
  }
}

TEST(TransposedConv, LeavesZerosThatOthersRead) {
  StreamCase test(1);
  const Id x = test.input(DType::int8, {1, 4, 3}, -5), z = test.tensor(DType::int8, {1, 7, 3}, -5);
  test.node(OpCode::insert_zeros, {x}, {z}, compiler::InsertZerosOptions{1, 2, 0, 0});
  test.graph.outputs = {test.conv(z, 2, 1, 1, -5), z};
  compiler::fold_inserted_zeros(test.graph);
  EXPECT_EQ(test.graph.nodes.size(), 2u);
}

TEST(TransposedConv, RefusesCropsInFrontOfTheResult) {
  StreamCase test(1);
  const Id x = test.input(DType::int8, {1, 4, 3}, -5), y = test.tensor(DType::int8, {1, 6, 2}, -5);
  TransposedConvOptions o;
  o.crop_left = -2;
  test.node(OpCode::transposed_conv, {x, test.random_constant(DType::int8, {2, 1, 1, 3}, -7), kAbsent}, {y},
            o);
  test.graph.outputs = {y};
  EXPECT_NE(test.refusal().find("a crop of -2 in front, expected 0 to 4096"), std::string::npos)
      << test.refusal();
}

}  // namespace
}  // namespace runnel
