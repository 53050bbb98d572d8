#include "compiler/write/espdl/serialize.h"

#include <cstring>
#include <limits>

#include "base/version.h"
#include "compiler/espdl/container.h"
#include "compiler/espdl/espdl_generated.h"

namespace runnel::compiler::espdl_source {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// What the node's attributes are written for: ONNX's operators of this version, axes and sizes as inputs.
constexpr std::int64_t kOpset = 18;
constexpr int kIrVersion = 8;

espdl::TensorDataType type_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return espdl::TensorDataType::FLOAT;
    case DType::uint8:
      return espdl::TensorDataType::UINT8;
    case DType::int8:
      return espdl::TensorDataType::INT8;
    case DType::uint16:
      return espdl::TensorDataType::UINT16;
    case DType::int16:
      return espdl::TensorDataType::INT16;
    case DType::int32:
      return espdl::TensorDataType::INT32;
    case DType::int64:
      return espdl::TensorDataType::INT64;
    case DType::boolean:
      return espdl::TensorDataType::BOOL;
    case DType::float64:
      return espdl::TensorDataType::DOUBLE;
    default:
      return espdl::TensorDataType::UNDEFINED;
  }
}

class Serializer {
 public:
  explicit Serializer(const Model& model) : model_(model) {}

  const FlatBufferBuilder& run() {
    std::vector<Offset<espdl::Node>> nodes;
    for (const Node& node : model_.nodes) nodes.push_back(written(node));
    std::vector<Offset<espdl::Tensor>> constants;
    for (const auto& [name, constant] : model_.constants) constants.push_back(written(constant));
    std::vector<Offset<espdl::ValueInfo>> values;
    for (const auto& [name, value] : model_.values) values.push_back(written(name, value));
    const auto inputs = named(model_.inputs), outputs = named(model_.outputs);
    const auto test_inputs = written(model_.test_inputs), test_outputs = written(model_.test_outputs);
    const auto graph = espdl::CreateGraph(out_, out_.CreateVector(nodes), out_.CreateString(model_.name),
                                          out_.CreateVector(constants), 0, inputs, outputs,
                                          out_.CreateVector(values), 0, test_inputs, test_outputs);
    const std::vector<Offset<espdl::OperatorSetId>> opsets = {
        espdl::CreateOperatorSetId(out_, out_.CreateString(""), kOpset)};
    std::vector<Offset<espdl::StringStringEntry>> metadata;
    for (const auto& [key, value] : model_.metadata) {
      metadata.push_back(
          espdl::CreateStringStringEntry(out_, out_.CreateString(key), out_.CreateString(value)));
    }
    const auto producer = out_.CreateString("runnel"), version = out_.CreateString(std::string(kVersion));
    const auto opset = out_.CreateVector(opsets);
    const auto entries = out_.CreateVector(metadata);
    out_.Finish(espdl::CreateModel(out_, kIrVersion, opset, producer, version, 0, 0, 0, graph, entries));
    return out_;
  }

 private:
  // Files have [0] on everything that is not quantized.
  Offset<flatbuffers::Vector<std::int64_t>> exponents(const std::vector<std::int8_t>& from) {
    std::vector<std::int64_t> wide(from.begin(), from.end());
    if (wide.empty()) wide.push_back(0);
    return out_.CreateVector(wide);
  }

  Offset<espdl::Tensor> written(const Constant& constant) {
    std::vector<espdl::AlignedBytes> blocks((constant.data.size() + 15) / 16);
    if (!blocks.empty()) std::memcpy(blocks.data(), constant.data.data(), constant.data.size());
    const auto raw = out_.CreateVectorOfStructs(blocks);
    const auto dims = out_.CreateVector(constant.dims);
    const auto name = out_.CreateString(constant.name);
    const std::string about = constant.layout.empty() ? constant.doc : "layout ==> " + constant.layout;
    const auto doc = about.empty() ? 0 : out_.CreateString(about);
    const auto scale = exponents(constant.exponents);
    espdl::TensorBuilder tensor(out_);
    tensor.add_dims(dims);
    tensor.add_data_type(type_of(constant.dtype));
    tensor.add_name(name);
    if (!doc.IsNull()) tensor.add_doc_string(doc);
    tensor.add_raw_data(raw);
    tensor.add_exponents(scale);
    return tensor.Finish();
  }

  Offset<flatbuffers::Vector<Offset<espdl::Tensor>>> written(const std::vector<Constant>& tensors) {
    std::vector<Offset<espdl::Tensor>> list;
    for (const Constant& tensor : tensors) list.push_back(written(tensor));
    return out_.CreateVector(list);
  }

