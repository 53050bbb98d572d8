#include "compiler/quantize/mixed.h"

#include <algorithm>
#include <cstdio>

#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/emit.h"
#include "compiler/quantize/round.h"
#include "compiler/quantize/search.h"

namespace runnel::compiler::quantizer {
namespace {

struct Candidate {
  std::size_t node = 0;
  double error = 0;
  std::int64_t products = 0;
};

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

}  // namespace

Status widen(const Clips& clips, const std::vector<std::size_t>& which, const Options& options, Quantized& made) {
  if (made.error <= options.max_error) return {};
  const std::vector<std::size_t> few = some_of(made.clips, 16);
  std::vector<Candidate> candidates;
  std::int64_t all_products = 0;
  for (std::size_t n = 0; n < made.plan.types.size(); ++n) {
    all_products += products_of(made.real, made.real.nodes[n]);
    if (made.plan.types[n] != DType::int8 || made.plan.roles[n] == Role::passive) continue;
    if (options.progress) options.progress("sensitivity", static_cast<double>(n) / static_cast<double>(made.plan.types.size()));
    RUNNEL_ASSIGN(const double error, sensitivity(made, n, clips, few, options.threads));
    candidates.push_back({n, error, products_of(made.real, made.real.nodes[n])});
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return a.error > b.error; });
  RUNNEL_ASSIGN(const std::vector<Histogram> histograms, observe(made.real, made.plan, clips, made.clips, options));
  RUNNEL_ASSIGN(const Yardstick yardstick, Yardstick::make(made.real, clips, which, options.threads));
  const double room = options.budget > 0 ? options.budget * static_cast<double>(all_products) : static_cast<double>(all_products) + 1;
  double used = 0;
  std::erase_if(candidates, [&](const Candidate& candidate) {
    const bool fits = used + static_cast<double>(candidate.products) <= room;
    if (fits) used += static_cast<double>(candidate.products);
    return !fits;
  });
  // With the first `count` candidates as int16.
  const auto widened = [&](std::size_t count) -> Result<Quantized> {
    Quantized wider = made;
    for (std::size_t i = 0; i < count; ++i) wider.plan.types[candidates[i].node] = DType::int16;
    propagate_types(wider.real, wider.plan);
    set_ranges(wider.real, histograms, options.calibration, tensor_types(wider.real, wider.plan), wider.plan);
    wider.plan.layers.clear();
    wider.plan.matrices.clear();
    avoid_left_shifts(wider.real, wider.plan);
    RUNNEL_TRY(fit_layers(wider.real, clips, which, made.methods, options, wider.plan));
    RUNNEL_ASSIGN(wider.graph, emit(wider.real, wider.plan));
    RUNNEL_ASSIGN(wider.error, yardstick.error(wider.graph));
    return wider;
  };
  // Twice as many until they are enough, then as few of them as are.
  std::size_t too_few = 0, enough = candidates.size() + 1;
  double reached = made.error;
  Quantized best;
  for (std::size_t count = 1; too_few < candidates.size() && enough > candidates.size(); count = std::min(2 * count, candidates.size())) {
    RUNNEL_ASSIGN(Quantized wider, widened(count));
    reached = wider.error;
    if (wider.error > options.max_error) {
      too_few = count;
      continue;
    }
    enough = count;
    best = std::move(wider);
  }
  if (enough > candidates.size()) {
    return Status(Code::unsupported) << "the outputs' error is " << short_number(reached) << ", more than " << short_number(options.max_error) << ", with all that may be int16 as int16";
  }
  while (enough - too_few > 1) {
    const std::size_t middle = (too_few + enough) / 2;
    RUNNEL_ASSIGN(Quantized wider, widened(middle));
    (wider.error > options.max_error ? too_few : enough) = middle;
    if (enough == middle) best = std::move(wider);
  }
  used = 0;
  for (std::size_t i = 0; i < enough; ++i) used += static_cast<double>(candidates[i].products);
  made = std::move(best);
  made.notes.push_back(std::to_string(enough) + " operators became int16, with " + short_number(100 * used / static_cast<double>(std::max<std::int64_t>(all_products, 1))) + " % of the multiply-adds");
  return {};
}

}  // namespace runnel::compiler::quantizer
