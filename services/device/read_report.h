// A device's report from where it arrives: a file, stdin or a serial line.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "services/device/report.h"

namespace runnel::device {

struct Source {
  std::string path;   // "-": stdin
  int baud = 115200;  // of a serial line
  int seconds = 60;   // to wait for a whole report on a serial line
};

struct Received {
  Report report;
  std::optional<SelfTest> self_test;
};

// The last report of a file or of stdin; of a serial line the next whole one. Errors begin with the path:
// those of ReportReader; not_found, also when nothing arrives in time; invalid_argument; io_error.
Result<Received> read_report(const Source& source);

}  // namespace runnel::device
