// Hand-made convolutions against sums by definition, on every accelerator: both orders of weights, strides,
// dilations, padding, types, layouts, upscaling, one and two cores.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ostream>
#include <random>

#include "npu/host/simulator/simulator.h"
#include "tests/npu/stream_maker.h"

namespace runnel::test {
namespace {

using npu::Kernel;
using npu::Long;
using npu::Short;

struct Device {
  const char* name;
  std::uint32_t config;
  int ofm_ublock, cores;
};
std::ostream& operator<<(std::ostream& out, const Device& device) { return out << device.name; }
const Device kDevices[] = {{"u55-32", 0x1005, 4, 1},      {"u55-64", 0x1006, 8, 1},
                           {"u55-128", 0x1807, 8, 1},     {"u55-256", 0x3008, 8, 1},
                           {"u65-256", 0x10003008, 8, 1}, {"u65-512", 0x10006009, 8, 2}};

struct Case {
  bool depthwise = false;
  int height = 1, width = 1, depth = 1, outs = 1;  // of the input, without upscaling; output channels
  Kernel kernel;                                   // sizes with dilation
  int upscale = 0;
  int element = 1;
  bool blocked_in = false, blocked_out = false;
  int zero_in = 0, zero_out = 0;
  int block_depth = 16;
  int most_weight = 255;  // up to 127 kernels of this processor compute it
};

int taps(int size, int dilation) { return (size - 1) / dilation + 1; }
int out_size(int in, int kernel, int stride, int pads) { return (in + pads - kernel) / stride + 1; }

// Weights [out][ky][kx][in] in stream order, filler as zeros: the loops of the hardware, outermost first.
std::vector<std::int16_t> in_stream_order(const Case& c, const std::vector<std::int16_t>& weights, int outs,
                                          int block_depth, int ofm_ublock) {
  const int kh = taps(c.kernel.height, c.kernel.dilation_y), kw = taps(c.kernel.width, c.kernel.dilation_x);
  const int depth = c.depthwise ? 1 : c.depth;
  const bool part = c.kernel.part_kernel && !c.depthwise;
  const int ifm_block = part || c.element == 2 ? 16 : 32;
  std::vector<std::int16_t> out;
  for (int ob = 0; ob < outs; ob += block_depth)
    for (int ib = 0; ib < depth; ib += ifm_block)
      for (int sy = 0; sy < kh; sy += 8 / c.kernel.dilation_y)
        for (int sx = 0; sx < kw; sx += 8 / c.kernel.dilation_x) {
          const int h = std::min(8 / c.kernel.dilation_y, kh - sy),
                    w = std::min(8 / c.kernel.dilation_x, kw - sx);
          int elements = h * w;
          const int step = part ? (c.element == 2 ? 2 : 4) : c.depthwise ? 4 : 1;
          elements = (elements + step - 1) / step * step;
          const int clipped = std::min(ifm_block, depth - ib);
          for (int outer = 0; outer < (part ? clipped : 1); outer += 8)
            for (int ou = 0; ou < std::min(block_depth, outs - ob); ou += ofm_ublock)
              for (int e = 0; e < elements; ++e)
                for (int inner = 0; inner < (part || c.depthwise ? 1 : ifm_block); inner += 8)
                  for (int o = 0; o < ofm_ublock; ++o)
                    for (int i = 0; i < (c.depthwise ? 1 : 8); ++i) {
                      const int oc = ob + ou + o, ic = ib + outer + inner + i, ky = sy + e / w,
                                kx = sx + e % w;
                      const bool real = oc < outs && ic < depth && e / w < h;
                      out.push_back(
                          real ? weights[static_cast<std::size_t>(((oc * kh + ky) * kw + kx) * depth + ic)]
                               : std::int16_t{0});
                    }
        }
  return out;
}

std::int64_t load(const std::byte* from, int element) {
  if (element == 1) return static_cast<std::int8_t>(*from);
  std::int16_t value;
  std::memcpy(&value, from, 2);
  return value;
}

void check(const Device& device, const Case& c, std::mt19937& random) {
  const int kh = taps(c.kernel.height, c.kernel.dilation_y), kw = taps(c.kernel.width, c.kernel.dilation_x),
            depth = c.depthwise ? 1 : c.depth;
  const int in_height = c.upscale != 0 ? 2 * c.height : c.height,
            in_width = c.upscale != 0 ? 2 * c.width : c.width;
  MapSpec in{c.height, c.width, c.depth, c.element, true, c.blocked_in, c.zero_in, 0};
  MapSpec out{out_size(in_height, c.kernel.height, c.kernel.stride_y, c.kernel.top + c.kernel.bottom),
              out_size(in_width, c.kernel.width, c.kernel.stride_x, c.kernel.left + c.kernel.right),
              c.outs,
              c.element,
              true,
              c.blocked_out,
              c.zero_out,
              static_cast<std::int64_t>((in.bytes() + 15) / 16 * 16)};
  // The padding that makes the sizes fit exactly.
  Kernel kernel = c.kernel;
  kernel.bottom = (out.height - 1) * kernel.stride_y + kernel.height - kernel.top - in_height;
  kernel.right = (out.width - 1) * kernel.stride_x + kernel.width - kernel.left - in_width;
  if (kernel.bottom < 0 || kernel.right < 0)
    return;  // rows that no window reaches, which registers cannot express
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  std::vector<std::int16_t> weights(static_cast<std::size_t>(c.outs * kh * kw * depth));
  for (auto& weight : weights) weight = static_cast<std::int16_t>(pick(-c.most_weight, c.most_weight));
  std::vector<std::int64_t> biases;
  std::vector<std::uint32_t> multipliers;
  std::vector<int> shifts;
  std::vector<std::byte> constants;
  struct Stream {
    std::int64_t base, length;
  };
  std::vector<Stream> weight_streams, scale_streams;
  for (int i = 0; i < c.outs; ++i) {
    biases.push_back(pick(-100000, 100000));
    multipliers.push_back(static_cast<std::uint32_t>(pick(1 << 30, (1 << 30) + 100000000)));
    shifts.push_back(pick(36, 42));
  }
  const auto pad16 = [&] { constants.resize((constants.size() + 15) / 16 * 16); };
  for (int core = 0; core < device.cores; ++core) {
    std::vector<std::int16_t> own;
    const std::size_t scales_at = constants.size();
    int own_outs = 0;
    for (int oc = core; oc < c.outs; oc += device.cores, ++own_outs) {
      const std::size_t each = static_cast<std::size_t>(kh * kw * depth);
      own.insert(own.end(),
                 weights.begin() + static_cast<std::ptrdiff_t>(each * static_cast<std::size_t>(oc)),
                 weights.begin() + static_cast<std::ptrdiff_t>(each * static_cast<std::size_t>(oc + 1)));
      append_scale_record(constants, biases[static_cast<std::size_t>(oc)],
                          multipliers[static_cast<std::size_t>(oc)], shifts[static_cast<std::size_t>(oc)]);
    }
    pad16();
    scale_streams.push_back(
        {static_cast<std::int64_t>(scales_at), static_cast<std::int64_t>(constants.size() - scales_at)});
    const int own_block = (c.block_depth + device.cores - 1 - core) / device.cores;
    const auto stream = own_outs == 0
                            ? std::vector<std::byte>()
                            : plain_weights(in_stream_order(c, own, own_outs, own_block, device.ofm_ublock));
    weight_streams.push_back(
        {static_cast<std::int64_t>(constants.size()), static_cast<std::int64_t>(stream.size())});
    constants.insert(constants.end(), stream.begin(), stream.end());
  }
  const std::size_t scratch = static_cast<std::size_t>(out.base) + out.bytes();
  StreamMaker maker(device.config);
  maker.ifm(in)
      .ofm(out, npu::Rounding::natural, false, c.block_depth)
      .kernel(kernel)
      .set(Short::ifm_upscale, c.upscale);
  maker.set(Short::acc_format, c.element == 2 ? 1 : 0);
  maker.set(Short::weight_region, 0).set(Short::scale_region, 0);
  maker.set(Long::weight_base, weight_streams[0].base).set(Long::weight_length, weight_streams[0].length, 0);
  maker.set(Long::scale_base, scale_streams[0].base).set(Long::scale_length, scale_streams[0].length, 0);
  if (device.cores == 2) {
    maker.set(Short::parallel_mode, 1);
    maker.set(Long::weight1_base, weight_streams[1].base)
        .set(Long::weight1_length, weight_streams[1].length, 0);
    maker.set(Long::scale1_base, scale_streams[1].base).set(Long::scale1_length, scale_streams[1].length, 0);
  }
  maker.op(c.depthwise ? npu::OpCode::depthwise : npu::OpCode::conv);
  const auto payload = maker.payload();
  const auto segment = segment_of(payload, constants, scratch);
  ASSERT_TRUE(segment.ok()) << segment.status().text();
  const auto simulator = npu::Simulator::make(*segment);
  ASSERT_TRUE(simulator.ok()) << simulator.status().text();
  const auto memory = (*simulator)->region(npu::kScratch);
  for (std::byte& byte : memory) byte = static_cast<std::byte>(random());
  const std::vector<std::byte> before(memory.begin(), memory.end());
  const Status status = (*simulator)->run();
  ASSERT_TRUE(status.ok()) << status.text();
  for (int y = 0; y < out.height; ++y)
    for (int x = 0; x < out.width; ++x)
      for (int oc = 0; oc < c.outs; ++oc) {
        std::int64_t sum = biases[static_cast<std::size_t>(oc)];
        for (int ky = 0; ky < kh; ++ky)
          for (int kx = 0; kx < kw; ++kx) {
            const int iy = y * kernel.stride_y + ky * kernel.dilation_y - kernel.top,
                      ix = x * kernel.stride_x + kx * kernel.dilation_x - kernel.left;
            if (iy < 0 || ix < 0 || iy >= in_height || ix >= in_width) continue;
            if (c.upscale == 2 && (iy % 2 != 0 || ix % 2 != 0)) continue;
            const int sy = c.upscale != 0 ? iy / 2 : iy, sx = c.upscale != 0 ? ix / 2 : ix;
            for (int ic = 0; ic < depth; ++ic) {
              const std::int64_t value =
                  load(before.data() + in.base + in.at(sy, sx, c.depthwise ? oc : ic), c.element) - c.zero_in;
              sum += value * weights[static_cast<std::size_t>(((oc * kh + ky) * kw + kx) * depth + ic)];
            }
          }
        // All shifts are above 31 here; ties to plus infinity.
        const double exact = static_cast<double>(sum) * multipliers[static_cast<std::size_t>(oc)] /
                             static_cast<double>(std::int64_t{1} << shifts[static_cast<std::size_t>(oc)]);
        std::int64_t expected = static_cast<std::int64_t>(std::floor(exact + 0.5)) + c.zero_out;
        const std::int64_t limit = c.element == 1 ? 127 : 32767;
        expected = std::min(limit, std::max(-limit - 1, expected));
        const std::int64_t found = load(memory.data() + out.base + out.at(y, x, oc), c.element);
        ASSERT_EQ(found, expected) << device.name << " at " << y << ',' << x << ',' << oc << " depthwise "
                                   << c.depthwise << " kernel " << kernel.height << 'x' << kernel.width
                                   << " depth " << c.depth << " outs " << c.outs << " part-kernel "
                                   << kernel.part_kernel;
      }
}

Case random_case(std::mt19937& random) {
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  Case c;
  c.depthwise = pick(0, 2) == 0;
  c.height = pick(1, 9);
  c.width = pick(1, 9);
  c.depth = pick(0, 3) == 0 ? pick(30, 70) : pick(1, 20);
  c.outs = c.depthwise ? c.depth : pick(1, 40);
  c.kernel.dilation_y = pick(1, 2);
  c.kernel.dilation_x = pick(1, 2);
  c.kernel.height = (pick(1, 10) - 1) * c.kernel.dilation_y + 1;
  c.kernel.width = (pick(1, 4) - 1) * c.kernel.dilation_x + 1;
  c.kernel.stride_y = pick(1, 3);
  c.kernel.stride_x = pick(1, 3);
  c.kernel.top = pick(0, c.kernel.height - 1);
  c.kernel.left = pick(0, c.kernel.width - 1);
  c.kernel.bottom = std::max(0, c.kernel.height - 1 - c.kernel.top + pick(0, 1));
  c.kernel.right = std::max(0, c.kernel.width - 1 - c.kernel.left + pick(0, 1));
  c.kernel.part_kernel = pick(0, 1) == 1;
  c.upscale = pick(0, 3) == 0 ? pick(1, 2) : 0;
  c.element = pick(1, 2);
  c.blocked_in = pick(0, 1) == 1;
  c.blocked_out = pick(0, 1) == 1;
  c.zero_in = pick(-128, 127);
  c.zero_out = pick(-128, 127);
  c.block_depth = 8 * pick(1, 5);
  c.most_weight = pick(0, 1) == 0 ? 127 : 255;
  return c;
}

class Convolutions : public testing::TestWithParam<Device> {};
TEST_P(Convolutions, AreTheirDefinition) {
  std::mt19937 random(7);
  for (int i = 0; i < 150 && !HasFatalFailure(); ++i) check(GetParam(), random_case(random), random);
}
INSTANTIATE_TEST_SUITE_P(Devices, Convolutions, testing::ValuesIn(kDevices));

}  // namespace
}  // namespace runnel::test
