#include "services/arrays/array_graph.h"

#include <algorithm>
#include <utility>

#include "pipeline/host/promise.h"
#include "pipeline/host/registry.h"

namespace runnel::arrays {
namespace {

// A `collect` after every node with an output that no other node reads.
void close_ends(pipeline::NodeTable nodes, pipeline::GraphText& text) {
  const std::size_t count = text.nodes.size();
  std::vector<bool> read(count, false);
  for (const pipeline::NodeText& node : text.nodes) {
    if (node.input >= 0) read[static_cast<std::size_t>(node.input)] = true;
    for (const pipeline::InputText& more : node.more_inputs)
      if (more.node >= 0) read[static_cast<std::size_t>(more.node)] = true;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (read[i]) continue;
    const auto type = pipeline::find_node(nodes, text.nodes[i].type, text.nodes[i].input >= 0);
    // Building the graph reports an unknown node.
    if (!type.ok() || (*type)->output.kinds == 0) continue;
    pipeline::NodeText sink;
    sink.type = Collect::type.name;
    sink.input = static_cast<int>(i);
    sink.position = text.nodes[i].position;
    text.nodes.push_back(std::move(sink));
  }
}

// The name, or the name with the first number that makes it the only one.
template <class Entries>
std::string only_name(const Entries& others, const std::string& name) {
  const auto taken = [&](const std::string& text) {
    return std::any_of(others.begin(), others.end(), [&](const auto& other) { return other.name == text; });
  };
  std::string tried = name;
  for (int number = 2; taken(tried); ++number) tried = name + "_" + std::to_string(number);
  return tried;
}

}  // namespace

Result<std::unique_ptr<ArrayGraph>> ArrayGraph::build(std::string_view text, pipeline::GraphOptions options) {
  std::unique_ptr<ArrayGraph> made(new ArrayGraph());
  made->nodes_ = pipeline::with_nodes(options.nodes, {&SamplesSource::type, &Collect::type});
  options.nodes = made->nodes_;
  options.amend = [before = std::move(options.amend), nodes = options.nodes](pipeline::GraphText& graph) {
    if (before) before(graph);
    close_ends(nodes, graph);
  };
  RUNNEL_ASSIGN(made->graph_, pipeline::Graph::build(text, options));
  RUNNEL_TRY(made->find_ends());
  return made;
}

Status ArrayGraph::find_ends() {
  for (int i = 0; i < graph_->size(); ++i) {
    const pipeline::Stage& stage = graph_->stage(i);
    if (auto* const source = dynamic_cast<SamplesSource*>(stage.node); source != nullptr)
      sources_.push_back({only_name(sources_, std::string(stage.label)), source});
    if (auto* const sink = dynamic_cast<Collect*>(stage.node); sink != nullptr) {
      std::string name(stage.label);
      if (name == Collect::type.name && !graph_->inputs(i).empty())
        name = graph_->stage(graph_->inputs(i)[0]).label;
      ends_.push_back({only_name(ends_, name), sink});
    }
  }
  return {};
}

Status ArrayGraph::feed(const float* samples, std::int64_t count) {
  if (sources_.size() != 1)
    return Status(Code::invalid_argument)
           << "samples for a graph with " << sources_.size() << " sources `samples`, expected 1";
  if (graph_->options().threads > 1)
    return Status(Code::invalid_argument)
           << "samples in pieces for a graph on " << graph_->options().threads << " threads, expected 1";
  if (done_)
    return Status(Code::invalid_argument,
                  "samples after the end of a stream: restart the graph before it takes more");
  SamplesSource& source = *sources_[0].node;
  source.give(samples, count);
  while (source.left() > 0) {
    bool done = false;
    if (Status status = graph_->step(done); !status.ok()) {
      source.give(nullptr, 0);  // they are borrowed
      return status;
    }
  }
  return {};
}

Status ArrayGraph::finish() {
  for (const Source& source : sources_) source.node->close();
  while (!done_) RUNNEL_TRY(graph_->step(done_));
  return {};
}

void ArrayGraph::restart() noexcept {
  for (const Source& source : sources_) source.node->open();
  for (const End& end : ends_) static_cast<void>(end.sink->take());
  graph_->restart();
  done_ = false;
}

}  // namespace runnel::arrays
