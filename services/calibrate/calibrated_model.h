// A float model together with its calibration data.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/import/load.h"
#include "compiler/import/usage.h"
#include "compiler/quantize/calibrate/clips.h"
#include "compiler/quantize/calibrate/table_clips.h"

namespace runnel::calibrate {

struct FrontEndFlags {
  std::string text;     // graph text from samples to the model's input; empty: no recordings
  int sample_rate = 0;  // of the sound, in Hz; 0: as its first node requires
  compiler::quantizer::TableOptions tables;  // how .csv files are read, without a front end
};

struct CalibratedModel {
  compiler::Graph graph;
  std::unique_ptr<compiler::quantizer::Clips> clips;
  std::vector<std::string> notes;
};

// Imports the model for `usage`; sizes that the file leaves open come from the data. Clips of a model with
// state are consecutive steps. Errors name the file.
Result<CalibratedModel> load_calibrated(const std::string& model, const std::vector<std::string>& data,
                                        const FrontEndFlags& front_end, const compiler::UsageOptions& usage,
                                        compiler::LoadOptions options);

// Loads data of the same kind for an existing graph. `notes`, if given: how tables were read.
Result<std::unique_ptr<compiler::quantizer::Clips>> open_clips(const std::vector<std::string>& data,
                                                               const FrontEndFlags& front_end,
                                                               const compiler::Graph& graph,
                                                               std::vector<std::string>* notes = nullptr);

// Names of the output's channels, one per line.
Result<std::vector<std::string>> read_label_names(const std::string& path);

}  // namespace runnel::calibrate
