// What the conversions of single operators share: the growing graph, and the tensor of each ONNX value
// in it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/import/onnx/source.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/perm.h"

namespace runnel::compiler::onnx_source {

// Padding with zeros that nothing has computed yet: convolutions take it over.
struct Padding {
  std::vector<std::int64_t> before, after;  // per axis of ONNX
  PadMode mode = PadMode::zero;
  float value = 0;
};

// A value of ONNX: a constant, or a tensor of the graph with its axes in any order. Transpositions change
// only `perm`.
struct Value {
  ConstantPtr constant;
  TensorId id = kAbsent;
  DType dtype = DType::none;
  Dims dims;                     // as ONNX has them, without `padding`
  Perm perm;                     // of tensors
  std::vector<Padding> padding;  // none, or one
  bool missing = false;          // result of an operator that is not supported

  [[nodiscard]] std::size_t rank() const { return dims.size(); }
};
Value constant_value(Constant constant);

class Builder {
 public:
  Graph graph;
  Grids grids;  // of its float constants

  // ---- values by name; branches of If see those around them
  void enter() { scopes_.emplace_back(); }
  void leave() { scopes_.pop_back(); }
  void define(const std::string& name, Value value) {
    scopes_.back().insert_or_assign(name, std::move(value));
  }
  [[nodiscard]] const Value* find(const std::string& name) const;
  // Input `position` with its padding computed. Errors: invalid_data when it is absent or nothing defines it.
  Result<Value> value(const Node& node, std::size_t position);
  // The same, padding still open.
  Result<Value> padded_value(const Node& node, std::size_t position) const;
  // The constant after an input; null when absent. Errors: unsupported when it is computed at run time.
  Result<ConstantPtr> constant(const Node& node, std::size_t position) const;
  // Integers of an optional operand or, in older opsets, of an attribute.
  Result<std::vector<std::int64_t>> integers(const Node& node, std::size_t position,
                                             std::string_view attribute) const;

  // ---- tensors
  [[nodiscard]] Tensor& at(TensorId id) { return graph.tensors[static_cast<std::size_t>(id)]; }
  TensorId add(Tensor tensor);
  TensorId add_constant(const Constant& constant, std::string_view name);
  // The tensor that stores a value in this order; transposed where it is stored in another one (once for all
  // who ask).
  Result<TensorId> stored(const Node& node, const Value& value, const Perm& perm);
  Result<TensorId> plain(const Node& node, const Value& value) {
    return stored(node, value, identity_perm(value.rank()));
  }
  // The value with other axes of 1, nothing else changed.
  Result<Value> with_ones(const Node& node, const Value& value, const Dims& dims);
  // The value extended to this rank by leading axes of 1.
  Result<Value> widened(const Node& node, const Value& value, std::size_t rank);

  // ---- nodes
  // One output; `shape` where the operator leaves it open. `dtype` none: that of the first input.
  Result<TensorId> emit(const Node& node, OpCode code, std::vector<TensorId> inputs, Options options = {},
                        std::vector<std::int32_t> shape = {}, DType dtype = DType::none,
                        Arithmetic arithmetic = Arithmetic::espdl);
  Result<std::vector<TensorId>> emit_all(const Node& node, OpCode code, std::vector<TensorId> inputs,
                                         Options options,
                                         const std::vector<std::vector<std::int32_t>>& shapes,
                                         const std::vector<DType>& dtypes,
                                         Arithmetic arithmetic = Arithmetic::espdl);
  // What an operator computed, as a value whose axes are stored in this order.
  [[nodiscard]] Value computed(TensorId id, Perm perm);
  // Makes it output `position` of the node.
  void result(const Node& node, TensorId id, Perm perm, std::size_t position = 0);
  void result(const Node& node, Value value, std::size_t position = 0);

  // ---- names
  // Is anything interested in output `position`?
  [[nodiscard]] bool is_read(const Node& node, std::size_t position) const;
  void count_reader(const std::string& name) { ++readers_[name]; }

 private:
  Result<Value> without_padding(const Node& node, const Value& value);

  std::vector<std::map<std::string, Value, std::less<>>> scopes_{1};
  std::map<std::pair<TensorId, std::vector<int>>, TensorId> orders_;  // of stored()
  std::map<std::pair<const Constant*, Dims>, std::pair<ConstantPtr, std::map<Perm, TensorId>>> constants_;
  std::map<std::string, int, std::less<>> readers_;
};

// [stored dims] as the graph has them. Errors: unsupported for ranks and sizes the runtime has not.
Result<std::vector<std::int32_t>> shape_of(const Node& node, const Dims& dims, const Perm& perm);

// ---- conversions that others build on; the rest are declared where they are listed
Status convert_conv(Builder& builder, const Node& node);
Status convert_pool(Builder& builder, const Node& node);
Status convert_global_pool(Builder& builder, const Node& node);
Status convert_gemm(Builder& builder, const Node& node);
Status convert_matmul(Builder& builder, const Node& node);
Status convert_binary(Builder& builder, const Node& node);
Status convert_function(Builder& builder, const Node& node);
Status convert_softmax(Builder& builder, const Node& node);
Status convert_concat(Builder& builder, const Node& node);

// ---- helpers of several conversions
// Operands of one rank and one order of axes, ready for an operator that works element by element.
struct Aligned {
  std::vector<TensorId> ids;
  Perm perm;
};
Result<Aligned> aligned(Builder& builder, const Node& node, const std::vector<Value>& operands);
// a op b, broadcast.
Result<Value> binary(Builder& builder, const Node& node, OpCode code, const Value& a, const Value& b,
                     DType dtype = DType::none);
Result<Value> unary(Builder& builder, const Node& node, OpCode code, const Value& x, Options options = {});
// x [.., K] times constant weights [N][K], plus a bias of N; `bias` may be null.
Result<Value> dense(Builder& builder, const Node& node, const Value& x, const Constant& weights,
                    const Constant* bias);
// Elements [begin, begin + count) of one axis.
Result<Value> part_of(Builder& builder, const Node& node, const Value& x, int axis, std::int64_t begin,
                      std::int64_t count);
Result<Value> joined(Builder& builder, const Node& node, const std::vector<Value>& parts, int axis);
// One float32 for all.
Value scalar(double value);

}  // namespace runnel::compiler::onnx_source
