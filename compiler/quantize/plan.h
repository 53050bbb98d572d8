// How each operator and tensor of a float graph is to be quantized. Tensors and nodes keep their numbers from
// the float graph to the integer one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/quantize/options.h"
#include "compiler/quantize/round/quantization_grid.h"
#include "inference/host/operator_traits.h"

namespace runnel::compiler::quantizer {

using Role = QuantizerRole;

struct Layer {
  // One entry, or one per output channel.
  std::vector<double> steps;
  std::vector<int> exponents;          // pow2
  std::vector<std::int32_t> integers;  // as the float weights are stored
  std::vector<double> bias;            // one per channel, or none
};

struct Plan {
  TargetRules target;
  Scheme scheme = Scheme::pow2;
  std::vector<Role> roles;         // per node
  std::vector<DType> types;        // per node: int8, int16, float32 (as it is)
  std::vector<TensorId> groups;    // per tensor: whose range it shares
  std::vector<Range> ranges;       // per tensor; that of its group counts
  std::vector<bool> shares;        // per tensor; that of its group counts: parts of 1, with their own grid
  std::map<TensorId, int> stated;  // exponents of groups that were stated: nothing changes them
  // Per node: weights that were decided; others are rounded to nearest. Plans that are tried share them.
  std::map<int, std::shared_ptr<const Layer>> layers;
  std::map<int, int> gate_exponents;  // of recurrent nodes
  std::map<std::pair<int, int>, Layer>
      matrices;  // of recurrent nodes, by node and place of the input (1, 2); others are rounded to nearest

  [[nodiscard]] const Range& range(TensorId id) const {
    return ranges[static_cast<std::size_t>(groups[static_cast<std::size_t>(id)])];
  }
  [[nodiscard]] Range& range(TensorId id) {
    return ranges[static_cast<std::size_t>(groups[static_cast<std::size_t>(id)])];
  }
  [[nodiscard]] bool has_shares(TensorId id) const {
    return shares[static_cast<std::size_t>(groups[static_cast<std::size_t>(id)])];
  }
  [[nodiscard]] bool is_stated(TensorId id) const {
    return stated.contains(groups[static_cast<std::size_t>(id)]);
  }
  [[nodiscard]] Grid grid(TensorId id, DType type) const {
    if (const auto at = stated.find(groups[static_cast<std::size_t>(id)]); at != stated.end())
      return grid_of_exponent(at->second, type);
    return has_shares(id) ? grid_of_shares(type) : grid_of(range(id), type, scheme);
  }
};

// Roles and types by the rules of the target, groups of tensors that share a scale; ranges are still empty.
// Errors: invalid_argument for operators named in options.types, options.exponents or lists of layers that
// do not exist or have no such form; invalid_data for weights that are not finite; all at once.
Result<Plan> make_plan(const Graph& graph, const Options& options);
// Types of the nodes as they follow from those of the operators that compute: what moves values takes the
// type of its input.
void propagate_types(const Graph& graph, Plan& plan);
// Type of a tensor under the plan.
std::vector<DType> tensor_types(const Graph& graph, const Plan& plan);

// The role of one node under a scheme.
Role role_of(const Graph& graph, const Node& node, Scheme scheme, bool esp_dl);

// Weights rounded to the nearest integer of the finest grid per channel or tensor, as the target has it. x:
// grid of the input.
Layer nearest_layer(const Graph& graph, const Node& node, const Plan& plan, const Grid& x);
// Multiply-adds of a weighted or recurrent node.
std::int64_t products_of(const Graph& graph, const Node& node);

}  // namespace runnel::compiler::quantizer
