// What a quantization did to a model, operator by operator.
#pragma once

#include <string>
#include <vector>

#include "compiler/quantize/quantize.h"

namespace runnel::compiler::quantizer {

// For each operator alone the model runs over so many clips: more would only make the report slower.
inline constexpr std::size_t kAloneClips = 8;

struct OperatorReport {
  std::string name, code;
  DType type = DType::none;  // float32: it stayed float
  // Noise-to-signal ratio of the outputs when only this operator is quantized, over kAloneClips at most.
  double alone = 0;
  double accumulated = 0;     // of its own result, with everything quantized
  double saturated = 0;       // share of its results at an end of the range
  std::int64_t products = 0;  // multiply-adds per run
};

struct OutputReport {
  std::string name;
  double ratio = 0;    // noise to signal
  double largest = 0;  // difference, in the output's unit
};

struct Report {
  std::vector<OperatorReport>
      operators;  // in the order of execution; those that only move values or integers are left out
  std::vector<OutputReport> outputs;
  std::size_t clips = 0;
};

// Measured on the clips named by `which`. Errors: those of the runs.
Result<Report> report_on(const Quantized& quantized, const Clips& clips, std::span<const std::size_t> which,
                         const Options& options);

// Worst first, for people.
std::string make_function_table(const Report& report);

}  // namespace runnel::compiler::quantizer
