#include "services/batch/pipe.h"

#include <nlohmann/json.hpp>

#include "pipeline/host/json.h"

namespace runnel::batch {

using pipeline::json_string;

std::string answer(std::string_view line, Worker& worker, Totals& totals) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  Result<Recording> parsed = parse_recording(line);
  if (!parsed.ok()) {
    totals.add({.code = parsed.status().code()});
    return "{\"source\":" + json_string(line.substr(0, 1000)) +
           ",\"error\":" + json_string(parsed.status().text()) + "}\n";
  }
  Recording recording = std::move(*parsed);
  look_at(recording);
  Recording bare = recording;  // id and fields are in the answer, not in each of its records
  bare.id.clear();
  bare.fields.clear();
  const Outcome outcome = process_checked(worker, bare);
  totals.add(outcome.counts);
  std::string records, error;
  for (std::string_view rest = outcome.records; !rest.empty();) {
    const std::string_view record = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(record.size() + 1, rest.size()));
    if (record.starts_with("{\"type\":\"error\"")) {
      error = nlohmann::json::parse(record, nullptr, false).value("reason", "failed");
      continue;
    }
    records += (records.empty() ? "" : ",") + std::string(record);
  }
  std::string result = "{\"source\":" + json_string(recording.path) +
                       ",\"audio_seconds\":" + pipeline::json_number(outcome.counts.audio_seconds, 3) +
                       ",\"events\":[" + records + "]";
  if (outcome.counts.code != Code::ok) result += ",\"error\":" + json_string(error);
  return with_fields(result + "}", recording) + '\n';
}

}  // namespace runnel::batch
