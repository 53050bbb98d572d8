// Convolution kernels against the machine's int8 multiply-add limit (and XNNPACK if found), one thread.
//
// GMAC/s and `share` of the limit come from the fastest of many short batches: on shared machines
// only minima compare.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "base/host/machine_peak.h"
#include "kernels/conv/conv.h"

namespace runnel::bench {
namespace {

// Seconds of the fastest call, from batches of about 20 us; every batch is one iteration of the benchmark.
template <class Call>
double fastest(benchmark::State& state, Call call) {
  using Clock = std::chrono::steady_clock;
  const auto time = [&](int calls) {
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  int calls = 1;
  while (calls < (1 << 20) && time(calls) < 20e-6) calls *= 2;
  double best = 1e9;
  for (auto _ : state) {
    const double seconds = time(calls) / calls;
    state.SetIterationTime(seconds);
    best = std::min(best, seconds);
  }
  return best;
}

double peak(Isa isa) {
  double best = 0;
  for (int repeat = 0; repeat < 300; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    const auto count = static_cast<double>(int8_peak(isa, 2000));
    best = std::max(best,
                    count / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

struct Shape {
  std::string name;
  int channels, taps, frames;
  bool depthwise, non_negative;
};

void run(benchmark::State& state, const Shape& shape, Isa isa) {
  kernels::ConvSpec spec;
  spec.in_channels = spec.out_channels = shape.channels;
  spec.groups = shape.depthwise ? shape.channels : 1;
  spec.kernel_width = shape.taps;
  spec.out_width = shape.frames;
  spec.in_width = shape.frames + shape.taps - 1;
  spec.input_non_negative = shape.non_negative;
  std::vector<std::int8_t> weights(
      static_cast<std::size_t>(shape.channels / spec.groups * shape.taps * shape.channels));
  std::vector<std::int8_t> x(static_cast<std::size_t>(spec.in_width * shape.channels + 64));
  std::vector<std::int8_t> y(static_cast<std::size_t>(spec.out_width * shape.channels));
  unsigned seed = 1;
  const auto next = [&] { return static_cast<int>((seed = seed * 1664525u + 1013904223u) >> 25); };
  for (auto& w : weights) w = static_cast<std::int8_t>(next() * 2 - 127);
  for (auto& v : x) v = static_cast<std::int8_t>(shape.non_negative ? next() : next() * 2 - 127);
  const std::int32_t shift = 9;
  spec.weights = weights.data();
  spec.requant.shift = &shift;
  HeapMemory memory;
  kernels::Conv conv;
  if (const Status status = kernels::prepare_conv(spec, isa, memory, conv); !status.ok()) {
    state.SkipWithError(std::string(status.text()).c_str());
    return;
  }
  void* scratch = memory.allocate(conv.scratch_bytes, 64);
  const double seconds = fastest(state, [&] {
    conv.run(conv, x.data(), y.data(), scratch);
    benchmark::ClobberMemory();
  });
  const double rate = static_cast<double>(kernels::macs(spec)) / seconds;
  state.counters["ns"] = seconds * 1e9;
  state.counters["GMAC/s"] = rate * 1e-9;
  if (const double limit = peak(isa); limit > 0) state.counters["share"] = rate / limit;
}

void run_peak(benchmark::State& state, Isa isa) {
  double best = 0;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    const auto count = static_cast<double>(int8_peak(isa, 2000));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    state.SetIterationTime(seconds);
    best = std::max(best, count / seconds);
  }
  state.counters["GMAC/s"] = best * 1e-9;
}

}  // namespace

#if defined(RUNNEL_BENCH_XNNPACK)
// `time` runs a call and returns its seconds. Defined in kernels_bench_xnnpack.cpp.
bool xnnpack(int channels, int taps, int frames, bool depthwise,
             double (*time)(void (*call)(void*), void* data, void* state), void* state, double& seconds);
#endif

void add_benchmarks() {
  for (const Isa isa : {Isa::avx2, Isa::avx512, Isa::avx512vnni, Isa::amx}) {
    if (!runs_here(isa)) continue;
    benchmark::RegisterBenchmark(("int8_peak/" + std::string(name_of(isa))).c_str(),
                                 [=](benchmark::State& s) { run_peak(s, isa); })
        ->UseManualTime()
        ->Iterations(2000);
  }
  std::vector<Shape> shapes;
  for (const int frames : {1, 4, 16, 100}) {
    shapes.push_back({"pointwise_64x64_non_negative", 64, 1, frames, false, true});
    shapes.push_back({"pointwise_64x64_signed", 64, 1, frames, false, false});
  }
  for (const int frames : {1, 4, 100}) {
    shapes.push_back({"depthwise_64_k9_non_negative", 64, 9, frames, true, true});
    shapes.push_back({"depthwise_64_k9_signed", 64, 9, frames, true, false});
  }
  for (const Shape& shape : shapes) {
    const std::string frames = "/N:" + std::to_string(shape.frames);
    for (int level = static_cast<int>(Isa::generic); level <= static_cast<int>(best_isa()); ++level) {
      if (!runs_here(static_cast<Isa>(level))) continue;
      const Isa isa = static_cast<Isa>(level);
      benchmark::RegisterBenchmark((shape.name + frames + "/" + std::string(name_of(isa))).c_str(),
                                   [=](benchmark::State& s) { run(s, shape, isa); })
          ->UseManualTime()
          ->MinTime(0.02);
    }
#if defined(RUNNEL_BENCH_XNNPACK)
    if (shape.non_negative) continue;
    benchmark::RegisterBenchmark(
        (shape.name + frames + "/xnnpack").c_str(),
        [=](benchmark::State& state) {
          const auto time = [](void (*call)(void*), void* data, void* s) {
            return fastest(*static_cast<benchmark::State*>(s), [=] { call(data); });
          };
          double seconds = 0;
          if (!xnnpack(shape.channels, shape.taps, shape.frames, shape.depthwise, time, &state, seconds)) {
            state.SkipWithError("XNNPACK refused the operator");
            return;
          }
          state.counters["ns"] = seconds * 1e9;
          state.counters["GMAC/s"] = 1e-9 * shape.channels *
                                     (shape.depthwise ? shape.taps : shape.channels * shape.taps) *
                                     shape.frames / seconds;
        })
        ->UseManualTime()
        ->MinTime(0.02);
#endif
  }
}

}  // namespace runnel::bench

int main(int argc, char** argv) {
  std::printf("best instruction level: %s\n", std::string(runnel::name_of(runnel::best_isa())).c_str());
  runnel::bench::add_benchmarks();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
