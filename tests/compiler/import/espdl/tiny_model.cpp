#include "tests/compiler/import/espdl/tiny_model.h"

#include <cstring>

namespace runnel::test {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

std::vector<std::uint8_t> raw(const TinyTensor& tensor) {
  std::vector<std::uint8_t> bytes;
  const auto put = [&](auto value) {
    const std::size_t at = bytes.size();
    bytes.resize(at + sizeof(value));
    std::memcpy(bytes.data() + at, &value, sizeof(value));
  };
  for (const std::int64_t value : tensor.values) {
    switch (tensor.type) {
      case espdl::TensorDataType::FLOAT:
        put(static_cast<float>(value));
        break;
      case espdl::TensorDataType::INT8:
        put(static_cast<std::int8_t>(value));
        break;
      case espdl::TensorDataType::INT16:
        put(static_cast<std::int16_t>(value));
        break;
      case espdl::TensorDataType::INT32:
        put(static_cast<std::int32_t>(value));
        break;
      default:
        put(value);
        break;
    }
  }
  bytes.resize((bytes.size() + 15) / 16 * 16, 0);
  return bytes;
}

Offset<espdl::Tensor> write(FlatBufferBuilder& builder, const TinyTensor& tensor) {
  const std::vector<std::uint8_t> bytes = raw(tensor);
  std::vector<espdl::AlignedBytes> blocks(bytes.size() / 16);
  std::memcpy(static_cast<void*>(blocks.data()), bytes.data(), bytes.size());
  const auto dims = builder.CreateVector(tensor.dims);
  const auto data = builder.CreateVectorOfStructs(blocks);
  const auto exponents = builder.CreateVector(tensor.exponents);
  const auto name = builder.CreateString(tensor.name);
  const auto doc = builder.CreateString("layout ==> " + tensor.layout);
  espdl::TensorBuilder out(builder);
  out.add_dims(dims);
  out.add_data_type(tensor.type);
  out.add_raw_data(data);
  out.add_exponents(exponents);
  out.add_name(name);
  out.add_doc_string(doc);
  return out.Finish();
}

Offset<espdl::ValueInfo> write(FlatBufferBuilder& builder, const TinyValue& value) {
  std::vector<Offset<espdl::Dimension>> dims;
  for (const std::int64_t dim : value.shape) {
    dims.push_back(espdl::CreateDimension(
        builder, espdl::CreateDimensionValue(builder, espdl::DimensionValueType::VALUE, dim)));
  }
  const auto shape = espdl::CreateTensorShape(builder, builder.CreateVector(dims));
  const auto tensor = espdl::CreateTensorTypeAndShape(builder, value.type, shape);
  const auto type = espdl::CreateTypeInfo(builder, espdl::TypeInfoValue::TensorTypeAndShape, tensor.Union());
  const std::vector<std::int64_t> exponents = {value.exponent};
  return espdl::CreateValueInfoDirect(builder, value.name.c_str(), type, nullptr, &exponents);
}

Offset<espdl::Node> write(FlatBufferBuilder& builder, const TinyNode& node) {
  std::vector<Offset<espdl::Attribute>> attributes;
  for (const auto& [key, value] : node.integers) {
    const auto name = builder.CreateString(key);
    const espdl::AttributeI i(value);
    espdl::AttributeBuilder out(builder);
    out.add_name(name);
    out.add_attr_type(espdl::AttributeType::INT);
    out.add_i(&i);
    attributes.push_back(out.Finish());
  }
  for (const auto& [key, values] : node.lists) {
    const auto name = builder.CreateString(key);
    const auto ints = builder.CreateVector(values);
    espdl::AttributeBuilder out(builder);
    out.add_name(name);
    out.add_attr_type(espdl::AttributeType::INTS);
    out.add_ints(ints);
    attributes.push_back(out.Finish());
  }
  for (const auto& [key, text] : node.texts) {
    const auto name = builder.CreateString(key);
    const auto s = builder.CreateVector(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    espdl::AttributeBuilder out(builder);
    out.add_name(name);
    out.add_attr_type(espdl::AttributeType::STRING);
    out.add_s(s);
    attributes.push_back(out.Finish());
  }
  const auto inputs = builder.CreateVectorOfStrings(node.inputs);
  const auto outputs = builder.CreateVectorOfStrings(node.outputs);
  const auto name = builder.CreateString(node.name.empty() ? node.op : node.name);
  const auto op = builder.CreateString(node.op);
  const auto list = builder.CreateVector(attributes);
  return espdl::CreateNode(builder, inputs, outputs, name, op, 0, list);
}

template <class T>
auto write_all(FlatBufferBuilder& builder, const std::vector<T>& items) {
  std::vector<decltype(write(builder, items[0]))> written;
  for (const T& item : items) written.push_back(write(builder, item));
  return builder.CreateVector(written);
}

void put_u32(std::vector<std::byte>& to, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) to.push_back(static_cast<std::byte>(value >> (8 * i)));
}

}  // namespace

std::vector<std::byte> TinyModel::file(const std::string& magic) const {
  FlatBufferBuilder builder;
  const auto node_list = write_all(builder, nodes);
  const auto name = builder.CreateString("tiny");
  const auto initializers = write_all(builder, constants);
  const auto input_list = write_all(builder, inputs), output_list = write_all(builder, outputs),
             value_list = write_all(builder, values);
  const auto test_input_list = write_all(builder, test_inputs),
             test_output_list = write_all(builder, test_outputs);
  const auto graph = espdl::CreateGraph(builder, node_list, name, initializers, 0, input_list, output_list,
                                        value_list, 0, test_input_list, test_output_list);
  std::vector<Offset<espdl::StringStringEntry>> entries;
  for (const auto& [key, value] : metadata)
    entries.push_back(espdl::CreateStringStringEntryDirect(builder, key.c_str(), value.c_str()));
  const auto properties = builder.CreateVector(entries);
  espdl::ModelBuilder model(builder);
  model.add_graph(graph);
  model.add_metadata_props(properties);
  builder.Finish(model.Finish());

  std::vector<std::byte> bytes;
  for (const char letter : magic) bytes.push_back(static_cast<std::byte>(letter));
  put_u32(bytes, 0);
  put_u32(bytes, builder.GetSize());
  if (magic == "EDL2") put_u32(bytes, 0);
  const auto* first = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  bytes.insert(bytes.end(), first, first + builder.GetSize());
  return bytes;
}

TinyModel tiny_conv() {
  TinyModel model;
  model.inputs = {{"x", {1, 5, 2}, espdl::TensorDataType::INT8, -4}};
  model.outputs = {{"y", {1, 4, 3}, espdl::TensorDataType::INT8, -3}};
  // Labels: kernel, C, N. Bytes: [N][kernel][C].
  model.constants = {
      {"w", {2, 2, 3}, espdl::TensorDataType::INT8, {1, 2, 3, 4, -1, -2, -3, -4, 5, 0, 0, 5}, {-2}, "NWC"},
      {"b", {3}, espdl::TensorDataType::INT32, {3, 100, -7}, {-6}}};
  model.nodes = {{"Conv",
                  {"x", "w", "b"},
                  {"y"},
                  {{"group", 1}},
                  {{"kernel_shape", {2}}, {"strides", {1}}, {"dilations", {1}}, {"pads", {0, 0}}},
                  {{"activation", "Relu"}, {"quant_type", "S8"}}}};
  return model;
}

}  // namespace runnel::test
