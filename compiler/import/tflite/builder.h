// What the conversions of single operators share: the graph that grows, and where its tensors come from.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/import/tflite/source.h"
#include "compiler/import/tflite/variables.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler::tflite_source {

class Builder {
 public:
  Builder(const Subgraph& source, const Windows& windows)
      : source_(source), windows_(windows), ids_(source.tensors.size(), kAbsent) {}

  [[nodiscard]] const Subgraph& source() const { return source_; }
  [[nodiscard]] const Windows& windows() const { return windows_; }
  Graph graph;

  // ---- errors that name the operator
  static Status fail(const Operator& op, Code code = Code::invalid_data);

  // ---- operands
  // Whether input `position` is there.
  static bool has(const Operator& op, std::size_t position) {
    return position < op.inputs.size() && op.inputs[position] >= 0;
  }
  // The file's tensor after an input or output. Errors: invalid_data when it is absent.
  Result<const Tensor*> input(const Operator& op, std::size_t position) const;
  Result<const Tensor*> output(const Operator& op, std::size_t position = 0) const;
  // Input `position`: a computed value, or an unchanged constant of the file. Errors: invalid_data when it
  // is absent or not computed yet.
  Result<TensorId> operand(const Operator& op, std::size_t position);
  // Numbers of a constant input. Errors: unsupported when it is computed at run time.
  Result<std::vector<std::int64_t>> integers(const Operator& op, std::size_t position) const;

  // ---- tensors
  [[nodiscard]] compiler::Tensor& at(TensorId id) { return graph.tensors[static_cast<std::size_t>(id)]; }
  TensorId add(compiler::Tensor tensor);
  Status add_input(std::int32_t tensor);
  // A computed uint8 tensor of the file (is_shifted): what its int8 form was made of, or made of that one.
  Result<TensorId> uint8_form(std::int32_t tensor);
  // The int8 form of a uint8 tensor that was just computed.
  Status emit_int8(std::int32_t tensor);
  // A new tensor for output `position`; the shape follows when the node is emitted.
  Result<TensorId> result(const Operator& op, std::size_t position = 0);
  // A tensor between two nodes that the file does not know: type, scale and zero point of `like`.
  TensorId intermediate(TensorId like, const Operator& op, std::vector<std::int32_t> shape = {});
  // A constant that the file does not have.
  TensorId constant(const Operator& op, DType dtype, std::vector<std::int32_t> shape,
                    std::vector<std::byte> data);
  // kAbsent when nothing has computed it yet.
  [[nodiscard]] TensorId find(std::int32_t tensor) const { return ids_[static_cast<std::size_t>(tensor)]; }

  // ---- nodes
  // Appends a node: shapes of its outputs are filled in.
  Status emit(const Operator& op, OpCode code, std::vector<TensorId> inputs, std::vector<TensorId> outputs,
              Options options = {}, Arithmetic arithmetic = Arithmetic::espdl,
              kernels::Rounding rounding = kernels::Rounding::tflite_double);
  Status emit_reshape(const Operator& op, TensorId input, TensorId output, std::vector<std::int32_t> shape);
  // The same data in another shape; the tensor itself when it has that shape.
  Result<TensorId> reshaped(const Operator& op, TensorId input, const std::vector<std::int32_t>& shape);
  [[nodiscard]] bool is_float(TensorId id) const {
    return graph.tensors[static_cast<std::size_t>(id)].dtype == DType::float32;
  }

  // State makes the model one that runs in steps.
  bool stateful = false;

 private:
  Result<compiler::Tensor> tensor_of(const Tensor& from) const;
  Result<TensorId> emit_uint8(std::int32_t tensor);
  void as_uint8(TensorId id);
  static Operator shift_of(const Tensor& tensor);

  const Subgraph& source_;
  const Windows& windows_;
  std::vector<TensorId> ids_;  // per tensor of the file
};

// uint8 with a scale is computed as int8 with a zero point 128 lower: the same values.
[[nodiscard]] bool is_shifted(const Tensor& tensor);

// What a fused activation becomes: part of the operator, or for float32 beyond ReLU a clip after it.
struct Activated {
  Activation activation = Activation::none;
  TensorId to = kAbsent;  // what the operator is to write
  bool clipped = false;
};
Result<Activated> activated(Builder& builder, const Operator& op, std::int8_t fused, TensorId y);
// The clip after it, when there is one.
Status finish_activated(Builder& builder, const Operator& op, const Activated& how, TensorId y);
Status emit_float_clip(Builder& builder, const Operator& op, Activation activation, TensorId x, TensorId y);

// An activation as an operator of its own, between tensors of one scale.
Status emit_activation(Builder& builder, const Operator& op, std::int8_t fused, TensorId x, TensorId y);

// A negative axis counts from the end. Errors: invalid_data when it is outside.
Result<int> normalize_axis(const Operator& op, std::int64_t axis, std::size_t rank);
// The name of a builtin operator, or its number.
std::string name_of(Builtin code);

}  // namespace runnel::compiler::tflite_source
