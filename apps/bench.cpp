// runnel bench: the speed of a model on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <string>

#include "apps/npu/npu_cycles.h"
#include "apps/support.h"
#include "apps/verbs.h"
#include "base/host/heap_memory.h"
#include "inference/host/engine.h"
#include "inference/session_group.h"
#include "inference/stepped_group.h"
#include "npu/host/simulator/simulated_npu.h"

namespace runnel::apps {
namespace {

struct BenchCall {
  std::string model;
  ModelFlags flags;
  std::int64_t block = 0;
  int threads = 1;
  std::size_t sessions = 1;
  double seconds = 1, frame_rate = 100;
  std::string isa;
};

// A level of this machine by its name; empty: the best one.
Result<Isa> level_named(const std::string& name) {
  if (name.empty()) return best_isa();
  std::string known;
  for (int level = static_cast<int>(Isa::generic); level <= static_cast<int>(best_isa()); ++level) {
    if (!runs_here(static_cast<Isa>(level))) continue;
    const auto isa = static_cast<Isa>(level);
    if (name == name_of(isa)) return isa;
    known += (known.empty() ? "" : ", ") + std::string(name_of(isa));
  }
  return Status(Code::invalid_argument) << "--isa " << name << ", expected one of " << known;
}

Status run_bench(const BenchCall& call) {
  RUNNEL_ASSIGN(const auto owned, load(call.model, call.flags));
  PrepareOptions options;
  options.mode = owned->model().plan() != nullptr ? RunMode::stream : RunMode::whole;
  options.frames = call.block;
  options.threads = call.threads;
  RUNNEL_ASSIGN(options.isa, level_named(call.isa));
  RUNNEL_ASSIGN(const auto engine, Engine::make(owned, options, npu::simulating_operators()));
  const Prepared& prepared = engine->prepared();
  RUNNEL_ASSIGN(const ModelUsage usage, usage_of(owned->model()));
  const bool steps = options.mode == RunMode::whole && usage.kind == UsageKind::step;
  if (call.sessions > 1 && (!(steps || options.mode == RunMode::stream) || call.threads > 1)) {
    return Status(Code::unsupported) << "--sessions steps streams together in one thread: it needs a model "
                                        "that can be streamed or runs in steps, and no --threads";
  }
  HeapMemory memory;
  RUNNEL_ASSIGN(const auto runner, Runner::make(engine));
  std::optional<SessionGroup> group;
  std::optional<SteppedGroup> stepped;  // with the copying of their states
  std::vector<std::uint32_t> all(call.sessions);
  std::iota(all.begin(), all.end(), 0u);
  if (call.sessions > 1 && steps) {
    RUNNEL_ASSIGN(stepped, SteppedGroup::make(prepared, usage, call.sessions, memory));
  } else if (call.sessions > 1) {
    RUNNEL_ASSIGN(group, SessionGroup::make(prepared, call.sessions, memory));
  }
  const auto session_of = [&](std::size_t i) -> Session& {
    return group ? group->session(i) : stepped ? stepped->stream(i).session() : runner->session();
  };
  std::mt19937 random(1);
  std::vector<double> times;
  const auto start = std::chrono::steady_clock::now();
  const auto spent = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  constexpr int kWarmUp = 32;
  // Calls are timed in batches of at least 20 us, because the clock itself costs some 30 ns.
  std::int64_t batch = 1, runs = 0;
  for (int warm = 0; warm < kWarmUp || times.size() < 8 || spent() < call.seconds;) {
    for (std::size_t s = 0; s < call.sessions; ++s) {
      for (std::size_t i = 0; i < owned->model().inputs().size(); ++i) {
        for (std::byte& byte : session_of(s).input(static_cast<int>(i)))
          byte = static_cast<std::byte>(random() & 63);
      }
    }
    const auto before = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < batch; ++i) {
      if (group)
        group->run();
      else if (stepped)
        stepped->run(all);
      else
        runner->session().run(prepared.block());
    }
    const double each =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - before).count();
    if (each < 20)
      batch *= 2;
    else if (++warm > kWarmUp / 2)
      times.push_back(each / static_cast<double>(batch) / static_cast<double>(call.sessions));
    runs += batch;
  }
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  nlohmann::ordered_json out = {{"type", "bench"},
                                {"model", call.model},
                                {"isa", name_of(options.isa)},
                                {"mode", options.mode == RunMode::stream ? "stream"
                                         : steps                         ? "steps"
                                                                         : "whole"},
                                {"block", prepared.block()},
                                {"threads", prepared.threads()},
                                {"sessions", call.sessions},
                                {"runs", runs},
                                {"min_us", times.front()},
                                {"median_us", median}};
  if (steps && usage.advance > 0) {
    // How long such a frame is, the model does not say: samples are frames, too.
    out["frames_per_second"] = static_cast<double>(usage.advance) / median * 1e6;
  } else if (options.mode == RunMode::stream) {
    const double frames = static_cast<double>(prepared.block()) / median * 1e6;
    out["frames_per_second"] = frames;
    out["times_real_time"] = frames / call.frame_rate;
    out["streams_per_core"] = static_cast<std::int64_t>(frames / call.frame_rate);
  }
  out["arena_bytes"] = prepared.arena_bytes();
  out["state_bytes"] = prepared.state_bytes();
  RUNNEL_ASSIGN(const auto npu, npu::estimate_segments(owned->model(), options.mode == RunMode::stream));
  if (!npu.empty()) out["npu"] = cycles_json(npu);
  std::printf("%s\n", out.dump().c_str());
  return {};
}

}  // namespace

void add_bench(Verb verb, int& exit_code) {
  auto call = std::make_shared<BenchCall>();
  verb.positional("MODEL", call->model, kAnyModel).required();
  verb.option("--block", call->block, "Source frames per call (0: the smallest; whole clips: the clip)")
      .non_negative();
  add_threads_flag(verb, call->threads);
  verb.option("--sessions", call->sessions,
              "Streams stepped together, of models for streams or steps; times are per stream")
      .range(1, 100000);
  verb.option("--seconds", call->seconds, "Seconds to measure").positive();
  verb.option(
      "--isa", call->isa,
      "Instructions to use: generic, avx2, avx512, avx512vnni, amx, neon, neondot, neoni8mm, rvv; all "
      "compute the same bits (default: the "
      "best of this machine)");
  verb.option("--frame-rate", call->frame_rate, "Source frames per second, for real-time factors").positive();
  add_model_flags(verb, call->flags);
  verb.callback([call, &exit_code] {
    if (const Status status = run_bench(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
