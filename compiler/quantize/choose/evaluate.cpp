#include "compiler/quantize/choose/evaluate.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "compiler/quantize/streamed_model.h"
#include "compiler/run_whole.h"
#include "inference/host/engine.h"

namespace runnel::compiler::quantizer {
namespace {

// Which axis holds the classes, and the strides around it.
struct Classes {
  std::size_t count = 0, outer = 1, inner = 1;

  [[nodiscard]] std::size_t decide(std::span<const float> values) const {
    std::vector<double> sums(count, 0);
    for (std::size_t i = 0; i < values.size(); ++i) sums[i / inner % count] += static_cast<double>(values[i]);
    return static_cast<std::size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
  }
};

Result<Classes> classes_of(const Tensor& output, int most, std::size_t known) {
  int best = -1;
  if (known > 0 && static_cast<std::size_t>(most) >= known)
    return Status(Code::mismatch) << "a label of " << most << " for " << known << " classes, expected 0 to "
                                  << known - 1;
  for (std::size_t axis = 0; axis < output.shape.size(); ++axis) {
    if (known > 0 && static_cast<std::size_t>(output.shape[axis]) != known) continue;
    if (output.shape[axis] > most &&
        (best < 0 || output.shape[axis] < output.shape[static_cast<std::size_t>(best)]))
      best = static_cast<int>(axis);
  }
  if (best < 0 && known > 0)
    return Status(Code::mismatch) << "no axis of output \"" << output.name << "\" has the " << known
                                  << " classes that were named";
  if (best < 0)
    return Status(Code::mismatch) << "a label of " << most << ", but no axis of output \"" << output.name
                                  << "\" has more than that";
  Classes classes;
  classes.count = static_cast<std::size_t>(output.shape[static_cast<std::size_t>(best)]);
  for (std::size_t axis = static_cast<std::size_t>(best) + 1; axis < output.shape.size(); ++axis)
    classes.inner *= static_cast<std::size_t>(output.shape[axis]);
  return classes;
}

}  // namespace

Result<Accuracy> evaluate(const Graph& real, const Graph& quantized, const Clips& clips,
                          const std::vector<int>& labels, int threads, std::size_t known_classes) {
  if (labels.size() != clips.size())
    return Status(Code::mismatch) << labels.size() << " labels for " << clips.size() << " clips";
  RUNNEL_ASSIGN(const Classes classes,
                classes_of(real.tensors[static_cast<std::size_t>(real.outputs[0])],
                           *std::max_element(labels.begin(), labels.end()), known_classes));
  const Graph* const forms[] = {&real, &quantized};
  RUNNEL_ASSIGN(const ClipRunner runner, ClipRunner::make(forms, threads));
  struct Decision {
    std::size_t real = 0, quantized = 0;
    QuantizationNoise noise;
  };
  std::vector<Decision> decisions(clips.size());
  const std::vector<std::size_t> all = all_of(clips.size());
  RUNNEL_TRY(runner.run(clips, all, [&](std::size_t clip, std::size_t, const ClipRunner::Outputs& outputs) {
    decisions[clip] = {classes.decide(outputs[0][0]), classes.decide(outputs[1][0]),
                       quantization_noise(outputs[0][0], outputs[1][0])};
  }));
  Accuracy accuracy;
  accuracy.clips = clips.size();
  accuracy.classes = classes.count;
  QuantizationNoise noise;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    accuracy.real_correct += decisions[i].real == static_cast<std::size_t>(labels[i]) ? 1 : 0;
    accuracy.correct += decisions[i].quantized == static_cast<std::size_t>(labels[i]) ? 1 : 0;
    accuracy.same += decisions[i].real == decisions[i].quantized ? 1 : 0;
    noise.add(decisions[i].noise);
  }
  accuracy.noise = noise.ratio();
  const auto streamed = StreamedModel::make(quantized);
  if (!streamed.ok()) return accuracy;  // for whole clips only
  std::size_t correct = 0;
  for (std::size_t i = 0; i < clips.size(); ++i) {
    Clip clip;
    RUNNEL_TRY(clips.read(i, clip));
    RUNNEL_ASSIGN(const std::vector<float> values, (*streamed)->run(clip[0]));
    correct += classes.decide(values) == static_cast<std::size_t>(labels[i]) ? 1 : 0;
  }
  accuracy.streamed_correct = correct;
  return accuracy;
}

