#include "pipeline/host/graph.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>

#include "pipeline/host/json.h"
#include "pipeline/host/registry.h"

namespace runnel::pipeline {
namespace {

// `text` may be empty (a graph that was not written as text): then there is no position to tell.
Status at_position(const Status& status, std::string_view text, std::size_t position) {
  return text.empty() ? status : status.at(describe_position(text, position));
}

// Puts a node between stage `to` and its input. Indices of other nodes do not change.
void insert_before(GraphText& graph, std::size_t to, NodeText node) {
  node.input = graph.nodes[to].input;
  node.position = graph.nodes[to].position;
  graph.nodes[to].input = static_cast<int>(graph.nodes.size());
  graph.nodes.push_back(std::move(node));
}

NodeText node_for(const Fix& fix) {
  NodeText node;
  node.type = fix.kind == Fix::Kind::resample ? "resample" : "downmix";
  if (fix.kind == Fix::Kind::resample) node.parameters.push_back({"rate", std::to_string(fix.rate), 0});
  return node;
}

// More than any chain of conversions needs.
constexpr int kMaxInsertions = 16;

}  // namespace

Graph::~Graph() {
  for (const Stage& stage : stages_) stage.node->~Node();
}

// Every node behind its input. Text order already is such an order, except where chains refer to later ones.
Status Graph::order(std::string_view source_text) {
  const std::size_t count = text_.nodes.size();
  std::vector<bool> placed(count, false);
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t i = 0; i < count; ++i) {
      const int input = text_.nodes[i].input;
      if (placed[i] || (input >= 0 && !placed[static_cast<std::size_t>(input)])) continue;
      placed[i] = progress = true;
      order_.push_back(static_cast<int>(i));
    }
  }
  int sources = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const NodeText& node = text_.nodes[i];
    if (!placed[i]) return at_position(Status(Code::invalid_argument) << node.type << " is part of a loop", source_text, node.position);
    if (node.input < 0 && ++sources > 1) {
      return at_position(Status(Code::invalid_argument) << node.type << " begins a second stream: expected one source; join it to a chain with `!`",
                         source_text, node.position);
    }
  }
  // The only node without input comes first.
  std::stable_partition(order_.begin(), order_.end(), [&](int index) { return text_.nodes[static_cast<std::size_t>(index)].input < 0; });
  return {};
}

Status Graph::make_node(std::size_t index, std::string_view source_text) {
  const NodeText& node = text_.nodes[index];
  Result<const NodeType*> found = find_node(options_.nodes, node.type, node.input >= 0);
  if (!found.ok()) return at_position(found.status(), source_text, node.position);
  const NodeType& type = **found;
  Stage stage;
  stage.type = &type;
  stage.node = type.make(memory_);
  if (stage.node == nullptr) return out_of_memory(type.name);
  stage.label = labels_[index];
  stages_.push_back(stage);
  for (const ParameterText& given : node.parameters) {
    const Result<const Parameter*> parameter = find_parameter(type, given.key);
    if (!parameter.ok()) return at_position(parameter.status(), source_text, given.position);
  }
  for (const Parameter& parameter : type.parameters) {
    const auto given = std::find_if(node.parameters.begin(), node.parameters.end(), [&](const ParameterText& text) { return text.key == parameter.name; });
    if (given == node.parameters.end()) {
      if (!parameter.required) continue;
      return at_position(Status(Code::invalid_argument) << type.name << " needs " << parameter.name << "=, " << parameter.help, source_text, node.position);
    }
    const Result<Value> value = parse_value(parameter, given->value);
    if (!value.ok()) return at_position(value.status().at(type.name), source_text, given->position);
    if (const Status status = parameter.set(parameter, *stage.node, *value); !status.ok()) {
      return at_position(status.at(type.name), source_text, given->position);
    }
  }
  return {};
}

