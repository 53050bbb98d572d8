// The front end's speed as multiples of the time that FFTW (single precision) takes for the bare transform of
// 512 points, which is measured in the same run: counter xFFTW. Each benchmark alternates with the yardstick,
// so that a busy machine slows both.
#include <benchmark/benchmark.h>
#include <fftw3.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "base/host/heap_memory.h"
#include "features/fbank.h"
#include "features/fbank_parameters.h"
#include "features/microfrontend.h"
#include "features/resampler.h"

namespace runnel::features {
namespace {

double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::vector<float> recording(std::size_t count) {
  std::mt19937 random(1);
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double noise = static_cast<double>(static_cast<std::int32_t>(random())) / 2147483648.0;
    x[i] = static_cast<float>(0.1 * std::sin(0.01 * static_cast<double>(i)) *
                                  std::sin(0.3 * static_cast<double>(i)) +
                              0.03 * noise);
  }
  return x;
}

constexpr std::size_t kPoints = 512, kFrames = 1000;

// FFTW's bare transform: seconds for kFrames of them, data in the first-level cache.
class Yardstick {
 public:
  Yardstick() {
    const std::vector<float> x = recording(kPoints);
    std::copy(x.begin(), x.end(), in_);
  }
  ~Yardstick() {
    fftwf_destroy_plan(plan_);
    fftwf_free(in_);
    fftwf_free(out_);
  }
  Yardstick(const Yardstick&) = delete;
  Yardstick& operator=(const Yardstick&) = delete;
  double seconds() const {
    const double start = now();
    for (std::size_t i = 0; i < kFrames; ++i) {
      fftwf_execute(plan_);
      benchmark::ClobberMemory();
    }
    return now() - start;
  }

