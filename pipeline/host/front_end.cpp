#include "pipeline/host/front_end.h"

#include <string>

#include "pipeline/host/promise.h"
#include "pipeline/host/registry.h"
#include "pipeline/host/statistics/statistics_file.h"

namespace runnel::pipeline {
namespace {

// Keeps what it gets for a model, without what passes by that.
class Gather final : public Node {
 public:
  static const NodeType type;
  FrontEndFrames* to = nullptr;
  Format format;

  Status prepare(NodeContext& context) noexcept override {
    format = context.input;
    all_ = format.frame_bytes();
    format.channels -= format.beside;
    format.beside = 0;
    return {};
  }
  Status process(const Block& in, Output&) noexcept override {
    if (to == nullptr) return {};
    to->frames += in.count;
    const std::size_t own = format.frame_bytes();
    for (const std::byte *frame = in.data, *const end = frame + static_cast<std::size_t>(in.count) * all_;
         frame != end; frame += all_)
      to->data.insert(to->data.end(), frame + (all_ - own), frame + all_);
    return {};
  }

 private:
  std::size_t all_ = 0;  // bytes of a frame
};

const NodeType Gather::type = {.name = "gather",
                               .help = "Keeps frames.",
                               .input = {static_cast<Kinds>(Kind::frames), "any type"},
                               .output = {},
                               .parameters = {},
                               .make = make_node<Gather>};

// One node with all its parameters. `rate`: its sample_frequency, where it has one.
Status complete(NodeTable nodes, NodeText& node, std::int64_t& rate) {
  RUNNEL_ASSIGN(const NodeType* const type, find_node(nodes, node.type, true));
  HeapMemory memory;
  Node* const made = type->make(memory);
  if (made == nullptr) return out_of_memory(node.type);
  for (const ParameterText& given : node.parameters) {
    if (const auto known = find_parameter(*type, given.key); !known.ok()) return known.status();
  }
  for (const Parameter& parameter : type->parameters) {
    for (const ParameterText& given : node.parameters) {
      if (given.key != parameter.name) continue;
      RUNNEL_ASSIGN(const Value value, parse_value(parameter, given.value));
      RUNNEL_TRY(parameter.set(parameter, *made, value));
    }
  }
  std::vector<ParameterText> all;
  for (const Parameter& parameter : type->parameters) {
    const Value value = parameter.get(parameter, *made);
    if (value.type == ParameterType::text && value.text.empty()) continue;
    if (parameter.name == "sample_frequency")
      rate = value.type == ParameterType::integer ? value.integer : static_cast<std::int64_t>(value.real);
    all.push_back({std::string(parameter.name), value_text(value), 0});
  }
  node.parameters = std::move(all);
  made->~Node();
  return {};
}

Result<std::unique_ptr<Graph>> build(const std::string& source, std::string_view text, GraphOptions options,
                                     std::vector<const NodeType*>& nodes) {
  nodes = with_nodes(options.nodes, {&Promise::type, &Gather::type});
  options.nodes = nodes;
  return Graph::build(source + " ! " + std::string(text) + " ! gather", options);
}

Gather* gather_of(Graph& graph) {
  for (int i = 0; i < graph.size(); ++i) {
    if (auto* const found = dynamic_cast<Gather*>(graph.stage(i).node); found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace

Result<FrontEnd> resolve_front_end(std::string_view text, std::int64_t sample_rate,
                                   const GraphOptions& options) {
  FrontEnd out;
  RUNNEL_ASSIGN(GraphText graph, parse_graph(text));
  RUNNEL_TRY(replace_statistics_files(graph, text));
  if (graph.nodes.empty())
    return Status(Code::invalid_argument)
           << "an empty front end, expected graph text such as \"fbank preset=kaldi\"";
  std::int64_t wanted = 0;
  for (NodeText& node : graph.nodes) {
    std::int64_t rate = 0;
    RUNNEL_TRY(complete(options.nodes, node, rate).at("front end"));
    if (wanted == 0) wanted = rate;
  }
  out.text = to_text(graph);
  out.sample_rate = sample_rate > 0 ? sample_rate : wanted > 0 ? wanted : 16000;
  std::vector<const NodeType*> nodes;
  RUNNEL_ASSIGN(const auto built,
                build("sound sample_rate=" + std::to_string(out.sample_rate), out.text, options, nodes));
  out.frames = gather_of(*built)->format;
  out.frames.source = {};
  out.frames.labels = {};
  return out;
}

Result<FrontEndFrames> run_front_end(std::string_view text, const std::filesystem::path& recording,
                                     const GraphOptions& options) {
  GraphOptions with = options;
  with.insert_conversions = true;
  std::vector<const NodeType*> nodes;
  RUNNEL_ASSIGN(const auto graph, build("wav path=" + quote_value(recording.string()), text, with, nodes));
  FrontEndFrames out;
  Gather* const gather = gather_of(*graph);
  gather->to = &out;
  RUNNEL_TRY(graph->run());
  out.format = gather->format;
  out.format.source = {};
  out.format.labels = {};
  return out;
}

Status check_frame_size(const Format& frames, std::int64_t values, std::string_view what) {
  if (frames.channels == values) return {};
  return Status(Code::mismatch) << "the front end gives frames of " << frames.channels << " values, " << what
                                << " takes frames of " << values;
}

}  // namespace runnel::pipeline
