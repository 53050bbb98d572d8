// Constants of .espdl files by their types and fields, and what is refused of a file's tables.
#include "compiler/espdl/source.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "compiler/espdl/espdl_generated.h"

namespace runnel::compiler::espdl_source {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using Type = espdl::TensorDataType;
using Tensors = std::vector<Offset<espdl::Tensor>>;

Offset<espdl::ValueInfo> value(Builder& b, const char* name, Type type = Type::INT8) {
  const auto tensor = espdl::CreateTensorTypeAndShape(b, type, espdl::CreateTensorShape(b));
  return espdl::CreateValueInfoDirect(
      b, name, espdl::CreateTypeInfo(b, espdl::TypeInfoValue::TensorTypeAndShape, tensor.Union()));
}

// y = Relu(x), with the constants that `add` makes, `count` times the same node.
Result<Model> model(const std::function<Tensors(Builder&)>& add, std::size_t count = 1) {
  Builder b;
  const Tensors constants = add(b);
  const std::vector inputs{value(b, "x")}, outputs{value(b, "y")};
  const std::vector names{b.CreateString("x")}, results{b.CreateString("y")};
  const std::vector nodes(count, espdl::CreateNodeDirect(b, &names, &results, "relu", "Relu"));
  const auto graph = espdl::CreateGraphDirect(b, &nodes, "made", &constants, nullptr, &inputs, &outputs);
  espdl::ModelBuilder made(b);
  made.add_graph(graph);
  b.Finish(made.Finish());
  const auto file = wrap_payload(std::as_bytes(std::span(b.GetBufferPointer(), std::size_t{b.GetSize()})));
  if (!file.ok()) return file.status();
  const auto payload = EspdlPayload::open(*file);
  if (!payload.ok()) return payload.status();
  return read_model(*payload);
}
std::string refusal(const std::function<Tensors(Builder&)>& add, std::size_t count = 1) {
  const auto read = model(add, count);
  return read.ok() ? "accepted" : std::string(read.status().text());
}

// The field in which the elements of a constant are.
struct Fields {
  std::vector<float> floats = {};
  std::vector<std::int32_t> words = {};
  std::vector<std::int64_t> longs = {};
  std::vector<double> doubles = {};
};
Offset<espdl::Tensor> tensor(Builder& b, Type type, std::int64_t count, const Fields& fields,
                             std::int64_t exponent = 0) {
  const std::vector<std::int64_t> dims{count}, exponents{exponent};
  const auto name = b.CreateString("w");
  const auto shape = b.CreateVector(dims), scales = b.CreateVector(exponents);
  const auto floats = b.CreateVector(fields.floats);
  const auto words = b.CreateVector(fields.words);
  const auto longs = b.CreateVector(fields.longs);
  const auto doubles = b.CreateVector(fields.doubles);
  espdl::TensorBuilder made(b);
  made.add_name(name);
  made.add_dims(shape);
  made.add_exponents(scales);
  made.add_data_type(type);
  made.add_float_data(floats);
  made.add_int32_data(words);
  made.add_int64_data(longs);
  made.add_double_data(doubles);
  return made.Finish();
}
Constant constant(Type type, std::int64_t count, const Fields& fields, std::int64_t exponent = 0) {
  auto read = model([&](Builder& b) { return Tensors{tensor(b, type, count, fields, exponent)}; });
  EXPECT_TRUE(read.ok()) << read.status().text();
  return read.ok() ? read->constants.at("w") : Constant();
}

// From the fields of 32 and 64 bits: the extremes of the type.
template <class T>
void expect_integers(Type type, DType expected) {
  using Limits = std::numeric_limits<T>;
  const std::vector<std::int64_t> values{Limits::lowest(), 0, 1, 100, Limits::max()};
  for (const bool words : {true, false}) {
    if (words && sizeof(T) == 8) continue;
    Fields fields;
    if (words)
      for (const std::int64_t one : values) fields.words.push_back(static_cast<std::int32_t>(one));
    else
      fields.longs = values;
    const Constant read = constant(type, 5, fields);
    EXPECT_EQ(read.dtype, expected);
    EXPECT_EQ(read.data.size(), 5 * sizeof(T));
    const auto found = integers_of(read);
    ASSERT_TRUE(found.ok()) << found.status().text();
    EXPECT_EQ(*found, values) << name_of(expected) << (words ? " of words" : " of longs");
  }
}

TEST(EspdlSource, IntegersOfEveryTypeInBothFields) {
  expect_integers<std::int8_t>(Type::INT8, DType::int8);
  expect_integers<std::uint8_t>(Type::UINT8, DType::uint8);
  expect_integers<std::int16_t>(Type::INT16, DType::int16);
  expect_integers<std::uint16_t>(Type::UINT16, DType::uint16);
  expect_integers<std::int32_t>(Type::INT32, DType::int32);
  expect_integers<std::int64_t>(Type::INT64, DType::int64);
  const Constant flags = constant(Type::BOOL, 3, {.words = {1, 0, 1}});
  EXPECT_EQ(flags.dtype, DType::boolean);
  EXPECT_EQ(*integers_of(flags), (std::vector<std::int64_t>{1, 0, 1}));
}

TEST(EspdlSource, RealNumbers) {
  const Constant single = constant(Type::FLOAT, 2, {.floats = {0.1F, -3}});
  EXPECT_EQ(single.dtype, DType::float32);
  EXPECT_EQ(*numbers_of(single), (std::vector<double>{static_cast<double>(0.1F), -3}));
  const Constant twice = constant(Type::DOUBLE, 2, {.doubles = {0.1, -1e300}});
  EXPECT_EQ(twice.dtype, DType::float64);
  EXPECT_EQ(*numbers_of(twice), (std::vector<double>{0.1, -1e300}));
  EXPECT_EQ(integers_of(twice).status().text(), "constant \"w\": float64, expected integers");
  // Of integers: with their exponent.
  EXPECT_EQ(*numbers_of(constant(Type::INT16, 2, {.words = {-3, 5}}, -2)),
            (std::vector<double>{-0.75, 1.25}));
}

TEST(EspdlSource, ConstantsThatAreRefused) {
  const auto of = [](Type type, std::int64_t count, const Fields& fields, std::int64_t exponent = 0) {
    return refusal([&](Builder& b) { return Tensors{tensor(b, type, count, fields, exponent)}; });
  };
  EXPECT_EQ(of(Type::INT16, 3, {.words = {1, 2}}), "tensor \"w\": 4 bytes of data, expected 6");
  EXPECT_EQ(of(Type::DOUBLE, 1, {.floats = {1}}), "tensor \"w\": 0 bytes of data, expected 8");
  EXPECT_EQ(of(Type::FLOAT16, 1, {.words = {1}}), "tensor \"w\": data type 10 is not known");
  EXPECT_EQ(of(Type::INT8, -1, {.words = {1}}), "tensor \"w\": dimension 0 is -1");
  EXPECT_EQ(of(Type::INT8, 1, {.words = {1}}, 101), "tensor \"w\": exponent 101, expected -100 to 100");
  EXPECT_EQ(
      refusal([](Builder& b) {
        return Tensors{tensor(b, Type::INT8, 1, {.words = {1}}), tensor(b, Type::INT8, 1, {.words = {1}})};
      }),
      "constant \"w\" occurs twice");
  EXPECT_EQ(refusal([](Builder& b) {
              const std::vector<std::int64_t> dims{1};
              return Tensors{espdl::CreateTensorDirect(b, &dims, Type::INT8)};
            }),
            "tensor \"\": 0 bytes of data, expected 1");
  EXPECT_EQ(refusal([](Builder& b) {
              const std::vector<std::int64_t> dims{0};
              return Tensors{espdl::CreateTensorDirect(b, &dims, Type::INT8)};
            }),
            "a constant without name");
}

TEST(EspdlSource, NodesHaveALimit) {
  const auto nothing = [](Builder&) { return Tensors(); };
  EXPECT_EQ(refusal(nothing, kMaxNodes), "node \"relu\" (Relu): its output \"y\" exists already");
  EXPECT_EQ(refusal(nothing, kMaxNodes + 1), "100001 nodes, expected at most 100000");
}

}  // namespace
}  // namespace runnel::compiler::espdl_source