Status Graph::make_nodes(std::string_view source_text) {
  // Nodes keep views of these.
  for (const NodeText& node : text_.nodes) labels_.push_back(node.name.empty() ? node.type : node.name);
  std::vector<int> stage_of(text_.nodes.size(), -1);
  for (const int index : order_) {
    RUNNEL_TRY(make_node(static_cast<std::size_t>(index), source_text));
    const int input = text_.nodes[static_cast<std::size_t>(index)].input;
    stages_.back().input = input < 0 ? -1 : stage_of[static_cast<std::size_t>(input)];
    stage_of[static_cast<std::size_t>(index)] = static_cast<int>(stages_.size()) - 1;
  }
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    if (stages_[i].type->output.kinds == 0) {
      const auto reader = std::find_if(stages_.begin(), stages_.end(), [&](const Stage& stage) { return stage.input == static_cast<int>(i); });
      if (reader == stages_.end()) continue;
      return Status(Code::invalid_argument) << stages_[i].label << " is a sink: nothing comes out of it for " << reader->label;
    }
    if (std::none_of(stages_.begin(), stages_.end(), [&](const Stage& stage) { return stage.input == static_cast<int>(i); })) {
      const NodeText& node = text_.nodes[static_cast<std::size_t>(order_[i])];
      return at_position(Status(Code::invalid_argument) << "the output of " << node.type << " goes nowhere: end the chain with a sink, such as `null`",
                         source_text, node.position);
    }
  }
  return {};
}

Result<std::unique_ptr<Graph>> Graph::build(std::string_view text, const GraphOptions& options) {
  RUNNEL_ASSIGN(GraphText parsed, parse_graph(text));
  std::vector<std::string> inserted;
  for (;;) {
    std::unique_ptr<Graph> graph(new Graph(parsed, options));
    RUNNEL_TRY(graph->order(text));
    RUNNEL_TRY(graph->make_nodes(text));
    const ExecutorOptions how{.tick = options.tick,
                              .on_gap = options.on_gap,
                              .isa = options.isa,
                              .models = options.models,
                              .operators = options.operators,
                              .ffts = &graph->ffts_,
                              .stop = options.stop};
    Mismatch mismatch;
    Result<Executor*> executor = Executor::make(graph->stages_, how, graph->memory_, &mismatch);
    if (executor.ok()) {
      graph->executor_ = *executor;
      graph->inserted_ = inserted;
      for (const std::string& what : inserted) {
        if (options.note) options.note(what);
      }
      return graph;
    }
    if (!options.insert_conversions || mismatch.fix.kind == Fix::Kind::none || inserted.size() >= kMaxInsertions) return executor.status();
    const std::size_t to = static_cast<std::size_t>(graph->order_[static_cast<std::size_t>(mismatch.stage)]);
    NodeText node = node_for(mismatch.fix);
    std::string what = "put `" + node.type;
    for (const ParameterText& parameter : node.parameters) what += ' ' + parameter.key + '=' + parameter.value;
    inserted.push_back(what + "` in front of " + std::string(graph->labels_[to]));
    insert_before(parsed, to, std::move(node));
  }
}

Result<std::unique_ptr<Graph>> Graph::build(const GraphText& graph, const GraphOptions& options) { return build(to_text(graph), options); }

Result<std::unique_ptr<Graph>> Graph::load(const std::string& path, const GraphOptions& options) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Status(Code::not_found) << path << ": cannot be read";
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) return Status(Code::io_error) << path << ": cannot be read";
  Result<std::unique_ptr<Graph>> graph = build(text, options);
  if (!graph.ok()) return graph.status().at(path);
  return graph;
}

Status Graph::step(bool& done) {
  const auto start = std::chrono::steady_clock::now();
  const bool stopped = options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
  done = false;
  Status status = stopped ? executor_->end() : executor_->step(done);
  done = done || stopped;
  times_.add(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count());
  failed_ = failed_ || !status.ok();
  return status;
}

Status Graph::run() {
  for (bool done = false; !done;) RUNNEL_TRY(step(done));
  for (const Stage& stage : stages_) {
    const Text note = stage.node->note();
    if (!note.view().empty() && options_.note) options_.note(note.view());
  }
  return {};
}

std::string Graph::summary() const {
  const double seconds = executor_->seconds();
  const double busy = static_cast<double>(times_.total_nanoseconds()) * 1e-9;
  std::string text = R"({"type":"summary","source":)" + json_string(executor_->format(0).source);
  text += ",\"audio_seconds\":" + json_number(seconds, 3);
  text += ",\"real_time_factor\":" + (seconds > 0 ? json_number(busy / seconds, 6) : "null");
  text += ",\"step_p50_us\":" + json_number(times_.quantile(0.5), 1);
  text += ",\"step_p99_us\":" + json_number(times_.quantile(0.99), 1);
  text += ",\"step_max_us\":" + json_number(times_.largest(), 1);
  text += ",\"lost_samples\":" + std::to_string(executor_->lost());
  text += ",\"gaps\":" + std::to_string(executor_->gaps());
  text += ",\"failures\":" + std::to_string(failed_ ? 1 : 0);
  text += ",\"events\":" + std::to_string(executor_->events());
  return text + "}";
}

}  // namespace runnel::pipeline