  Offset<espdl::ValueInfo> written(const std::string& name, const Value& value) {
    std::vector<Offset<espdl::Dimension>> dims;
    for (const std::int64_t dim : *value.shape) {
      dims.push_back(espdl::CreateDimension(
          out_, espdl::CreateDimensionValue(out_, espdl::DimensionValueType::VALUE, dim)));
    }
    const auto shape = espdl::CreateTensorShape(out_, out_.CreateVector(dims));
    const auto tensor = espdl::CreateTensorTypeAndShape(out_, type_of(value.dtype), shape);
    const auto type = espdl::CreateTypeInfo(out_, espdl::TypeInfoValue::TensorTypeAndShape, tensor.Union());
    const auto label = out_.CreateString(name);
    return espdl::CreateValueInfo(out_, label, type, 0, exponents(value.exponents));
  }

  Offset<flatbuffers::Vector<Offset<espdl::ValueInfo>>> named(const std::vector<std::string>& names) {
    std::vector<Offset<espdl::ValueInfo>> list;
    for (const std::string& name : names) list.push_back(written(name, model_.values.at(name)));
    return out_.CreateVector(list);
  }

  template <class Fill>
  Offset<espdl::Attribute> attribute(Offset<flatbuffers::String> name, espdl::AttributeType type,
                                     const Fill& fill) {
    espdl::AttributeBuilder builder(out_);
    builder.add_name(name);
    builder.add_attr_type(type);
    fill(builder);
    return builder.Finish();
  }

  Offset<espdl::Attribute> written(const std::string& key, const Attribute& value) {
    using Builder = espdl::AttributeBuilder;
    const auto name = out_.CreateString(key);
    if (const auto* number = std::get_if<float>(&value)) {
      const espdl::AttributeF f(*number);
      return attribute(name, espdl::AttributeType::FLOAT, [&](Builder& to) { to.add_f(&f); });
    }
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      const espdl::AttributeI i(*integer);
      return attribute(name, espdl::AttributeType::INT, [&](Builder& to) { to.add_i(&i); });
    }
    if (const auto* text = std::get_if<std::string>(&value)) {
      const auto bytes = out_.CreateVector(reinterpret_cast<const std::uint8_t*>(text->data()), text->size());
      return attribute(name, espdl::AttributeType::STRING, [&](Builder& to) { to.add_s(bytes); });
    }
    if (const auto* numbers = std::get_if<std::vector<float>>(&value)) {
      const auto list = out_.CreateVector(*numbers);
      return attribute(name, espdl::AttributeType::FLOATS, [&](Builder& to) { to.add_floats(list); });
    }
    const auto list = out_.CreateVector(std::get<std::vector<std::int64_t>>(value));
    return attribute(name, espdl::AttributeType::INTS, [&](Builder& to) { to.add_ints(list); });
  }

  Offset<espdl::Node> written(const Node& node) {
    std::vector<Offset<espdl::Attribute>> attributes;
    for (const auto& [key, value] : node.attributes) attributes.push_back(written(key, value));
    const auto inputs = out_.CreateVectorOfStrings(node.inputs),
               outputs = out_.CreateVectorOfStrings(node.outputs);
    const auto name = out_.CreateString(node.name), op = out_.CreateString(node.op);
    return espdl::CreateNode(out_, inputs, outputs, name, op, 0, out_.CreateVector(attributes));
  }

  const Model& model_;
  FlatBufferBuilder out_;
};

}  // namespace

Result<std::vector<std::byte>> serialize(const Model& model, const crypto::Key* key) {
  // FlatBuffers' own limit ends the program when it is passed.
  std::size_t data = 0;
  for (const auto& [name, constant] : model.constants) data += constant.data.size() + 256;
  for (const auto* tests : {&model.test_inputs, &model.test_outputs}) {
    for (const Constant& tensor : *tests) data += tensor.data.size() + 256;
  }
  constexpr std::size_t kLargest =
      std::size_t{std::numeric_limits<std::int32_t>::max()} - (std::size_t{1} << 26);
  if (data > kLargest)
    return Status(Code::invalid_argument)
           << data << " bytes of constants and test values, expected at most " << kLargest;
  Serializer serializer(model);
  const FlatBufferBuilder& built = serializer.run();
  const auto* const first = reinterpret_cast<const std::byte*>(built.GetBufferPointer());
  return wrap_payload(std::span(first, built.GetSize()), key);
}

}  // namespace runnel::compiler::espdl_source
