#include "tests/compiler/import/onnx/graph_maker.h"

#include <gtest/gtest.h>

#include <cstring>

namespace runnel::test {
namespace {

::onnx::AttributeProto& attribute(::onnx::NodeProto& node, const std::string& name,
                                  ::onnx::AttributeProto::AttributeType type) {
  auto& made = *node.add_attribute();
  made.set_name(name);
  made.set_type(type);
  return made;
}

}  // namespace

OnnxMaker::OnnxMaker(int opset) {
  model.set_ir_version(8);
  auto* import = model.add_opset_import();
  import->set_domain("");
  import->set_version(opset);
  model.mutable_graph()->set_name("test");
}

OnnxMaker& OnnxMaker::input(const std::string& name, const Dims& dims, int type) {
  auto* made = model.mutable_graph()->add_input();
  made->set_name(name);
  auto* tensor = made->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    auto* dim = tensor->mutable_shape()->add_dim();
    if (dims[i] > 0)
      dim->set_dim_value(dims[i]);
    else
      dim->set_dim_param("n" + std::to_string(i));
  }
  return *this;
}

OnnxMaker& OnnxMaker::output(const std::string& name) {
  model.mutable_graph()->add_output()->set_name(name);
  return *this;
}

OnnxMaker& OnnxMaker::floats(const std::string& name, const Dims& dims, const Floats& values) {
  auto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(::onnx::TensorProto::FLOAT);
  for (const std::int64_t dim : dims) tensor->add_dims(dim);
  tensor->set_raw_data(values.data(), values.size() * sizeof(float));
  return *this;
}

OnnxMaker& OnnxMaker::integers(const std::string& name, const Dims& dims,
                               const std::vector<std::int64_t>& values) {
  auto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(::onnx::TensorProto::INT64);
  for (const std::int64_t dim : dims) tensor->add_dims(dim);
  for (const std::int64_t value : values) tensor->add_int64_data(value);
  return *this;
}

::onnx::NodeProto& OnnxMaker::node(const std::string& op, const std::vector<std::string>& inputs,
                                   const std::vector<std::string>& outputs) {
  auto& made = *model.mutable_graph()->add_node();
  made.set_op_type(op);
  made.set_name(op + "_" + std::to_string(model.graph().node_size()));
  for (const auto& name : inputs) made.add_input(name);
  for (const auto& name : outputs) made.add_output(name);
  return made;
}

Bytes OnnxMaker::bytes() const {
  const std::string text = model.SerializeAsString();
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::vector<Floats> OnnxMaker::run(const std::vector<Floats>& inputs,
                                   const compiler::OnnxOptions& options) const {
  const auto imported = import(options);
  if (!imported.ok()) {
    ADD_FAILURE() << imported.status().text();
    return {};
  }
  const auto runnable = RunnableGraph::make(imported->graph);
  if (!runnable.ok()) {
    ADD_FAILURE() << runnable.status().text();
    return {};
  }
  std::vector<Bytes> data;
  for (const Floats& values : inputs) {
    data.emplace_back(values.size() * sizeof(float));
    std::memcpy(data.back().data(), values.data(), data.back().size());
  }
  const auto outputs = (*runnable)->whole(data);
  if (!outputs.ok()) {
    ADD_FAILURE() << outputs.status().text();
    return {};
  }
  std::vector<Floats> out;
  for (const Bytes& bytes : *outputs) {
    out.emplace_back(bytes.size() / sizeof(float));
    std::memcpy(out.back().data(), bytes.data(), bytes.size());
  }
  return out;
}

void set(::onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  attribute(node, name, ::onnx::AttributeProto::INT).set_i(value);
}
void set(::onnx::NodeProto& node, const std::string& name, float value) {
  attribute(node, name, ::onnx::AttributeProto::FLOAT).set_f(value);
}
void set(::onnx::NodeProto& node, const std::string& name, const std::string& value) {
  attribute(node, name, ::onnx::AttributeProto::STRING).set_s(value);
}
void set(::onnx::NodeProto& node, const std::string& name, const Dims& values) {
  auto& made = attribute(node, name, ::onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) made.add_ints(value);
}

Floats ramp(std::size_t count, float first, float step) {
  Floats values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(first + step * static_cast<float>(i));
  return values;
}

}  // namespace runnel::test
