#include "services/batch/graph_worker.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "pipeline/host/json.h"
#include "pipeline/host/promise.h"
#include "pipeline/nodes/host/file/jsonl.h"
#include "services/batch/pieces.h"
#include "services/batch/recordings/recording_list.h"

namespace runnel::batch {
namespace {

using pipeline::quote_value;

std::string seconds_text(const char* key, double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, " %s=%.9f", key, seconds);
  return seconds > 0 ? text : "";
}

// The most formats whose graphs are cached: more than a corpus has, and a few megabytes.
constexpr std::size_t kMaxLines = 32;

bool is_raw_name(const std::filesystem::path& path) {
  return path.extension() == ".raw" || path.extension() == ".pcm";
}

}  // namespace

Result<std::string> source_text(const Recording& recording, const SourceOptions& options) {
  const std::string path = " path=" + quote_value(recording.path);
  const auto with = [](const std::string& parameters) {
    return parameters.empty() ? std::string() : " " + parameters;
  };
  if (is_sensor_name(recording.path)) {
    if (recording.offset > 0 || recording.duration > 0) {
      return Status(Code::unsupported)
             << recording.path << ": pieces (offset, duration) are for sound, this is a sensor recording";
    }
    const bool csv = std::filesystem::path(recording.path).extension() != ".npy";
    return (csv ? "csv" : "npy") + path + with(csv ? options.csv : options.npy);
  }
  const bool raw = is_raw_name(recording.path);
  if (raw && options.raw.empty())
    return Status(Code::invalid_argument)
           << recording.path
           << ": samples without a header; say what they are, e.g. raw=s16le rate=16000 channels=1";
  return "wav" + path + with(raw ? options.raw : options.wav) + seconds_text("offset", recording.offset) +
         seconds_text("duration", recording.duration) + seconds_text("tail", options.tail);
}

Result<std::string> frame_header(const std::string& after_source, const pipeline::GraphOptions& options) {
  const auto nodes = pipeline::with_nodes(
      options.nodes, {&pipeline::Promise::type, &EventRows::type, &FrameRows::type, &TranscriptRows::type});
  pipeline::GraphOptions with = options;
  with.nodes = nodes;
  with.note = {};
  RUNNEL_ASSIGN(const auto graph, pipeline::Graph::build("sound ! " + after_source, with));
  for (int i = 0; i < graph->size(); ++i) {
    if (const auto* const frames = dynamic_cast<FrameRows*>(graph->stage(i).node); frames != nullptr)
      return frames->header();
  }
  return Status(Code::invalid_argument, "the graph gives no frames");
}

GraphWorker::GraphWorker(std::string after_source, SourceOptions sources,
                         const pipeline::GraphOptions& options, SplitGraph split)
    : after_source_(std::move(after_source)),
      sources_(std::move(sources)),
      options_(options),
      nodes_(
          pipeline::with_nodes(options.nodes, {&RecordingSource::type, &PieceSource::type, &EventRows::type,
                                               &FrameRows::type, &TranscriptRows::type})),
      split_(std::move(split)) {
  options_.nodes = nodes_;
}

Result<GraphWorker::Line*> GraphWorker::line_for(const OpenRecording& recording) {
  const std::string source = text_of_source(recording);
  const auto known =
      std::find_if(lines_.begin(), lines_.end(), [&](const auto& line) { return line->source == source; });
  if (known != lines_.end()) {
    std::rotate(known, known + 1, lines_.end());
    return lines_.back().get();
  }
  RUNNEL_ASSIGN(auto line, make_line(source + " ! " + after_source_));
  line->source = source;
  if (lines_.size() == kMaxLines) lines_.erase(lines_.begin());
  lines_.push_back(std::move(line));
  return lines_.back().get();
}

Result<std::unique_ptr<GraphWorker::Line>> GraphWorker::make_line(const std::string& text) {
  auto line = std::make_unique<Line>();
  RUNNEL_ASSIGN(line->graph, pipeline::Graph::build(text, options_));
  ++graphs_made_;
  line->again = true;
  for (int i = 0; i < line->graph->size(); ++i) {
    pipeline::Node* const node = line->graph->stage(i).node;
    if (auto* const play = dynamic_cast<RecordingSource*>(node); play != nullptr)
      line->play = play;
    else if (auto* const events = dynamic_cast<pipeline::Jsonl*>(node);
             events != nullptr && events->path.empty())
      line->events = events;
    else if (auto* const rows = dynamic_cast<EventRows*>(node); rows != nullptr)
      line->event_rows = rows;
    else if (auto* const frames = dynamic_cast<FrameRows*>(node); frames != nullptr)
      line->frames = frames;
    else if (auto* const heard = dynamic_cast<TranscriptRows*>(node); heard != nullptr)
      line->transcripts = heard;
    else if (line->graph->stage(i).type->output.kinds == 0)
      line->again = false;  // a sink of another kind writes its own output
  }
  if (line->frames != nullptr) folder_ = line->frames->folder;
  if (line->transcripts != nullptr) {
    folder_ = line->transcripts->folder;
    extension_ = "." + std::string(line->transcripts->to);
  }
  return line;
}

