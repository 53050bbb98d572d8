// What the conversions of single operators share: from operators of a graph to nodes of an .espdl model. The
// counterpart of builder.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/espdl/source.h"
#include "compiler/import/espdl/importer.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler::espdl_source {

// [height, width] for two spatial axes, [width] for one.
std::vector<std::int64_t> spatial(int axes, int height, int width);

class Lowering {
 public:
  Lowering(const Graph& graph, EspdlTarget target);

  Model model;                     // what has been written so far
  std::vector<std::string> notes;  // for people, one sentence each

  [[nodiscard]] EspdlTarget target() const { return target_; }
  [[nodiscard]] const std::vector<std::string>& refusals() const { return refusals_; }
  // What the format cannot say about an operator, or what the target cannot run.
  void refuse(const compiler::Node& node, const std::string& why);
  void refuse_input(const std::string& why) { refusals_.push_back("input " + why); }

  // ---- the graph
  [[nodiscard]] const std::vector<compiler::Node>& nodes() const { return graph_.nodes; }
  [[nodiscard]] const Tensor& at(TensorId id) const { return graph_.tensors[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Tensor& input(const compiler::Node& node, std::size_t position) const {
    return at(node.inputs[position]);
  }
  [[nodiscard]] const Tensor& output(const compiler::Node& node, std::size_t position = 0) const {
    return at(node.outputs[position]);
  }
  [[nodiscard]] static bool has(const compiler::Node& node, std::size_t position) {
    return position < node.inputs.size() && node.inputs[position] != kAbsent;
  }
  // Whether one node alone reads it, and the graph does not return it.
  [[nodiscard]] bool read_once(TensorId id) const { return reads_[static_cast<std::size_t>(id)] == 1; }
  // The node right after `node` when it belongs to it: same name, of this code, the only reader of its
  // result. The importer makes such pairs of single nodes. Null otherwise.
  [[nodiscard]] const compiler::Node* tail(const compiler::Node& node, OpCode code) const;
  // Nodes that another one replaces.
  void skip(const compiler::Node& node) { skipped_.insert(&node); }
  [[nodiscard]] bool skipped(const compiler::Node& node) const { return skipped_.contains(&node); }

  // ---- operands
  // The name under which operand `position` is read: a value, or a constant as it is ("" when it is
  // absent).
  std::string operand(const compiler::Node& node, std::size_t position);
  // The name of a tensor in the file.
  const std::string& name_of(TensorId id);
  // `id` is read as `other` is.
  void alias(TensorId id, TensorId other);
  [[nodiscard]] bool aliased(TensorId id) const { return aliases_.contains(id); }
  // Adds a constant under its name, or under a similar one when another constant has it. Gives the name.
  std::string constant(Constant constant);
  // The same for integers of a node: axes, sizes, shapes.
  std::string integers(const compiler::Node& node, std::string_view what,
                       const std::vector<std::int64_t>& values);
  // A tensor of the graph as a constant, with its data.
  Constant constant_of(const Tensor& tensor, std::string_view layout = "UNK") const;
  // A value that the graph does not have.
  std::string value(const std::string& wish, const Tensor& like, const std::vector<std::int64_t>& shape);

  // ---- nodes
  // A node of type `op` with the outputs of `to` (default: of `from`).
  Node& add(const compiler::Node& from, std::string_view op, std::vector<std::string> inputs,
            const compiler::Node* to = nullptr);
  // One with an output of its own, of type `dtype`; its name is that of `from` and `suffix`.
  Node& add_between(const compiler::Node& from, std::string_view op, std::vector<std::string> inputs,
                    std::string output, DType dtype, std::string_view suffix = {});

 private:
  std::string unique(std::string wish);
  std::string unique_node(const std::string& wish);

  const Graph& graph_;
  EspdlTarget target_;
  std::vector<int> reads_;
  std::map<TensorId, std::string> names_;
  std::set<TensorId> aliases_;
  std::set<std::string, std::less<>> used_, used_by_nodes_;
  std::set<const compiler::Node*> skipped_;
  std::vector<std::string> refusals_;
};

// ---- conversions, by kind (lower/)
void lower_conv(Lowering& to, const compiler::Node& node);
void lower_transposed_conv(Lowering& to, const compiler::Node& node);
void lower_fully_connected(Lowering& to, const compiler::Node& node);
void lower_matmul(Lowering& to, const compiler::Node& node);
void lower_pool(Lowering& to, const compiler::Node& node);
void lower_cache(Lowering& to, const compiler::Node& node);
void lower_insert_zeros(Lowering& to, const compiler::Node& node);
void lower_blocks(Lowering& to, const compiler::Node& node);
void lower_resize(Lowering& to, const compiler::Node& node);
void lower_binary(Lowering& to, const compiler::Node& node);
void lower_function(Lowering& to, const compiler::Node& node);
void lower_table(Lowering& to, const compiler::Node& node);
void lower_clip(Lowering& to, const compiler::Node& node);
void lower_prelu(Lowering& to, const compiler::Node& node);
void lower_scale(Lowering& to, const compiler::Node& node);
void lower_softmax(Lowering& to, const compiler::Node& node);
void lower_reduce(Lowering& to, const compiler::Node& node);
void lower_comparison(Lowering& to, const compiler::Node& node);
void lower_where(Lowering& to, const compiler::Node& node);
void lower_cast(Lowering& to, const compiler::Node& node);
void lower_top_k(Lowering& to, const compiler::Node& node);
void lower_reshape(Lowering& to, const compiler::Node& node);
void lower_transpose(Lowering& to, const compiler::Node& node);
void lower_slice(Lowering& to, const compiler::Node& node);
void lower_concat(Lowering& to, const compiler::Node& node);
void lower_split(Lowering& to, const compiler::Node& node);
void lower_pad(Lowering& to, const compiler::Node& node);
void lower_gather(Lowering& to, const compiler::Node& node);
void lower_scatter(Lowering& to, const compiler::Node& node);
void lower_reverse(Lowering& to, const compiler::Node& node);
void lower_expand(Lowering& to, const compiler::Node& node);
void lower_recurrent(Lowering& to, const compiler::Node& node);
void lower_norm(Lowering& to, const compiler::Node& node);

// Nodes before a product of two computed values that only undo the layout of its right operand: the
// product reads what they read.
void fold_right_operand(Lowering& to, const compiler::Node& node, std::size_t index);
// Casts to bool before a node that takes integers as truth itself.
void fold_truth(Lowering& to, const compiler::Node& node, std::size_t index);

// The whole graph as an .espdl model, without test values and metadata. What cannot be said is refused, all
// of it.
void lower(Lowering& to, const Graph& graph);

// ---- helpers
inline bool is_quantized(DType type) { return type == DType::int8 || type == DType::int16; }
inline int exponent_of(const Tensor& tensor) { return tensor.exponents.empty() ? 0 : tensor.exponents[0]; }
std::vector<std::int64_t> wide(const std::vector<std::int32_t>& from);
// Numbers as the bytes of a constant.
template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto* const first = reinterpret_cast<const std::byte*>(values.data());
  return {first, first + values.size() * sizeof(T)};
}
// An integer of a quantized tensor as the file stores it: in its type, with its exponent.
Constant quantized_value(std::string name, const Tensor& like, std::int64_t value);

}  // namespace runnel::compiler::espdl_source
