#include "examples/custom_operator/espdl_file.h"

#include <cstdint>
#include <cstring>
#include <string>

#include "compiler/espdl/espdl_generated.h"

namespace example {
namespace {

namespace espdl = runnel::espdl;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

Offset<espdl::ValueInfo> value(FlatBufferBuilder& builder, const char* name) {
  std::vector<Offset<espdl::Dimension>> dims;
  for (const std::int64_t dim : {1, 100, 2}) {
    dims.push_back(espdl::CreateDimension(
        builder, espdl::CreateDimensionValue(builder, espdl::DimensionValueType::VALUE, dim)));
  }
  const auto tensor = espdl::CreateTensorTypeAndShape(
      builder, espdl::TensorDataType::INT8, espdl::CreateTensorShape(builder, builder.CreateVector(dims)));
  const auto type = espdl::CreateTypeInfo(builder, espdl::TypeInfoValue::TensorTypeAndShape, tensor.Union());
  const std::vector<std::int64_t> exponents = {-5};
  return espdl::CreateValueInfoDirect(builder, name, type, nullptr, &exponents);
}

Offset<espdl::Node> node(FlatBufferBuilder& builder, const char* type, const char* from, const char* to,
                         const std::vector<Offset<espdl::Attribute>>& attributes) {
  const auto inputs = builder.CreateVectorOfStrings({from}), outputs = builder.CreateVectorOfStrings({to});
  const auto name = builder.CreateString(type), op = builder.CreateString(type);
  return espdl::CreateNode(builder, inputs, outputs, name, op, 0, builder.CreateVector(attributes));
}

}  // namespace

std::vector<std::byte> espdl_file() {
  FlatBufferBuilder builder;
  const espdl::AttributeI two(2);
  const auto shift = builder.CreateString("shift");
  espdl::AttributeBuilder attribute(builder);
  attribute.add_name(shift);
  attribute.add_attr_type(espdl::AttributeType::INT);
  attribute.add_i(&two);
  const auto written = attribute.Finish();
  const std::vector<Offset<espdl::Node>> nodes = {node(builder, "Relu", "x", "a", {}),
                                                  node(builder, "ExponentialAverage", "a", "y", {written})};
  const std::vector<Offset<espdl::ValueInfo>> inputs = {value(builder, "x")}, outputs = {value(builder, "y")},
                                              between = {value(builder, "a")};
  const auto graph =
      espdl::CreateGraphDirect(builder, &nodes, "averages", nullptr, nullptr, &inputs, &outputs, &between);
  espdl::ModelBuilder model(builder);
  model.add_graph(graph);
  builder.Finish(model.Finish());

  // The header of EDL2: magic, mode 0 (plain), length, zero.
  const std::uint32_t header[4] = {0x324C4445, 0, builder.GetSize(), 0};
  std::vector<std::byte> file(sizeof header + builder.GetSize());
  std::memcpy(file.data(), header, sizeof header);
  std::memcpy(file.data() + sizeof header, builder.GetBufferPointer(), builder.GetSize());
  return file;
}

}  // namespace example
