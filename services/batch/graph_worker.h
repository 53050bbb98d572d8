// Recordings through a graph, with models shared by all. A graph is made for each format of recordings (rate,
// channels) and used for all that have it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/host/graph.h"
#include "services/batch/recordings/recording_source.h"
#include "services/batch/run.h"
#include "services/batch/sinks.h"

namespace runnel::pipeline {
class Jsonl;
}

namespace runnel::batch {

// How files become streams. Texts are parameters of the nodes of these names, e.g. "rate=100 missing=zero".
struct SourceOptions {
  std::string wav, csv, npy;
  // Raw PCM: files whose names end in .raw or .pcm. Parameters of the node `wav`: "raw=s16le rate=16000
  // channels=1".
  std::string raw;
  double tail = 0;  // seconds of silence after every recording
};

// The source of a recording, as text. Error: unsupported for a piece of a sensor recording.
Result<std::string> source_text(const Recording& recording, const SourceOptions& options);

// The header of a CSV of frames that leave such a graph. Errors: those of Graph::build; invalid_argument when
// it has no node `frame_rows`.
Result<std::string> frame_header(const std::string& behind, const pipeline::GraphOptions& options);

// How long recordings are worked on by several threads (pieces.h). The graph that `behind` says, in two: what
// remembers nothing, and what follows it.
struct SplitGraph {
  std::string front;  // "fbank ... ! infer ..."
  std::string rest;   // "pieces ! detect ... ! jsonl"; the node `pieces` gives what the front gave
  SpareThreads* spare = nullptr;  // null: nothing is split
  double seconds = 60;            // length of a piece
};

class GraphWorker final : public Worker {
 public:
  // `behind`: what follows the source, down to its ends, which are of the nodes jsonl, event_rows and
  // frame_rows. Ends of other kinds write what they write, and their graphs are made anew for every
  // recording. `options.models` must be usable from any thread; what they refer to outlives the worker.
  GraphWorker(std::string behind, SourceOptions sources, const pipeline::GraphOptions& options,
              SplitGraph split = {});

  Outcome process(const Recording& recording) override;
  void forget(const Recording& recording) override;

  // Graphs that were made so far.
  [[nodiscard]] std::int64_t graphs_made() const { return graphs_made_; }
  // Recordings that were worked on in pieces.
  [[nodiscard]] std::int64_t split() const { return split_count_; }

 private:
  // A graph that takes recordings of one format.
  struct Line {
    std::string source;  // text of its RecordingSource
    std::unique_ptr<pipeline::Graph> graph;
    RecordingSource* play = nullptr;
    pipeline::Jsonl* events = nullptr;
    EventRows* event_rows = nullptr;
    FrameRows* frames = nullptr;
    bool again = false;  // can begin again
    bool used = false;
  };

  Result<std::unique_ptr<Line>> make_line(const std::string& text);
  // In pieces; false when that cannot be, or came to nothing: then it is to be worked on as a whole.
  bool process_split(const Recording& recording, Outcome& outcome);
  Result<Line*> line_for(const OpenRecording& recording);
  Status run(Line& line, const Recording& recording, Outcome& outcome);
  Status process(const Recording& recording, Outcome& outcome);

  std::string behind_;
  SourceOptions sources_;
  pipeline::GraphOptions options_;
  std::vector<const pipeline::NodeType*> nodes_;
  std::vector<std::unique_ptr<Line>> lines_;  // the last one was used last
  SplitGraph split_;
  std::int64_t graphs_made_ = 0, split_count_ = 0;
  std::string folder_;  // of the files of frames, once there was one
};

}  // namespace runnel::batch
