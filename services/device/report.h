// What a device reports about a program with counters: the lines of runnel_tell() (docs/firmware.md), which
// come from outside and are checked here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace runnel::device {

// The version of the lines.
inline constexpr int kReportVersion = 1;

struct StageTime {
  std::string name;
  std::uint64_t calls = 0, cycles = 0, most = 0;
};
// Of `count` operators from number `first` on.
struct OperatorTime {
  std::uint64_t first = 0, count = 0, runs = 0, cycles = 0, most = 0;
};
struct Npu {
  std::uint64_t runs = 0, failures = 0, cycles = 0, near_read = 0, near_written = 0, far_read = 0,
                far_written = 0;  // the last four: beats
};
struct SelfTest {
  std::string program;
  std::uint64_t code = 0;  // a runnel_code
  std::string said;
};
// Members have the meaning of those in embed/measure/runnel_measure.h and runnel_counters.
struct Report {
  std::string program, target;
  std::uint32_t model_sum = 0;
  std::uint64_t hz = 0, rate = 0, hop = 0, block = 0;
  std::vector<StageTime> stages;
  std::vector<OperatorTime> operators;  // each begins where the one before it ends, the first one at 0
  std::uint64_t steps = 0, cycles = 0, most = 0, late = 0, behind = 0;
  std::uint64_t memory_used = 0, memory_planned = 0, fast_used = 0, fast_planned = 0, arena = 0, scratch = 0,
                state = 0;
  std::optional<std::uint64_t> stack_used;
  std::uint64_t samples = 0, lost = 0, gated = 0, gaps = 0, events = 0, dropped = 0, overruns = 0;
  std::optional<Npu> npu;
};

// Puts lines together to reports. Lines that do not begin with "@runnel " are other talk of the device and
// ignored. Not thread-safe.
class ReportReader {
 public:
  // `joins`: the first lines may be the rest of a report whose start was missed; they are ignored.
  explicit ReportReader(bool joins) : joins_(joins) {}

  // A line without its end. Errors: invalid_data for a damaged line, an unknown kind, a wrong order or a
  // number that does not fit; unsupported for another version. They name the line by its number.
  Status line(std::string_view text);
  // Errors, at the end of the lines: invalid_data for a report without its end; not_found without any.
  Status end() const;

  // The last complete report and self-test.
  [[nodiscard]] const std::optional<Report>& report() const { return report_; }
  [[nodiscard]] const std::optional<SelfTest>& self_test() const { return self_test_; }

 private:
  Status accept(std::string_view kind, std::string_view fields);
  Status begin(std::string_view fields);
  Status finish(std::string_view fields);

  bool joins_;
  std::uint64_t number_ = 0, begun_at_ = 0, lines_ = 0;
  int stage_ = 0;  // of the report: which kind came last
  bool inside_ = false;
  Report current_;
  std::optional<Report> report_;
  std::optional<SelfTest> self_test_;
};

}  // namespace runnel::device
