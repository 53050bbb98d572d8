// runnel profile: the time of a model per operator.
#include "inference/host/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/npu/npu_cycles.h"
#include "apps/profile_device.h"
#include "apps/support.h"
#include "apps/verbs.h"
#include "inference/model/usage.h"
#include "npu/host/simulator/simulated_npu.h"
#include "services/device/beside.h"
#include "services/device/read_report.h"

namespace runnel::apps {
namespace {

struct ProfileCall {
  std::string model;
  ModelFlags flags;
  std::int64_t chunk = 0, runs = 1000;
  std::int64_t fast_bytes = -1;  // no limit
  int threads = 1;
  device::Source from_device;  // without a path: none
  bool whole = false, sort = false, json = false, param_copy = false;
};

nlohmann::ordered_json to_json(const Profile::TierBytes& tier) {
  return {
      {"constants", tier.constants}, {"arena", tier.arena}, {"scratch", tier.scratch}, {"state", tier.state}};
}

nlohmann::ordered_json to_json(const ProfileCall& call, const Profile& profile,
                               const std::vector<npu::SegmentEstimate>& npu) {
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  for (const StepProfile& step : profile.steps) {
    steps.push_back({{"operators", step.operators},
                     {"type", step.type},
                     {"name", step.name},
                     {"us", step.microseconds},
                     {"share", step.share},
                     {"macs", step.macs},
                     {"gmacs_per_second", step.gmacs_per_second},
                     {"kernel", step.kernel},
                     {"peak_share", step.peak_share},
                     {"output_bytes", step.output_bytes}});
  }
  nlohmann::ordered_json out{{"type", "profile"},
                             {"model", call.model},
                             {"isa", name_of(best_isa())},
                             {"mode", profile.mode == RunMode::stream ? "stream" : "whole"},
                             {"block", profile.block},
                             {"threads", call.threads},
                             {"runs", profile.runs},
                             {"run_us", profile.run_microseconds},
                             {"steps_us", profile.steps_microseconds},
                             {"macs", profile.macs},
                             {"memory",
                              {{"weights", profile.weight_bytes},
                               {"prepared", profile.prepared_bytes},
                               {"constants_in_file", profile.constants_in_file},
                               {"fast", to_json(profile.fast)},
                               {"slow", to_json(profile.slow)}}},
                             {"steps", steps}};
  if (!npu.empty()) out["npu"] = cycles_json(npu);
  return out;
}

std::string rate(double gmacs) { return gmacs > 0 ? fmt::format("{:.2f}", gmacs) : "-"; }

void print_memory(const Profile& profile) {
  fmt::print("memory in bytes: weights {} in the file ({} read there while running), {} prepared\n",
             profile.weight_bytes, profile.constants_in_file, profile.prepared_bytes);
  fmt::print("{:<6} {:>11} {:>11} {:>20} {:>18}\n", "tier", "constants", "arena", "scratch, a thread",
             "state, a stream");
  for (const auto& [name, tier] : {std::pair("fast", profile.fast), std::pair("slow", profile.slow)}) {
    fmt::print("{:<6} {:>11} {:>11} {:>20} {:>18}\n", name, tier.constants, tier.arena, tier.scratch,
               tier.state);
  }
}

// "one run of 4 frames", "one step of 3 frames": the input of a run.
std::string run_text(const Profile& profile, const Model& model) {
  if (profile.mode == RunMode::stream) return fmt::format("one run of {} frames", profile.block);
  if (const auto usage = usage_of(model); usage.ok() && usage->kind == UsageKind::step)
    return fmt::format("one step of {} frames", usage->advance);
  return profile.block > 0 ? fmt::format("one clip of {} frames", profile.block) : "one clip";
}

void print_table(const Profile& profile, const Model& model) {
  fmt::print("{:>4} {:<22} {:<30} {:<24} {:>11} {:>7} {:>11} {:>8} {:>6} {:>9}\n", "op", "type", "name",
             "kernel", "us", "share", "MACs", "GMAC/s", "peak", "bytes");
  for (const StepProfile& step : profile.steps) {
    fmt::print("{:>4} {:<22.22} {:<30.30} {:<24.24} {:>11.3f} {:>6.1f}% {:>11} {:>8} {:>5.0f}% {:>9}\n",
               step.operators.front(), step.type, step.name, step.kernel, step.microseconds, 100 * step.share,
               step.macs, rate(step.gmacs_per_second), 100 * step.peak_share, step.output_bytes);
  }
  const double gmacs =
      profile.run_microseconds > 0 ? static_cast<double>(profile.macs) / profile.run_microseconds / 1e3 : 0;
  fmt::print(
      "\n{}: {:.3f} us, {} MACs, {} GMAC/s (the steps one by one: {:.3f} us; medians of {} runs, {})\n",
      run_text(profile, model), profile.run_microseconds, profile.macs, rate(gmacs),
      profile.steps_microseconds, profile.runs, name_of(best_isa()));
  print_memory(profile);
}

// Runs as the device does.
Status run_like(const device::Report& report, const Model& model, ProfileOptions& options) {
  if (options.mode == RunMode::stream) {
    RUNNEL_ASSIGN(const ModelUsage usage, usage_of(model));
    if (usage.stepped()) options.mode = RunMode::whole;
  }
  if (model.plan() != nullptr) options.frames = static_cast<std::int64_t>(report.block);
  return {};
}

Status run_profile(const ProfileCall& call) {
  if (call.whole && call.chunk > 0)
    return Status(Code::invalid_argument) << "--whole and --chunk, expected one of them";
  if (!call.from_device.path.empty() && (call.whole || call.chunk > 0))
    return Status(Code::invalid_argument)
           << "--from-device with --whole or --chunk: the run is as long as on the device";
  RUNNEL_ASSIGN(const auto owned, load(call.model, call.flags));
  std::optional<device::Received> received;
  if (!call.from_device.path.empty()) {
    RUNNEL_ASSIGN(received, device::read_report(call.from_device));
    if (const Status status = device::check_model(received->report, owned->model()); !status.ok())
      return status.at(call.from_device.path == "-" ? "stdin" : call.from_device.path);
  }
  ProfileOptions options;
  options.mode = call.whole || owned->model().plan() == nullptr ? RunMode::whole : RunMode::stream;
  if (options.mode == RunMode::whole && call.chunk > 0)
    return Status(Code::unsupported) << call.model << ": --chunk needs a model that can be streamed";
  options.frames = call.chunk;
  options.runs = call.runs;
  options.threads = call.threads;
  options.param_copy = call.param_copy;
  options.operators = npu::simulating_operators();
  if (call.fast_bytes >= 0) options.fast_bytes = static_cast<std::size_t>(call.fast_bytes);
  if (received) RUNNEL_TRY(run_like(received->report, owned->model(), options));
  RUNNEL_ASSIGN(Profile profile, profile_model(owned, options));
  if (call.sort && !received)
    std::stable_sort(
        profile.steps.begin(), profile.steps.end(),
        [](const StepProfile& a, const StepProfile& b) { return a.microseconds > b.microseconds; });
  RUNNEL_ASSIGN(const auto npu, npu::estimate_segments(owned->model(), options.mode == RunMode::stream));
  if (received) {
    print_beside(*received, profile, call.model, npu, call.sort, call.json);
  } else if (call.json) {
    std::printf("%s\n", to_json(call, profile, npu).dump().c_str());
  } else {
    print_table(profile, owned->model());
    print_cycles(npu);
  }
  return {};
}

}  // namespace

void add_profile(Verb verb, int& exit_code) {
  auto call = std::make_shared<ProfileCall>();
  verb.positional("MODEL", call->model, kAnyModel).required();
  verb.option("--chunk", call->chunk, "Source frames per run (0: the smallest block)").non_negative();
  verb.flag("--whole", call->whole, "One clip at once, of the length in the model file");
  verb.option("--runs", call->runs, "Timed runs").range(std::int64_t{1}, std::int64_t{10'000'000});
  add_threads_flag(verb, call->threads);
  verb.option(
          "--fast-bytes", call->fast_bytes,
          "Fast memory that the model may use, in bytes; the rest goes to slow memory (default: no limit)")
      .non_negative();
  verb.flag("--param-copy", call->param_copy, "Copy constants that are read at run time into memory");
  verb.option("--from-device", call->from_device.path,
              "Lines that a board printed with runnel_tell(): a file, - for stdin, or a serial line; their "
              "figures beside those of this machine");
  verb.option("--baud", call->from_device.baud, "Bits per second of the serial line").positive();
  verb.option("--timeout", call->from_device.seconds, "Seconds to wait for the serial line's report")
      .range(1, 86400);
  verb.flag("--sort", call->sort, "Slowest first, instead of in order");
  verb.flag("--json", call->json, "One JSON object");
  add_model_flags(verb, call->flags);
  verb.callback([call, &exit_code] {
    if (const Status status = run_profile(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
