#include "services/embed/rom_files.h"

#include <algorithm>
#include <utility>

#include "compiler/embed/sources.h"
#include "compiler/ir/model_graph.h"
#include "compiler/write/writer.h"

namespace runnel::embedding {

Result<std::vector<std::byte>> rom_model(const Model& model, const RomParts& parts) {
  compiler::Graph graph = compiler::graph_of(model);
  if (!parts.vectors) graph.vectors.clear();
  graph.metadata.clear();
  graph.pipeline.front_end.clear();
  graph.pipeline.decision.clear();
  if (parts.labels != nullptr) graph.pipeline.labels = *parts.labels;
  compiler::WriteOptions options;
  options.strip_names = !parts.names;
  options.blocks.clear();
  // Frames count along its time axis, so the axis must be that of the file.
  options.plan = model.plan() != nullptr;
  RUNNEL_ASSIGN(compiler::WrittenModel written, compiler::write_model(graph, options));
  return std::move(written.bytes);
}

Result<std::vector<std::string>> operators_of(const Model* recogniser, const EmbeddedSpeech& decoder) {
  std::vector<const Model*> models;
  if (recogniser != nullptr) models.push_back(recogniser);
  for (const EmbeddedSpeech::Part& part : decoder.parts) models.push_back(&part.model->model());
  std::vector<std::string> all;
  for (const Model* const model : models) {
    RUNNEL_ASSIGN(const std::vector<std::string> some, compiler::operator_symbols(*model));
    for (const std::string& one : some)
      if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  }
  return all;
}

}  // namespace runnel::embedding
