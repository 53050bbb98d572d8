// Convolutions of an NPU on the kernels of this processor: exactly the definition, over awkward shapes,
// scales and types; and not at all where that cannot be.
#include "npu/host/simulator/kernel_convolution.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "npu/arithmetic.h"
#include "npu/host/simulator/feature_map.h"

namespace runnel::test {
namespace {

using npu::KernelConvolution;
using npu::KernelOutput;
using npu::Operation;
using npu::Rounding;
using npu::ScaleRecord;

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  int operator()(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }

 private:
  std::mt19937 random_;
};

struct Case {
  Operation op;
  std::vector<std::int16_t> weights;
  std::vector<ScaleRecord> scales;
  KernelOutput output;
};

// One axis: sizes, stride and padding that fit each other.
void draw_axis(Draw& draw, std::int32_t& in, std::int32_t& out, std::int32_t& kernel, std::int32_t& stride,
               std::int32_t& dilation, std::int32_t& before, std::int32_t& after) {
  do {
    dilation = draw(1, 2);
    kernel = (draw(1, 5) - 1) * dilation + 1;
    stride = draw(1, 3);
    out = draw(1, 9);
    before = draw(0, kernel - 1);
    after = draw(0, kernel - 1);
    in = (out - 1) * stride + kernel - before - after;
  } while (in < 1);
}

Case draw_case(Draw& draw) {
  Case c;
  c.op.kind = draw(0, 1) == 0 ? npu::OperationKind::conv : npu::OperationKind::depthwise;
  npu::Kernel& kernel = c.op.kernel;
  draw_axis(draw, c.op.ifm.height, c.op.ofm.height, kernel.height, kernel.stride_y, kernel.dilation_y,
            kernel.top, kernel.bottom);
  draw_axis(draw, c.op.ifm.width, c.op.ofm.width, kernel.width, kernel.stride_x, kernel.dilation_x,
            kernel.left, kernel.right);
  c.op.ifm.depth = draw(0, 3) == 0 ? draw(30, 70) : draw(1, 20);
  c.op.ofm.depth = c.op.kind == npu::OperationKind::conv ? draw(1, 40) : c.op.ifm.depth;
  c.op.ifm.element = static_cast<std::uint8_t>(draw(0, 3) == 0 ? 2 : 1);
  c.output.element = static_cast<std::uint8_t>(draw(0, 3) == 0 ? 2 : 1);
  c.op.ifm.is_signed = draw(0, 1) == 0;
  c.output.is_signed = draw(0, 1) == 0;
  c.output.accumulator_bits = draw(0, 1) == 0 ? 40 : 48;
  const auto range_of = [](int element) { return (1 << 8 * element) - 1; };
  const int in_range = range_of(c.op.ifm.element), out_range = range_of(c.output.element),
            in_least = c.op.ifm.is_signed ? -(in_range / 2) - 1 : 0,
            out_least = c.output.is_signed ? -(out_range / 2) - 1 : 0;
  c.op.ifm.zero_point = draw(in_least, in_least + in_range);
  c.output.zero_point = draw(out_least, out_least + out_range);
  c.output.low = draw(0, 2) == 0 ? draw(out_least, out_least + out_range) : out_least;
  c.output.high =
      draw(0, 2) == 0 ? draw(static_cast<int>(c.output.low), out_least + out_range) : out_least + out_range;
  c.output.rounding = draw(0, 1) == 0 ? Rounding::tfl : Rounding::natural;
  const int row =
      kernel.taps_y() * kernel.taps_x() * (c.op.kind == npu::OperationKind::conv ? c.op.ifm.depth : 1);
  const int most_weight = draw(0, 2) == 0 ? 255 : 127;
  for (int i = 0; i < c.op.ofm.depth * row; ++i)
    c.weights.push_back(static_cast<std::int16_t>(draw(-most_weight, most_weight)));
  const int least = draw(0, 4) == 0 ? 0 : 35, most = draw(0, 4) == 0 ? 63 : 44;  // shifts
  for (int i = 0; i < c.op.ofm.depth; ++i) {
    const int multiplier = draw(0, 5) == 0 ? draw(0, 100000) : draw(1 << 30, INT32_MAX);
    c.scales.push_back({draw(-100000, 100000), static_cast<std::uint32_t>(multiplier),
                        static_cast<std::uint8_t>(draw(least, most))});
  }
  // A gap after each row, now and then.
  npu::FeatureMap& x = c.op.ifm;
  x.width0 = x.width;
  x.height0 = x.height1 = x.height;
  x.stride_c = x.element;
  x.stride_x = std::int64_t{x.element} * x.depth;
  x.stride_y = x.stride_x * x.width + (draw(0, 1) == 0 ? 6 : 0);
  return c;
}

std::int64_t input_at(const npu::FeatureMap& map, const std::vector<std::byte>& memory, int y, int x,
                      int channel) {
  const std::byte* const from =
      memory.data() + y * map.stride_y + x * map.stride_x + std::int64_t{channel} * map.element;
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, map.element);
  if (!map.is_signed) return bits;
  return map.element == 1 ? static_cast<std::int8_t>(bits) : static_cast<std::int16_t>(bits);
}

