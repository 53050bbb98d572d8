// An unconverted .onnx file: protobuf, its nodes with typed attributes, its tensors.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/import/onnx/constant.h"
#include "compiler/import/onnx/protobuf.h"

namespace runnel::compiler::onnx_source {

inline constexpr int kOldestOpset = 7, kNewestOpset = 21;

// Parses and checks what concerns the whole file. Errors: invalid_data for bytes that are no ONNX model,
// unsupported for opsets outside [kOldestOpset, kNewestOpset], functions and training graphs.
Result<std::unique_ptr<::onnx::ModelProto>> read_model(std::span<const std::byte> bytes);
// Version of the operators in the default domain.
int opset_of(const ::onnx::ModelProto& model);

// A tensor of the file; float16 becomes float32. Errors: invalid_data when dimensions and bytes disagree,
// unsupported for external data (by name) and types without a counterpart.
Result<Constant> read_tensor(const ::onnx::TensorProto& tensor);
// The counterpart of ONNX's number of a type; none when there is none.
DType dtype_of(std::int64_t onnx_type);

// A node with the version its operator has, and attributes of the types that the specification gives them.
struct Node {
  const ::onnx::NodeProto* proto = nullptr;
  std::string name, op;  // an unnamed node takes the name of its first output
  std::vector<std::string> inputs, outputs;
  int opset = kNewestOpset;

  [[nodiscard]] bool has_input(std::size_t position) const {
    return position < inputs.size() && !inputs[position].empty();
  }
  [[nodiscard]] const ::onnx::AttributeProto* attribute(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] float real(std::string_view name, float otherwise) const;
  [[nodiscard]] std::string text(std::string_view name, std::string_view otherwise) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name) const;

  // The start of an error that names the node.
  [[nodiscard]] Status fail(Code code = Code::invalid_data) const {
    return Status(code) << "node \"" << name << "\" (" << op << "): ";
  }
  // A status of something inside the node.
  [[nodiscard]] Status named(const Status& status) const {
    return status.ok() ? status : fail(status.code()) << status.text();
  }
};
// Errors: invalid_data for an attribute of another type than the specification's.
Result<Node> read_node(const ::onnx::NodeProto& proto, int opset);

// A negative axis counts from the end. Errors: invalid_data when it is outside.
Result<int> axis_of(const Node& node, std::int64_t axis, std::size_t rank);

}  // namespace runnel::compiler::onnx_source
