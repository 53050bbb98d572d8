#include "compiler/quantize/quantize.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/emit.h"
#include "compiler/quantize/equalize.h"
#include "compiler/quantize/mixed.h"
#include "compiler/quantize/round.h"
#include "compiler/quantize/search.h"
#include "compiler/quantize/sums.h"
#include "compiler/quantize/train_blocks.h"

namespace runnel::compiler::quantizer {
namespace {

// Equalization and the choice of methods are judged by clips that leave the ranges a little, as those of later recordings will: a grid that is filled to its last
// integer looks better on what it was made from than it is.
constexpr float kLouder = 1.15f;
constexpr std::size_t kSearched = 40;   // clips that ranges are searched with
constexpr double kHolds[] = {0.02, 0.05, 0.1, 0.2, 0.4, 0.8};
constexpr double kSumSlacks[] = {1e30, 0.1, 0.02};
constexpr std::size_t kFewest = 8;   // clips that can be divided into some to fit and some to hold back

// One way through all steps, with one set of methods.
class Attempt {
 public:
  Attempt(const Graph& graph, const Clips& clips, const Options& options) : given_(graph), clips_(clips), options_(options) {}

  Result<Quantized> run(const Methods& methods, const std::vector<std::size_t>& all, const std::vector<std::size_t>& which) const {
    Quantized made;
    made.methods = methods;
    made.real = given_;
    const std::vector<std::size_t> searched = some_of(which, kSearched);
    if (methods.equalize || methods.split) {
      RUNNEL_TRY(prepare(methods, all, searched, made));
    }
    RUNNEL_ASSIGN(made.plan, planned(made.real, all, options_));
    RUNNEL_ASSIGN(const Yardstick yardstick, Yardstick::make(made.real, clips_, which, options_.threads));
    RUNNEL_ASSIGN(const Yardstick quick, Yardstick::make(made.real, clips_, searched, options_.threads));
    RUNNEL_TRY(improve(methods, quick, which, made));
    RUNNEL_ASSIGN(made.graph, emit(made.real, made.plan));
    RUNNEL_ASSIGN(made.error, yardstick.error(made.graph));
    return made;
  }

  // The same with equal scales at its sums; nothing where no sum gets them.
  Result<std::optional<Quantized>> with_sums(const Quantized& before, double slack, const std::vector<std::size_t>& which) const {
    Quantized made = before;
    made.methods.sums = true;
    made.methods.sum_slack = slack;
    RUNNEL_ASSIGN(const Yardstick yardstick, Yardstick::make(made.real, clips_, some_of(which, kSearched), options_.threads));
    RUNNEL_TRY(tie(made.methods, yardstick, which, made));
    if (made.plan.groups == before.plan.groups) return std::optional<Quantized>();
    RUNNEL_ASSIGN(made.graph, emit(made.real, made.plan));
    return std::optional<Quantized>(std::move(made));
  }

 private:
  // Ranges as the calibration has them.
  Result<Plan> planned(const Graph& graph, const std::vector<std::size_t>& which, const Options& options) const {
    RUNNEL_ASSIGN(Plan plan, make_plan(graph, options));
    RUNNEL_ASSIGN(const std::vector<Histogram> histograms, observe(graph, plan, clips_, which, options));
    set_ranges(graph, histograms, options.calibration, tensor_types(graph, plan), plan);
    avoid_left_shifts(graph, plan);
    return plan;
  }

  Status prepare(const Methods& methods, const std::vector<std::size_t>& all, const std::vector<std::size_t>& searched, Quantized& made) const {
    if (methods.split) split_layers(made.real, options_);
    if (!methods.equalize) return {};
    const LouderClips louder(clips_, kLouder);
    RUNNEL_ASSIGN(const Yardstick yardstick, Yardstick::make(made.real, louder, searched, options_.threads));
    Options quiet = options_;
    quiet.progress = {};
    const auto error_of = [&](const Graph& candidate) -> Result<double> {
      RUNNEL_ASSIGN(const Plan plan, planned(candidate, searched, quiet));
      RUNNEL_ASSIGN(const Graph form, emit(candidate, plan));
      return yardstick.error(form);
    };
    RUNNEL_ASSIGN(made.scalings, equalize(clips_, all, options_, error_of, made.real));
    return {};
  }

