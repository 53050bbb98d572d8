#include "apps/profile_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/npu/npu_cycles.h"
#include "services/device/beside.h"

namespace runnel::apps {
namespace {

using Json = nlohmann::ordered_json;

double mean(std::uint64_t sum, std::uint64_t count) {
  return count > 0 ? static_cast<double>(sum) / static_cast<double>(count) : 0;
}
double share(std::uint64_t part, std::uint64_t all) { return mean(part, all); }

// Cycles as microseconds where the clock is known.
std::string time_text(double cycles, std::uint64_t hz) {
  return hz > 0 ? fmt::format("{:.1f} us", 1e6 * cycles / static_cast<double>(hz))
                : fmt::format("{:.0f} cycles", cycles);
}

Json time_json(double cycles, std::uint64_t hz) {
  return hz > 0 ? Json(1e6 * cycles / static_cast<double>(hz)) : Json(nullptr);
}

Json npu_json(const device::Npu& npu, const std::vector<npu::SegmentEstimate>& estimates) {
  return {{"runs", npu.runs},
          {"failures", npu.failures},
          {"cycles_per_run", mean(npu.cycles, npu.runs)},
          {"near_read_beats_per_run", mean(npu.near_read, npu.runs)},
          {"near_written_beats_per_run", mean(npu.near_written, npu.runs)},
          {"far_read_beats_per_run", mean(npu.far_read, npu.runs)},
          {"far_written_beats_per_run", mean(npu.far_written, npu.runs)},
          {"estimated", cycles_json(estimates)}};
}

Json rows_json(const std::vector<device::Row>& rows) {
  Json out = Json::array();
  for (const device::Row& row : rows) {
    out.push_back({{"first", row.first},
                   {"operators", row.count},
                   {"type", row.type},
                   {"name", row.name},
                   {"us", row.desk_microseconds},
                   {"share", row.desk_share},
                   {"device_runs", row.runs},
                   {"device_cycles", row.cycles},
                   {"device_us", row.microseconds ? Json(*row.microseconds) : Json(nullptr)},
                   {"device_share", row.share},
                   {"device_most_cycles", row.most}});
  }
  return out;
}

void print_json(const device::Received& received, const std::vector<device::Row>& rows,
                const Profile& profile, const std::string& name,
                const std::vector<npu::SegmentEstimate>& npu) {
  const device::Report& report = received.report;
  Json nodes = Json::array();
  for (const device::StageTime& one : report.stages)
    nodes.push_back({{"name", one.name},
                     {"calls", one.calls},
                     {"cycles", one.cycles},
                     {"most_cycles", one.most},
                     {"us_per_call", time_json(mean(one.cycles, one.calls), report.hz)}});
  Json out{{"type", "device_profile"},
           {"model", name},
           {"program", report.program},
           {"target", report.target},
           {"hz", report.hz},
           {"sample_rate", report.rate},
           {"hop", report.hop},
           {"block", report.block},
           {"run_us", profile.run_microseconds},
           {"steps", rows_json(rows)},
           {"nodes", nodes},
           {"time",
            {{"steps", report.steps},
             {"cycles", report.cycles},
             {"most_cycles", report.most},
             {"late", report.late},
             {"behind_cycles", report.behind},
             {"us_per_step", time_json(mean(report.cycles, report.steps), report.hz)}}},
           {"memory",
            {{"used", report.memory_used},
             {"planned", report.memory_planned},
             {"fast_used", report.fast_used},
             {"fast_planned", report.fast_planned},
             {"arena", report.arena},
             {"scratch", report.scratch},
             {"state", report.state},
             {"desk_arena", profile.fast.arena + profile.slow.arena},
             {"desk_scratch", profile.fast.scratch + profile.slow.scratch},
             {"desk_state", profile.fast.state + profile.slow.state}}},
           {"stack", report.stack_used ? Json(*report.stack_used) : Json(nullptr)},
           {"stream",
            {{"samples", report.samples},
             {"lost", report.lost},
             {"gated", report.gated},
             {"gaps", report.gaps},
             {"events", report.events},
             {"dropped_events", report.dropped},
             {"overruns", report.overruns}}}};
  if (report.npu) out["npu"] = npu_json(*report.npu, npu);
  if (received.self_test)
    out["self_test"] = {{"code", received.self_test->code}, {"said", received.self_test->said}};
  std::printf("%s\n", out.dump().c_str());
}

void print_operators(const std::vector<device::Row>& rows) {
  fmt::print("{:>4} {:<22} {:<28} {:>10} {:>7} {:>14} {:>11} {:>7} {:>12}\n", "op", "type", "name", "desk us",
             "share", "device cycles", "us", "share", "at most");
  for (const device::Row& row : rows) {
    fmt::print("{:>4} {:<22.22} {:<28.28} {:>10.3f} {:>6.1f}% {:>14.0f} {:>11} {:>6.1f}% {:>12}\n", row.first,
               row.type, row.name, row.desk_microseconds, 100 * row.desk_share, row.cycles,
               row.microseconds ? fmt::format("{:.1f}", *row.microseconds) : "-", 100 * row.share, row.most);
  }
}

void print_nodes(const device::Report& report) {
  fmt::print("\n{:<16} {:>10} {:>16} {:>12} {:>7}\n", "node", "calls", "cycles, a call", "at most", "share");
  std::uint64_t all = 0;
  for (const device::StageTime& one : report.stages) all += one.cycles;
  for (const device::StageTime& one : report.stages) {
    fmt::print("{:<16.16} {:>10} {:>16.0f} {:>12} {:>6.1f}%\n", one.name, one.calls,
               mean(one.cycles, one.calls), one.most, 100 * share(one.cycles, all));
  }
}

void print_totals(const device::Report& report, const Profile& profile) {
  const std::string clock =
      report.hz > 0 ? fmt::format("{:.3f} MHz", static_cast<double>(report.hz) / 1e6) : "unknown";
  fmt::print("\n{} on {}, counter {}: {} steps of at most {} samples of {} Hz, {} each, at most {}\n",
             report.program, report.target, clock, report.steps, report.hop, report.rate,
             time_text(mean(report.cycles, report.steps), report.hz),
             time_text(static_cast<double>(report.most), report.hz));
  if (report.hz > 0)
    fmt::print("lateness: {} steps took longer than their samples last, at most {} behind\n", report.late,
               time_text(static_cast<double>(report.behind), report.hz));
  fmt::print("samples: {}, {} lost in {} gaps, {} gated, {} overruns; {} decisions, {} dropped\n",
             report.samples, report.lost, report.gaps, report.gated, report.overruns, report.events,
             report.dropped);
  fmt::print("memory in bytes: {} of {} planned", report.memory_used, report.memory_planned);
  if (report.fast_planned > 0) fmt::print(", fast {} of {}", report.fast_used, report.fast_planned);
  fmt::print("; arena {} (desk {}), scratch {} ({}), state {} ({}); stack {}\n", report.arena,
             profile.fast.arena + profile.slow.arena, report.scratch,
             profile.fast.scratch + profile.slow.scratch, report.state,
             profile.fast.state + profile.slow.state,
             report.stack_used ? std::to_string(*report.stack_used) : "unknown");
}

void print_npu(const device::Npu& npu, const std::vector<npu::SegmentEstimate>& estimates) {
  fmt::print(
      "NPU: {} runs, {} failed; a run {:.0f} cycles, beats read and written near {:.0f} and {:.0f}, far "
      "{:.0f} "
      "and {:.0f}\n",
      npu.runs, npu.failures, mean(npu.cycles, npu.runs), mean(npu.near_read, npu.runs),
      mean(npu.near_written, npu.runs), mean(npu.far_read, npu.runs), mean(npu.far_written, npu.runs));
  print_cycles(estimates);
}

}  // namespace

void print_beside(const device::Received& received, const Profile& profile, const std::string& name,
                  const std::vector<npu::SegmentEstimate>& npu, bool sort, bool json) {
  std::vector<device::Row> rows = device::beside(received.report, profile);
  if (sort)
    std::stable_sort(rows.begin(), rows.end(),
                     [](const device::Row& a, const device::Row& b) { return a.cycles > b.cycles; });
  if (json) return print_json(received, rows, profile, name, npu);
  print_operators(rows);
  print_nodes(received.report);
  print_totals(received.report, profile);
  if (received.report.npu) print_npu(*received.report.npu, npu);
  if (received.self_test) {
    fmt::print("self-test: {}\n", received.self_test->code == 0
                                      ? "passed"
                                      : fmt::format("failed with code {}: {}", received.self_test->code,
                                                    received.self_test->said));
  }
}

}  // namespace runnel::apps
