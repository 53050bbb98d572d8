#include "pipeline/host/page/watches.h"

#include "pipeline/host/registry.h"
#include "pipeline/nodes/host/watch.h"

namespace runnel::page {
namespace {

using namespace pipeline;

void add_watch(GraphText& graph, std::size_t behind, std::string_view what) {
  NodeText node;
  node.type = Watch::type.name;
  node.parameters.push_back({"what", std::string(what), 0});
  node.position = graph.nodes[behind].position;
  node.input = static_cast<int>(behind);
  graph.nodes.push_back(std::move(node));
}

}  // namespace

void add_watches(GraphText& graph, NodeTable nodes) {
  const std::size_t count = graph.nodes.size();
  bool source = false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto type = find_node(nodes, graph.nodes[i].type, graph.nodes[i].input >= 0);
    if (!type.ok()) continue;
    const Port& output = (*type)->output;
    if ((*type)->input.kinds == 0 && !source) {
      source = true;
      add_watch(graph, i, kWatchedSource);
    } else if ((*type)->name == "infer") {
      add_watch(graph, i, kWatchedModel);
    } else if (output.kinds == static_cast<Kinds>(Kind::events)) {
      add_watch(graph, i, kWatchedEvents);
    }
  }
}

}  // namespace runnel::page
