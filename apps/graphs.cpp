#include "apps/graphs.h"

#include <csignal>

#include "npu/host/simulator/simulated_npu.h"
#include "pipeline/host/promise.h"
#include "pipeline/nodes/host/file/jsonl.h"
#include "services/batch/sinks.h"

namespace runnel::apps {

std::atomic<bool> stop_requested{false};

Status check_around(const std::string& around, compiler::FileLoader& loader) {
  return check_behind(around + " ! jsonl", loader);
}

Status check_behind(const std::string& behind, compiler::FileLoader& loader) {
  pipeline::GraphOptions options = graph_options(loader);
  options.insert_conversions = true;
  options.note = {};
  const auto nodes = pipeline::with_nodes(
      options.nodes, {&pipeline::Promise::type, &batch::EventRows::type, &batch::FrameRows::type});
  options.nodes = nodes;
  return pipeline::Graph::build("sound ! " + behind, options).status();
}

std::string wav_text(std::string_view path, double tail) {
  return "wav path=" + quote_value(path) + (tail > 0 ? " tail=" + std::to_string(tail) : std::string());
}

void add_tail_flag(Verb verb, double& tail) {
  verb.option("--tail", tail, "Seconds of silence after a recording, for a word that ends with it")
      .range(0.0, 3600.0);
}

Result<GraphParts> graph_parts(const ModelGraph& graph, const Model& model, bool frames_only) {
  const auto stored = [](const flatbuffers::String* text) {
    return text == nullptr ? std::string() : text->str();
  };
  const fb::Pipeline* pipeline = model.pipeline();
  const std::string front_end =
      !graph.front_end.empty() || pipeline == nullptr ? graph.front_end : stored(pipeline->front_end());
  const std::string decision =
      !graph.decision.empty() || pipeline == nullptr ? graph.decision : stored(pipeline->decision());
  if (front_end.empty()) {
    return Status(Code::invalid_argument)
           << graph.model
           << ": the model brings no front end; give one with --front-end \"fbank ...\", or store it with "
           << "`runnel import --front-end`";
  }
  if (decision.empty() && !frames_only) {
    return Status(Code::invalid_argument)
           << graph.model
           << ": the model brings no decision; give one with --decision \"detect ...\", or store it with "
           << "`runnel import --decision`";
  }
  GraphParts parts{front_end, decision, true};
  if (const auto text = pipeline::parse_graph(decision); text.ok()) {
    for (const pipeline::NodeText& node : text->nodes) {
      for (const pipeline::ParameterText& given : node.parameters) {
        if (node.type == "detect" && given.key == "activation") parts.logits = given.value == "softmax";
      }
    }
  }
  return parts;
}

Result<std::string> text_around(const ModelGraph& graph, const Model& model) {
  RUNNEL_ASSIGN(const GraphParts parts, graph_parts(graph, model));
  const std::string chunk = graph.chunk > 0 ? " chunk=" + std::to_string(graph.chunk) : "";
  return parts.front_end + " ! infer model=" + quote_value(graph.model) + chunk + " ! " + parts.decision;
}

void catch_signals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { stop_requested = true; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

pipeline::GraphOptions graph_options(compiler::FileLoader& loader) {
  pipeline::GraphOptions options;
  options.models = &loader;
  options.operators = npu::simulating_operators();
  options.stop = &stop_requested;
  options.note = say;
  return options;
}

bool gather_lines(pipeline::Graph& graph, std::function<void(std::string_view)> sink) {
  for (int i = 0; i < graph.size(); ++i) {
    if (auto* jsonl = dynamic_cast<pipeline::Jsonl*>(graph.stage(i).node); jsonl != nullptr) {
      jsonl->sink = std::move(sink);
      return true;
    }
  }
  return false;
}

}  // namespace runnel::apps
