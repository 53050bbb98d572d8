#include "compiler/quantize/choose/mixed_precision.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <set>

#include "compiler/quantize/calibrate/calibrate.h"
#include "compiler/quantize/choose/quantization_noise.h"
#include "compiler/quantize/choose/search_ranges.h"
#include "compiler/quantize/integer_graph.h"
#include "compiler/quantize/round/fit_layer.h"

namespace runnel::compiler::quantizer {
namespace {

constexpr std::size_t kLooked = 16;     // clips that single operators are measured with
constexpr std::size_t kMinDivided = 8;  // clips of which some can be held back

struct Candidate {
  std::size_t node = 0;
  double rank = 0;  // error that it leaves alone, or what it gains
  std::int64_t products = 0;
};

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

void sort_by_rank(std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.rank > b.rank; });
}

bool may_be_real(const TargetRules& target, OpCode code) {
  return !target.esp_dl ||
         (code != OpCode::conv && code != OpCode::transposed_conv && code != OpCode::fully_connected &&
          code != OpCode::matmul && code != OpCode::max_pool);
}

// A number of candidates that is enough, with what it leads to.
struct Enough {
  std::size_t count = 0;
  Quantized made;
};

bool has_integers(const Plan& plan) {
  for (std::size_t n = 0; n < plan.types.size(); ++n) {
    if (plan.roles[n] != Role::passive && plan.types[n] != DType::float32) return true;
  }
  return false;
}

class Widening {
 public:
  Widening(const Clips& clips, const std::vector<std::size_t>& which, const Options& options,
           const Quantized& start)
      : clips_(clips), options_(options), start_(start), few_(some_of(start.clips, kLooked)) {
    const bool divided = which.size() >= kMinDivided;
    for (std::size_t i = 0; i < which.size(); ++i) (divided && i % 4 == 3 ? held_ : fit_).push_back(which[i]);
    for (const Node& node : start.real.nodes) all_products_ += products_of(start.real, node);
    room_ = options.budget > 0 ? options.budget * static_cast<double>(all_products_)
                               : static_cast<double>(all_products_) + 1;
  }

  Result<Quantized> run() {
    RUNNEL_ASSIGN(histograms_, observe(start_.real, start_.plan, clips_, start_.clips, options_));
    RUNNEL_ASSIGN(seen_, ReferenceOutputs::make(start_.real, clips_, fit_, options_.threads));
    if (!held_.empty()) {
      RUNNEL_ASSIGN(unseen_, ReferenceOutputs::make(start_.real, clips_, held_, options_.threads));
    }
    RUNNEL_TRY(rank_wide());
    RUNNEL_ASSIGN(std::optional<Enough> enough,
                  fewest(wide_.size(), [&](std::size_t count) { return with(count, {}); }));
    if (enough) return told(std::move(*enough), {});
    RUNNEL_ASSIGN(const Quantized wide, with(wide_.size(), {}));
    RUNNEL_ASSIGN(const std::vector<std::size_t> real, choose_real(wide));
    // Some did not need 16 bits after all.
    RUNNEL_ASSIGN(Quantized narrow, with(0, real));
    if (!has_integers(narrow.plan)) return too_much(wide.error);  // nothing is quantized any more
    if (narrow.error <= options_.max_error) return told({0, std::move(narrow)}, real);
    RUNNEL_ASSIGN(enough, fewest(wide_.size(), [&](std::size_t count) { return with(count, real); }));
    if (!enough) return too_much(wide.error);
    return told(std::move(*enough), real);
  }

 private:
  [[nodiscard]] Status too_much(double error) const {
    return Status(Code::unsupported)
           << "the outputs' error is " << short_number(error) << ", more than "
           << short_number(options_.max_error)
           << ", with all that may be int16 as int16, and only without any integers it would be less";
  }

