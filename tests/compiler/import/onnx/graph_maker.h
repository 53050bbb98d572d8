// Small .onnx files for tests, put together with protobuf.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/onnx/importer.h"
#include "compiler/import/onnx/protobuf.h"
#include "tests/compiler/run_graph.h"

namespace runnel::test {

using Dims = std::vector<std::int64_t>;
using Floats = std::vector<float>;

class OnnxMaker {
 public:
  explicit OnnxMaker(int opset = 17);

  // A dimension of 0 is left open (its name: "n" and the axis).
  OnnxMaker& input(const std::string& name, const Dims& dims, int type = ::onnx::TensorProto::FLOAT);
  OnnxMaker& output(const std::string& name);
  OnnxMaker& floats(const std::string& name, const Dims& dims, const Floats& values);
  OnnxMaker& integers(const std::string& name, const Dims& dims, const std::vector<std::int64_t>& values);
  // The node, for its attributes.
  ::onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs);

  ::onnx::ModelProto model;
  [[nodiscard]] Bytes bytes() const;
  [[nodiscard]] Result<compiler::OnnxImport> import(const compiler::OnnxOptions& options = {}) const {
    return compiler::import_onnx(bytes(), options);
  }
  // Outputs for these inputs; a test failure and nothing when it cannot be imported or run.
  [[nodiscard]] std::vector<Floats> run(const std::vector<Floats>& inputs,
                                        const compiler::OnnxOptions& options = {}) const;
};

void set(::onnx::NodeProto& node, const std::string& name, std::int64_t value);
void set(::onnx::NodeProto& node, const std::string& name, float value);
void set(::onnx::NodeProto& node, const std::string& name, const std::string& value);
void set(::onnx::NodeProto& node, const std::string& name, const Dims& values);

// first, first + step, ...
Floats ramp(std::size_t count, float first = 0, float step = 1);

}  // namespace runnel::test
