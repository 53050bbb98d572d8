#include "compiler/quantize/quantize.h"

#include <algorithm>
#include <limits>

#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/emit.h"
#include "compiler/quantize/equalize.h"
#include "compiler/quantize/mixed.h"
#include "compiler/quantize/round.h"
#include "compiler/quantize/search.h"

namespace runnel::compiler::quantizer {
namespace {

constexpr std::size_t kFewest = 8;   // clips that can be divided into some to fit and some to hold back

// One way through all steps, with one set of methods.
class Attempt {
 public:
  Attempt(const Graph& graph, const Clips& clips, const Options& options) : given_(graph), clips_(clips), options_(options) {}

  Result<Quantized> run(const Methods& methods, const std::vector<std::size_t>& all, const std::vector<std::size_t>& which) const {
    Quantized made;
    made.methods = methods;
    made.real = given_;
    if (methods.equalize || methods.split) {
      RUNNEL_ASSIGN(made.real, prepared(methods, all));
    }
    RUNNEL_ASSIGN(made.plan, make_plan(made.real, options_));
    RUNNEL_ASSIGN(const std::vector<Histogram> histograms, observe(made.real, made.plan, clips_, all, options_));
    set_ranges(histograms, options_.calibration, tensor_types(made.real, made.plan), made.plan);
    avoid_left_shifts(made.real, made.plan);
    RUNNEL_ASSIGN(const Yardstick yardstick, Yardstick::make(made.real, clips_, which, options_.threads));
    RUNNEL_TRY(improve(methods, yardstick, which, made));
    RUNNEL_ASSIGN(made.graph, emit(made.real, made.plan));
    RUNNEL_ASSIGN(made.error, yardstick.error(made.graph));
    return made;
  }

 private:
  Result<Graph> prepared(const Methods& methods, const std::vector<std::size_t>& all) const {
    Graph graph = given_;
    if (methods.split) split_layers(graph, options_);
    if (methods.equalize) RUNNEL_TRY(equalize(clips_, all, options_, graph));
    return graph;
  }

  Status improve(const Methods& methods, const Yardstick& yardstick, const std::vector<std::size_t>& which, Quantized& made) const {
    const auto search = [&]() -> Status {
      if (!methods.search) return {};
      return search_ranges(made.real, yardstick, 1, options_.progress, made.plan).status();
    };
    RUNNEL_TRY(search());
    if (!methods.round && !methods.correct_bias) return {};
    RUNNEL_TRY(fit_layers(made.real, clips_, which, methods, options_, made.plan));
    return search();
  }

  const Graph& given_;
  const Clips& clips_;
  const Options& options_;
};

std::vector<Methods> sets_to_try() {
  Methods all, no_equalization, no_rounding;
  no_equalization.equalize = false;
  no_rounding.round = no_rounding.equalize = false;
  return {all, no_equalization, no_rounding};
}

}  // namespace

std::vector<std::size_t> some_of(std::size_t count, std::size_t most) {
  std::vector<std::size_t> which;
  const std::size_t taken = std::min(count, std::max<std::size_t>(most, 1));
  for (std::size_t i = 0; i < taken; ++i) which.push_back(i * count / taken);
  return which;
}

Result<Quantized> quantize(const Graph& graph, const Clips& clips, const Options& options) {
  RUNNEL_TRY(check_clips(graph, clips));
  const std::vector<std::size_t> all = all_of(clips.size()), which = some_of(clips.size(), options.most_clips);
  const Attempt attempt(graph, clips, options);
  Methods chosen = options.methods.value_or(Methods{});
  std::vector<Trial> trials;
  if (!options.methods && which.size() >= kFewest) {
    std::vector<std::size_t> fit, held;
    for (std::size_t i = 0; i < which.size(); ++i) (i % 4 == 3 ? held : fit).push_back(which[i]);
    double least = std::numeric_limits<double>::infinity();
    for (const Methods& methods : sets_to_try()) {
      RUNNEL_ASSIGN(const Quantized tried, attempt.run(methods, fit, fit));
      RUNNEL_ASSIGN(const Yardstick yardstick, Yardstick::make(tried.real, clips, held, options.threads));
      RUNNEL_ASSIGN(const double error, yardstick.error(tried.graph));
      trials.push_back({methods, error});
      if (error >= least) continue;
      least = error;
      chosen = methods;
    }
  }
  RUNNEL_ASSIGN(Quantized made, attempt.run(chosen, all, which));
  made.trials = std::move(trials);
  if (options.max_error > 0 && options.type == DType::int8) {
    RUNNEL_TRY(widen(clips, which, options, made));
  }
  return made;
}

Result<double> sensitivity(const Quantized& quantized, std::size_t node, const Clips& clips, std::span<const std::size_t> which, int threads) {
  Plan plan = quantized.plan;
  for (std::size_t n = 0; n < plan.types.size(); ++n) {
    if (n != node) plan.types[n] = DType::float32;
  }
  RUNNEL_ASSIGN(const Graph form, emit(quantized.real, plan));
  RUNNEL_ASSIGN(const std::vector<Noise> noises, compare_forms(quantized.real, form, clips, which, threads));
  double sum = 0;
  for (const Noise& noise : noises) sum += noise.ratio();
  return sum / static_cast<double>(noises.size());
}

}  // namespace runnel::compiler::quantizer
