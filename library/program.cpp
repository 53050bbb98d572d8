#include "library/program.h"

#include <algorithm>
#include <filesystem>

#include "base/crc32c.h"
#include "decoding/host/search_tables.h"
#include "embed/partition/image_header.h"
#include "library/nodes.h"
#include "library/states.h"
#include "npu/host/simulator/simulated_npu.h"
#include "pipeline/host/latency.h"
#include "pipeline/host/registry.h"
#include "pipeline/nodes/decode/decoder.h"
#include "pipeline/nodes/host/graph_state.h"
#include "services/listen/listen_graph.h"
#include "services/listen/model_graph.h"
#include "services/models/find.h"

namespace runnel::library {
namespace {

using pipeline::Graph;
using pipeline::GraphText;
using pipeline::Insertion;
using pipeline::NodeText;

// The library provides source and sinks.
Status check_text(const std::string& around) {
  RUNNEL_ASSIGN(const GraphText text, pipeline::parse_graph(around));
  const pipeline::NodeTable allowed = library_nodes();
  for (const NodeText& node : text.nodes) {
    const auto named = [&node](const pipeline::NodeType* type) { return type->name == node.type; };
    const auto inner = [&named](const pipeline::NodeType* type) {
      return named(type) && type->input.kinds != 0 && type->output.kinds != 0;
    };
    if (std::any_of(allowed.begin(), allowed.end(), inner)) continue;
    const pipeline::NodeTable all = pipeline::host_nodes();
    if (std::any_of(all.begin(), all.end(), named) || std::any_of(allowed.begin(), allowed.end(), named)) {
      return Status(Code::unsupported)
             << pipeline::describe_position(around, node.position) << ": " << node.type
             << " has no place in a program's graph: samples are pushed and decisions are fetched; expected "
                "the "
                "part between them, e.g. fbank ! infer model=a.rnl ! detect";
    }
  }
  return {};
}

NodeText sink(std::string_view type, int input) {
  NodeText node;
  node.type = type;
  node.input = input;
  return node;
}
NodeText observed(int input, runnel_stage stage) {
  NodeText node = sink(FrameSink::type.name, input);
  node.parameters.push_back({"stage", std::to_string(static_cast<int>(stage)), 0});
  return node;
}

// Adds what the application fetches from: decisions, the input of the first model, the output of the last
// one. Without a model, the last frames are the output.
void add_ends(GraphText& text) {
  int first = -1, last = -1;
  const int count = static_cast<int>(text.nodes.size()), end = count - 1;
  for (int i = 0; i < count; ++i) {
    if (text.nodes[static_cast<std::size_t>(i)].type != pipeline::Infer::type.name) continue;
    first = first < 0 ? i : first;
    last = i;
  }
  const auto found =
      pipeline::find_node(library_nodes(), text.nodes.back().type, text.nodes.back().input >= 0);
  const bool decides = found.ok() && pipeline::takes((*found)->output.kinds, pipeline::Kind::events);
  if (decides) text.nodes.push_back(sink(DecisionSink::type.name, end));
  if (first >= 0)
    text.nodes.push_back(observed(text.nodes[static_cast<std::size_t>(first)].input, RUNNEL_FEATURES));
  if (last >= 0 && (decides || last == end))
    text.nodes.push_back(observed(last, RUNNEL_OUTPUT));
  else if (!decides)
    text.nodes.push_back(observed(end, RUNNEL_OUTPUT));
}

// What stands in for a rate that is to be found, and for that of a front end that takes any.
constexpr std::int64_t kUsualRate = 16000;

// The rate that the front end of a graph wants: that of the conversion which had to be inserted before it.
std::int64_t wanted_rate(const Graph& graph) {
  const auto resamples = [](const Insertion& one) { return one.type == "resample"; };
  if (std::any_of(graph.inserted().begin(), graph.inserted().end(), resamples)) {
    for (int i = 1; i < graph.size(); ++i) {
      if (graph.stage(i).type->name == "resample") return graph.format(i).clock.rate();
    }
  }
  return graph.format(0).clock.rate();
}

}  // namespace

pipeline::GraphOptions Program::graph_options() const {
  pipeline::GraphOptions options;
  options.nodes = library_nodes();
  // As the server does: enough for models to run several frames at a time.
  options.tick = std::max<std::int64_t>(settings_.rate / 10, 1);
  options.on_gap = settings_.zeros_in_gaps ? pipeline::OnGap::zeros : pipeline::OnGap::reset;
  options.models = models_.get();
  options.operators = npu::simulating_operators();
  options.piece_bytes = memory_bytes_;
  return options;
}

Status Program::make_models() {
  compiler::LoadOptions options;
  if (settings_.key_file.empty()) {
    RUNNEL_ASSIGN(options.key, crypto::Key::from_environment("RUNNEL_KEY"));
  } else {
    RUNNEL_ASSIGN(options.key, crypto::Key::from_file(settings_.key_file));
  }
  key_ = options.key;
  options.find = [](std::string_view name) { return models::find_model(name); };
  if (settings_.trust.empty()) {
    RUNNEL_ASSIGN(trust_, trust::trust_of_environment());
  } else {
    RUNNEL_ASSIGN(trust_, trust::Trust::read(settings_.trust));
  }
  options.verify = trust::verifier(trust_);
  models_ = std::make_unique<Models>(std::move(options));
  return {};
}

Result<std::unique_ptr<Graph>> Program::convert(const std::string& around) {
  pipeline::GraphOptions options = graph_options();
  options.insert_conversions = true;
  options.amend = add_ends;
  const std::string text = "samples rate=" + std::to_string(settings_.rate) +
                           " channels=" + std::to_string(settings_.channels) + " ! " + around;
  return Graph::build(text, options);
}

Status Program::build(const std::string& around) {
  if (settings_.rate == 0) {
    settings_.rate = kUsualRate;
    RUNNEL_ASSIGN(const std::unique_ptr<Graph> trial, convert(around));
    settings_.rate = wanted_rate(*trial);
  }
  RUNNEL_ASSIGN(const std::unique_ptr<Graph> graph, convert(around));
  text_ = to_text(graph->text());
  memory_bytes_ = graph->packed_bytes();
  saveable_ = pipeline::check_saveable(*graph, own_states());
  for (int i = 0; i < graph->size(); ++i) {
    const pipeline::Node* const node = graph->stage(i).node;
    if (dynamic_cast<const pipeline::Infer*>(node) != nullptr) {
      labels_.clear();
      for (const std::string_view label : graph->format(i).labels) labels_.emplace_back(label);
    }
    if (const auto* decoder = dynamic_cast<const pipeline::Decoder*>(node);
        decoder != nullptr && decoder->tables != nullptr) {
      const std::uint32_t one = decoding::fingerprint(*decoder->tables);
      tables_ = crc32c(std::as_bytes(std::span(&one, 1)), tables_);
    }
  }
  for (const std::string& label : labels_) label_pointers_.push_back(label.c_str());
  return {};
}

Status Program::load(const std::string& model) {
  RUNNEL_ASSIGN(const Model* const loaded, models_->load(model));
  const listen::ModelGraph own{model, settings_.front_end, settings_.decision, settings_.chunk};
  RUNNEL_ASSIGN(const listen::GraphParts parts, listen::graph_parts(own, *loaded, true));
  std::string around = parts.front_end + " ! infer model=" + pipeline::quote_value(model);
  if (settings_.chunk > 0) around += " chunk=" + std::to_string(settings_.chunk);
  if (!parts.decision.empty()) around += " ! " + parts.decision;
  RUNNEL_ASSIGN(around, listen::with_threshold(around, settings_.threshold));
  RUNNEL_TRY(check_text(around));
  return build(around);
}

Result<std::shared_ptr<const Program>> Program::from_file(const std::string& path, Settings settings) {
  std::shared_ptr<Program> program(new Program(std::move(settings)));
  program->name_ = std::filesystem::path(path).stem().string();
  RUNNEL_TRY(program->make_models());
  RUNNEL_TRY(program->load(path));
  return std::shared_ptr<const Program>(program);
}

Result<std::shared_ptr<const Program>> Program::from_memory(std::span<const std::byte> bytes,
                                                            Settings settings) {
  static constexpr const char* kName = "memory";
  std::shared_ptr<Program> program(new Program(std::move(settings)));
  program->name_ = kName;
  RUNNEL_TRY(program->make_models());
  if (program->trust_ != nullptr) {
    // There is no file beside it: the signature precedes the model.
    if (const auto found = program->trust_->check_image(bytes, kName); !found.ok())
      return found.status().at("model in memory");
    bytes = bytes.subspan(embed::kImageHeaderBytes);
  }
  if (const Status status = program->models_->add(kName, bytes, program->key_ ? &*program->key_ : nullptr);
      !status.ok())
    return status.at("model in memory");
  RUNNEL_TRY(program->load(kName));
  return std::shared_ptr<const Program>(program);
}

Result<std::shared_ptr<const Program>> Program::from_graph(const std::string& text, Settings settings) {
  if (!settings.front_end.empty() || !settings.decision.empty() || settings.chunk > 0) {
    return Status(Code::invalid_argument,
                  "settings front_end, decision and chunk are for models: a graph states them itself");
  }
  std::shared_ptr<Program> program(new Program(std::move(settings)));
  program->name_ = "graph";
  RUNNEL_TRY(check_text(text));
  RUNNEL_ASSIGN(const std::string around, listen::with_threshold(text, program->settings_.threshold));
  RUNNEL_TRY(program->make_models());
  RUNNEL_TRY(program->build(around));
  return std::shared_ptr<const Program>(program);
}

Result<std::unique_ptr<Graph>> Program::make_graph() const { return Graph::build(text_, graph_options()); }

runnel_facts Program::facts() const noexcept {
  runnel_facts facts = {};
  facts.name = name_.c_str();
  facts.sample_rate = static_cast<std::uint32_t>(settings_.rate);
  facts.channels = static_cast<std::uint32_t>(settings_.channels);
  facts.hop = static_cast<std::uint32_t>(std::max<std::int64_t>(settings_.rate / 10, 1));
  facts.labels = static_cast<std::uint32_t>(labels_.size());
  facts.model_bytes = models_->bytes();
  facts.memory_bytes = memory_bytes_;
  return facts;
}

double Program::delay() const {
  std::call_once(measured_, [this] {
    const auto graph = make_graph();
    if (!graph.ok()) return;
    const auto delays = pipeline::output_delays(**graph, 1);
    if (!delays.ok()) return;
    // The first sink: decisions, else the output.
    const pipeline::OutputDelay* best = nullptr;
    for (const pipeline::OutputDelay& one : *delays) {
      const pipeline::NodeType* const type = (*graph)->stage(one.stage).type;
      if (best == nullptr || type == &DecisionSink::type ||
          (*graph)->stage(best->stage).type != &DecisionSink::type)
        best = &one;
    }
    if (best != nullptr && best->known)
      delay_ = static_cast<double>(best->total()) / static_cast<double>(settings_.rate);
  });
  return delay_;
}

std::uint32_t Program::identity() const {
  std::call_once(identified_, [this] {
    const std::uint32_t parts[] = {settings_.zeros_in_gaps ? 1U : 0U, tables_};
    std::uint32_t sum = crc32c(std::as_bytes(std::span(text_)), crc32c(std::as_bytes(std::span(parts))));
    for (const Model* const model : models_->loaded()) sum = crc32c(model->bytes(), sum);
    identity_ = sum;
  });
  return identity_;
}

}  // namespace runnel::library
