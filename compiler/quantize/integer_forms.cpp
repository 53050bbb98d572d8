#include "compiler/quantize/integer_forms.h"

#include "compiler/quantize/integer_graph.h"

namespace runnel::compiler::quantizer {

Result<Graph> IntegerForms::of(const Plan& plan) {
  Plan filled = plan;
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    const auto number = static_cast<int>(n);
    if (plan.roles[n] != Role::weighted || plan.types[n] == DType::float32 || plan.layers.contains(number))
      continue;
    const Node& node = graph_.nodes[n];
    const Grid x = plan.grid(node.inputs[0], plan.types[n]);
    auto found = nearest_.find(number);
    if (found == nearest_.end() || !(found->second.first == x))
      found =
          nearest_
              .insert_or_assign(
                  number, std::pair{x, std::make_shared<const Layer>(nearest_layer(graph_, node, plan, x))})
              .first;
    filled.layers.emplace(number, found->second.second);
  }
  return emit_integer_graph(graph_, filled);
}

}  // namespace runnel::compiler::quantizer
