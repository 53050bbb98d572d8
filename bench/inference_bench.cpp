// Streamed and whole int8 inference compared with alternative engines, one thread, in one run.
//
// stdout: one JSON object; stderr: the same as a table. All engines' cases alternate, and ratios come from
// medians and minima of the same run: on a shared machine only these compare. Pin it to a core:
//   taskset -c 1 build/bench/inference_bench > speed.json
// ONNX Runtime takes part if RUNNEL_BENCH_ORT names its shared library and RUNNEL_BENCH_ORT_MODELS a folder
// with its models.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/host/heap_memory.h"
#include "base/host/machine_peak.h"
#include "bench/digits_graph.h"
#include "bench/interleaved.h"
#include "bench/networks.h"
#include "bench/stack_kernels.h"
#include "compiler/write/writer.h"
#include "inference/host/engine.h"
#include "inference/session_group.h"
#include "inference/slab.h"
#if defined(RUNNEL_BENCH_XNNPACK)
#include "bench/xnnpack_networks.h"
#endif
#if defined(RUNNEL_BENCH_ONNXRUNTIME)
#include "bench/onnxruntime_session.h"
#endif

namespace runnel::bench {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "inference_bench: {}\n", why);
  std::exit(1);
}

template <class T>
T need(Result<T> result) {
  if (!result.ok()) give_up(std::string(result.status().text()));
  return std::move(result).value();
}

std::shared_ptr<const OwnedModel> model_of(const compiler::Graph& graph) {
  const compiler::WrittenModel written = need(compiler::write_model(graph));
  return need(OwnedModel::from_bytes(written.bytes));
}

// A model with a session: set inputs, run, read outputs.
class Engined {
 public:
  Engined(const std::shared_ptr<const OwnedModel>& model, RunMode mode, std::int64_t frames,
          Isa isa = best_isa()) {
    PrepareOptions options;
    options.mode = mode;
    options.frames = frames;
    options.isa = isa;
    runner_ = need(Runner::make(need(Engine::make(model, options))));
  }
  // One call: the input is copied to where the session reads it.
  void step(const std::int8_t* x) {
    Session& session = runner_->session();
    const std::span<std::byte> in = session.input(0);
    std::memcpy(in.data(), x, in.size());
    session.run(runner_->prepared().block());
  }
  [[nodiscard]] std::vector<std::int8_t> output() {
    const OutputFrames out = runner_->session().output(0);
    const auto* first = reinterpret_cast<const std::int8_t*>(out.data);
    const std::int32_t tensor = runner_->model().outputs()[0];
    return {first,
            first + static_cast<std::size_t>(out.count) * runner_->prepared().placement(tensor).frame_bytes};
  }
  // The whole of `x` in steps of `step_size` values.
  [[nodiscard]] std::vector<std::int8_t> all(const std::vector<std::int8_t>& x, std::size_t step_size) {
    runner_->session().reset();
    std::vector<std::int8_t> y;
    for (std::size_t at = 0; at + step_size <= x.size(); at += step_size) {
      step(x.data() + at);
      const std::vector<std::int8_t> piece = output();
      y.insert(y.end(), piece.begin(), piece.end());
    }
    return y;
  }
  [[nodiscard]] const Prepared& prepared() const { return runner_->prepared(); }

 private:
  std::unique_ptr<Runner> runner_;
};

struct Difference {
  double mean = 0;   // of the absolute differences
  double size = 0;   // of the absolute values expected, mean
  double share = 0;  // of the values that differ
};
Difference difference(const std::vector<std::int8_t>& a, const std::vector<std::int8_t>& b) {
  Difference d;
  if (a.size() != b.size() || a.empty()) return {256, 0, 1};
  const double one = 1 / static_cast<double>(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    d.mean += one * std::abs(a[i] - b[i]);
    d.size += one * std::abs(b[i]);
    d.share += a[i] != b[i] ? one : 0;
  }
  return d;
}

// The machine's name and relevant vector extensions.
Json machine() {
  std::ifstream file("/proc/cpuinfo");
  std::string line, name, flags;
  while (std::getline(file, line) && (name.empty() || flags.empty())) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.starts_with("model name")) name = line.substr(colon + 2);
    if (line.starts_with("flags")) flags = line.substr(colon + 2);
  }
  Json extensions = Json::array();
  std::istringstream words(flags);
  for (std::string word; words >> word;) {
    if (word == "fma" || word.starts_with("avx") || word.starts_with("amx")) extensions.push_back(word);
  }
  double load = 0;
  getloadavg(&load, 1);
  return {{"cpu", name},
          {"vector_extensions", extensions},
          {"isa", name_of(best_isa())},
          {"cores", std::thread::hardware_concurrency()},
          {"load", load}};
}

