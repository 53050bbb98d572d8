// Recordings through a graph: "SOURCE ! around ! jsonl", a graph for each, with models shared by all.
#pragma once

#include <string>

#include "pipeline/host/batch/run.h"
#include "pipeline/host/graph.h"

namespace runnel::batch {

// How files become streams. Texts are parameters of the nodes of these names, e.g. "rate=100 missing=zero".
struct SourceOptions {
  std::string wav, csv, npy;
  // Raw PCM: files whose names end in .raw or .pcm. Parameters of the node `wav`: "raw=s16le rate=16000 channels=1".
  std::string raw;
  double tail = 0;             // seconds of silence behind every recording
};

// The source of a recording, as text. Error: unsupported for a piece of a sensor recording.
Result<std::string> source_text(const Recording& recording, const SourceOptions& options);

class GraphWorker final : public Worker {
 public:
  // `around`: what follows the source and gives events. `options.models` must be usable from any thread; what they refer to outlives the worker.
  GraphWorker(std::string around, SourceOptions sources, pipeline::GraphOptions options)
      : around_(std::move(around)), sources_(std::move(sources)), options_(std::move(options)) {}

  Outcome process(const Recording& recording) override;

 private:
  Status process(const Recording& recording, Outcome& outcome);

  std::string around_;
  SourceOptions sources_;
  pipeline::GraphOptions options_;
};

}  // namespace runnel::batch
