#include "services/batch/outcome.h"

#include "pipeline/host/json.h"

namespace runnel::batch {

using pipeline::json_number;
using pipeline::json_string;

void Totals::add(const Counts& counts) {
  ++recordings;
  events += counts.events;
  lost += counts.lost;
  audio_seconds += counts.audio_seconds;
  busy_seconds += counts.busy_seconds;
  if (counts.code == Code::ok) return;
  ++failures;
  ++reasons[std::string(name_of(counts.code))];
}

void Totals::add(const Outcome& outcome) {
  add(outcome.counts);
  if (first_reason.empty()) first_reason = outcome.reason;
}

void add_error(Outcome& outcome, std::string_view path, const Status& status) {
  outcome.counts.code = status.code();
  outcome.reason = status.text();
  if (outcome.reason.find(path) == std::string::npos) outcome.reason.insert(0, std::string(path) + ": ");
  outcome.records += "{\"type\":\"error\",\"source\":" + json_string(path) +
                     ",\"reason\":" + json_string(status.text()) + "}\n";
}

std::string summary_line(const Totals& totals, bool timing) {
  std::string line = "{\"type\":\"summary\",\"files\":" + std::to_string(totals.recordings) +
                     ",\"failures\":" + std::to_string(totals.failures);
  line += ",\"audio_seconds\":" + json_number(totals.audio_seconds, 3) +
          ",\"audio_hours\":" + json_number(totals.audio_seconds / 3600, 6);
  if (timing)
    line += ",\"real_time_factor\":" + (totals.audio_seconds > 0
                                            ? json_number(totals.busy_seconds / totals.audio_seconds, 6)
                                            : std::string("null"));
  line += ",\"events\":" + std::to_string(totals.events) +
          ",\"lost_samples\":" + std::to_string(totals.lost) + ",\"failures_by_reason\":{";
  bool first = true;
  for (const auto& [reason, count] : totals.reasons) {
    line += (first ? "" : ",") + json_string(reason) + ":" + std::to_string(count);
    first = false;
  }
  return line + "}}\n";
}

}  // namespace runnel::batch
