#include "compiler/import/tflite/importer.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include "base/host/out_of_memory.h"
#include "compiler/import/obstacles.h"
#include "compiler/import/tflite/builder.h"
#include "compiler/import/tflite/open_shapes.h"
#include "compiler/import/tflite/operators.h"
#include "compiler/import/tflite/source.h"
#include "compiler/write/writer.h"

namespace runnel::compiler {
namespace tflite_source {
namespace {

Status check_operators(const Subgraph& graph) {
  std::map<std::string, int> obstacles;
  for (const Operator& op : graph.operators) {
    if (find_operator(op) != nullptr) continue;
    ++obstacles[op.code == Builtin::CUSTOM ? "custom operator \"" + op.custom + "\"" : name_of(op.code)];
  }
  return obstacle_status(obstacles, "operators", "times");
}

// An output that is an input or is listed twice gets a copy, so that every output is computed. A uint8
// output is converted back.
Result<TensorId> output_of(Builder& builder, std::int32_t tensor) {
  TensorId id = builder.find(tensor);
  const std::string& name = builder.source().tensors[static_cast<std::size_t>(tensor)].name;
  if (id != kAbsent && is_shifted(builder.source().tensors[static_cast<std::size_t>(tensor)])) {
    RUNNEL_ASSIGN(id, builder.uint8_form(tensor));
  }
  if (id == kAbsent)
    return Status(Code::invalid_data) << "output \"" << name << "\" is not computed by any operator";
  const bool taken = std::ranges::find(builder.graph.inputs, id) != builder.graph.inputs.end() ||
                     builder.at(id).data ||
                     std::ranges::find(builder.graph.outputs, id) != builder.graph.outputs.end();
  if (!taken) return id;
  Operator pass;
  pass.code = Builtin::RESHAPE;
  pass.name = name;
  const TensorId own = builder.intermediate(id, pass);
  builder.at(own).name = name;
  RUNNEL_TRY(builder.emit_reshape(pass, id, own, builder.at(id).shape));
  return own;
}

Result<Graph> build(const Model& model, const Windows& windows, OperatorTable operators) {
  const Subgraph& source = model.subgraphs[0];
  Builder builder(source, windows);
  for (const std::int32_t tensor : source.inputs) RUNNEL_TRY(builder.add_input(tensor));
  for (std::size_t i = 0; i < source.operators.size(); ++i) {
    const Operator& op = source.operators[i];
    if (!windows.absorbed.contains(i)) RUNNEL_TRY(find_operator(op)->convert(builder, op));
  }
  for (const std::int32_t tensor : source.outputs) {
    RUNNEL_ASSIGN(const TensorId id, output_of(builder, tensor));
    builder.graph.outputs.push_back(id);
  }
  Graph graph = std::move(builder.graph);
  graph.metadata.emplace_back("source.format", "tflite");
  if (!model.description.empty()) graph.metadata.emplace_back("tflite.description", model.description);
  graph.pipeline.usage = builder.stateful               ? UsageKind::step
                         : can_stream(graph, operators) ? UsageKind::stream
                                                        : UsageKind::whole;
  return graph;
}

Result<Graph> import(std::span<const std::byte> bytes, OperatorTable operators, const InputShapes& shapes,
                     std::vector<std::string>& notes) {
  // A copy, which is aligned.
  const std::vector<std::byte> file(bytes.begin(), bytes.end());
  RUNNEL_ASSIGN(Model model, read_model(file));
  RUNNEL_TRY(check_operators(model.subgraphs[0]));
  RUNNEL_ASSIGN(const Windows windows, find_windows(model));
  // Open axes: the first length that fits; in the end 1, as the file says.
  const std::vector<Tensor> tensors = model.subgraphs[0].tensors;
  std::vector<std::int64_t> lengths(std::begin(kOpenLengths), std::end(kOpenLengths));
  lengths.push_back(1);
  Status first;
  for (const std::int64_t length : lengths) {
    model.subgraphs[0].tensors = tensors;
    std::vector<std::string> said;
    RUNNEL_ASSIGN(const bool chosen, settle_shapes(model.subgraphs[0], shapes, length, said));
    auto graph = build(model, windows, operators);
    if (graph.ok()) notes.insert(notes.end(), said.begin(), said.end());
    if (graph.ok() || !chosen) return graph;
    if (first.ok()) first = graph.status();
  }
  return first;
}

}  // namespace

std::string name_of(Builtin code) {
  if (code == Builtin::CUSTOM) return "CUSTOM";
  const OperatorRow* const known = find_operator(code);
  return known != nullptr ? std::string(known->name)
                          : "operator code " + std::to_string(static_cast<int>(code));
}

}  // namespace tflite_source

bool is_tflite(std::span<const std::byte> bytes) {
  return bytes.size() >= 8 && std::memcmp(bytes.data() + 4, "TFL3", 4) == 0;
}

std::vector<std::pair<std::string_view, std::string_view>> tflite_operators() {
  std::vector<std::pair<std::string_view, std::string_view>> all;
  for (const auto& entry : tflite_source::operator_rows()) all.emplace_back(entry.name, entry.types);
  std::ranges::sort(all);
  return all;
}

Result<Graph> import_tflite(std::span<const std::byte> bytes, OperatorTable operators,
                            const InputShapes& shapes, std::vector<std::string>* notes) {
  return catching_bad_alloc("importing the model", [&] {
    std::vector<std::string> said;
    return tflite_source::import(bytes, operators, shapes, notes != nullptr ? *notes : said);
  });
}

}  // namespace runnel::compiler
