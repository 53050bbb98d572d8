#include "services/listen/model_graph.h"

#include <algorithm>

#include "inference/model/usage.h"
#include "pipeline/host/graph.h"
#include "pipeline/nodes/host/stored_text.h"
#include "services/listen/stored_files.h"
#include "services/models/find.h"

namespace runnel::listen {

using pipeline::quote_value;

Result<GraphParts> graph_parts(const ModelGraph& graph, const Model& model, bool frames_only) {
  const auto stored = [](const flatbuffers::String* text) {
    return text == nullptr ? std::string() : text->str();
  };
  const fb::Pipeline* const pipeline = model.pipeline();
  const std::string front_end =
      !graph.front_end.empty() || pipeline == nullptr ? graph.front_end : stored(pipeline->front_end());
  if (graph.front_end.empty()) {
    if (const Status safe = runnel::pipeline::check_stored_text(front_end, "front end"); !safe.ok())
      return safe.at(graph.model);
  }
  std::string decision = graph.decision;
  if (decision.empty() && pipeline != nullptr) {
    if (const Status safe = runnel::pipeline::check_stored_text(stored(pipeline->decision()), "decision");
        !safe.ok())
      return safe.at(graph.model);
    // The model may be a name: its files lie beside the file that the name stands for.
    const auto file = models::find_model(graph.model);
    decision = files_beside(stored(pipeline->decision()), file.ok() ? *file : graph.model);
  }
  if (front_end.empty()) {
    return Status(Code::invalid_argument)
           << graph.model
           << ": the model has no front end; give one with --front-end \"fbank ...\", or store it with "
           << "`runnel import --front-end`";
  }
  if (decision.empty() && !frames_only) {
    return Status(Code::invalid_argument)
           << graph.model
           << ": the model has no decision; give one with --decision \"detect ...\", or store it with "
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

std::int64_t file_chunk(const Model& model) noexcept {
  constexpr std::int64_t kFrames = 32;
  const auto usage = usage_of(model);
  if (!usage.ok() || usage->stepped() || model.plan() == nullptr) return 0;
  const std::int64_t multiple = std::max<std::int64_t>(model.plan()->block_multiple(), 1);
  return (kFrames + multiple - 1) / multiple * multiple;
}

std::string wav_text(std::string_view path, double tail) {
  return "wav path=" + quote_value(path) + (tail > 0 ? " tail=" + std::to_string(tail) : std::string());
}

}  // namespace runnel::listen
