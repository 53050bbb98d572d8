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
  const std::vector<std::size_t> few = some_of(clips.size(), 16);
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
  RUNNEL_ASSIGN(const std::vector<Histogram> histograms, observe(made.real, made.plan, clips, all_of(clips.size()), options));
  RUNNEL_ASSIGN(const Yardstick yardstick, Yardstick::make(made.real, clips, which, options.threads));
  const double room = options.budget > 0 ? options.budget * static_cast<double>(all_products) : static_cast<double>(all_products) + 1;
  double used = 0;
  int widened = 0;
  for (const Candidate& candidate : candidates) {
    if (used + static_cast<double>(candidate.products) > room) continue;
    used += static_cast<double>(candidate.products);
    ++widened;
    made.plan.types[candidate.node] = DType::int16;
    propagate_types(made.real, made.plan);
    set_ranges(made.real, histograms, options.calibration, tensor_types(made.real, made.plan), made.plan);
    made.plan.layers.clear();
    avoid_left_shifts(made.real, made.plan);
    RUNNEL_TRY(fit_layers(made.real, clips, which, made.methods, options, made.plan));
    RUNNEL_ASSIGN(made.graph, emit(made.real, made.plan));
    RUNNEL_ASSIGN(made.error, yardstick.error(made.graph));
    if (made.error <= options.max_error) break;
  }
  made.notes.push_back(std::to_string(widened) + " operators became int16, with " + short_number(100 * used / static_cast<double>(std::max<std::int64_t>(all_products, 1))) +
                       " % of the multiply-adds");
  if (made.error <= options.max_error) return {};
  return Status(Code::unsupported) << "the outputs' error is " << short_number(made.error) << ", more than " << short_number(options.max_error) << ", with all that may be int16 as int16";
}

}  // namespace runnel::compiler::quantizer