// By definition.
std::int64_t element(const Case& c, const std::vector<std::byte>& input, int y, int x, int channel) {
  const npu::Kernel& k = c.op.kernel;
  const bool depthwise = c.op.kind == npu::OperationKind::depthwise;
  const int depth = depthwise ? 1 : c.op.ifm.depth;
  std::int64_t sum = c.scales[static_cast<std::size_t>(channel)].bias;
  for (int ky = 0; ky < k.taps_y(); ++ky) {
    for (int kx = 0; kx < k.taps_x(); ++kx) {
      const int iy = y * k.stride_y + ky * k.dilation_y - k.top,
                ix = x * k.stride_x + kx * k.dilation_x - k.left;
      if (iy < 0 || ix < 0 || iy >= c.op.ifm.height || ix >= c.op.ifm.width) continue;
      for (int i = 0; i < depth; ++i) {
        const std::int64_t value = input_at(c.op.ifm, input, iy, ix, depthwise ? channel : i);
        sum +=
            (value - c.op.ifm.zero_point) *
            c.weights[static_cast<std::size_t>(((channel * k.taps_y() + ky) * k.taps_x() + kx) * depth + i)];
      }
    }
  }
  const ScaleRecord& scale = c.scales[static_cast<std::size_t>(channel)];
  const npu::Wide scaled = npu::scale_and_round(sum, {scale.multiplier, scale.shift}, c.output.rounding);
  return npu::clamp_between(scaled + c.output.zero_point, c.output.low, c.output.high);
}

std::vector<Isa> levels() {
  std::vector<Isa> all;
  for (int level = static_cast<int>(Isa::generic); level <= static_cast<int>(best_isa()); ++level)
    all.push_back(static_cast<Isa>(level));
  return all;
}

TEST(KernelConvolution, IsTheDefinition) {
  Draw draw(85);
  int made = 0, words = 0;
  for (int i = 0; i < 400; ++i) {
    const Case c = draw_case(draw);
    const Isa isa = levels()[static_cast<std::size_t>(i) % levels().size()];
    const auto kernel = KernelConvolution::make(c.op, c.weights, c.scales, c.output, isa);
    if (kernel == nullptr) continue;  // only plain loops would compute it
    ++made;
    words += c.op.ifm.element == 2 || c.output.element == 2 ? 1 : 0;
    std::vector<std::byte> input(static_cast<std::size_t>(c.op.ifm.stride_y * c.op.ifm.height));
    std::vector<std::int64_t> found;
    for (int run = 0; run < 2; ++run) {
      for (std::byte& byte : input) byte = static_cast<std::byte>(draw(0, 255));
      kernel->run(input);
      ASSERT_EQ(kernel->results().size(), npu::elements_of(c.op.ofm) * c.output.element);
      kernel->values(found);
      std::size_t at = 0;
      for (int y = 0; y < c.op.ofm.height; ++y)
        for (int x = 0; x < c.op.ofm.width; ++x)
          for (int channel = 0; channel < c.op.ofm.depth; ++channel)
            ASSERT_EQ(found[at++], element(c, input, y, x, channel))
                << "case " << i << " at " << y << ", " << x << ", " << channel << ", depthwise "
                << (c.op.kind == npu::OperationKind::depthwise) << ", rounding "
                << static_cast<int>(c.output.rounding) << ", " << name_of(isa);
    }
  }
  EXPECT_GT(made, 300);
  EXPECT_GT(words, 60);
}

TEST(KernelConvolution, LeavesWhatIsNotExactToPlainLoops) {
  Draw draw(3);
  Case plain = draw_case(draw);
  while (plain.op.kind != npu::OperationKind::conv || plain.op.ifm.element == 2 || plain.output.element == 2)
    plain = draw_case(draw);
  const auto made = [](const Case& c) {
    return KernelConvolution::make(c.op, c.weights, c.scales, c.output, Isa::generic) != nullptr;
  };
  ASSERT_TRUE(made(plain));
  const auto expect_refused = [&](const char* why, const auto& change) {
    Case c = plain;
    change(c);
    EXPECT_FALSE(made(c)) << why;
  };
  expect_refused("truncation", [](Case& c) { c.output.rounding = Rounding::truncate; });
  expect_refused("upscaling", [](Case& c) { c.op.upscale = npu::Upscale::nearest; });
  expect_refused("an input of 32 bits", [](Case& c) { c.op.ifm.element = 4; });
  expect_refused("an output of 32 bits", [](Case& c) { c.output.element = 4; });
  expect_refused("an input inside the accelerator", [](Case& c) { c.op.ifm.width0 = 0; });
  expect_refused("sums that wrap",
                 [](Case& c) { c.output.accumulator_bits = 32, c.scales[0].bias = INT32_MAX; });
  expect_refused("sums that wrap at 40 bits", [](Case& c) {
    c.output.accumulator_bits = 40, c.scales[0].bias = (std::int64_t{1} << 39) - 1;
  });
  expect_refused("a multiplier of 32 bits", [](Case& c) { c.scales[0].multiplier = 1u << 31; });
  expect_refused("limits beyond the type", [](Case& c) { c.output.high += 100000; });
  expect_refused("swapped limits", [](Case& c) { c.output.low = 5, c.output.high = 4; });
  expect_refused("a zero point beyond the type", [](Case& c) { c.op.ifm.zero_point = 100000; });
  expect_refused("a zero point at the end of integers", [](Case& c) { c.op.ifm.zero_point = INT32_MIN; });
  expect_refused("missing weights", [](Case& c) { c.weights.pop_back(); });
  expect_refused("a window that leaves out a row",
                 [](Case& c) { c.op.kernel.bottom = 1, c.op.ifm.height += 1; });
}

}  // namespace
}  // namespace runnel::test
