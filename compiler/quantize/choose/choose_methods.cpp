#include "compiler/quantize/choose/choose_methods.h"

#include <limits>
#include <optional>
#include <utility>

#include "compiler/quantize/integer_graph.h"
#include "compiler/quantize/round/fit_layer.h"

namespace runnel::compiler::quantizer {
namespace {

constexpr double kHolds[] = {0.02, 0.05, 0.1, 0.2, 0.4, 0.8};
constexpr double kSumSlacks[] = {1e30, 0.1, 0.02};
constexpr std::size_t kMin = 8;  // clips that can be divided into some to fit and some to hold back

// What is allowed, without the methods that are tried one by one.
Methods usual_of(const Methods& offered) {
  Methods usual = offered;
  usual.split = usual.sums = usual.blocks = usual.tqt = false;
  return usual;
}

bool same(const Methods& a, const Methods& b) { return names_of(a) == names_of(b); }

std::vector<Methods> sets_to_try(const Methods& offered, DType type) {
  const Methods all = usual_of(offered);
  Methods no_equalization = all, no_rounding = all;
  no_equalization.equalize = false;
  no_rounding.round = no_rounding.equalize = false;
  std::vector<Methods> sets;
  // 16 bits have room for every channel.
  if (type != DType::int16) sets.push_back(all);
  for (const Methods& set : {no_equalization, no_rounding}) {
    if (sets.empty() || !same(sets.back(), set)) sets.push_back(set);
  }
  return sets;
}

class Choice {
 public:
  Choice(const QuantizationRun& attempt, const Clips& clips, const std::vector<std::size_t>& which,
         const Options& options, std::vector<Trial>& trials)
      : attempt_(attempt), clips_(clips), louder_(clips, kLouder), options_(options), trials_(trials) {
    for (std::size_t i = 0; i < which.size(); ++i) (i % 4 == 3 ? held_ : fit_).push_back(which[i]);
  }

  Result<Methods> run() {
    for (const Methods& methods : sets_to_try(options_.offered, options_.type)) RUNNEL_TRY(try_set(methods));
    RUNNEL_TRY(choose_hold());
    if (options_.offered.sums) RUNNEL_TRY(try_sums());
    if (options_.offered.split) RUNNEL_TRY(try_split());
    for (const bool scales : {false, true}) {
      if (scales ? options_.offered.tqt : options_.offered.blocks) RUNNEL_TRY(try_training(scales));
    }
    return best_.methods;
  }

 private:
  Result<double> error_of(const Quantized& made) const {
    RUNNEL_ASSIGN(const ReferenceOutputs reference,
                  ReferenceOutputs::make(made.real, louder_, held_, options_.threads));
    return reference.error(made.graph);
  }
  // Takes what is better.
  Status judge(Quantized tried, bool equal_is_enough = false) {
    RUNNEL_ASSIGN(const double error, error_of(tried));
    trials_.push_back({tried.methods, error});
    if (equal_is_enough ? error > least_ : error >= least_) return {};
    least_ = error;
    best_ = std::move(tried);
    return {};
  }
  Status try_set(const Methods& methods) {
    RUNNEL_ASSIGN(Quantized tried, attempt_.run(methods, fit_, fit_));
    return judge(std::move(tried));
  }
  Status try_split() {
    if (options_.target.per_channel) return {};  // nothing to split for
    Methods methods = best_.methods;
    methods.split = true;
    RUNNEL_ASSIGN(Quantized tried, attempt_.run(methods, fit_, fit_));
    if (tried.real.nodes.size() == best_.real.nodes.size()) return {};  // no layer needs it
    return judge(std::move(tried));
  }
  // How strongly rounding holds weights.
  Status choose_hold() {
    if (!best_.methods.round) return {};
    const Quantized before = best_;
    for (const double hold : kHolds) {
      Quantized tried = before;
      tried.methods.hold = hold;
      RUNNEL_TRY(fit_layers(tried.real, clips_, fit_, tried.methods, options_, tried.plan));
      RUNNEL_ASSIGN(tried.graph, emit_integer_graph(tried.real, tried.plan));
      RUNNEL_ASSIGN(const double error, error_of(tried));
      if (error >= least_) continue;
      least_ = error;
      best_ = std::move(tried);
    }
    trials_.push_back({best_.methods, least_});
    return {};
  }
  // Equal scales at sums are for speed: taken where they cost nothing, as many as that allows.
  Status try_sums() {
    std::vector<TensorId> tried;
    const Quantized before = best_;
    for (const double slack : kSumSlacks) {
      RUNNEL_ASSIGN(std::optional<Quantized> equal, attempt_.with_sums(before, slack, fit_));
      if (!equal || equal->plan.groups == tried) continue;
      tried = equal->plan.groups;
      RUNNEL_TRY(judge(std::move(*equal), true));
      if (best_.methods.sums) break;
    }
    return {};
  }
  Status try_training(bool scales) {
    RUNNEL_ASSIGN(Quantized tried, attempt_.with_training(best_, scales, fit_));
    return judge(std::move(tried));
  }

  const QuantizationRun& attempt_;
  const Clips& clips_;
  const LouderClips louder_;
  const Options& options_;
  std::vector<Trial>& trials_;
  std::vector<std::size_t> fit_, held_;
  Quantized best_;
  double least_ = std::numeric_limits<double>::infinity();
};

}  // namespace

Result<Methods> choose_methods(const QuantizationRun& attempt, const Clips& clips,
                               const std::vector<std::size_t>& which, const Options& options,
                               std::vector<Trial>& trials) {
  if (which.size() < kMin) return usual_of(options.offered);
  return Choice(attempt, clips, which, options, trials).run();
}

}  // namespace runnel::compiler::quantizer
