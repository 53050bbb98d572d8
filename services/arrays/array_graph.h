// A graph between arrays: samples come from memory (the source `samples`), and what the graph gives is kept
// in memory (the sink `collect`, which every open end gets).
//
//     RUNNEL_ASSIGN(auto graph, ArrayGraph::build("samples rate=16000 ! fbank num_mel_bins=40", options));
//     RUNNEL_TRY(graph->feed(samples, count));                    // any number at a time
//     RUNNEL_TRY(graph->finish());                                // the recording has ended
//     Collected frames = graph->ends()[0].sink->take();
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pipeline/host/graph.h"
#include "services/arrays/collect.h"
#include "services/arrays/samples_source.h"

namespace runnel::arrays {

// Not thread-safe, except for what Collect and the stop flag of the graph promise.
class ArrayGraph {
 public:
  // Sources and sinks by their name in the text, else by their type; an end that had none is named after the
  // node that it follows. Names that occur again get a number: "fbank", "fbank_2".
  struct Source {
    std::string name;
    SamplesSource* node = nullptr;
  };
  struct End {
    std::string name;
    Collect* sink = nullptr;
  };

  // `options.nodes`: to which `samples` and `collect` are added. Errors: those of Graph::build.
  static Result<std::unique_ptr<ArrayGraph>> build(std::string_view text, pipeline::GraphOptions options);

  [[nodiscard]] pipeline::Graph& graph() noexcept { return *graph_; }
  [[nodiscard]] const std::vector<Source>& sources() const noexcept { return sources_; }
  [[nodiscard]] const std::vector<End>& ends() const noexcept { return ends_; }

  // Runs until these samples (frames) of the only source are taken; what they bring is then at the ends.
  // Errors: those of Graph::step; invalid_argument without or with several sources, with several threads, and
  // after finish().
  Status feed(const float* samples, std::int64_t count);
  // The stream has ended: the rest is at the ends. Again: nothing.
  Status finish();
  // As new. Only for graphs whose source is `samples` and whose sinks are `collect`.
  void restart() noexcept;

 private:
  ArrayGraph() = default;
  Status find_ends();

  std::vector<const pipeline::NodeType*> nodes_;
  std::unique_ptr<pipeline::Graph> graph_;
  std::vector<Source> sources_;
  std::vector<End> ends_;
  bool done_ = false;
};

}  // namespace runnel::arrays
