// Tensors of .onnx files by their types and fields, and what of a file is refused before its graph is looked
// at.
#include "compiler/import/onnx/source.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "tests/compiler/import/onnx/graph_maker.h"

namespace runnel::compiler::onnx_source {
namespace {

using ::onnx::TensorProto;
using test::OnnxMaker;

TensorProto tensor(int type, std::int64_t count) {
  TensorProto made;
  made.set_name("w");
  made.set_data_type(type);
  made.add_dims(count);
  return made;
}

template <class T>
std::vector<T> values_of(const TensorProto& proto, DType type) {
  const auto constant = read_tensor(proto);
  EXPECT_TRUE(constant.ok()) << constant.status().text();
  if (!constant.ok()) return {};
  EXPECT_EQ(constant->dtype, type);
  std::vector<T> values(constant->data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), constant->data.data(), constant->data.size());
  return values;
}

// IEEE 754-2008, 3.4: 1 bit of sign, 5 of exponent (bias 15), 10 of fraction.
double half(unsigned bits) {
  const double sign = bits >> 15 != 0 ? -1 : 1, fraction = (bits & 1023) / 1024.0;
  const int exponent = static_cast<int>(bits >> 10 & 31);
  if (exponent == 31)
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  return exponent == 0 ? sign * std::ldexp(fraction, -14) : sign * std::ldexp(1 + fraction, exponent - 15);
}

TEST(OnnxSource, HalvesOfEveryValueInBothFields) {
  constexpr unsigned kAll = 1U << 16;
  TensorProto raw = tensor(TensorProto::FLOAT16, kAll), list = raw;
  for (unsigned bits = 0; bits < kAll; ++bits) {
    const auto word = static_cast<std::uint16_t>(bits);
    raw.mutable_raw_data()->append(reinterpret_cast<const char*>(&word), sizeof word);
    list.add_int32_data(static_cast<std::int32_t>(bits));
  }
  for (const TensorProto& from : {raw, list}) {
    const std::vector<float> values = values_of<float>(from, DType::float32);
    ASSERT_EQ(values.size(), kAll);
    for (unsigned bits = 0; bits < kAll; ++bits) {
      const double expected = half(bits), found = static_cast<double>(values[bits]);
      ASSERT_EQ(std::isnan(found), std::isnan(expected)) << bits;
      if (std::isnan(expected)) continue;
      ASSERT_EQ(found, expected) << bits;
      ASSERT_EQ(std::signbit(found), bits >> 15 != 0) << bits;
    }
  }
}

TEST(OnnxSource, ListsOfEveryType) {
  TensorProto list = tensor(TensorProto::FLOAT, 2);
  for (const float value : {0.1F, -2.5F}) list.add_float_data(value);
  EXPECT_EQ(values_of<float>(list, DType::float32), (std::vector<float>{0.1F, -2.5F}));
  list = tensor(TensorProto::DOUBLE, 2);
  for (const double value : {0.1, -1e300}) list.add_double_data(value);
  EXPECT_EQ(values_of<double>(list, DType::float64), (std::vector<double>{0.1, -1e300}));
  list = tensor(TensorProto::INT64, 2);
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t value : {kFar, std::int64_t{7}}) list.add_int64_data(value);
  EXPECT_EQ(values_of<std::int64_t>(list, DType::int64), (std::vector<std::int64_t>{kFar, 7}));
  const auto of = [](int type, std::vector<std::int32_t> values) {
    TensorProto made = tensor(type, static_cast<std::int64_t>(values.size()));
    for (const std::int32_t value : values) made.add_int32_data(value);
    return made;
  };
  EXPECT_EQ(values_of<std::int32_t>(of(TensorProto::INT32, {-2147483647, 5}), DType::int32),
            (std::vector<std::int32_t>{-2147483647, 5}));
  EXPECT_EQ(values_of<std::int16_t>(of(TensorProto::INT16, {-32768, 32767}), DType::int16),
            (std::vector<std::int16_t>{-32768, 32767}));
  EXPECT_EQ(values_of<std::uint16_t>(of(TensorProto::UINT16, {0, 65535}), DType::uint16),
            (std::vector<std::uint16_t>{0, 65535}));
  EXPECT_EQ(values_of<std::int8_t>(of(TensorProto::INT8, {-128, 127}), DType::int8),
            (std::vector<std::int8_t>{-128, 127}));
  EXPECT_EQ(values_of<std::uint8_t>(of(TensorProto::UINT8, {0, 255}), DType::uint8),
            (std::vector<std::uint8_t>{0, 255}));
  EXPECT_EQ(values_of<std::uint8_t>(of(TensorProto::BOOL, {1, 0, 1}), DType::boolean),
            (std::vector<std::uint8_t>{1, 0, 1}));
}

std::string refusal(const TensorProto& proto) {
  const auto constant = read_tensor(proto);
  return constant.ok() ? "accepted" : std::string(constant.status().text());
}

TEST(OnnxSource, TensorsThatAreRefused) {
  EXPECT_EQ(refusal(tensor(TensorProto::BFLOAT16, 1)), "tensor \"w\": type 16 of ONNX");
  EXPECT_EQ(refusal(tensor(TensorProto::STRING, 1)), "tensor \"w\": type 8 of ONNX");
  TensorProto few = tensor(TensorProto::FLOAT16, 3);
  few.set_raw_data("12345");
  EXPECT_EQ(refusal(few), "tensor \"w\": 5 bytes for shape [3] of float32, expected 6");
  TensorProto segment = tensor(TensorProto::FLOAT, 1);
  segment.mutable_segment()->set_begin(0);
  EXPECT_EQ(refusal(segment), "tensor \"w\": stored in segments");
}

std::string why(const OnnxMaker& maker) {
  const auto imported = maker.import();
  return imported.ok() ? "imported" : std::string(imported.status().text());
}

OnnxMaker relu() {
  OnnxMaker maker;
  maker.input("x", {2}).output("y");
  maker.node("Relu", {"x"}, {"y"});
  return maker;
}

TEST(OnnxSource, FunctionsAreRefusedByName) {
  OnnxMaker maker = relu();
  EXPECT_EQ(why(maker), "imported");
  maker.model.add_functions()->set_name("Swish");
  EXPECT_EQ(why(maker), "model functions (\"Swish\"), expected a plain graph");
}

TEST(OnnxSource, OperatorsOfOtherDomainsAloneAreRefused) {
  OnnxMaker maker = relu();
  maker.model.mutable_opset_import(0)->set_domain("com.example");
  EXPECT_EQ(why(maker), "no operators of ONNX itself, expected opset 7 to 21");
}

TEST(OnnxSource, AttributesOfFunctionsAreRefusedByName) {
  OnnxMaker maker = relu();
  auto* attribute = maker.model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name("alpha");
  attribute->set_ref_attr_name("slope");
  EXPECT_EQ(why(maker), "node \"Relu_1\" (Relu): attribute \"alpha\" refers to a function's attribute");
}

// Nothing of so many bytes is read: they need not be memory.
TEST(OnnxSource, TwoGibibytesAreNoMessage) {
  constexpr std::size_t kBytes = std::size_t{1} << 31;
  void* const room = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) GTEST_SKIP() << "SKIPPED: no room for 2 GiB of addresses";
  const auto model = read_model(std::span(static_cast<const std::byte*>(room), kBytes));
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), Code::unsupported);
  EXPECT_EQ(model.status().text(),
            "2147483648 bytes, expected fewer than 2^31: protobuf reads no larger messages");
  munmap(room, kBytes);
}

}  // namespace
}  // namespace runnel::compiler::onnx_source
