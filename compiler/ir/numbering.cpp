#include "compiler/ir/numbering.h"

namespace runnel::compiler {

Status Numbering::number() {
  for (const TensorId id : graph_.inputs) RUNNEL_TRY(append(id, "graph input", {}));
  for (const Node& node : graph_.nodes) {
    for (const TensorId id : node.inputs) {
      if (id == kAbsent) continue;
      RUNNEL_TRY(check(id, "operator", node.name));
      if (index_[static_cast<std::size_t>(id)] >= 0) continue;
      if (!graph_.tensors[static_cast<std::size_t>(id)].data) {
        return Status(Code::invalid_argument)
               << "operator \"" << node.name << "\" reads tensor \""
               << graph_.tensors[static_cast<std::size_t>(id)].name << "\", which nothing before it computes";
      }
      RUNNEL_TRY(append(id, "operator", node.name));
    }
    for (const TensorId id : node.outputs) RUNNEL_TRY(append(id, "operator", node.name));
  }
  for (const TensorId id : graph_.outputs) {
    RUNNEL_TRY(check(id, "graph output", {}));
    if (index_[static_cast<std::size_t>(id)] < 0) {
      return Status(Code::invalid_argument)
             << "graph output \"" << graph_.tensors[static_cast<std::size_t>(id)].name
             << "\" is computed by nothing";
    }
  }
  return {};
}

std::vector<std::int32_t> Numbering::of(const std::vector<TensorId>& ids) const {
  std::vector<std::int32_t> result;
  for (const TensorId id : ids) result.push_back(of(id));
  return result;
}

Status Numbering::check(TensorId id, std::string_view what, std::string_view name) const {
  if (id >= 0 && static_cast<std::size_t>(id) < graph_.tensors.size()) return {};
  return Status(Code::invalid_argument) << what << " \"" << name << "\" refers to tensor " << id
                                        << ", the graph has " << graph_.tensors.size();
}

Status Numbering::append(TensorId id, std::string_view what, std::string_view name) {
  RUNNEL_TRY(check(id, what, name));
  if (index_[static_cast<std::size_t>(id)] >= 0) {
    return Status(Code::invalid_argument)
           << what << " \"" << name << "\" computes tensor \""
           << graph_.tensors[static_cast<std::size_t>(id)].name << "\" a second time";
  }
  index_[static_cast<std::size_t>(id)] = static_cast<std::int32_t>(order_.size());
  order_.push_back(id);
  return {};
}

}  // namespace runnel::compiler
