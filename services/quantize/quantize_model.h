// From a float model and recordings to an integer model, for `runnel quantize` and for programs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/import/load.h"
#include "compiler/import/usage.h"
#include "compiler/quantize/choose/evaluate.h"
#include "compiler/quantize/quantize.h"
#include "compiler/quantize/report.h"
#include "services/calibrate/calibrated_model.h"

namespace runnel::quantize {

// The names and meanings are those of the options of `runnel quantize` (docs/commands.md).
struct QuantizeRequest {
  std::string input, output;  // files; the format of the output follows from its name
  std::string report;         // file for the measurements as JSON; empty: none
  std::string scheme = "pow2", calibration = "mse", labels, name, decision, class_labels, table, save_table,
              layout = "source", rows = "auto", target;
  std::vector<std::string> class_names;  // instead of the file `class_labels`
  std::vector<std::string> calib, columns, eval, types, methods, with, without, states, scales;
  int bits = 8, threads = 2, chunk = 0;
  std::int64_t warm_up = -1;  // frames of the streaming form that may differ; negative: none
  std::size_t clips = 128;
  std::uint32_t seed = 1;
  double max_error = 0, budget = 0;
  compiler::quantizer::TrainingSettings training;
  compiler::quantizer::EqualizationSettings equalization;
  std::string trainable = "true";
  calibrate::FrontEndFlags front_end;
  compiler::UsageOptions usage;

  // How far it has come; may be empty. Stage "" when the last one has ended. Mostly called by the caller's
  // thread, but for the stage "ranges"; an exception of the former passes through quantize_model(), and
  // nothing is written.
  compiler::quantizer::Progress progress;
  // Sentences for people; may be empty.
  std::function<void(std::string_view)> say;
};

struct QuantizeOutcome {
  std::string methods;  // those used
  std::vector<compiler::quantizer::Trial> trials;
  std::optional<compiler::quantizer::Report> report;      // empty: made from a table
  std::optional<compiler::quantizer::Accuracy> accuracy;  // with `eval`
  double error = 0;       // noise to signal of the outputs, on all clips that were used
  std::string json;       // as written to `report`; empty: made from a table
  std::size_t bytes = 0;  // of the file that was written
};

// Makes the model and writes the file. `load`: how the input is read; its target is not used. Errors: those
// of the importer, the quantizer and the writers, naming the file; invalid_argument for options that
// contradict each other, before any computation.
Result<QuantizeOutcome> quantize_model(QuantizeRequest request, compiler::LoadOptions load);

}  // namespace runnel::quantize