  Status improve(const Methods& methods, const Yardstick& yardstick, const std::vector<std::size_t>& which, Quantized& made) const {
    const auto search = [&]() -> Status {
      if (!methods.search) return {};
      return search_ranges(made.real, yardstick, 1, options_.progress, made.plan).status();
    };
    RUNNEL_TRY(search());
    if (methods.round || methods.correct_bias) {
      RUNNEL_TRY(fit_layers(made.real, clips_, which, methods, options_, made.plan));
      RUNNEL_TRY(search());
    }
    if (methods.sums) RUNNEL_TRY(tie(methods, yardstick, which, made));
    if (methods.blocks || methods.tqt) RUNNEL_TRY(train_blocks(made.real, clips_, which, yardstick, methods, options_, made.plan));
    return {};
  }

  // Layers were chosen for other scales: they are chosen anew.
  Status tie(const Methods& methods, const Yardstick& yardstick, const std::vector<std::size_t>& which, Quantized& made) const {
    const std::vector<TensorId> before = made.plan.groups;
    RUNNEL_TRY(tie_sums(made.real, yardstick, methods.sum_slack, options_.progress, made.plan).status());
    if (made.plan.groups == before) return {};
    return fit_layers(made.real, clips_, which, methods, options_, made.plan);
  }

  const Graph& given_;
  const Clips& clips_;
  const Options& options_;
};

std::vector<Methods> sets_to_try(DType type) {
  Methods all, no_equalization, no_rounding;
  no_equalization.equalize = false;
  no_rounding.round = no_rounding.equalize = false;
  // 16 bits have room for every channel.
  if (type == DType::int16) return {no_equalization, no_rounding};
  return {all, no_equalization, no_rounding};
}

// How strongly rounding holds weights, by the error on clips held back, which becomes `least`.
Status choose_hold(const Clips& clips, std::span<const std::size_t> fit, const Yardstick& yardstick, const Options& options, Quantized& made, double& least) {
  if (!made.methods.round) return {};
  const Quantized before = made;
  least = std::numeric_limits<double>::infinity();
  for (const double hold : kHolds) {
    Quantized tried = before;
    tried.methods.hold = hold;
    RUNNEL_TRY(fit_layers(tried.real, clips, fit, tried.methods, options, tried.plan));
    RUNNEL_ASSIGN(tried.graph, emit(tried.real, tried.plan));
    RUNNEL_ASSIGN(const double error, yardstick.error(tried.graph));
    if (error >= least) continue;
    least = error;
    made = std::move(tried);
  }
  return {};
}

}  // namespace

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
  RUNNEL_TRY(make_plan(graph, options).status());   // weights, names of operators
  RUNNEL_ASSIGN(const std::vector<std::size_t> all, usable_clips(graph, clips));
  const std::vector<std::size_t> which = some_of(all, options.most_clips);
  const Attempt attempt(graph, clips, options);
  Methods chosen = options.methods.value_or(Methods{});
  std::vector<Trial> trials;
  if (!options.methods && which.size() >= kFewest) {
    std::vector<std::size_t> fit, held;
    for (std::size_t i = 0; i < which.size(); ++i) (i % 4 == 3 ? held : fit).push_back(which[i]);
    const LouderClips louder(clips, kLouder);
    double least = std::numeric_limits<double>::infinity();
    Quantized best;
    for (const Methods& methods : sets_to_try(options.type)) {
      RUNNEL_ASSIGN(Quantized tried, attempt.run(methods, fit, fit));
      RUNNEL_ASSIGN(const Yardstick yardstick, Yardstick::make(tried.real, louder, held, options.threads));
      RUNNEL_ASSIGN(const double error, yardstick.error(tried.graph));
      trials.push_back({methods, error});
      if (error >= least) continue;
      least = error;
      best = std::move(tried);
    }
    RUNNEL_ASSIGN(const Yardstick yardstick, Yardstick::make(best.real, louder, held, options.threads));
    RUNNEL_TRY(choose_hold(clips, fit, yardstick, options, best, least));
    // Equal scales at sums are for speed: taken where they cost nothing, as many as that allows.
    std::vector<TensorId> tried;
    for (const double slack : kSumSlacks) {
      RUNNEL_ASSIGN(const std::optional<Quantized> equal, attempt.with_sums(best, slack, fit));
      if (!equal || equal->plan.groups == tried) continue;
      tried = equal->plan.groups;
      RUNNEL_ASSIGN(const double error, yardstick.error(equal->graph));
      trials.push_back({equal->methods, error});
      if (error > least) continue;
      best.methods = equal->methods;
      break;
    }
    chosen = best.methods;
  }
  RUNNEL_ASSIGN(Quantized made, attempt.run(chosen, all, which));
  made.trials = std::move(trials);
  made.clips = all;
  if (all.size() < clips.size()) made.notes.push_back(std::to_string(clips.size() - all.size()) + " of " + std::to_string(clips.size()) + " clips hold one value throughout and were left out");
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
