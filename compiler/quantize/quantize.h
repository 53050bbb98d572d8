// From a float graph to an integer one.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/calibrate/clips.h"
#include "compiler/quantize/choose/quantization_noise.h"
#include "compiler/quantize/options.h"
#include "compiler/quantize/plan.h"
#include "compiler/quantize/round/equalize.h"

namespace runnel::compiler::quantizer {

// A set of methods and the error of the outputs (noise-to-signal ratio) that it left on clips that were held
// back.
struct Trial {
  Methods methods;
  double error = 0;
};

struct Quantized {
  Graph graph;                    // integer
  Graph real;                     // float, computes the function that the integers approximate
  std::vector<Scaling> scalings;  // how `real` differs from the one given, after splitting
  Plan plan;
  Methods methods;                 // those used
  std::vector<Trial> trials;       // what the choice was made from; empty: the methods were given
  double error = 0;                // of the outputs, on all clips that were used
  std::vector<std::size_t> clips;  // that ranges were taken from: all but silent ones; empty: from a table
  std::vector<std::string> notes;  // one sentence each
};

// `graph`: float32, with shapes, of the importer. Nothing else is read while it runs than the clips.
// Deterministic for any number of threads. Errors: those of make_plan, usable_clips, observe and
// emit_integer_graph; unsupported when the requested error cannot be reached.
Result<Quantized> quantize(const Graph& graph, const Clips& clips, const Options& options);

// QuantizationNoise at the outputs when only this operator is quantized; `reference`: those of
// quantized.real. Errors: those of the runs.
Result<double> sensitivity(const Quantized& quantized, std::size_t node, const ReferenceOutputs& reference);

// At most `most` of `count` clips, spread evenly.
std::vector<std::size_t> some_of(std::size_t count, std::size_t most);
// The same of these.
std::vector<std::size_t> some_of(std::span<const std::size_t> clips, std::size_t most);

}  // namespace runnel::compiler::quantizer
