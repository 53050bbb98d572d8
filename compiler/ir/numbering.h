// The order of tensors in a model file.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler {

// The graph's inputs, then per operator its constants and its outputs, which is the order that readers insist
// on (docs/model-file.md). Tensors that nothing refers to are left out. The graph must outlive the object.
class Numbering {
 public:
  explicit Numbering(const Graph& graph) : graph_(graph), index_(graph.tensors.size(), -1) {}

  // Errors: invalid_argument for references outside the graph, for tensors that are read before anything
  // computes them, and for tensors that are computed twice.
  Status number();

  [[nodiscard]] const std::vector<TensorId>& order() const { return order_; }
  // In the file; -1 for absent operands and tensors that were left out.
  [[nodiscard]] std::int32_t of(TensorId id) const {
    return id < 0 || static_cast<std::size_t>(id) >= index_.size() ? -1
                                                                   : index_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] std::vector<std::int32_t> of(const std::vector<TensorId>& ids) const;

 private:
  Status check(TensorId id, std::string_view what, std::string_view name) const;
  Status append(TensorId id, std::string_view what, std::string_view name);

  const Graph& graph_;
  std::vector<std::int32_t> index_;
  std::vector<TensorId> order_;
};

}  // namespace runnel::compiler