Result<std::vector<int>> read_labels(const std::filesystem::path& path) {
  std::vector<int> labels;
  if (path.extension() == ".i32") {
    RUNNEL_ASSIGN(const std::vector<std::byte> bytes, read_whole_file(path));
    if (bytes.size() % sizeof(std::int32_t) != 0)
      return Status(Code::invalid_data)
             << path.string() << ": " << bytes.size() << " bytes, expected a multiple of 4";
    labels.resize(bytes.size() / sizeof(std::int32_t));
    std::memcpy(labels.data(), bytes.data(), labels.size() * sizeof(std::int32_t));
  } else {
    std::ifstream in(path);
    if (!in) return Status(Code::not_found) << path.string() << ": cannot be opened";
    std::ptrdiff_t column = 0;
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      std::vector<std::string> cells;
      std::istringstream row(line);
      for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
      if (cells.empty()) continue;
      if (const auto found = std::find(cells.begin(), cells.end(), "label_id");
          number == 1 && found != cells.end()) {
        column = found - cells.begin();
        continue;
      }
      if (static_cast<std::ptrdiff_t>(cells.size()) <= column)
        return Status(Code::invalid_data)
               << path.string() << ": line " << number << " has no column " << column + 1;
      const std::string& cell = cells[static_cast<std::size_t>(column)];
      char* end = nullptr;
      const long label = std::strtol(cell.c_str(), &end, 10);
      if (end == cell.c_str() || (*end != '\0' && *end != '\r') || label < 0 || label > 1000000) {
        return Status(Code::invalid_data) << path.string() << ": line " << number << ": \"" << cell
                                          << "\", expected the number of a class";
      }
      labels.push_back(static_cast<int>(label));
    }
  }
  const auto wrong =
      std::find_if(labels.begin(), labels.end(), [](int label) { return label < 0 || label > 1000000; });
  if (wrong != labels.end())
    return Status(Code::invalid_data)
           << path.string() << ": label " << *wrong << ", expected the number of a class";
  if (labels.empty()) return Status(Code::invalid_data) << path.string() << ": no labels";
  return labels;
}

std::string real_operators(const Quantized& quantized) {
  std::map<std::string, std::vector<std::string>> kinds;
  for (std::size_t n = 0; n < quantized.plan.types.size(); ++n) {
    const Node& node = quantized.real.nodes[n];
    const bool computes =
        !node.outputs.empty() &&
        quantized.real.tensors[static_cast<std::size_t>(node.outputs[0])].dtype == DType::float32;
    if (quantized.plan.types[n] == DType::float32 && computes && quantized.plan.roles[n] != Role::passive)
      kinds[name_of(node.code)].push_back(node.name);
  }
  std::string text;
  for (const auto& kind : kinds) {
    text += (text.empty() ? "" : ", ") + kind.first + " (";
    for (std::size_t i = 0; i < kind.second.size(); ++i) text += (i > 0 ? ", " : "") + kind.second[i];
    text += ")";
  }
  return text;
}

Status add_vectors(const Clip& clip, Graph& graph) {
  Buffers inputs;
  const kernels::Rounding rounding =
      graph.nodes.empty() ? kernels::Rounding::half_even : graph.nodes[0].rounding;
  VectorCase recorded;
  for (std::size_t i = 0; i < clip.size(); ++i) {
    const Tensor& tensor = graph.tensors[static_cast<std::size_t>(graph.inputs[i])];
    std::vector<std::byte> bytes(clip[i].size() * size_of(tensor.dtype));
    to_integers(tensor, rounding, clip[i], bytes);
    recorded.inputs.push_back({graph.inputs[i], tensor.shape, bytes});
    inputs.push_back(std::move(bytes));
  }
  RUNNEL_ASSIGN(const std::vector<Buffers> results, run_whole(graph, {inputs}));
  for (std::size_t o = 0; o < graph.outputs.size(); ++o) {
    recorded.outputs.push_back(
        {graph.outputs[o], graph.tensors[static_cast<std::size_t>(graph.outputs[o])].shape, results[0][o]});
  }
  graph.vectors.push_back(std::move(recorded));
  return {};
}

}  // namespace runnel::compiler::quantizer