 private:
  float* in_ = static_cast<float*>(fftwf_malloc(sizeof(float) * kPoints));
  fftwf_complex* out_ = static_cast<fftwf_complex*>(fftwf_malloc(sizeof(fftwf_complex) * (kPoints / 2 + 1)));
  fftwf_plan plan_ = fftwf_plan_dft_r2c_1d(kPoints, in_, out_, FFTW_MEASURE);
};

double median(std::vector<double>& values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// Runs `work` (which does `units` units: frames, transforms) in turn with the yardstick, and reports medians.
template <class Work>
void against_fftw(benchmark::State& state, double units, Work work) {
  const Yardstick yardstick;
  std::vector<double> ours, theirs;
  for (auto _ : state) {
    const double start = now();
    work();
    const double seconds = now() - start;
    state.SetIterationTime(seconds);
    ours.push_back(seconds / units);
    theirs.push_back(yardstick.seconds() / static_cast<double>(kFrames));
  }
  const double mine = median(ours), fftw = median(theirs);
  state.counters["us"] = mine * 1e6;
  state.counters["FFTW_us"] = fftw * 1e6;
  state.counters["xFFTW"] = mine / fftw;
}

void label(benchmark::State& state, Isa isa) {
  const std::string_view name = name_of(isa);
  state.SetLabel(std::string(name));
}

bool runs_here(benchmark::State& state, Isa isa) {
  if (isa <= best_isa()) return true;
  state.SkipWithError("not on this machine");
  return false;
}

void own_rfft(benchmark::State& state) {
  const auto isa = static_cast<Isa>(state.range(0));
  if (!runs_here(state, isa)) return;
  label(state, isa);
  HeapMemory memory;
  OwnFft fft;
  if (!fft.init(kPoints, isa, memory).ok()) return state.SkipWithError("init");
  const std::vector<float> x = recording(kPoints);
  std::vector<float> re(kPoints / 2 + 1), im(kPoints / 2 + 1);
  against_fftw(state, kFrames, [&] {
    for (std::size_t i = 0; i < kFrames; ++i) {
      fft.forward(x.data(), re.data(), im.data());
      benchmark::ClobberMemory();
    }
  });
}

// range: isa, bins, samples per push (0: all at once)
void fbank(benchmark::State& state) {
  const auto isa = static_cast<Isa>(state.range(0));
  if (!runs_here(state, isa)) return;
  label(state, isa);
  FbankOptions options = preset("kaldi").value();
  options.num_mel_bins = static_cast<std::int32_t>(state.range(1));
  HeapMemory memory;
  Result<Fbank> made = Fbank::make(options, isa, memory);
  if (!made.ok()) return state.SkipWithError(std::string(made.status().text()).c_str());
  Fbank& features = made.value();
  const std::vector<float> x = recording(kFrames * 160 + 240);
  std::vector<float> out(kFrames * features.dims());
  const std::size_t piece = state.range(2) > 0 ? static_cast<std::size_t>(state.range(2)) : x.size();
  against_fftw(state, kFrames, [&] {
    features.reset();
    std::size_t frames = 0;
    for (std::size_t at = 0; at < x.size(); at += piece) {
      const std::size_t size = std::min(piece, x.size() - at);
      frames +=
          features.push(std::span(x).subspan(at, size), std::span(out).subspan(frames * features.dims()))
              .frames;
    }
    if (frames != kFrames) state.SkipWithError("wrong number of frames");
    benchmark::ClobberMemory();
  });
}

// range: samples per push (0: all at once)
void microfrontend(benchmark::State& state) {
  HeapMemory memory;
  Result<Microfrontend> made = Microfrontend::make(microfrontend_preset("micro-wake-word").value(), memory);
  if (!made.ok()) return state.SkipWithError(std::string(made.status().text()).c_str());
  const std::vector<float> x = recording(kFrames * 160 + 320);
  std::vector<std::int16_t> samples;
  for (const float value : x) samples.push_back(static_cast<std::int16_t>(value * 32767));
  std::vector<std::uint16_t> out(made->max_frames(samples.size()) * made->dims());
  const std::size_t piece = state.range(0) > 0 ? static_cast<std::size_t>(state.range(0)) : samples.size();
  against_fftw(state, kFrames, [&] {
    made->reset();
    std::size_t frames = 0;
    for (std::size_t at = 0; at < samples.size(); at += piece) {
      const std::size_t size = std::min(piece, samples.size() - at);
      frames += made->push(std::span<const std::int16_t>(samples).subspan(at, size), std::span(out).subspan(frames * made->dims())).frames;
    }
    if (frames != kFrames) state.SkipWithError("wrong number of frames");
    benchmark::ClobberMemory();
  });
}

// range: in, out rate; the unit is 10 ms of audio
void resample(benchmark::State& state) {
  HeapMemory memory;
  const ResamplerSpec spec{.in_rate = static_cast<std::int32_t>(state.range(0)),
                           .out_rate = static_cast<std::int32_t>(state.range(1))};
  Result<Resampler> made = Resampler::make(spec, best_isa(), memory);
  if (!made.ok()) return state.SkipWithError(std::string(made.status().text()).c_str());
  Resampler& resampler = made.value();
  const auto piece = static_cast<std::size_t>(spec.in_rate / 100);
  const std::vector<float> x = recording(piece);
  std::vector<float> out(resampler.max_outputs(piece));
  against_fftw(state, 100, [&] {
    for (int i = 0; i < 100; ++i) {
      benchmark::DoNotOptimize(resampler.push(x, out).outputs);
    }
  });
}

constexpr int kGeneric = static_cast<int>(Isa::generic), kAvx2 = static_cast<int>(Isa::avx2),
              kAvx512 = static_cast<int>(Isa::avx512);
BENCHMARK(own_rfft)->Arg(kGeneric)->Arg(kAvx2)->Arg(kAvx512)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(fbank)
    ->ArgNames({"isa", "bins", "piece"})
    ->Args({kGeneric, 80, 0})
    ->Args({kAvx2, 80, 0})
    ->Args({kAvx512, 80, 0})
    ->Args({kAvx512, 80, 160})
    ->Args({kAvx512, 40, 0})
    ->Args({kAvx512, 40, 160})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(microfrontend)->ArgNames({"piece"})->Arg(0)->Arg(160)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(resample)
    ->Args({8000, 16000})
    ->Args({44100, 16000})
    ->Args({48000, 16000})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace runnel::features

BENCHMARK_MAIN();
