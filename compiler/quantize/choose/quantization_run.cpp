#include "compiler/quantize/choose/quantization_run.h"

#include <algorithm>

#include "compiler/quantize/calibrate/calibrate.h"
#include "compiler/quantize/choose/search_ranges.h"
#include "compiler/quantize/choose/unify_sum_ranges.h"
#include "compiler/quantize/integer_graph.h"
#include "compiler/quantize/round/equalize.h"
#include "compiler/quantize/round/fit_layer.h"
#include "compiler/quantize/train/train_blocks.h"

namespace runnel::compiler::quantizer {
namespace {

constexpr std::size_t kSearched = 40;  // clips that ranges are searched with, at most
constexpr std::size_t kFewest = 4;     // and at least, where that many would take too long
constexpr double kSearchWork = 3e10;   // multiply-adds of trying one change of every range

// A search runs the model a few times for every tensor: with a network of a million weights and a hundred
// tensors fewer clips have to do. The changes that it is to find are much larger than their chance.
std::size_t searched_clips(const Graph& graph) {
  double products = 0;
  for (const Node& node : graph.nodes) products += static_cast<double>(products_of(graph, node));
  const double of_a_clip = std::max(1.0, products * static_cast<double>(graph.nodes.size()));
  return static_cast<std::size_t>(
      std::clamp(kSearchWork / of_a_clip, static_cast<double>(kFewest), static_cast<double>(kSearched)));
}

}  // namespace

Result<Quantized> QuantizationRun::run(const Methods& methods, const std::vector<std::size_t>& all,
                                       const std::vector<std::size_t>& which) const {
  Quantized made;
  made.methods = methods;
  made.real = given_;
  if (methods.equalize || methods.split) RUNNEL_TRY(prepare(methods, all, some_of(which, kSearched), made));
  RUNNEL_ASSIGN(made.plan, planned(made.real, all, options_));
  RUNNEL_ASSIGN(const ReferenceOutputs reference,
                ReferenceOutputs::make(made.real, clips_, which, options_.threads));
  RUNNEL_ASSIGN(const ReferenceOutputs searched, quick(made, which));
  RUNNEL_TRY(improve(methods, searched, which, made));
  RUNNEL_ASSIGN(made.graph, emit_integer_graph(made.real, made.plan));
  RUNNEL_ASSIGN(made.error, reference.error(made.graph));
  return made;
}

Result<std::optional<Quantized>> QuantizationRun::with_sums(const Quantized& before, double slack,
                                                            const std::vector<std::size_t>& which) const {
  Quantized made = before;
  made.methods.sums = true;
  made.methods.sum_slack = slack;
  RUNNEL_ASSIGN(const ReferenceOutputs reference, quick(made, which));
  RUNNEL_TRY(tie(made.methods, reference, which, made));
  if (made.plan.groups == before.plan.groups) return std::optional<Quantized>();
  RUNNEL_ASSIGN(made.graph, emit_integer_graph(made.real, made.plan));
  return std::optional<Quantized>(std::move(made));
}

Result<Quantized> QuantizationRun::with_training(const Quantized& before, bool scales,
                                                 const std::vector<std::size_t>& which) const {
  Quantized made = before;
  (scales ? made.methods.tqt : made.methods.blocks) = true;
  RUNNEL_ASSIGN(const ReferenceOutputs reference, quick(made, which));
  RUNNEL_TRY(train_blocks(made.real, clips_, which, reference, made.methods, options_, made.plan));
  RUNNEL_ASSIGN(made.graph, emit_integer_graph(made.real, made.plan));
  return made;
}

// Ranges as the calibration has them.
Result<Plan> QuantizationRun::planned(const Graph& graph, const std::vector<std::size_t>& which,
                                      const Options& options) const {
  RUNNEL_ASSIGN(Plan plan, make_plan(graph, options));
  RUNNEL_ASSIGN(const std::vector<Histogram> histograms, observe(graph, plan, clips_, which, options));
  set_ranges(graph, histograms, options.calibration, tensor_types(graph, plan), plan);
  avoid_left_shifts(graph, plan);
  return plan;
}

Status QuantizationRun::prepare(const Methods& methods, const std::vector<std::size_t>& all,
                                const std::vector<std::size_t>& searched, Quantized& made) const {
  if (methods.split) split_layers(made.real, options_);
  if (!methods.equalize) return {};
  const LouderClips louder(clips_, kLouder);
  RUNNEL_ASSIGN(const ReferenceOutputs reference,
                ReferenceOutputs::make(made.real, louder, searched, options_.threads));
  Options quiet = options_;
  quiet.progress = {};
  const auto error_of = [&](const Graph& candidate) -> Result<double> {
    RUNNEL_ASSIGN(const Plan plan, planned(candidate, searched, quiet));
    RUNNEL_ASSIGN(const Graph form, emit_integer_graph(candidate, plan));
    return reference.error(form);
  };
  RUNNEL_ASSIGN(made.scalings, equalize(clips_, all, options_, error_of, made.real));
  return {};
}

Status QuantizationRun::improve(const Methods& methods, const ReferenceOutputs& reference,
                                const std::vector<std::size_t>& which, Quantized& made) const {
  const auto search = [&]() -> Status {
    if (!methods.search) return {};
    return search_ranges(made.real, reference, 1, options_.progress, made.plan).status();
  };
  RUNNEL_TRY(search());
  if (methods.round || methods.correct_bias) {
    RUNNEL_TRY(fit_layers(made.real, clips_, which, methods, options_, made.plan));
    RUNNEL_TRY(search());
  }
  if (methods.sums) RUNNEL_TRY(tie(methods, reference, which, made));
  if (methods.blocks || methods.tqt)
    RUNNEL_TRY(train_blocks(made.real, clips_, which, reference, methods, options_, made.plan));
  return {};
}

// Layers were chosen for other scales: choose them again.
Status QuantizationRun::tie(const Methods& methods, const ReferenceOutputs& reference,
                            const std::vector<std::size_t>& which, Quantized& made) const {
  const std::vector<TensorId> before = made.plan.groups;
  RUNNEL_TRY(
      unify_sum_ranges(made.real, reference, methods.sum_slack, options_.progress, made.plan).status());
  if (made.plan.groups == before) return {};
  return fit_layers(made.real, clips_, which, methods, options_, made.plan);
}

Result<ReferenceOutputs> QuantizationRun::quick(const Quantized& made,
                                                const std::vector<std::size_t>& which) const {
  return ReferenceOutputs::make(made.real, clips_, some_of(which, searched_clips(made.real)),
                                options_.threads);
}

}  // namespace runnel::compiler::quantizer
