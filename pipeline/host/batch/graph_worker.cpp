#include "pipeline/host/batch/graph_worker.h"

#include <cstdio>
#include <filesystem>

#include "pipeline/host/batch/recording_list.h"
#include "pipeline/nodes/host/jsonl.h"

namespace runnel::batch {
namespace {

using pipeline::quote_value;

std::string seconds_text(const char* key, double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, " %s=%.9f", key, seconds);
  return seconds > 0 ? text : "";
}

bool is_raw_name(const std::filesystem::path& path) { return path.extension() == ".raw" || path.extension() == ".pcm"; }

}  // namespace

Result<std::string> source_text(const Recording& recording, const SourceOptions& options) {
  const std::string path = " path=" + quote_value(recording.path);
  const auto with = [](const std::string& parameters) { return parameters.empty() ? std::string() : " " + parameters; };
  if (is_sensor_name(recording.path)) {
    if (recording.offset > 0 || recording.duration > 0) {
      return Status(Code::unsupported) << recording.path << ": pieces (offset, duration) are for sound, this is a sensor recording";
    }
    const bool csv = std::filesystem::path(recording.path).extension() == ".csv";
    return (csv ? "csv" : "npy") + path + with(csv ? options.csv : options.npy);
  }
  const bool raw = is_raw_name(recording.path);
  if (raw && options.raw.empty()) return Status(Code::invalid_argument) << recording.path << ": samples without a header; say what they are, e.g. raw=s16le rate=16000 channels=1";
  return "wav" + path + with(raw ? options.raw : options.wav) + seconds_text("offset", recording.offset) + seconds_text("duration", recording.duration) +
         seconds_text("tail", options.tail);
}

Status GraphWorker::process(const Recording& recording, Outcome& outcome) {
  RUNNEL_ASSIGN(const std::string source, source_text(recording, sources_));
  RUNNEL_ASSIGN(const auto graph, pipeline::Graph::build(source + " ! " + around_ + " ! jsonl source=" + quote_value(recording.path), options_));
  for (int i = 0; i < graph->size(); ++i) {
    auto* const jsonl = dynamic_cast<pipeline::Jsonl*>(graph->stage(i).node);
    if (jsonl != nullptr) jsonl->sink = [&](std::string_view line) { outcome.records += with_fields(line, recording) + '\n'; };
  }
  const Status status = graph->run();
  outcome.counts.audio_seconds = graph->executor().seconds();
  outcome.counts.events = graph->executor().events();
  outcome.counts.lost = graph->executor().lost();
  return status;
}

Outcome GraphWorker::process(const Recording& recording) {
  Outcome outcome;
  const Status status = process(recording, outcome);
  if (status.ok()) return outcome;
  Outcome error;
  add_error(error, recording.path, status);
  error.records.pop_back();
  outcome.counts.code = status.code();
  outcome.records += with_fields(error.records, recording) + '\n';
  return outcome;
}

}  // namespace runnel::batch
