// Layers of the Ethos-U85 on the kernels of every level of this processor: the bytes of the plain loops.
#include <gtest/gtest.h>

#include <random>

#include "npu/host/encoder/program.h"
#include "npu/host/segment.h"
#include "npu/host/simulator/simulator.h"

namespace runnel::test {
namespace {

using npu::OperationKind;

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  int operator()(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }

 private:
  std::mt19937 random_;
};

npu::FeatureMap map_of(int height, int width, int depth, int element) {
  npu::FeatureMap map;
  map.height = map.height0 = map.height1 = height;
  map.width = map.width0 = width;
  map.depth = depth;
  map.element = static_cast<std::uint8_t>(element);
  map.is_signed = true;
  map.stride_c = element;
  map.stride_x = std::int64_t{element} * depth;
  map.stride_y = map.stride_x * width;
  return map;
}

struct Layer {
  npu::Step step;
  npu::FeatureMap x, y;
};

// A convolution, with a table now and then; 16-bit ones have records of 15 bits.
Layer draw_layer(Draw& draw) {
  Layer layer;
  const bool depthwise = draw(0, 2) == 0, words = draw(0, 3) == 0;
  const int kernel = draw(1, 5), stride = draw(1, 3), out_h = draw(1, 8), out_w = draw(1, 8),
            depth = draw(1, 40), outs = depthwise ? depth : draw(1, 40), element = words ? 2 : 1,
            pad = draw(0, kernel / 2);
  npu::Operation& op = layer.step.op;
  op.kind = depthwise ? OperationKind::depthwise : OperationKind::conv;
  const auto in_size = [&](int out) { return std::max(1, (out - 1) * stride + kernel - 2 * pad); };
  layer.x = op.ifm = map_of(in_size(out_h), in_size(out_w), depth, element);
  layer.y = op.ofm = map_of(out_h, out_w, outs, element);
  op.ifm.zero_point = words ? 0 : draw(-128, 127);
  op.ofm.zero_point = words ? 0 : draw(-128, 127);
  op.kernel.height = op.kernel.width = kernel;
  op.kernel.stride_y = op.kernel.stride_x = stride;
  op.kernel.top = op.kernel.left = pad;
  op.kernel.bottom = (out_h - 1) * stride + kernel - pad - op.ifm.height;
  op.kernel.right = (out_w - 1) * stride + kernel - pad - op.ifm.width;
  op.rounding = words || draw(0, 1) == 0 ? npu::Rounding::natural : npu::Rounding::tfl;
  op.acc_format = words ? 1 : 0;
  const int limit = words ? 32767 : 127;
  op.activation.low = draw(0, 2) == 0 ? -draw(0, limit) : -limit - 1;
  op.activation.high = draw(0, 2) == 0 ? draw(0, limit) : limit;
  op.opa_scale = op.opb_scale = op.ofm_scale = {1, 0};
  if (!words && draw(0, 3) == 0) {
    op.activation.function = npu::Activation::kFirstTable;
    for (int i = 0; i < 256; ++i) layer.step.table.push_back(static_cast<std::byte>(draw(0, 255)));
  }
  const int most = draw(0, 2) == 0 ? 255 : 127, inputs = kernel * kernel * (depthwise ? 1 : depth);
  for (int i = 0; i < outs * inputs; ++i)
    layer.step.weights.push_back(static_cast<std::int16_t>(draw(-most, most)));
  for (int i = 0; i < outs; ++i) {
    const int multiplier = words ? draw(1 << 14, (1 << 15) - 1) : draw(1 << 30, INT32_MAX);
    layer.step.scales.push_back({draw(-100000, 100000), static_cast<std::uint32_t>(multiplier),
                                 static_cast<std::uint8_t>(words ? draw(14, 26) : draw(30, 44))});
  }
  return layer;
}

constexpr const char* kDevices[] = {"ethos-u85-128", "ethos-u85-256", "ethos-u85-512", "ethos-u85-1024",
                                    "ethos-u85-2048"};

// Outputs as stored, and as observers see them.
using Outputs = std::pair<std::vector<std::byte>, std::vector<std::int32_t>>;
Outputs outputs_of(const npu::Segment& segment, Isa isa, unsigned seed) {
  npu::SimulatorOptions options;
  options.isa = isa;
  const auto simulator = npu::Simulator::make(segment, options);
  EXPECT_TRUE(simulator.ok()) << simulator.status().text();
  if (!simulator.ok()) return {};
  Outputs out;
  std::mt19937 random(seed);
  // Twice: the second run finds what the first one has decoded and packed.
  for (int run = 0; run < 2; ++run) {
    for (std::byte& byte : (*simulator)->input(0)) byte = static_cast<std::byte>(random());
    const Status status =
        (*simulator)->run([&](const npu::Operation& op, std::span<const std::int32_t> values) {
          if (npu::convolves(op)) out.second.insert(out.second.end(), values.begin(), values.end());
        });
    EXPECT_TRUE(status.ok()) << status.text();
    const auto bytes = (*simulator)->output(0);
    out.first.insert(out.first.end(), bytes.begin(), bytes.end());
  }
  return out;
}

TEST(U85Kernels, GiveTheBytesOfThePlainLoops) {
  Draw draw(17);
  int computed = 0;
  for (int i = 0; i < 120; ++i) {
    Layer layer = draw_layer(draw);
    if (layer.step.op.kernel.bottom < 0 || layer.step.op.kernel.right < 0) continue;
    npu::ProgramOptions options;
    options.accelerator = *npu::find_accelerator(std::string_view(kDevices[i % 5]));
    npu::Program program(options);
    layer.step.ifm = program.own_region();
    layer.step.ofm = program.own_region();
    program.add(layer.step);
    const auto made = program.finish();
    if (!made.ok()) continue;  // no block fits
    auto segment = npu::read_segment(made->payload);
    ASSERT_TRUE(segment.ok()) << segment.status().text();
    segment->constants = made->constants;
    segment->scratch = made->scratch;
    segment->fast_scratch = made->fast_scratch;
    const auto bytes = [](const npu::FeatureMap& map) {
      return static_cast<std::size_t>(map.stride_y * map.height);
    };
    segment->inputs.push_back({"x", 0, bytes(layer.x), 0, false, npu::kFirstOwn});
    segment->outputs.push_back({"y", 0, bytes(layer.y), 0, false, npu::kFirstOwn + 1});
    const auto seed = static_cast<unsigned>(i);
    const Outputs expected = outputs_of(*segment, Isa::reference, seed);
    ASSERT_FALSE(expected.second.empty());
    for (int level = static_cast<int>(Isa::generic); level <= static_cast<int>(best_isa()); ++level) {
      const auto isa = static_cast<Isa>(level);
      const Outputs found = outputs_of(*segment, isa, seed);
      ASSERT_EQ(found.first, expected.first) << "layer " << i << ", " << name_of(isa);
      ASSERT_EQ(found.second, expected.second) << "layer " << i << ", " << name_of(isa);
    }
    ++computed;
  }
  EXPECT_GT(computed, 60);
}

}  // namespace
}  // namespace runnel::test
