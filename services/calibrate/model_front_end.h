// Front ends and labels that are stored in a model.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/host/npy.h"
#include "base/status.h"
#include "compiler/ir/graph.h"
#include "inference/model/model.h"
#include "services/batch/recordings/recording_list.h"

namespace runnel::calibrate {

// Puts a front end into the graph's settings: checked, with all its parameters, for sound of `sample_rate`
// (0: as it requires). Errors: those of resolve_front_end; mismatch when its frames do not have the size of
// the model's first input.
Status store_front_end(const std::string& text, int sample_rate, compiler::Graph& graph);

// Puts the names of the output's channels, read from `file`, into the graph's settings. Error: mismatch
// unless there is one per channel of the first output.
Status store_labels(const std::string& file, std::vector<std::string> names, compiler::Graph& graph);

// Whether a file is a recording, by its extension.
inline bool is_recording(const std::filesystem::path& path) { return batch::is_sound_name(path); }
// Runs a recording through the model's front end; the frames have the layout of input `tensor`, [.., time,
// values] or [.., values, time]. Errors: invalid_argument for a model without front end, mismatch with both
// frame sizes, those of run_front_end.
Result<NpyArray> recording_as_input(const Model& model, int tensor, const std::filesystem::path& recording);

}  // namespace runnel::calibrate
