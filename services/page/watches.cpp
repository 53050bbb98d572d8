#include "services/page/watches.h"

#include <utility>
#include <vector>

#include "pipeline/host/registry.h"
#include "pipeline/nodes/host/act/watch.h"

namespace runnel::page {
namespace {

using namespace pipeline;

NodeText watch_after(const GraphText& graph, std::size_t node, std::string_view what) {
  NodeText watch;
  watch.type = Watch::type.name;
  watch.parameters.push_back({"what", std::string(what), 0});
  watch.position = graph.nodes[node].position;
  watch.input = static_cast<int>(node);
  return watch;
}

// The kind of output of a node of this type to watch; empty: none.
std::string_view watched_of(const NodeType& type, bool source_is_watched) {
  if (type.input.kinds == 0) return source_is_watched ? std::string_view() : kWatchedSource;
  if (type.name == "infer") return kWatchedModel;
  return type.output.kinds == static_cast<Kinds>(Kind::events) ? kWatchedEvents : std::string_view();
}

}  // namespace

void add_watches(GraphText& graph, NodeTable nodes) {
  // Directly after the node it watches, and so before all other readers: nodes run in order, and a view in
  // the terminal must see an event before it is written there.
  std::vector<NodeText> watched;
  std::vector<int> place(graph.nodes.size());
  bool source = false;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    place[i] = static_cast<int>(watched.size());
    watched.push_back(graph.nodes[i]);
    const auto type = find_node(nodes, graph.nodes[i].type, graph.nodes[i].input >= 0);
    if (!type.ok()) continue;
    const std::string_view what = watched_of(**type, source);
    source = source || what == kWatchedSource;
    if (!what.empty()) watched.push_back(watch_after(graph, i, what));
  }
  for (NodeText& node : watched) {
    if (node.input >= 0) node.input = place[static_cast<std::size_t>(node.input)];
    for (InputText& more : node.more_inputs) more.node = place[static_cast<std::size_t>(more.node)];
  }
  graph.nodes = std::move(watched);
}

}  // namespace runnel::page
