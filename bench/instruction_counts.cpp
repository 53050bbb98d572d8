// What one step costs in instructions, for processors that this machine only emulates: a program for QEMU's
// plugin (firmware/host/count_instructions.c), which counts the stretches between begin_stretch() and
// end_stretch().
//
//   instruction_counts --list          the cases, one a line: NAME MULTIPLY-ADDS
//   instruction_counts NAME            runs 20 steps of a case; exit code 2 for a name that is none
//
// scripts/speed_arm.sh makes a table of all. Counts are no cycles, but the same on every run and every
// machine.
//
// With RUNNEL_KERNEL_COUNTS this is the program kernel_counts: the same without networks, and without the
// libraries that these need.
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/host/heap_memory.h"
#include "features/fbank/fbank.h"
#include "kernels/conv/conv.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/matmul.h"
#include "kernels/transformer/fixed_attention.h"
#include "kernels/transformer/fixed_layer_norm.h"
#include "kernels/transformer/integer_products.h"
#if !defined(RUNNEL_KERNEL_COUNTS)
#include "bench/networks.h"
#include "compiler/write/writer.h"
#include "inference/host/engine.h"
#endif
#if defined(RUNNEL_BENCH_XNNPACK)
#include "bench/xnnpack_networks.h"
#endif
#if defined(RUNNEL_BENCH_KALDI)
#include "bench/kaldi_fbank.h"
#endif

extern "C" {
// The plugin finds these two by their addresses; what they hold keeps them from being merged or removed.
int stretches_begun, stretches_ended;
[[gnu::noinline]] void begin_stretch() {
  ++stretches_begun;
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] void end_stretch() {
  ++stretches_ended;
  asm volatile("" ::: "memory");
}
}

