// runnel bench: how fast a model runs here.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "apps/support.h"
#include "apps/verbs.h"
#include "inference/host/engine.h"

namespace runnel::apps {
namespace {

struct BenchCall {
  std::string model;
  ModelFlags flags;
  std::int64_t block = 0;
  int threads = 1;
  double seconds = 1, frame_rate = 100;
};

Status run_bench(const BenchCall& call) {
  RUNNEL_ASSIGN(const auto owned, load(call.model, call.flags));
  PrepareOptions options;
  options.mode = owned->model().plan() != nullptr ? RunMode::stream : RunMode::whole;
  options.frames = call.block;
  options.threads = call.threads;
  RUNNEL_ASSIGN(const auto engine, Engine::make(owned, options));
  RUNNEL_ASSIGN(const auto runner, Runner::make(engine));
  Session& session = runner->session();
  const Prepared& prepared = engine->prepared();
  std::mt19937 random(1);
  std::vector<double> times;
  const auto start = std::chrono::steady_clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  constexpr int kWarmUp = 32;
  // Calls are timed in batches of at least 20 us, because the clock itself costs some 30 ns.
  std::int64_t batch = 1, runs = 0;
  for (int warm = 0; warm < kWarmUp || times.size() < 8 || spent() < call.seconds;) {
    for (std::size_t i = 0; i < owned->model().inputs().size(); ++i) {
      for (std::byte& byte : session.input(static_cast<int>(i))) byte = static_cast<std::byte>(random() & 63);
    }
    const auto before = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < batch; ++i) session.run(prepared.block());
    const double each = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - before).count();
    if (each < 20) batch *= 2;
    else if (++warm > kWarmUp / 2) times.push_back(each / static_cast<double>(batch));
    runs += batch;
  }
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  nlohmann::ordered_json out = {{"type", "bench"}, {"model", call.model}, {"isa", name_of(options.isa)}, {"mode", options.mode == RunMode::stream ? "stream" : "whole"},
                                {"block", prepared.block()}, {"threads", prepared.threads()}, {"runs", runs}, {"min_us", times.front()}, {"median_us", median}};
  if (options.mode == RunMode::stream) {
    const double frames = static_cast<double>(prepared.block()) / median * 1e6;
    out["frames_per_second"] = frames;
    out["times_real_time"] = frames / call.frame_rate;
    out["streams_per_core"] = static_cast<std::int64_t>(frames / call.frame_rate);
  }
  out["arena_bytes"] = prepared.arena_bytes();
  out["state_bytes"] = prepared.state_bytes();
  std::printf("%s\n", out.dump().c_str());
  return {};
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  auto call = std::make_shared<BenchCall>();
  CLI::App* verb = app.add_subcommand("bench", "How fast a model runs on this machine");
  verb->add_option("MODEL", call->model, "Model file (.rnl, .espdl, .onnx)")->required();
  verb->add_option("--block", call->block, "Source frames per call (0: the smallest; whole clips: the clip)")->check(CLI::NonNegativeNumber);
  add_threads_flag(verb, call->threads);
  verb->add_option("--seconds", call->seconds, "How long to measure")->check(CLI::PositiveNumber);
  verb->add_option("--frame-rate", call->frame_rate, "Source frames per second, for real-time factors")->check(CLI::PositiveNumber);
  add_model_flags(verb, call->flags);
  verb->callback([call, &exit_code] {
    if (const Status status = run_bench(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
