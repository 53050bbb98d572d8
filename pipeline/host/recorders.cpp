#include "pipeline/host/recorders.h"

#include "pipeline/nodes/host/act/history.h"
#include "pipeline/nodes/host/act/record.h"

namespace runnel::pipeline {
namespace {

History* nearest_history(const Graph& graph, int stage) {
  if (auto* history = dynamic_cast<History*>(graph.stage(stage).node); history != nullptr) return history;
  for (const int input : graph.inputs(stage)) {
    if (History* history = nearest_history(graph, input); history != nullptr) return history;
  }
  return nullptr;
}

}  // namespace

Status connect_recorders(const Graph& graph) {
  for (int i = 0; i < graph.size(); ++i) {
    auto* record = dynamic_cast<Record*>(graph.stage(i).node);
    if (record == nullptr) continue;
    History* history = nearest_history(graph, i);
    if (history == nullptr) {
      return Status(Code::invalid_argument)
             << graph.stage(i).label << " has no sound to keep: put `history seconds=10` after the source";
    }
    record->connect(*history);
  }
  return {};
}

}  // namespace runnel::pipeline
