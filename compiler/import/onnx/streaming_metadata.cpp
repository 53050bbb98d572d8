#include "compiler/import/onnx/streaming_metadata.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace runnel::compiler::onnx_source {
namespace {

constexpr std::string_view kNew = "new_";

const Tensor& tensor_of(const Graph& graph, TensorId id) {
  return graph.tensors[static_cast<std::size_t>(id)];
}

// A positive number of the metadata.
std::optional<int> number(const Graph& graph, std::string_view key) {
  for (const auto& [name, text] : graph.metadata) {
    int value = 0;
    if (name != key) continue;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value > 0) return value;
  }
  return std::nullopt;
}

std::vector<std::pair<TensorId, TensorId>> pairs_of(const Graph& graph) {
  std::vector<std::pair<TensorId, TensorId>> pairs;
  for (const TensorId output : graph.outputs) {
    const Tensor& from = tensor_of(graph, output);
    if (!from.name.starts_with(kNew)) continue;
    const auto to = std::find_if(graph.inputs.begin(), graph.inputs.end(), [&](TensorId input) {
      const Tensor& tensor = tensor_of(graph, input);
      return tensor.name == from.name.substr(kNew.size()) && tensor.dtype == from.dtype &&
             tensor.shape == from.shape;
    });
    if (to != graph.inputs.end()) pairs.emplace_back(output, *to);
  }
  return pairs;
}

}  // namespace

void read_streaming_metadata(Graph& graph, std::vector<std::string>& notes) {
  const auto pairs = pairs_of(graph);
  if (pairs.empty() || pairs.size() + 1 != graph.inputs.size()) return;
  PipelineSettings settings = graph.pipeline;
  settings.usage = UsageKind::step;
  settings.states = pairs;
  std::string note = "run in steps: " + std::to_string(pairs.size()) +
                     " states by the names of their outputs, " + std::string(kNew) + "...";
  const auto input = std::find_if(graph.inputs.begin(), graph.inputs.end(), [&](TensorId id) {
    return std::none_of(pairs.begin(), pairs.end(), [id](const auto& pair) { return pair.second == id; });
  });
  const auto& shape = tensor_of(graph, *input).shape;
  const std::optional<int> step = number(graph, "decode_chunk_len"), frames = number(graph, "T");
  if (step && frames && *step <= *frames && shape.size() == 3 && shape[0] == 1 && shape[1] == *frames) {
    settings.step = *step;
    settings.look_ahead = *frames - *step;
    note += "; its metadata: " + std::to_string(*step) + " frames each (decode_chunk_len), which wait for " +
            std::to_string(settings.look_ahead) + " more (T)";
    // The encoder gives [1, frames, channels], fewer frames than it takes.
    for (const TensorId output : graph.outputs) {
      const auto& given = tensor_of(graph, output).shape;
      const bool state = std::any_of(pairs.begin(), pairs.end(),
                                     [output](const auto& pair) { return pair.first == output; });
      if (state || given.size() != 3 || given[0] != 1 || given[1] < 1 || *step % given[1] != 0) continue;
      settings.output_frames = given[1];
      note += "; " + std::to_string(given[1]) + " frames come out of a step";
      break;
    }
  }
  graph.pipeline = std::move(settings);
  notes.push_back(std::move(note));
}

}  // namespace runnel::compiler::onnx_source
