// A float model and the data to calibrate it with, brought together.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/import/load.h"
#include "compiler/import/usage.h"
#include "compiler/quantize/calibrate/clips.h"

namespace runnel::calibrate {

struct FrontEndFlags {
  std::string text;     // graph text from samples to the model's input; empty: no recordings
  int sample_rate = 0;  // of the sound, in Hz; 0: what its first node wants
};

struct CalibratedModel {
  compiler::Graph graph;
  std::unique_ptr<compiler::quantizer::Clips> clips;
  std::vector<std::string> notes;
};

// Imports the model with the sizes that the data has where the file leaves them open, to be used as `usage`
// says: clips of a model with states are steps that follow one another. Errors name the file.
Result<CalibratedModel> load_calibrated(const std::string& model, const std::vector<std::string>& data,
                                        const FrontEndFlags& front_end, const compiler::UsageOptions& usage,
                                        compiler::LoadOptions options);

// Data of the same kind for a graph that is there.
Result<std::unique_ptr<compiler::quantizer::Clips>> open_clips(const std::vector<std::string>& data,
                                                               const FrontEndFlags& front_end,
                                                               const compiler::Graph& graph);

// Names of the output's channels, one per line.
Result<std::vector<std::string>> read_label_names(const std::string& path);

}  // namespace runnel::calibrate