class Bench {
 public:
  explicit Bench(double seconds, std::string digits) : seconds_(seconds), digits_(std::move(digits)) {}

  int run() {
    add_m1();
    add_m2();
    add_single_call();
    add_digits();
    add_share_of_peak();
    add_many_sessions();
    add_sessions_together();
    add_onnxruntime();
    times_ = cases_.run(seconds_);
    report();
    return 0;
  }

 private:
  static constexpr int kClip = 100;  // frames of one second

  void add_m1() {
    const auto model = model_of(m1_.graph(kClip));
    const std::vector<std::int8_t> clip = features(std::size_t{kClip} * M1::kFeatures);
    Engined reference(model, RunMode::whole, kClip, Isa::reference);
    reference.step(clip.data());
    const std::vector<std::int8_t> expected = reference.output();
    const auto whole = std::make_shared<Engined>(model, RunMode::whole, kClip);
    whole->step(clip.data());
    if (whole->output() != expected) give_up("M1 on a whole clip does not equal the reference kernels");
    add(
        "M1 whole/runnel", [whole, clip] { whole->step(clip.data()); }, kClip * m1_.macs_per_frame());
#if defined(RUNNEL_BENCH_XNNPACK)
    add_xnnpack("M1 whole", XnnpackType::qs8, xnnpack_m1(m1_, XnnpackType::qs8, kClip, false), clip, expected,
                kClip * m1_.macs_per_frame());
    add_xnnpack("M1 whole", XnnpackType::f32, xnnpack_m1(m1_, XnnpackType::f32, kClip, false), clip, expected,
                kClip * m1_.macs_per_frame());
#endif
    for (const int frames : {1, 2, 4}) {
      const auto step = static_cast<std::size_t>(frames) * M1::kFeatures;
      const auto stream = std::make_shared<Engined>(model, RunMode::stream, frames);
      if (stream->all(clip, step) != expected)
        give_up(fmt::format("M1 streamed by {} frames does not equal the whole clip", frames));
      const std::string name = fmt::format("M1 stream {}", frames);
      add(
          name + "/runnel", [stream, clip] { stream->step(clip.data()); }, frames * m1_.macs_per_frame());
#if defined(RUNNEL_BENCH_XNNPACK)
      for (const XnnpackType type : {XnnpackType::qs8, XnnpackType::f32}) {
        std::shared_ptr<XnnpackNetwork> peer = xnnpack_m1(m1_, type, frames, true);
        if (peer == nullptr) continue;
        std::vector<std::int8_t> y;
        for (std::size_t at = 0; at < clip.size(); at += step) {
          peer->put(clip.data() + at);
          if (!peer->run()) give_up("XNNPACK: an operator failed");
          const std::vector<std::int8_t> piece = peer->output();
          y.insert(y.end(), piece.begin(), piece.end());
        }
        compare(name, type, y, expected);
        add(
            name + (type == XnnpackType::qs8 ? "/xnnpack qs8" : "/xnnpack f32"), [peer] { peer->run(); },
            frames * m1_.macs_per_frame());
      }
#endif
    }
    add_kernels("M1 stream 1", model, m1_.macs_per_frame());
  }

  void add_m2() {
    const auto model = model_of(m2_.graph());
    const std::vector<std::int8_t> clip = features(std::size_t{M2::kHeight} * M2::kWidth);
    Engined reference(model, RunMode::whole, 0, Isa::reference);
    reference.step(clip.data());
    const std::vector<std::int8_t> expected = reference.output();
    const auto whole = std::make_shared<Engined>(model, RunMode::whole, 0);
    whole->step(clip.data());
    if (whole->output() != expected) give_up("M2 does not equal the reference kernels");
    add(
        "M2/runnel", [whole, clip] { whole->step(clip.data()); }, m2_.macs());
#if defined(RUNNEL_BENCH_XNNPACK)
    add_xnnpack("M2", XnnpackType::qs8, xnnpack_m2(m2_, XnnpackType::qs8), clip, expected, m2_.macs());
    add_xnnpack("M2", XnnpackType::f32, xnnpack_m2(m2_, XnnpackType::f32), clip, expected, m2_.macs());
#endif
  }

  // A model of one operator, and its kernel alone: the difference is the cost of a call.
  void add_single_call() {
    const auto model = model_of(one_layer(m1_.head, 1));
    const auto stream = std::make_shared<Engined>(model, RunMode::stream, 1);
    const std::vector<std::int8_t> x = features(64);
    add(
        "one layer/runnel", [stream, x] { stream->step(x.data()); }, m1_.head.macs());
    add_kernels("one layer", model, m1_.head.macs());
  }

