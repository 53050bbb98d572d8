// Graphs that travel: packed where their models are, run by workers that never had them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "inference/model/loader.h"
#include "pipeline/host/graph.h"
#include "services/fleet/graphs/graph_record.h"
#include "services/fleet/graphs/library.h"

namespace runnel::fleet {

struct TravellingGraph {
  GraphRecord record;
  std::vector<std::vector<std::byte>> models;  // .rnl files, in the order of the record
  // Not empty: why it cannot be run elsewhere, as a sentence: it needs a file besides its models.
  std::string needs;
};

// The graph between samples and events, with models from `loader`. `name`: for people. Errors: those of
// loading and of reading its files; unsupported for models beyond the bounds of a record.
Result<TravellingGraph> pack_graph(std::string_view around, ModelLoader& loader, std::string name);

// Makes runners of packed graphs (ServeRunner), each for `most` streams. Models and shared sessions of
// `options` are replaced. Errors: invalid_data for a graph or model that cannot be read, those of
// ServeRunner::make.
MakeRunner runner_maker(const pipeline::GraphOptions& options, std::size_t most);

}  // namespace runnel::fleet
