// The result of one recording, and the totals of a run.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"

namespace runnel::batch {

// Counters.
struct Counts {
  Code code = Code::ok;  // of the failure
  double audio_seconds = 0;
  double busy_seconds = 0;  // of processing
  std::int64_t events = 0;
  std::int64_t lost = 0;  // samples
};

struct Outcome {
  Counts counts;
  std::string records;  // for the output: lines with newlines, or bytes of an array
  // If records are not JSON lines (output_format.h): the recording's line of the index, without its position
  // in the output and without newline.
  std::string index{};
  std::string reason{};  // of a failure: the recording and the sentence
};

struct Totals {
  std::int64_t recordings = 0, failures = 0, events = 0, lost = 0;
  double audio_seconds = 0, busy_seconds = 0;
  std::map<std::string, std::int64_t> reasons;  // name of the code -> failures
  std::string first_reason;                     // of the first failure of this process; empty: none

  void add(const Counts& counts);
  void add(const Outcome& outcome);
};

// {"type":"error",...} with its newline; counts the failure in `outcome`.
void add_error(Outcome& outcome, std::string_view path, const Status& status);
// {"type":"summary",...} with its newline (docs/batch.md). The real-time factor is that of one thread:
// processing time by audio time; `timing` false: it is omitted, so that equal input gives equal bytes.
std::string summary_line(const Totals& totals, bool timing = true);

}  // namespace runnel::batch