namespace runnel::bench {
namespace {

constexpr int kSteps = 20;

[[noreturn]] void give_up(std::string_view why) {
  std::fprintf(stderr, "instruction_counts: %.*s\n", static_cast<int>(why.size()), why.data());
  std::exit(1);
}
template <class T>
T need(Result<T> result) {
  if (!result.ok()) give_up(result.status().text());
  return std::move(result).value();
}

struct Case {
  std::string name;
  std::int64_t products;                           // multiply-adds of a step; 0: not counted in these
  std::function<std::function<void()>()> prepare;  // gives the step
};

// A convolution layer alone, `frames` positions; dense: from `inputs` channels to 64, depthwise: 64.
struct Layer {
  std::vector<std::int8_t> weights, x, y;
  std::int32_t shift = 9;
  kernels::ConvSpec spec;
  kernels::Conv conv;
  HeapMemory memory;
  void* scratch = nullptr;
};
Case layer(const std::string& name, int height, int width, bool depthwise, int frames, int inputs = 64) {
  constexpr int kChannels = 64;
  const int group = depthwise ? 1 : inputs;
  const std::int64_t products = std::int64_t{kChannels} * group * height * width * frames;
  return {name + "/" + std::to_string(frames), products, [=] {
            auto made = std::make_shared<Layer>();
            kernels::ConvSpec& spec = made->spec;
            spec.in_channels = inputs, spec.out_channels = kChannels;
            spec.groups = inputs / group;
            spec.kernel_height = height, spec.kernel_width = width;
            spec.out_width = frames, spec.in_width = frames + width - 1;
            spec.in_height = height, spec.out_height = 1;
            made->weights.resize(static_cast<std::size_t>(kChannels) *
                                 static_cast<std::size_t>(group * height * width));
            made->x.resize(static_cast<std::size_t>(spec.in_height * spec.in_width * inputs) + 64);
            made->y.resize(static_cast<std::size_t>(frames * kChannels));
            unsigned seed = 1;
            const auto next = [&] {
              return static_cast<std::int8_t>((seed = seed * 1664525u + 1013904223u) >> 24);
            };
            for (std::int8_t& w : made->weights)
              w = static_cast<std::int8_t>(next() | 1);  // no -128, as trained models have
            for (std::int8_t& v : made->x) v = next();
            spec.weights = made->weights.data();
            spec.requant.shift = &made->shift;
            if (const Status status = kernels::prepare_conv(spec, best_isa(), made->memory, made->conv);
                !status.ok())
              give_up(status.text());
            made->scratch = made->memory.allocate(made->conv.scratch_bytes, 64);
            return [made] { made->conv.run(made->conv, made->x.data(), made->y.data(), made->scratch); };
          }};
}

std::vector<std::int8_t> any_bytes(std::size_t count) {
  std::vector<std::int8_t> bytes(count);
  unsigned seed = 1;
  for (std::int8_t& b : bytes) b = static_cast<std::int8_t>((seed = seed * 1664525u + 1013904223u) >> 24);
  return bytes;
}
// Other integer kernels, at this machine's level and as the loops that every machine has.
std::string at_level(const std::string& name, Isa isa) {
  return isa == best_isa() ? name : name + ", portable";
}
// Of two computed matrices, as in attention.
Case product(Isa isa) {
  constexpr int kRows = 16, kInner = 64, kColumns = 64;
  return {at_level("product 16x64x64", isa), std::int64_t{kRows} * kInner * kColumns, [isa] {
            struct State {
              std::int32_t shift = 9;
              kernels::MatmulSpec spec;
              std::vector<std::int8_t> a = any_bytes(kRows * kInner), b = any_bytes(kInner * kColumns),
                                       y = any_bytes(kRows * kColumns);
              std::vector<std::int64_t> scratch;
            };
            auto state = std::make_shared<State>();
            state->spec.rows = kRows, state->spec.inner = kInner, state->spec.columns = kColumns;
            state->spec.shift = &state->shift;
            state->spec.vectors = kernels::matmul_vectors(state->spec, isa);
            state->scratch.resize(kernels::matmul_scratch(state->spec) / 8 + 1);
            return [state] {
              kernels::matmul(state->spec, state->a.data(), state->b.data(), state->y.data(),
                              state->scratch.data());
            };
          }};
}
Case table(Isa isa) {
  constexpr std::size_t kCount = 1024;
  return {at_level("table of 1024", isa), kCount, [isa] {
            struct State {
              std::vector<std::int8_t> x = any_bytes(kCount), y = x, entries = any_bytes(256);
            };
            auto state = std::make_shared<State>();
            return [state, isa] {
              kernels::elementwise(isa).lut8(kCount, state->x.data(), state->y.data(), state->entries.data());
            };
          }};
}
Case layer_norm(Isa isa) {
  constexpr std::size_t kRows = 16, kCount = 64;
  return {at_level("layer norm 16x64", isa), kRows * kCount, [isa] {
            struct State {
              std::vector<std::int16_t> gain = std::vector<std::int16_t>(kCount, 20000);
              kernels::FixedLayerNormSpec spec;
              std::vector<std::int8_t> x = any_bytes(kRows * kCount), y = x;
            };
            auto state = std::make_shared<State>();
            state->spec.rows = kRows, state->spec.count = kCount;
            state->spec.gain = state->gain.data();
            state->spec.result = kernels::multiplier_of(0.003);
            return [state, norm = kernels::fixed_layer_norm_for(state->spec, isa)] {
              norm(state->spec, state->x.data(), state->y.data());
            };
          }};
}

// One query of a head over its keys: the sums alone, of products and of values.
Case attention(Isa isa) {
  constexpr int kKeys = 32, kChannels = 64;
  return {at_level("attention 32x64", isa), std::int64_t{2} * kKeys * kChannels, [isa] {
            struct State {
              std::vector<std::int8_t> rows = any_bytes(kKeys * kChannels);
              std::vector<std::int16_t> query = std::vector<std::int16_t>(kChannels, 100),
                                        weights = std::vector<std::int16_t>(kKeys, 1000);
              std::vector<std::int64_t> scores = std::vector<std::int64_t>(kKeys),
                                        mixed = std::vector<std::int64_t>(kChannels);
            };
            auto state = std::make_shared<State>();
            return [state, &sums = kernels::fixed_attention_sums(isa)] {
              sums.products8(kChannels, state->query.data(), state->rows.data(), kChannels, kKeys,
                             state->scores.data());
              sums.mix8(kKeys, state->weights.data(), state->rows.data(), kChannels, kChannels,
                        state->mixed.data());
            };
          }};
}

#if !defined(RUNNEL_KERNEL_COUNTS)
Case network(const M1& m1, int frames) {
  return {"m1/" + std::to_string(frames), m1.macs_per_frame() * frames, [&m1, frames] {
            const compiler::WrittenModel written = need(compiler::write_model(m1.graph(frames)));
            PrepareOptions options;
            options.mode = RunMode::stream;
            options.frames = frames;
            const std::shared_ptr<Runner> runner =
                need(Runner::make(need(Engine::make(need(OwnedModel::from_bytes(written.bytes)), options))));
            const std::vector<std::int8_t> x = features(static_cast<std::size_t>(frames) * M1::kFeatures);
            return [runner, x] {
              const std::span<std::byte> in = runner->session().input(0);
              std::memcpy(in.data(), x.data(), in.size());
              runner->session().run(runner->prepared().block());
            };
          }};
}
#endif
#if defined(RUNNEL_BENCH_XNNPACK)
Case xnnpack(const M1& m1, int frames) {
  return {"xnnpack m1/" + std::to_string(frames), m1.macs_per_frame() * frames, [&m1, frames] {
            const std::shared_ptr<XnnpackNetwork> net = xnnpack_m1(m1, XnnpackType::qs8, frames, true);
            if (net == nullptr) give_up("XNNPACK refuses an operator of M1");
            const std::vector<std::int8_t> x = features(static_cast<std::size_t>(frames) * M1::kFeatures);
            return [net, x] {
              net->put(x.data());
              if (!net->run()) give_up("XNNPACK failed");
            };
          }};
}
#endif

constexpr std::size_t kHop = 160;  // 10 ms at 16 kHz
std::vector<float> sound() {
  std::vector<float> samples(kHop);
  unsigned seed = 1;
  for (float& s : samples)
    s = static_cast<float>(static_cast<std::int16_t>((seed = seed * 1664525u + 1013904223u) >> 16)) / 32768;
  return samples;
}
Case fbank() {
  return {"fbank-80", 0, [] {
            struct State {
              HeapMemory memory;
              std::optional<features::Fbank> fbank;
              std::vector<float> samples = sound(), frame = std::vector<float>(80 * 4);
            };
            auto state = std::make_shared<State>();
            features::FbankOptions options;
            options.num_mel_bins = 80;
            state->fbank.emplace(need(features::Fbank::make(options, best_isa(), state->memory)));
            return [state] {
              static_cast<void>(state->fbank->push(std::span<const float>(state->samples), state->frame));
            };
          }};
}
#if defined(RUNNEL_BENCH_KALDI)
Case kaldi() {
  return {"kaldi fbank-80", 0, [] {
            auto state = std::make_shared<std::pair<KaldiFbank, std::vector<float>>>(
                std::piecewise_construct, std::make_tuple(80), std::make_tuple(sound()));
            return [state] { state->first.push(state->second, nullptr); };
          }};
}
#endif

}  // namespace

int main_of(int count, char** arguments) {
  std::vector<Case> cases;
  for (const int frames : {1, 4, 16}) cases.push_back(layer("pointwise 64x64", 1, 1, false, frames));
  for (const int frames : {1, 4, 16}) cases.push_back(layer("3x3 64x64", 3, 3, false, frames));
  // What these two need more than the two above is their inner loops: 64 inputs of a window's piece more.
  for (const int frames : {1, 4, 16}) cases.push_back(layer("pointwise 128x64", 1, 1, false, frames, 128));
  for (const int frames : {1, 4, 16}) cases.push_back(layer("3x3 128x64", 3, 3, false, frames, 128));
  for (const int frames : {1, 4, 16}) cases.push_back(layer("depthwise 9 of 64", 1, 9, true, frames));
#if !defined(RUNNEL_KERNEL_COUNTS)
  const M1 m1;
  for (const int frames : {1, 4}) cases.push_back(network(m1, frames));
#endif
  for (const Isa isa : {best_isa(), Isa::generic}) {
    cases.push_back(product(isa));
    cases.push_back(table(isa));
    cases.push_back(layer_norm(isa));
    cases.push_back(attention(isa));
  }
  cases.push_back(fbank());
#if defined(RUNNEL_BENCH_XNNPACK)
  for (const int frames : {1, 4}) cases.push_back(xnnpack(m1, frames));
#endif
#if defined(RUNNEL_BENCH_KALDI)
  cases.push_back(kaldi());
#endif
  const std::string wanted = count == 2 ? arguments[1] : "";
  if (wanted == "--list") {
    for (const Case& one : cases)
      std::printf("%s\t%lld\n", one.name.c_str(), static_cast<long long>(one.products));
    return 0;
  }
  for (const Case& one : cases) {
    if (one.name != wanted) continue;
    const std::function<void()> step = one.prepare();
    for (int i = 0; i < 8; ++i) step();  // until all caches and rings are full
    for (int i = 0; i < kSteps; ++i) {
      begin_stretch();
      step();
      end_stretch();
    }
    std::printf("%s\t%s\t%lld\n", one.name.c_str(), std::string(name_of(best_isa())).c_str(),
                static_cast<long long>(one.products));
    return 0;
  }
  std::fprintf(stderr, "instruction_counts: no case \"%s\"; --list names them\n", wanted.c_str());
  return 2;
}

}  // namespace runnel::bench

int main(int count, char** arguments) { return runnel::bench::main_of(count, arguments); }
