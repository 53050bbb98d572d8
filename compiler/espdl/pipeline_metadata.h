// Pipeline settings as entries of an .espdl file's metadata: its front end, decision settings and
// labels travel along.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler {

using MetadataEntries = std::vector<std::pair<std::string, std::string>>;

// Entries "runnel.front_end", "runnel.sample_rate", "runnel.decision", "runnel.labels" (one per line),
// "runnel.window" and "runnel.hop"; only what the settings hold. How the model is used follows from the file,
// and pairs of states are not part of it.
MetadataEntries pipeline_entries(const PipelineSettings& settings);
// Takes such entries out of `entries` into the settings. Errors: invalid_data for what is not a number.
Status take_pipeline_entries(MetadataEntries& entries, PipelineSettings& settings);

}  // namespace runnel::compiler