  // 64 x 64 on a whole second, compared with as many multiply-adds in registers: in vectors, and in
  // tiles if available.
  void add_share_of_peak() {
    const std::int64_t macs = kClip * m1_.head.macs(), loops = 1000;
    if (int8_peak(best_vector_isa(), 1) == 0) return;
    const auto whole = std::make_shared<Engined>(model_of(one_layer(m1_.head, kClip)), RunMode::whole, kClip);
    const std::vector<std::int8_t> x = features(std::size_t{kClip} * 64);
    add(
        "pointwise 64x64, 100 frames/runnel", [whole, x] { whole->step(x.data()); }, macs);
    const auto add_peak = [&](const char* name, Isa isa) {
      const double runs = static_cast<double>(int8_peak(isa, loops)) / static_cast<double>(macs);
      add(
          std::string("pointwise 64x64, 100 frames/") + name, [=] { int8_peak(isa, loops); }, macs, runs);
    };
    add_peak("in registers", best_vector_isa());
    if (best_isa() == Isa::amx) add_peak("in tiles", Isa::amx);
  }

  // A lower bound of the time of a step of the network.
  void add_kernels(const std::string& name, const std::shared_ptr<const OwnedModel>& model,
                   std::int64_t macs) {
    const std::shared_ptr<const StackKernels> kernels = need(StackKernels::make(model->model(), best_isa()));
    add(
        name + "/kernels alone", [model, kernels] { kernels->run(); }, macs);
  }

  // One frame of the digits network, compared with its kernels.
  void add_digits() {
    if (digits_.empty()) return;
    const std::shared_ptr<const OwnedModel> model = need(OwnedModel::from_file(digits_));
    const auto stream = std::make_shared<Engined>(model, RunMode::stream, 1);
    const std::vector<std::int8_t> x =
        features(static_cast<std::size_t>(model->model().tensor(model->model().inputs()[0]).shape[2]));
    add(
        "digits stream 1/runnel", [stream, x] { stream->step(x.data()); }, 0);
    add_kernels("digits stream 1", model, 0);
  }

  // 64 streams in one thread, one by one, one frame each.
  void add_many_sessions() {
    constexpr std::size_t kSessions = 64;
    struct Many {
      HeapMemory memory;
      std::shared_ptr<const Engine> engine;
      std::vector<Session> sessions;
    };
    const auto many = std::make_shared<Many>();
    many->engine = need(Engine::make(model_of(m1_.graph(kClip)), PrepareOptions{.frames = 1}));
    const Prepared& prepared = many->engine->prepared();
    const StateSlab slab = need(StateSlab::make(prepared, kSessions, many->memory));
    Workspace* workspace = need(Workspace::make(prepared, many->memory));
    for (std::size_t i = 0; i < kSessions; ++i)
      many->sessions.push_back(need(Session::make(prepared, *workspace, slab.state(i))));
    const std::vector<std::int8_t> x = features(M1::kFeatures);
    add(
        "M1 stream 1/64 sessions in turn",
        [many, x] {
          for (Session& session : many->sessions) {
            std::memcpy(session.input(0).data(), x.data(), x.size());
            session.run(1);
          }
        },
        m1_.macs_per_frame(), kSessions);
  }

  // The same layer by layer for all of them.
  void add_sessions_together() {
    constexpr std::size_t kSessions = 64;
    struct Many {
      HeapMemory memory;
      std::shared_ptr<const Engine> engine;
      std::optional<SessionGroup> group;
    };
    const auto many = std::make_shared<Many>();
    many->engine = need(Engine::make(model_of(m1_.graph(kClip)), PrepareOptions{.frames = 1}));
    many->group = need(SessionGroup::make(many->engine->prepared(), kSessions, many->memory));
    const std::vector<std::int8_t> x = features(M1::kFeatures);
    add(
        "M1 stream 1/64 sessions together",
        [many, x] {
          for (std::size_t i = 0; i < kSessions; ++i)
            std::memcpy(many->group->session(i).input(0).data(), x.data(), x.size());
          many->group->run();
        },
        m1_.macs_per_frame(), kSessions);
  }

