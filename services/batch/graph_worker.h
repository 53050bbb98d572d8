// Runs recordings through a graph, with shared models. One graph is made for each format (rate, channels) and
// reused for all recordings of that format.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/host/graph.h"
#include "services/batch/recordings/recording_source.h"
#include "services/batch/run.h"
#include "services/batch/sinks.h"
#include "services/batch/transcript_rows.h"

namespace runnel::pipeline {
class Jsonl;
}

namespace runnel::batch {

// How files are read. The texts are parameters of the nodes with these names, e.g. "rate=100 missing=zero".
struct SourceOptions {
  std::string wav, csv, npy;
  // Raw PCM: files whose names end in .raw or .pcm. Parameters of the node `wav`: "raw=s16le rate=16000
  // channels=1".
  std::string raw;
  double tail = 0;  // seconds of silence after every recording
};

// The source of a recording, as text. Error: unsupported for a piece of a sensor recording.
Result<std::string> source_text(const Recording& recording, const SourceOptions& options);

// The CSV header for the frames of such a graph. Errors: those of Graph::build; invalid_argument when it has
// no node `frame_rows`.
Result<std::string> frame_header(const std::string& after_source, const pipeline::GraphOptions& options);

// How long recordings are split over several threads (pieces.h). The graph `after_source` in two parts: the
// part with bounded context, and the rest.
struct SplitGraph {
  std::string front;  // "fbank ... ! infer ..."
  std::string rest;   // "pieces ! detect ... ! jsonl"; the node `pieces` gives the output of the front
  SpareThreads* spare = nullptr;  // null: nothing is split
  double seconds = 60;            // length of a piece
};

class GraphWorker final : public Worker {
 public:
  // `after_source`: the graph after the source, with its sinks: jsonl, event_rows and frame_rows. Other sinks
  // write their own output, and a graph with them is built anew for every recording. `options.models` must be
  // usable from any thread; everything that the arguments refer to outlives the worker.
  GraphWorker(std::string after_source, SourceOptions sources, const pipeline::GraphOptions& options,
              SplitGraph split = {});

  Outcome process(const Recording& recording) override;
  void forget(const Recording& recording) override;

  // Graphs made so far.
  [[nodiscard]] std::int64_t graphs_made() const { return graphs_made_; }
  // Recordings processed in pieces.
  [[nodiscard]] std::int64_t split() const { return split_count_; }

 private:
  // A graph for recordings of one format.
  struct Line {
    std::string source;  // text of its RecordingSource
    std::unique_ptr<pipeline::Graph> graph;
    RecordingSource* play = nullptr;
    pipeline::Jsonl* events = nullptr;
    EventRows* event_rows = nullptr;
    FrameRows* frames = nullptr;
    TranscriptRows* transcripts = nullptr;
    bool again = false;  // can be restarted
    bool used = false;
  };

  Result<std::unique_ptr<Line>> make_line(const std::string& text);
  // Processes a recording in pieces; false when that is impossible or failed: then process it as a whole.
  bool process_split(const Recording& recording, Outcome& outcome);
  Result<Line*> line_for(const OpenRecording& recording);
  Status run(Line& line, const Recording& recording, Outcome& outcome);
  Status process(const Recording& recording, Outcome& outcome);

  std::string after_source_;
  SourceOptions sources_;
  pipeline::GraphOptions options_;
  std::vector<const pipeline::NodeType*> nodes_;
  std::vector<std::unique_ptr<Line>> lines_;  // in order of use, the latest last
  SplitGraph split_;
  std::int64_t graphs_made_ = 0, split_count_ = 0;
  std::string folder_;  // of a file per recording, once one was written
  std::string extension_ = ".npy";
};

}  // namespace runnel::batch