bool GraphWorker::process_split(const Recording& recording, Outcome& outcome) {
  if (split_.spare == nullptr || is_sensor_name(recording.path) || recording.offset > 0 ||
      recording.duration > 0)
    return false;
  // Less than one byte per sample: certainly too short.
  if (static_cast<double>(recording.bytes) < 2 * split_.seconds * 1000) return false;
  SourceOptions bare = sources_;
  bare.tail = 0;
  const auto source = source_text(recording, bare);
  if (!source.ok()) return false;
  PieceRunner runner(*source, split_.front, split_.seconds, options_);
  if (!runner.prepare(sources_.tail).ok()) return false;
  PieceSource::use(&runner, split_.spare);
  const auto line = make_line(split_.rest);
  PieceSource::use(nullptr, nullptr);
  // A graph with other sinks would write its output twice after a second attempt.
  if (!line.ok() || !(*line)->again) return false;
  Outcome found;
  if (!run(**line, recording, found).ok()) return false;
  found.counts.audio_seconds = runner.seconds();
  outcome = std::move(found);
  ++split_count_;
  return true;
}

Status GraphWorker::run(Line& line, const Recording& recording, Outcome& outcome) {
  if (line.used) line.graph->restart();
  line.used = true;
  if (line.events != nullptr) {
    line.events->name_source(recording.path);
    line.events->sink = [&](std::string_view text) {
      outcome.records += with_fields(text, recording) + '\n';
    };
  }
  if (line.event_rows != nullptr) line.event_rows->begin(recording);
  if (line.frames != nullptr) RUNNEL_TRY(line.frames->begin(recording));
  if (line.transcripts != nullptr) RUNNEL_TRY(line.transcripts->begin(recording));
  const Status status = line.graph->run();
  const pipeline::Executor& executor = line.graph->executor();
  outcome.counts.audio_seconds = executor.seconds();
  outcome.counts.events = executor.events();
  outcome.counts.lost = executor.lost();
  RUNNEL_TRY(status);
  if (line.event_rows != nullptr) {
    outcome.records += line.event_rows->rows();
    outcome.index = R"({"type":"rows","source":)" + pipeline::json_string(recording.path) +
                    ",\"rows\":" + std::to_string(outcome.counts.events) + "}";
  }
  if (line.transcripts != nullptr) {
    const std::string index = with_fields(line.transcripts->index_line(), recording);
    if (line.transcripts->folder.empty()) {
      outcome.records += line.transcripts->take_text();
      outcome.index = index;
    } else {
      outcome.records += index + '\n';
    }
  }
  if (line.frames == nullptr) return {};
  const std::string_view to = line.frames->to;
  if (to == "files")
    outcome.records += with_fields(line.frames->index_line(), recording) + '\n';
  else
    outcome.records += line.frames->take_bytes();
  if (to != "files" && to != "jsonl") outcome.index = with_fields(line.frames->index_line(), recording);
  return {};
}

Status GraphWorker::process(const Recording& recording, Outcome& outcome) {
  RUNNEL_ASSIGN(const std::string source, source_text(recording, sources_));
  if (process_split(recording, outcome)) return {};
  RUNNEL_ASSIGN(const auto opened, OpenRecording::open(source, options_));
  RUNNEL_ASSIGN(Line* const line, line_for(*opened));
  line->play->play(&opened->node());
  const Status status = run(*line, recording, outcome);
  line->play->play(nullptr);
  if (!status.ok() || !line->again) lines_.pop_back();
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
  outcome.reason = error.reason;
  outcome.records += with_fields(error.records, recording) + '\n';
  return outcome;
}

void GraphWorker::forget(const Recording& recording) {
  if (folder_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove(std::filesystem::path(folder_) / (recording.key() + extension_), ignored);
}

}  // namespace runnel::batch
