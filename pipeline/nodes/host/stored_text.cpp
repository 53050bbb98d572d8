#include "pipeline/nodes/host/stored_text.h"

#include <algorithm>

#include "pipeline/host/text.h"
#include "pipeline/nodes/nodes.h"

namespace runnel::pipeline {

Status check_stored_text(std::string_view text, std::string_view what) {
  const auto graph = parse_graph(text);
  if (!graph.ok()) return {};
  const NodeTable computing = device_nodes();
  for (const NodeText& node : graph->nodes) {
    const bool known =
        std::ranges::any_of(computing, [&](const NodeType* type) { return type->name == node.type; });
    if (!known)
      return Status(Code::unsupported)
             << "the " << what << " that is stored in the model has the node " << node.type
             << ", expected nodes that compute alone: a model is no program; give the text in the call, if "
                "it is wanted";
  }
  return {};
}

}  // namespace runnel::pipeline
