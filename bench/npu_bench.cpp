// The simulator of the Ethos-U on layers of keyword networks, on one core: plain loops, kernels for AVX2, and
// the best ones of this machine, alternating in one run. Prints the table of docs/npu.md. Weights are decoded
// before.
//
// npu_bench [SECONDS]
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "base/cpu.h"
#include "bench/interleaved.h"
#include "npu/host/encoder/program.h"
#include "npu/host/segment.h"
#include "npu/host/simulator/simulator.h"

namespace runnel::bench {
namespace {

struct Layer {
  const char* name;
  npu::OperationKind kind;
  int height, width, depth, outs, kernel = 1;
  std::uint8_t element = 1;

  // Multiply-adds, or elements where nothing is multiplied with weights.
  [[nodiscard]] double work() const {
    const double positions = double(height) * width * outs;
    if (kind == npu::OperationKind::conv) return positions * kernel * kernel * depth;
    return positions * kernel * kernel;
  }
};

using npu::OperationKind;
constexpr Layer kLayers[] = {
    {"1x1, 64 to 64 channels, 25 x 5", OperationKind::conv, 25, 5, 64, 64},
    {"1x1, 128 to 128 channels, 12 x 12", OperationKind::conv, 12, 12, 128, 128},
    {"3x3, 32 to 32 channels, 24 x 24", OperationKind::conv, 24, 24, 32, 32, 3},
    {"depthwise 3x3, 64 channels, 25 x 5", OperationKind::depthwise, 25, 5, 64, 64, 3},
    {"depthwise 3x3, 128 channels, 24 x 24", OperationKind::depthwise, 24, 24, 128, 128, 3},
    {"1x1, 64 to 64 channels, 25 x 5, int16", OperationKind::conv, 25, 5, 64, 64, 1, 2},
    {"sum of two maps, 25 x 5 x 64 (elements)", OperationKind::elementwise, 25, 5, 64, 64},
    {"largest of 3x3, 64 channels, 25 x 5 (elements read)", OperationKind::pool, 25, 5, 64, 64, 3},
};
constexpr const char* kDevices[] = {"ethos-u55-128", "ethos-u85-256"};

npu::FeatureMap map_of(int height, int width, int depth, std::uint8_t element) {
  npu::FeatureMap map;
  map.height = map.height0 = map.height1 = height;
  map.width = map.width0 = width;
  map.depth = depth;
  map.element = element;
  map.is_signed = true;
  map.stride_c = element;
  map.stride_x = std::int64_t{element} * depth;
  map.stride_y = map.stride_x * width;
  return map;
}

[[noreturn]] void fail(const Layer& layer, const Status& status) {
  std::fprintf(stderr, "npu_bench: %s: %s\n", layer.name, std::string(status.text()).c_str());
  std::exit(1);
}

// A stream of one operation.
npu::CompiledProgram stream_of(const Layer& layer, const char* device) {
  npu::ProgramOptions options;
  options.accelerator = *npu::find_accelerator(std::string_view(device));
  npu::Program program(options);
  const npu::FeatureMap x = map_of(layer.height, layer.width, layer.depth, layer.element),
                        y = map_of(layer.height, layer.width, layer.outs, layer.element);
  npu::Step step;
  step.op.kind = layer.kind;
  step.op.ifm = x;
  step.op.ofm = y;
  step.op.rounding = npu::Rounding::natural;
  step.op.opa_scale = step.op.opb_scale = {1, 0};
  step.op.ofm_scale = {1, 1};
  step.op.activation.low = layer.element == 1 ? -128 : -32768;
  step.op.activation.high = layer.element == 1 ? 127 : 32767;
  step.op.kernel.height = step.op.kernel.width = layer.kernel;
  step.op.kernel.top = step.op.kernel.left = step.op.kernel.bottom = step.op.kernel.right = layer.kernel / 2;
  step.ifm = program.own_region();
  if (layer.kind == OperationKind::elementwise) {
    step.op.mode = static_cast<std::uint8_t>(npu::ElementwiseMode::add);
    step.op.has_ifm2 = true;
    step.op.rounding = npu::Rounding::tfl;
    step.op.operand_to_scale = 1;
    step.op.opa_scale = {1288490189, 11};  // 0.6 of 2^20, and of the other operand a half
    step.op.ofm_scale = {1 << 30, 50};
    step.op.ifm2 = x;
    step.ifm2 = program.own_region();
  }
  if (layer.kind == OperationKind::conv || layer.kind == OperationKind::depthwise) {
    std::mt19937 random(1);
    const int inputs = layer.kernel * layer.kernel * (layer.kind == OperationKind::conv ? layer.depth : 1);
    for (int i = 0; i < layer.outs * inputs; ++i)
      step.weights.push_back(static_cast<std::int16_t>(static_cast<int>(random() % 255) - 127));
    const bool words = layer.element == 2;
    step.scales.assign(static_cast<std::size_t>(layer.outs),
                       {100, words ? 1u << 14 : 1u << 30, static_cast<std::uint8_t>(words ? 22 : 38)});
    step.op.acc_format = words ? 1 : 0;
  }
  step.ofm = program.own_region();
  program.add(step);
  auto made = program.finish();
  if (!made.ok()) fail(layer, made.status());
  return std::move(*made);
}

struct Prepared {
  npu::CompiledProgram stream;
  std::vector<std::byte> memory[3];
  std::unique_ptr<npu::Simulator> simulator;
};

std::shared_ptr<Prepared> prepare(const Layer& layer, const char* device, Isa isa) {
  auto made = std::make_shared<Prepared>();
  made->stream = stream_of(layer, device);
  auto segment = npu::read_segment(made->stream.payload);
  if (!segment.ok()) fail(layer, segment.status());
  segment->constants = made->stream.constants;
  segment->scratch = made->stream.scratch;
  segment->fast_scratch = made->stream.fast_scratch;
  const bool two = layer.kind == OperationKind::elementwise;
  const std::size_t in = static_cast<std::size_t>(layer.height * layer.width * layer.depth * layer.element),
                    out = static_cast<std::size_t>(layer.height * layer.width * layer.outs * layer.element);
  const auto port = [](std::uint8_t region, std::size_t bytes) {
    return npu::Port{"", 0, bytes, 0, false, region};
  };
  std::uint8_t region = npu::kFirstOwn;
  for (int i = 0; i < (two ? 2 : 1); ++i) segment->inputs.push_back(port(region++, in));
  segment->outputs.push_back(port(region, out));
  npu::SimulatorOptions options;
  options.isa = isa;
  auto simulator = npu::Simulator::make(*segment, options);
  if (!simulator.ok()) fail(layer, simulator.status());
  made->simulator = std::move(*simulator);
  std::mt19937 random(2);
  for (std::size_t i = 0; i < segment->inputs.size(); ++i) {
    for (std::byte& byte : made->simulator->input(i)) byte = static_cast<std::byte>(random());
  }
  if (const Status status = made->simulator->run(); !status.ok()) fail(layer, status);
  return made;
}

int run(double seconds) {
  std::vector<Isa> levels{Isa::reference};
  if (best_isa() >= Isa::avx2) levels.push_back(Isa::avx2);
  if (best_isa() > levels.back()) levels.push_back(best_isa());
  Interleaved cases;
  const auto name = [](const Layer& layer, const char* device, Isa isa) {
    return fmt::format("{}/{}/{}", device, layer.name, name_of(isa));
  };
  for (const Layer& layer : kLayers) {
    for (const char* device : kDevices) {
      for (const Isa isa : levels) {
        const auto made = prepare(layer, device, isa);
        cases.add(name(layer, device, isa), [made] { static_cast<void>(made->simulator->run()); });
      }
    }
  }
  const auto times = cases.run(seconds);
  std::printf("| layer |");
  for (const char* device : kDevices) {
    for (const Isa isa : levels)
      std::printf(" %s, %s |", device, isa == Isa::reference ? "plain" : std::string(name_of(isa)).c_str());
  }
  std::printf("\n|---|");
  for (std::size_t i = 0; i < std::size(kDevices) * levels.size(); ++i) std::printf("---:|");
  std::printf("\n");
  for (const Layer& layer : kLayers) {
    std::printf("| %s |", layer.name);
    for (const char* device : kDevices) {
      for (const Isa isa : levels)
        std::printf(" %.2f |", layer.work() / times.at(name(layer, device, isa)).min / 1000);
    }
    std::printf("\n");
  }
  return 0;
}

}  // namespace
}  // namespace runnel::bench

int main(int argc, char** argv) { return runnel::bench::run(argc > 1 ? std::atof(argv[1]) : 5); }
