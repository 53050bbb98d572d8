#include "compiler/quantize/choose/search_ranges.h"

#include <algorithm>
#include <functional>
#include <set>

#include "compiler/quantize/integer_forms.h"

namespace runnel::compiler::quantizer {
namespace {

// Less than this is chance.
constexpr double kGain = 0.003;
constexpr int kGateExponents[] = {-13, -12, -10, -9};

// The groups whose tensors are int8, in the order of execution: 16 bits have room for everything.
std::vector<TensorId> groups_of(const Graph& graph, const Plan& plan) {
  const std::vector<DType> types = tensor_types(graph, plan);
  std::vector<TensorId> groups;
  std::set<TensorId> seen;
  const auto add = [&](TensorId id) {
    if (id < 0 || graph.tensors[static_cast<std::size_t>(id)].dtype != DType::float32 ||
        types[static_cast<std::size_t>(id)] != DType::int8)
      return;
    const TensorId group = plan.groups[static_cast<std::size_t>(id)];
    if (seen.insert(group).second) groups.push_back(group);
  };
  for (const TensorId id : graph.inputs) add(id);
  for (const Node& node : graph.nodes) {
    for (const TensorId id : node.outputs) add(id);
  }
  return groups;
}

}  // namespace

void avoid_left_shifts(const Graph& graph, Plan& plan) {
  if (!plan.target.esp_dl || plan.scheme != Scheme::pow2) return;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (plan.roles[n] != Role::weighted || plan.types[n] == DType::float32) continue;
    if (plan.is_stated(node.outputs[0])) continue;  // refused where it asks for a shift to the left
    const Grid x = plan.grid(node.inputs[0], plan.types[n]);
    const auto decided = plan.layers.find(static_cast<int>(n));
    const std::vector<int> exponents = decided != plan.layers.end()
                                           ? decided->second->exponents
                                           : nearest_layer(graph, node, plan, x).exponents;
    const int least = x.exponent + *std::max_element(exponents.begin(), exponents.end());
    Range& range = plan.range(node.outputs[0]);
    if (!(range.high > range.low)) range.high = 1;
    while (plan.grid(node.outputs[0], plan.types[n]).exponent < least)
      range = {range.low * 2, range.high * 2};
  }
}

Result<double> search_ranges(const Graph& graph, const ReferenceOutputs& reference, int passes,
                             const Progress& progress, Plan& plan) {
  IntegerForms forms(graph);
  RepeatedErrors errors(reference);
  const auto error_of = [&](const Plan& candidate, bool becomes_base) -> Result<double> {
    RUNNEL_ASSIGN(Graph form, forms.of(candidate));
    return errors.error(std::move(form), becomes_base);
  };
  RUNNEL_ASSIGN(double best, error_of(plan, true));
  const auto keep_if_better = [&](Plan candidate) -> Result<bool> {
    avoid_left_shifts(graph, candidate);
    auto error = error_of(candidate, false);
    // What cannot be represented is no candidate.
    if (!error.ok() && error.status().code() == Code::unsupported) return false;
    if (!error.ok()) return error.status();
    if (!(*error < best * (1 - kGain))) return false;
    best = *error;
    plan = std::move(candidate);
    RUNNEL_TRY(error_of(plan, true).status());
    return true;
  };
  const std::vector<TensorId> groups = groups_of(graph, plan);
  const std::vector<double> factors =
      plan.scheme == Scheme::pow2 ? std::vector<double>{0.5, 2} : std::vector<double>{0.8, 0.9, 1.1, 1.25};
  for (int pass = 0; pass < passes; ++pass) {
    bool any = false;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (progress)
        progress("search", (pass + static_cast<double>(g) / static_cast<double>(groups.size())) / passes);
      const Range start = plan.range(groups[g]);
      const bool fixed = std::any_of(graph.outputs.begin(), graph.outputs.end(), [&](TensorId id) {
        return plan.groups[static_cast<std::size_t>(id)] == groups[g];
      });
      if (!(start.high > start.low) || fixed || plan.has_shares(groups[g]) || plan.is_stated(groups[g]))
        continue;
      for (const double factor : factors) {
        Plan candidate = plan;
        candidate.range(groups[g]) = {start.low * factor, start.high * factor};
        RUNNEL_ASSIGN(const bool better, keep_if_better(std::move(candidate)));
        any = any || better;
        if (better && plan.scheme == Scheme::pow2) break;
      }
    }
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      if (plan.roles[n] != Role::recurrent || plan.types[n] == DType::float32) continue;
      for (const int exponent : kGateExponents) {
        Plan candidate = plan;
        candidate.gate_exponents[static_cast<int>(n)] = exponent;
        RUNNEL_ASSIGN(const bool better, keep_if_better(std::move(candidate)));
        any = any || better;
      }
    }
    if (!any) break;
  }
  return best;
}

}  // namespace runnel::compiler::quantizer
