#include "compiler/quantize/quantize.h"

#include <algorithm>

#include "compiler/quantize/choose/choose_methods.h"
#include "compiler/quantize/choose/mixed_precision.h"
#include "compiler/quantize/choose/quantization_run.h"
#include "compiler/quantize/integer_graph.h"

namespace runnel::compiler::quantizer {

std::vector<std::size_t> some_of(std::size_t count, std::size_t most) {
  std::vector<std::size_t> which;
  const std::size_t taken = std::min(count, std::max<std::size_t>(most, 1));
  for (std::size_t i = 0; i < taken; ++i) which.push_back(i * count / taken);
  return which;
}

std::vector<std::size_t> some_of(std::span<const std::size_t> clips, std::size_t most) {
  std::vector<std::size_t> which;
  for (const std::size_t i : some_of(clips.size(), most)) which.push_back(clips[i]);
  return which;
}

Result<Quantized> quantize(const Graph& graph, const Clips& clips, const Options& options) {
  RUNNEL_TRY(make_plan(graph, options).status());  // weights, names of operators
  RUNNEL_ASSIGN(const std::vector<std::size_t> all, usable_clips(graph, clips));
  const std::vector<std::size_t> which = some_of(all, options.most_clips);
  const QuantizationRun attempt(graph, clips, options);
  std::vector<Trial> trials;
  Methods chosen;
  if (options.methods) {
    chosen = *options.methods;
  } else {
    RUNNEL_ASSIGN(chosen, choose_methods(attempt, clips, which, options, trials));
  }
  RUNNEL_ASSIGN(Quantized made, attempt.run(chosen, all, which));
  made.trials = std::move(trials);
  made.clips = all;
  if (all.size() < clips.size())
    made.notes.push_back(std::to_string(clips.size() - all.size()) + " of " + std::to_string(clips.size()) +
                         " clips hold one value throughout and were left out");
  if (options.max_error > 0) {
    RUNNEL_TRY(assign_mixed_precision(clips, which, options, made));
  }
  return made;
}

Result<double> sensitivity(const Quantized& quantized, std::size_t node, const ReferenceOutputs& reference) {
  Plan plan = quantized.plan;
  for (std::size_t n = 0; n < plan.types.size(); ++n) {
    if (n != node) plan.types[n] = DType::float32;
  }
  RUNNEL_ASSIGN(const Graph form, emit_integer_graph(quantized.real, plan));
  return reference.error(form);
}

}  // namespace runnel::compiler::quantizer
