// Layers on the kernels of every level of this processor: the bytes of the plain loops. Of the Ethos-U85, and
// element-wise ones of the U55, too.
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
  op.ifm = map_of(in_size(out_h), in_size(out_w), depth, element);
  op.ofm = map_of(out_h, out_w, outs, element);
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
    for (std::size_t i = 0; i < segment.inputs.size(); ++i) {
      for (std::byte& byte : (*simulator)->input(i)) byte = static_cast<std::byte>(random());
    }
    const Status status = (*simulator)->run([&](const npu::Operation&, std::span<const std::int32_t> values) {
      out.second.insert(out.second.end(), values.begin(), values.end());
    });
    EXPECT_TRUE(status.ok()) << status.text();
    const auto bytes = (*simulator)->output(0);
    out.first.insert(out.first.end(), bytes.begin(), bytes.end());
  }
  return out;
}

std::size_t bytes_of(const npu::FeatureMap& map) {
  return static_cast<std::size_t>(map.stride_y * map.height);
}

// False where the device has no block or no form of it.
bool compare(Layer layer, const char* device, unsigned seed) {
  npu::ProgramOptions options;
  options.accelerator = *npu::find_accelerator(std::string_view(device));
  npu::Program program(options);
  const npu::Operation op = layer.step.op;
  layer.step.ifm = program.own_region();
  if (op.has_ifm2) layer.step.ifm2 = program.own_region();
  layer.step.ofm = program.own_region();
  program.add(layer.step);
  const auto made = program.finish();
  if (!made.ok()) return false;
  auto segment = npu::read_segment(made->payload);
  EXPECT_TRUE(segment.ok()) << segment.status().text();
  if (!segment.ok()) return false;
  segment->constants = made->constants;
  segment->scratch = made->scratch;
  segment->fast_scratch = made->fast_scratch;
  std::uint8_t region = npu::kFirstOwn;
  segment->inputs.push_back({"x", 0, bytes_of(op.ifm), 0, false, region++});
  if (op.has_ifm2) segment->inputs.push_back({"z", 0, bytes_of(op.ifm2), 0, false, region++});
  segment->outputs.push_back({"y", 0, bytes_of(op.ofm), 0, false, region});
  const Outputs expected = outputs_of(*segment, Isa::reference, seed);
  EXPECT_FALSE(expected.second.empty());
  for (int level = static_cast<int>(Isa::generic); level <= static_cast<int>(best_isa()); ++level) {
    const auto isa = static_cast<Isa>(level);
    const Outputs found = outputs_of(*segment, isa, seed);
    EXPECT_TRUE(found.first == expected.first && found.second == expected.second)
        << "layer " << seed << ", " << device << ", " << name_of(isa) << ", " << npu::name_of(op);
  }
  return true;
}

TEST(U85Kernels, GiveTheBytesOfThePlainLoops) {
  Draw draw(17);
  int computed = 0;
  for (unsigned i = 0; i < 120; ++i) {
    const Layer layer = draw_layer(draw);
    if (layer.step.op.kernel.bottom < 0 || layer.step.op.kernel.right < 0) continue;
    computed += compare(layer, kDevices[i % 5], i) ? 1 : 0;
  }
  EXPECT_GT(computed, 60);
}

// Sums, differences, products, and the larger and smaller one, as TensorFlow Lite's models and others have
// them.
Layer draw_pair(Draw& draw) {
  Layer layer;
  npu::Operation& op = layer.step.op;
  constexpr npu::ElementwiseMode kModes[] = {npu::ElementwiseMode::add, npu::ElementwiseMode::sub,
                                             npu::ElementwiseMode::mul, npu::ElementwiseMode::min,
                                             npu::ElementwiseMode::max};
  const auto mode = kModes[draw(0, 4)];
  const bool words = draw(0, 3) == 0,
             extreme = mode == npu::ElementwiseMode::min || mode == npu::ElementwiseMode::max,
             sum = mode == npu::ElementwiseMode::add || mode == npu::ElementwiseMode::sub;
  const int height = draw(1, 6), width = draw(1, 6), depth = draw(1, 70), element = words ? 2 : 1;
  op.kind = OperationKind::elementwise;
  op.mode = static_cast<std::uint8_t>(mode);
  op.ifm = op.ofm = map_of(height, width, depth, element);
  op.has_ifm2 = true;
  op.broadcast = static_cast<std::uint8_t>(draw(0, 1) == 0 ? 0 : draw(0, 7));
  op.ifm2 = map_of((op.broadcast & 1) != 0 ? 1 : height, (op.broadcast & 2) != 0 ? 1 : width,
                   (op.broadcast & 4) != 0 ? 1 : depth, element);
  const auto zero = [&] { return words ? 0 : draw(-128, 127); };
  op.ifm.zero_point = zero();
  op.ifm2.zero_point = extreme && draw(0, 3) > 0 ? op.ifm.zero_point : zero();
  op.ofm.zero_point = extreme && draw(0, 3) > 0 ? op.ifm.zero_point : zero();
  op.rounding = draw(0, 2) == 0 ? npu::Rounding::natural : npu::Rounding::tfl;
  const int limit = words ? 32767 : 127;
  op.activation.low = draw(0, 2) == 0 ? -draw(0, limit) : -limit - 1;
  op.activation.high = draw(0, 2) == 0 ? draw(0, limit) : limit;
  const auto factor = [&] { return static_cast<std::uint32_t>(draw(1 << 30, INT32_MAX)); };
  const auto shift = [&](int least, int most) { return static_cast<std::uint8_t>(draw(least, most)); };
  op.opa_scale = op.opb_scale = op.ofm_scale = {1, 0};
  if (mode == npu::ElementwiseMode::mul) op.ofm_scale = {factor(), words ? shift(40, 48) : shift(30, 40)};
  if (sum) {
    op.operand_to_scale = static_cast<std::uint8_t>(draw(0, 2));
    const bool equal = op.operand_to_scale == 0;
    if (equal)
      op.opa_scale = op.opb_scale = {static_cast<std::uint32_t>(draw(1, 65535)), 0};
    else
      op.opa_scale = {factor(), shift(11, 16)};
    op.ofm_scale = {factor(), equal ? shift(40, 48) : words ? shift(43, 50) : shift(47, 54)};
  }
  if (!words && draw(0, 3) == 0) {
    op.activation.function = npu::Activation::kFirstTable;
    for (int i = 0; i < 256; ++i) layer.step.table.push_back(static_cast<std::byte>(draw(0, 255)));
  }
  return layer;
}

TEST(U85Kernels, PairsGiveTheBytesOfThePlainLoops) {
  for (const char* device : {"ethos-u55-128", "ethos-u85-256", "ethos-u85-1024"}) {
    Draw draw(3);
    int computed = 0;
    for (unsigned i = 0; i < 300; ++i) computed += compare(draw_pair(draw), device, i) ? 1 : 0;
    EXPECT_GT(computed, 150) << device;
  }
}

}  // namespace
}  // namespace runnel::test