  void add_onnxruntime() {
#if defined(RUNNEL_BENCH_ONNXRUNTIME)
    const char* library = std::getenv("RUNNEL_BENCH_ORT");
    const char* models = std::getenv("RUNNEL_BENCH_ORT_MODELS");
    if (library == nullptr || models == nullptr) {
      fmt::print(stderr,
                 "ONNX Runtime: left out; RUNNEL_BENCH_ORT and RUNNEL_BENCH_ORT_MODELS are not set\n");
      return;
    }
    const struct {
      const char *name, *file;
      std::int64_t macs;
    } peers[] = {{"M1 stream 1/onnxruntime u8", "M1_u8_u8state_c1.onnx", m1_.macs_per_frame()},
                 {"M1 stream 1/onnxruntime f32", "M1_f32_state_c1.onnx", m1_.macs_per_frame()},
                 {"M1 stream 4/onnxruntime u8", "M1_u8_u8state_c4.onnx", 4 * m1_.macs_per_frame()},
                 {"M1 whole/onnxruntime u8", "M1_u8_T100.onnx", kClip * m1_.macs_per_frame()},
                 {"M1 whole/onnxruntime f32", "M1_f32_T100.onnx", kClip * m1_.macs_per_frame()},
                 {"M2/onnxruntime u8", "M2_u8.onnx", m2_.macs()},
                 {"M2/onnxruntime f32", "M2_f32.onnx", m2_.macs()},
                 {"one layer/onnxruntime", "tiny_conv1x1_x1.onnx", 0}};
    for (const auto& peer : peers) {
      std::string why;
      std::shared_ptr<OnnxRuntimeSession> session =
          onnxruntime_session(library, std::string(models) + "/" + peer.file, why);
      if (session == nullptr) {
        fmt::print(stderr, "ONNX Runtime: {} left out: {}\n", peer.file, why);
        continue;
      }
      add(
          peer.name, [session] { session->run(); }, peer.macs);
    }
#endif
  }

#if defined(RUNNEL_BENCH_XNNPACK)
  void compare(const std::string& name, XnnpackType type, const std::vector<std::int8_t>& found,
               const std::vector<std::int8_t>& expected) {
    const Difference d = difference(found, expected);
    // XNNPACK rounds ties to even, and float keeps fractions between layers; both differences grow from
    // layer to layer.
    if (d.mean > 0.5 + 0.1 * d.size)
      give_up(
          fmt::format("{}: XNNPACK's output is {:.2f} off for values of {:.2f} in the mean: another network",
                      name, d.mean, d.size));
    comparisons_.push_back({{"case", name},
                            {"peer", type == XnnpackType::qs8 ? "xnnpack qs8" : "xnnpack f32"},
                            {"mean_difference", d.mean},
                            {"mean_value", d.size},
                            {"share", d.share}});
  }
  void add_xnnpack(const std::string& name, XnnpackType type, std::shared_ptr<XnnpackNetwork> peer,
                   const std::vector<std::int8_t>& x, const std::vector<std::int8_t>& expected,
                   std::int64_t macs) {
    if (peer == nullptr) {
      fmt::print(stderr, "XNNPACK refused an operator of {}\n", name);
      return;
    }
    peer->put(x.data());
    if (!peer->run()) give_up("XNNPACK: an operator failed");
    compare(name, type, peer->output(), expected);
    add(
        name + (type == XnnpackType::qs8 ? "/xnnpack qs8" : "/xnnpack f32"), [peer] { peer->run(); }, macs);
  }
#endif

  void add(const std::string& name, std::function<void()> call, std::int64_t macs, double per_call = 1) {
    macs_[name] = macs;
    cases_.add(name, std::move(call), per_call);
  }

  // The time of `peer` divided by that of `ours`, if both were measured.
  void ratio(Json& ratios, const std::string& what, const std::string& peer, const std::string& ours,
             double target, bool at_least = true) const {
    const auto a = times_.find(peer), b = times_.find(ours);
    if (a == times_.end() || b == times_.end()) return;
    ratios[what] = {{"median", a->second.median / b->second.median}, {"min", a->second.min / b->second.min}};
    if (target > 0) ratios[what][at_least ? "at_least" : "at_most"] = target;
  }
  // The faster of XNNPACK's two forms.
  [[nodiscard]] std::string better(const std::string& name) const {
    const auto a = times_.find(name + "/xnnpack qs8"), b = times_.find(name + "/xnnpack f32");
    if (a == times_.end() || b == times_.end()) return {};
    return a->second.median < b->second.median ? a->first : b->first;
  }

