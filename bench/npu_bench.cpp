// The simulator of the Ethos-U: multiply-adds per second on layers of keyword networks, on one core. Decoding
// of weights is not included.
#include <benchmark/benchmark.h>

#include "npu/host/simulator/simulator.h"
#include "tests/npu/stream_maker.h"

namespace {

using namespace runnel;
using npu::Long;
using npu::Short;

struct Layer {
  int height, width, depth, outs, kernel;
  bool depthwise;
  int element;
  bool kernels = true;  // false: plain loops
};

void run(benchmark::State& state, const Layer& layer) {
  const int pad = layer.kernel / 2;
  const test::MapSpec x{layer.height, layer.width, layer.depth, layer.element, true, true, 0, 0};
  const test::MapSpec y{layer.height, layer.width, layer.outs, layer.element,
                        true,         true,        0,          static_cast<std::int64_t>(x.bytes())};
  std::vector<std::byte> constants;
  for (int i = 0; i < layer.outs; ++i) test::append_scale_record(constants, i, 1u << 30, 40);
  constants.resize((constants.size() + 15) / 16 * 16);
  const auto scales = static_cast<std::int64_t>(constants.size());
  npu::Kernel kernel{layer.kernel, layer.kernel, 1, 1, 1, 1, false, pad, pad, pad, pad};
  npu::WeightOrder order{layer.outs,
                         layer.kernel,
                         layer.kernel,
                         layer.depthwise ? 1 : layer.depth,
                         16,
                         8,
                         layer.depthwise,
                         false,
                         layer.element == 2,
                         1,
                         1};
  const auto stream = test::plain_weights(std::vector<std::int16_t>(order.count(), 3));
  constants.insert(constants.end(), stream.begin(), stream.end());
  test::StreamMaker maker;
  maker.ifm(x)
      .ofm(y, npu::Rounding::natural)
      .kernel(kernel)
      .set(Short::weight_region, 0)
      .set(Short::scale_region, 0)
      .set(Short::acc_format, layer.element == 2 ? 1 : 0);
  maker.set(Long::weight_base, scales)
      .set(Long::weight_length, static_cast<std::int64_t>(stream.size()), 0)
      .set(Long::scale_base, 0)
      .set(Long::scale_length, scales, 0);
  maker.op(layer.depthwise ? npu::OpCode::depthwise : npu::OpCode::conv);
  const auto payload = maker.payload();
  const auto segment = test::segment_of(payload, constants, x.bytes() + y.bytes());
  if (!segment.ok()) return state.SkipWithError(std::string(segment.status().text()).c_str());
  npu::SimulatorOptions options;
  options.kernels = layer.kernels;
  const auto simulator = npu::Simulator::make(*segment, options);
  if (!simulator.ok()) return state.SkipWithError(std::string(simulator.status().text()).c_str());
  for (auto _ : state) {
    if (!(*simulator)->run().ok()) return state.SkipWithError("not computed");
  }
  const double macs = double(layer.height) * layer.width * layer.outs * layer.kernel * layer.kernel *
                      (layer.depthwise ? 1 : layer.depth);
  state.counters["MAC/s"] =
      benchmark::Counter(macs * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(run, conv_1x1_64_to_64_int8, Layer{25, 5, 64, 64, 1, false, 1});
BENCHMARK_CAPTURE(run, conv_1x1_64_to_64_int8_plain, Layer{25, 5, 64, 64, 1, false, 1, false});
BENCHMARK_CAPTURE(run, conv_3x3_32_to_32_int8_plain, Layer{24, 24, 32, 32, 3, false, 1, false});
BENCHMARK_CAPTURE(run, depthwise_3x3_64_int8_plain, Layer{25, 5, 64, 64, 3, true, 1, false});
BENCHMARK_CAPTURE(run, conv_3x3_32_to_32_int8, Layer{24, 24, 32, 32, 3, false, 1});
BENCHMARK_CAPTURE(run, conv_3x3_32_to_32_int16, Layer{24, 24, 32, 32, 3, false, 2});
BENCHMARK_CAPTURE(run, depthwise_3x3_64_int8, Layer{25, 5, 64, 64, 3, true, 1});

}  // namespace

BENCHMARK_MAIN();