  // Which operators may become int16, in their order.
  Status rank_wide() {
    RUNNEL_ASSIGN(const ReferenceOutputs reference,
                  ReferenceOutputs::make(start_.real, clips_, few_, options_.threads));
    for (std::size_t n = 0; n < start_.plan.types.size(); ++n) {
      if (start_.plan.types[n] != DType::int8 || start_.plan.roles[n] == Role::passive ||
          options_.target.int8_weights)
        continue;
      if (options_.progress)
        options_.progress("sensitivity",
                          static_cast<double>(n) / static_cast<double>(start_.plan.types.size()));
      RUNNEL_ASSIGN(const double error, sensitivity(start_, n, reference));
      wide_.push_back({n, error, products_of(start_.real, start_.real.nodes[n])});
    }
    sort_by_rank(wide_);
    double used = 0;
    std::erase_if(wide_, [&](const Candidate& candidate) {
      const bool fits = used + static_cast<double>(candidate.products) <= room_;
      if (fits) used += static_cast<double>(candidate.products);
      return !fits;
    });
    return {};
  }

  // The larger one of the errors on clips that layers are fitted to and on those that they are not: few clips
  // can be fitted to by chance.
  Result<double> error_of(const Graph& form) const {
    RUNNEL_ASSIGN(const double seen, seen_.error(form));
    if (held_.empty()) return seen;
    RUNNEL_ASSIGN(const double unseen, unseen_.error(form));
    return std::max(seen, unseen);
  }

  // The first `wide` candidates as int16, others as float, with all weights fitted again.
  Result<Quantized> with(std::size_t wide, const std::vector<std::size_t>& real) const {
    Quantized made = start_;
    for (std::size_t i = 0; i < wide; ++i) made.plan.types[wide_[i].node] = DType::int16;
    for (const std::size_t node : real) made.plan.types[node] = DType::float32;
    propagate_types(made.real, made.plan);
    set_ranges(made.real, histograms_, options_.calibration, tensor_types(made.real, made.plan), made.plan);
    made.plan.layers.clear();
    made.plan.matrices.clear();
    avoid_left_shifts(made.real, made.plan);
    RUNNEL_TRY(fit_layers(made.real, clips_, fit_, made.methods, options_, made.plan));
    RUNNEL_ASSIGN(made.graph, emit_integer_graph(made.real, made.plan));
    RUNNEL_ASSIGN(made.error, error_of(made.graph));
    return made;
  }

  // The smallest number from 1 to `most` with which the error is kept, or nothing: twice as many until they
  // are enough, then as few of them as are.
  Result<std::optional<Enough>> fewest(std::size_t most,
                                       const std::function<Result<Quantized>(std::size_t)>& make) const {
    std::size_t too_few = 0;
    std::optional<Enough> enough;
    for (std::size_t count = 1; too_few < most && !enough; count = std::min(2 * count, most)) {
      RUNNEL_ASSIGN(Quantized made, make(count));
      if (made.error <= options_.max_error)
        enough = Enough{count, std::move(made)};
      else
        too_few = count;
    }
    while (enough && enough->count - too_few > 1) {
      const std::size_t middle = (too_few + enough->count) / 2;
      RUNNEL_ASSIGN(Quantized made, make(middle));
      if (made.error <= options_.max_error)
        enough = Enough{middle, std::move(made)};
      else
        too_few = middle;
    }
    return enough;
  }

  // What becoming float gains, for each operator that may, in this model.
  Result<std::vector<Candidate>> gains_in(const Quantized& now) const {
    RUNNEL_ASSIGN(const ReferenceOutputs quick,
                  ReferenceOutputs::make(now.real, clips_, few_, options_.threads));
    RUNNEL_ASSIGN(const double before, quick.error(now.graph));
    std::set<std::size_t> counted;
    double used = 0;
    for (const Candidate& candidate : wide_) {
      counted.insert(candidate.node);
      used += static_cast<double>(candidate.products);
    }
    std::vector<Candidate> candidates;
    for (std::size_t n = 0; n < now.plan.types.size(); ++n) {
      if (now.plan.types[n] == DType::float32 || now.plan.roles[n] == Role::passive ||
          !may_be_real(options_.target, now.real.nodes[n].code))
        continue;
      const std::int64_t products = products_of(now.real, now.real.nodes[n]);
      if (!counted.contains(n) && used + static_cast<double>(products) > room_) continue;
      if (options_.progress)
        options_.progress("floats", static_cast<double>(n) / static_cast<double>(now.plan.types.size()));
      Plan plan = now.plan;
      plan.types[n] = DType::float32;
      propagate_types(now.real, plan);
      const auto form = emit_integer_graph(now.real, plan);
      if (!form.ok() && form.status().code() == Code::unsupported)
        continue;  // what cannot be represented is no candidate
      if (!form.ok()) return form.status();
      RUNNEL_ASSIGN(const double after, quick.error(*form));
      candidates.push_back({n, before - after, products});
    }
    sort_by_rank(candidates);
    return candidates;
  }