  void report() {
    Json cases = Json::object();
    fmt::print(stderr, "{:<36}{:>10}{:>10}{:>9}\n", "us", "min", "median", "GMAC/s");
    for (const std::string& name : cases_.names()) {
      const Times& t = times_.at(name);
      const double rate = static_cast<double>(macs_.at(name)) / t.min * 1e-3;
      cases[name] = {{"min_us", t.min}, {"median_us", t.median}};
      if (rate > 0) cases[name]["gmacs"] = rate;
      fmt::print(stderr, "{:<36}{:>10.3f}{:>10.3f}{:>9.1f}\n", name, t.min, t.median, rate);
    }
    Json ratios = Json::object();
    for (const int frames : {1, 2, 4}) {
      const std::string name = fmt::format("M1 stream {}", frames);
      ratio(ratios, name + ": XNNPACK qs8 / runnel", name + "/xnnpack qs8", name + "/runnel",
            frames == 1 ? 3 : 0);
      ratio(ratios, name + ": XNNPACK f32 / runnel", name + "/xnnpack f32", name + "/runnel", 0);
    }
    ratio(ratios, "M1 stream 1: ONNX Runtime u8, state outside / runnel", "M1 stream 1/onnxruntime u8",
          "M1 stream 1/runnel", 80);
    for (const char* name : {"M1 whole", "M2"}) {
      ratio(ratios, fmt::format("{}: better XNNPACK / runnel", name), better(name),
            fmt::format("{}/runnel", name), 1.3);
      ratio(ratios, fmt::format("{}: ONNX Runtime u8 / runnel", name), fmt::format("{}/onnxruntime u8", name),
            fmt::format("{}/runnel", name), 0);
    }
    for (const char* name : {"M1", "digits"}) {
      ratio(ratios, fmt::format("{} stream 1: step / its kernels alone", name),
            fmt::format("{} stream 1/runnel", name), fmt::format("{} stream 1/kernels alone", name), 1.3,
            false);
    }
    ratio(ratios, "M1 stream 1: one session / 64 in turn, per step", "M1 stream 1/runnel",
          "M1 stream 1/64 sessions in turn", 0);
    ratio(ratios, "M1 stream 1: 64 sessions in turn / together", "M1 stream 1/64 sessions in turn",
          "M1 stream 1/64 sessions together", 1.8);

    ratio(ratios, "pointwise 64x64, 100 frames: share of the multiply-add peak",
          "pointwise 64x64, 100 frames/in registers", "pointwise 64x64, 100 frames/runnel", 0.6);
    if (best_isa() == Isa::amx)
      ratio(ratios, "pointwise 64x64, 100 frames: share of the tiles' peak",
            "pointwise 64x64, 100 frames/in tiles", "pointwise 64x64, 100 frames/runnel", 0);

    Json out = {{"type", "bench"},
                {"machine", machine()},
                {"rounds", cases_.rounds()},
                {"cases", cases},
                {"ratios", ratios}};
    const Times call = times_.at("one layer/runnel"), kernel = times_.at("one layer/kernels alone");
    out["call_overhead_us"] = {
        {"median", call.median - kernel.median}, {"min", call.min - kernel.min}, {"at_most", 0.2}};
    out["differences"] = comparisons_;
    if (!digits_.empty()) {
      const DigitsSpeed digits = need(measure_digits(digits_, 21));
      out["digits"] = {{"times_real_time",
                        {{"median", digits.real_time}, {"max", digits.real_time_best}, {"at_least", 1500}}},
                       {"front_end_share", digits.front_end_share},
                       {"us_per_frame", digits.step_us}};
      fmt::print(stderr, "digits graph: {:.0f} x real time (best {:.0f}), front end {:.0f} %\n",
                 digits.real_time, digits.real_time_best, 100 * digits.front_end_share);
    }
    fmt::print(stderr, "call overhead: {:.3f} us (min {:.3f})\n", call.median - kernel.median,
               call.min - kernel.min);
    for (const auto& [what, value] : ratios.items()) {
      fmt::print(stderr, "{:<52}{:>8.2f}{:>8.2f}\n", what, value["median"].get<double>(),
                 value["min"].get<double>());
    }
    std::printf("%s\n", out.dump(1).c_str());
  }

  double seconds_;
  std::string digits_;
  M1 m1_;
  M2 m2_;
  Interleaved cases_;
  std::map<std::string, std::int64_t> macs_;
  std::map<std::string, Times> times_;
  Json comparisons_ = Json::array();
};

}  // namespace
}  // namespace runnel::bench

int main(int argc, char** argv) {
  double seconds = 10;
  std::string digits;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--seconds" && i + 1 < argc) {
      seconds = std::strtod(argv[++i], nullptr);
    } else if (option == "--digits" && i + 1 < argc) {
      digits = argv[++i];
    } else {
      std::fputs("usage: inference_bench [--seconds S] [--digits digits.rnl] > speed.json\n", stderr);
      return 2;
    }
  }
  return runnel::bench::Bench(seconds, digits).run();
}
