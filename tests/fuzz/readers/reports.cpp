// What boards and earlier calls tell a host: reports of devices over a serial line, profiles of programs.
#include <algorithm>

#include "services/device/report.h"
#include "services/embed/partition/profile.h"
#include "tests/fuzz/readers/memory_file.h"
#include "tests/fuzz/readers/reader.h"
#include "tests/services/device/report_lines.h"

namespace runnel::fuzz {
namespace {

// Lines without their mark and checksum, which are added here; those that begin with "!" are as they are. The
// first byte: whether the start was missed.
Status feed_device_report(std::span<const std::byte> bytes) {
  if (bytes.empty()) return Status(Code::invalid_data, "nothing");
  device::ReportReader reader(bytes.front() == std::byte{1});
  for (std::string_view rest = text_of(bytes.subspan(1)); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    RUNNEL_TRY(line.starts_with('!') ? reader.line(line.substr(1)) : reader.line(test::told(line)));
  }
  RUNNEL_TRY(reader.end());
  if (reader.report()) {
    std::uint64_t next = 0;
    for (const device::OperatorTime& one : reader.report()->operators) {
      insist(one.first == next, "operators out of order");
      next += one.count;
    }
  }
  return {};
}

Status feed_profile(std::span<const std::byte> bytes) {
  static MemoryFile file(".profile.json"), written(".profile.json");
  RUNNEL_ASSIGN(const embedding::Profile profile, embedding::read_profile(file.with(bytes)));
  const std::string text = embedding::text_of(profile);
  const auto again = embedding::read_profile(written.with(bytes_of(text)));
  insist(again.ok() && embedding::text_of(*again) == text,
         "a profile that is another one when it was written");
  return {};
}

}  // namespace

std::vector<Reader> report_readers() {
  std::string report;
  for (const std::string& line : test::report_bodies(0x1234, 2)) report += line + "\n";
  embedding::Profile profile;
  compiler::EmbeddedProgram program;
  program.name = "digits";
  program.operators = {"kConv2d"};
  profile = embedding::profile_of(program, {});
  profile.operators = {"kConv2d"};
  profile.nodes = {{"fbank", "00ff"}};
  return {{"device_report", feed_device_report, {std::string("\0", 1) + report, "\1" + report}},
          {"profile", feed_profile, {embedding::text_of(profile)}}};
}

}  // namespace runnel::fuzz