  // Operators that become float: those that gain most, then twice as many of what gains most beside them, and
  // so on; of the last ones as few as are enough.
  Result<std::vector<std::size_t>> choose_real(Quantized now) const {
    std::vector<std::size_t> real;
    for (std::size_t batch = 1;; batch *= 2) {
      RUNNEL_ASSIGN(std::vector<Candidate> gains, gains_in(now));
      if (gains.empty())
        return Status(Code::unsupported)
               << "the outputs' error is " << short_number(now.error) << ", more than "
               << short_number(options_.max_error) << ", with all that may be float as float";
      gains.resize(std::min(batch, gains.size()));
      const auto joined = [&](std::size_t count) {
        std::vector<std::size_t> more = real;
        for (std::size_t i = 0; i < count; ++i) more.push_back(gains[i].node);
        return more;
      };
      RUNNEL_ASSIGN(Quantized tried, with(wide_.size(), joined(gains.size())));
      if (tried.error <= options_.max_error) {
        RUNNEL_ASSIGN(const std::optional<Enough> enough, fewest(gains.size(), [&](std::size_t count) {
                        return with(wide_.size(), joined(count));
                      }));
        return joined(enough ? enough->count : gains.size());
      }
      real = joined(gains.size());
      now = std::move(tried);
    }
  }

  // With what was done as notes.
  Quantized told(Enough enough, const std::vector<std::size_t>& real) const {
    const auto share = [&](double products) {
      return short_number(100 * products / static_cast<double>(std::max<std::int64_t>(all_products_, 1))) +
             " % of the multiply-adds";
    };
    const std::set<std::size_t> floats(real.begin(), real.end());
    double wide_products = 0, real_products = 0;
    std::size_t wide = 0;
    for (std::size_t i = 0; i < enough.count; ++i) {
      if (floats.contains(wide_[i].node)) continue;
      ++wide;
      wide_products += static_cast<double>(wide_[i].products);
    }
    if (wide > 0)
      enough.made.notes.push_back(std::to_string(wide) + " operators became int16, with " +
                                  share(wide_products));
    std::string names;
    for (const std::size_t node : floats) {
      real_products += static_cast<double>(products_of(start_.real, start_.real.nodes[node]));
      names += (names.empty() ? "" : ", ") + start_.real.nodes[node].name;
    }
    if (!floats.empty())
      enough.made.notes.push_back(
          std::to_string(floats.size()) +
          " operators became float because 16 bits leave more than the error asked for, with " +
          share(real_products) + ": " + names);
    return std::move(enough.made);
  }

  const Clips& clips_;
  const Options& options_;
  const Quantized& start_;
  std::vector<std::size_t> few_;
  std::vector<Histogram> histograms_;
  std::vector<std::size_t> fit_, held_;
  ReferenceOutputs seen_, unseen_;
  std::vector<Candidate> wide_;
  std::int64_t all_products_ = 0;
  double room_ = 0;
};

}  // namespace

Status assign_mixed_precision(const Clips& clips, const std::vector<std::size_t>& which,
                              const Options& options, Quantized& made) {
  if (made.error <= options.max_error) return {};
  RUNNEL_ASSIGN(made, Widening(clips, which, options, made).run());
  return {};
}

}  // namespace runnel::compiler::quantizer
