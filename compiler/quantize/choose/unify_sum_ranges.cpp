#include "compiler/quantize/choose/unify_sum_ranges.h"

#include <algorithm>
#include <limits>

#include "compiler/quantize/choose/search_ranges.h"
#include "compiler/quantize/integer_forms.h"

namespace runnel::compiler::quantizer {
namespace {

bool is_plain_sum(const Graph& graph, const Plan& plan, std::size_t n) {
  const Node& node = graph.nodes[n];
  if (node.code != OpCode::add || plan.roles[n] != Role::pair || plan.types[n] == DType::float32)
    return false;
  const std::vector<DType> types = tensor_types(graph, plan);
  const auto& y = graph.tensors[static_cast<std::size_t>(node.outputs[0])].shape;
  if (plan.is_stated(node.outputs[0])) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId id) {
    if (plan.is_stated(id)) return false;
    const Tensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
    return !tensor.data && tensor.shape == y && types[static_cast<std::size_t>(id)] == plan.types[n];
  });
}

bool is_tied(const Node& node, const Plan& plan) {
  const TensorId group = plan.groups[static_cast<std::size_t>(node.outputs[0])];
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](TensorId id) { return plan.groups[static_cast<std::size_t>(id)] == group; });
}

// One group for the sum's tensors and all that share their ranges. The range holds what each of them held,
// times `factor`.
Plan tied(const Node& node, double factor, Plan plan) {
  std::vector<TensorId> members = {plan.groups[static_cast<std::size_t>(node.outputs[0])]};
  for (const TensorId id : node.inputs) members.push_back(plan.groups[static_cast<std::size_t>(id)]);
  const TensorId root = *std::min_element(members.begin(), members.end());
  Range range;
  for (const TensorId member : members) {
    range.low = std::min(range.low, plan.ranges[static_cast<std::size_t>(member)].low);
    range.high = std::max(range.high, plan.ranges[static_cast<std::size_t>(member)].high);
  }
  for (TensorId& group : plan.groups) {
    if (std::find(members.begin(), members.end(), group) != members.end()) group = root;
  }
  plan.ranges[static_cast<std::size_t>(root)] = {range.low * factor, range.high * factor};
  return plan;
}

}  // namespace

Result<int> unify_sum_ranges(const Graph& graph, const ReferenceOutputs& reference, double slack,
                             const Progress& progress, Plan& plan) {
  if (plan.scheme != Scheme::pow2) return 0;
  IntegerForms forms(graph);
  RepeatedErrors errors(reference);
  const auto error_of = [&](const Plan& candidate, bool becomes_base = false) -> Result<double> {
    RUNNEL_ASSIGN(Graph form, forms.of(candidate));
    return errors.error(std::move(form), becomes_base);
  };
  int count = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (!is_plain_sum(graph, plan, n)) continue;
    if (is_tied(node, plan)) {
      ++count;
      continue;
    }
    if (progress) progress("sums", static_cast<double>(n) / static_cast<double>(graph.nodes.size()));
    RUNNEL_ASSIGN(const double before, error_of(plan, true));
    double least = std::numeric_limits<double>::infinity();
    Plan best;
    for (const double factor : {1.0, 0.5}) {
      Plan candidate = tied(node, factor, plan);
      avoid_left_shifts(graph, candidate);
      const auto error = error_of(candidate);
      if (!error.ok() && error.status().code() == Code::unsupported)
        continue;  // what cannot be represented is no candidate
      if (!error.ok()) return error.status();
      if (*error >= least) continue;
      least = *error;
      best = std::move(candidate);
    }
    if (!(least <= before * (1 + slack))) continue;  // nor where nothing can be represented
    plan = std::move(best);
    ++count;
  }
  return count;
}

}  // namespace runnel::compiler::quantizer
