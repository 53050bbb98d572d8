// Graphs that travel: packed where their models are, run by workers that never had them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "inference/model/loader.h"
#include "pipeline/host/graph.h"
#include "services/fleet/graphs/graph_record.h"
#include "services/fleet/graphs/library.h"
#include "services/trust/trust.h"

namespace runnel::fleet {

struct TravellingGraph {
  GraphRecord record;
  std::vector<std::vector<std::byte>> models;  // .rnl files, in the order of the record
  // Not empty: why it cannot be run elsewhere, as a sentence: it needs a file besides its models.
  std::string needs;
};

// The graph between samples and events, with models from `loader`. `name`: for people. Errors: those of
// loading and of reading its files; unsupported for models beyond the bounds of a record. A model whose bytes
// travel as they are in its file takes the signature beside it along; `find` gives the file of a name.
using FindModel = std::function<Result<std::string>(std::string_view name_or_path)>;
Result<TravellingGraph> pack_graph(std::string_view around, ModelLoader& loader, std::string name,
                                   const FindModel& find = {});

// Makes runners of packed graphs (ServeRunner), each for `most` streams. Models and shared sessions of
// `options` are replaced. Errors: invalid_data for a graph or model that cannot be read, those of
// ServeRunner::make, and with `trust` those of Trust::check() for a model.
MakeRunner runner_maker(const pipeline::GraphOptions& options, std::size_t most,
                        std::shared_ptr<const trust::Trust> trust = {});

}  // namespace runnel::fleet
