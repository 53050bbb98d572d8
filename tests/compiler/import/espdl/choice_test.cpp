// Import of remainders, powers, comparisons, logic, choices, reductions and float32 functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/import/espdl/importer.h"
#include "tests/compiler/import/espdl/tiny_model.h"
#include "tests/compiler/run_graph.h"

namespace runnel::compiler {
namespace {

using test::Bytes;
using test::TinyModel;
using test::TinyNode;
using testing::ElementsAre;
using testing::HasSubstr;
using Type = espdl::TensorDataType;

struct Port {
  Type type = Type::INT8;
  std::vector<std::int64_t> shape;
  std::int64_t exponent = 0;
};

// Inputs x0, x1, .. -> one node -> outputs y0, y1, ..; inputs of the node after those are constants that
// `model` brings.
TinyModel one_node(TinyNode node, const std::vector<Port>& from, const std::vector<Port>& to,
                   std::vector<test::TinyTensor> constants = {}) {
  TinyModel model;
  for (std::size_t i = 0; i < from.size(); ++i)
    model.inputs.push_back({"x" + std::to_string(i), from[i].shape, from[i].type, from[i].exponent});
  for (std::size_t i = 0; i < to.size(); ++i)
    model.outputs.push_back({"y" + std::to_string(i), to[i].shape, to[i].type, to[i].exponent});
  for (const auto& value : model.inputs) node.inputs.push_back(value.name);
  for (const auto& constant : constants) node.inputs.push_back(constant.name);
  for (const auto& value : model.outputs) node.outputs.push_back(value.name);
  model.constants = std::move(constants);
  model.nodes = {std::move(node)};
  return model;
}

std::vector<Bytes> run(const TinyModel& model, const std::vector<Bytes>& inputs) {
  const auto imported = import_espdl(model.file(), {EspdlTarget::c});
  EXPECT_TRUE(imported.ok()) << imported.status().text();
  if (!imported.ok()) return std::vector<Bytes>(model.outputs.size());
  const auto runnable = test::RunnableGraph::make(imported->graph);
  EXPECT_TRUE(runnable.ok()) << runnable.status().text();
  if (!runnable.ok()) return std::vector<Bytes>(model.outputs.size());
  const auto outputs = (*runnable)->whole(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status().text();
  return outputs.ok() ? *outputs : std::vector<Bytes>(model.outputs.size());
}

std::string refusal(const TinyModel& model) {
  const auto result = import_espdl(model.file(), {EspdlTarget::c});
  return result.ok() ? "accepted" : std::string(result.status().text());
}

Bytes int8s(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}
template <class T>
std::vector<T> read(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}
Bytes floats(std::initializer_list<float> values) {
  Bytes bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

const Port kFour{Type::INT8, {1, 4}, -2};

TEST(EspdlChoice, RemaindersTakeTheirSignFromFmod) {
  EXPECT_EQ(run(one_node({"Mod", {}, {}, {{"fmod", 1}}}, {kFour, kFour}, {kFour}),
                {int8s({7, -7, 7, -7}), int8s({3, 3, -3, -3})})[0],
            int8s({1, -1, 1, -1}));
  EXPECT_EQ(run(one_node({"Mod", {}, {}, {{"fmod", 0}}}, {kFour, kFour}, {kFour}),
                {int8s({7, -7, 7, -7}), int8s({3, 3, -3, -3})})[0],
            int8s({1, 2, -2, -1}));
}

TEST(EspdlChoice, Powers) {
  // (q/4) ^ 2 in quarters.
  EXPECT_EQ(run(one_node({"Pow", {}, {}}, {kFour}, {kFour}, {{"two", {1}, Type::INT8, {2}, {0}}}),
                {int8s({4, -8, 2, 100})})[0],
            int8s({4, 16, 1, 127}));
}

TEST(EspdlChoice, ComparisonsAndLogic) {
  const Port truth{Type::BOOL, {1, 4}};
  EXPECT_EQ(run(one_node({"Greater", {}, {}}, {kFour, {Type::INT8, {1, 4}, -1}}, {truth}),
                {int8s({5, 4, -1, 2}), int8s({2, 2, 0, -5})})[0],
            int8s({1, 0, 0, 1}));
  EXPECT_EQ(run(one_node({"LessOrEqual", {}, {}}, {kFour, kFour}, {truth}),
                {int8s({5, 4, -1, 2}), int8s({2, 4, 0, -5})})[0],
            int8s({0, 1, 1, 0}));
  EXPECT_EQ(
      run(one_node({"Xor", {}, {}}, {truth, truth}, {truth}), {int8s({0, 1, 0, 1}), int8s({0, 0, 1, 1})})[0],
      int8s({0, 1, 1, 0}));
  EXPECT_EQ(run(one_node({"Not", {}, {}}, {truth}, {truth}), {int8s({0, 1, 0, 1})})[0], int8s({1, 0, 1, 0}));
  // Truth as numbers.
  EXPECT_THAT(read<float>(run(one_node({"Equal", {}, {}}, {kFour, kFour}, {{Type::FLOAT, {1, 4}}}),
                              {int8s({1, 2, 3, 4}), int8s({1, 0, 3, 0})})[0]),
              ElementsAre(1, 0, 1, 0));
}

TEST(EspdlChoice, Where) {
  TinyModel model = one_node({"Where", {}, {}}, {{Type::BOOL, {1, 4}}, kFour, kFour}, {kFour});
  EXPECT_EQ(run(model, {int8s({1, 0, 0, 1}), int8s({1, 2, 3, 4}), int8s({5, 6, 7, 8})})[0],
            int8s({1, 6, 7, 4}));
}

TEST(EspdlChoice, ArgMaxAndTopK) {
  const Port x{Type::INT8, {1, 2, 3}, -4};
  EXPECT_THAT(read<std::int64_t>(run(
                  one_node({"ArgMax", {}, {}, {{"axis", -1}, {"keepdims", 0}}}, {x}, {{Type::INT64, {1, 2}}}),
                  {int8s({1, 9, 3, -4, -5, -4})})[0]),
              ElementsAre(1, 0));
  const auto outputs = run(
      one_node({"TopK", {}, {}, {{"axis", 2}, {"largest", 0}}}, {x},
               {{Type::INT8, {1, 2, 2}, -4}, {Type::INT64, {1, 2, 2}}}, {{"k", {1}, Type::INT64, {2}, {}}}),
      {int8s({1, 9, 3, -4, -5, -4})});
  EXPECT_EQ(outputs[0], int8s({1, 3, -5, -4}));
  EXPECT_THAT(read<std::int64_t>(outputs[1]), ElementsAre(0, 2, 1, 0));
  EXPECT_THAT(refusal(one_node({"TopK", {}, {}}, {x}, {x, x}, {{"k", {1}, Type::INT64, {4}, {}}})),
              HasSubstr("k is 4, expected 1 to 3"));
  EXPECT_THAT(
      refusal(one_node({"ArgMax", {}, {}, {{"select_last_index", 1}}}, {x}, {{Type::INT64, {1, 2, 3}}})),
      HasSubstr("select_last_index 1, expected 0"));
}

TEST(EspdlChoice, Reductions) {
  const Port x{Type::INT8, {1, 2, 3}, -2};
  const auto reduced = [&](const char* op) {
    return run(one_node({op, {}, {}, {{"keepdims", 0}}, {{"axes", {2}}}}, {x}, {{Type::INT8, {1, 2}, -2}}),
               {int8s({4, -8, 8, 4, 4, 4})})[0];
  };
  EXPECT_EQ(reduced("ReduceL1"), int8s({20, 12}));         // 5 and 3
  EXPECT_EQ(reduced("ReduceL2"), int8s({12, 7}));          // 3 and sqrt 3 = 6.93 / 4
  EXPECT_EQ(reduced("ReduceSumSquare"), int8s({36, 12}));  // 9 and 3
  EXPECT_EQ(reduced("ReduceProd"), int8s({-16, 4}));       // -4 and 1
  EXPECT_EQ(reduced("ReduceLogSum"), int8s({0, 4}));       // log 1, log 3 = 4.39 / 4
  EXPECT_EQ(reduced("ReduceLogSumExp"), int8s({9, 8}));    // log(e + e^-2 + e^2) = 2.3269, log(3e) = 2.0986
}

TEST(EspdlChoice, Float32) {
  const Port x{Type::FLOAT, {1, 4}};
  const Bytes values = floats({-1, 0, 0.5f, 4});
  EXPECT_THAT(read<float>(run(one_node({"Sqrt", {}, {}}, {x}, {x}), {floats({0, 1, 2.25f, 4})})[0]),
              ElementsAre(0, 1, 1.5f, 2));
  EXPECT_THAT(read<float>(run(one_node({"Relu", {}, {}}, {x}, {x}), {values})[0]),
              ElementsAre(0, 0, 0.5f, 4));
  EXPECT_THAT(
      read<float>(run(one_node({"Clip", {}, {}}, {x}, {x},
                               {{"low", {1}, Type::FLOAT, {0}, {}}, {"high", {1}, Type::FLOAT, {2}, {}}}),
                      {values})[0]),
      ElementsAre(0, 0, 0.5f, 2));
  EXPECT_THAT(read<float>(run(one_node({"PRelu", {}, {}}, {x}, {x}, {{"slope", {1}, Type::FLOAT, {3}, {}}}),
                              {values})[0]),
              ElementsAre(-3, 0, 0.5f, 4));
  EXPECT_THAT(read<float>(run(one_node({"HardTanh", {}, {}}, {x}, {x}), {values})[0]),
              ElementsAre(-1, 0, 0.5f, 1));
  EXPECT_THAT(read<float>(run(one_node({"Mish", {}, {}}, {x}, {x}), {values})[0])[3],
              testing::FloatNear(3.9974130f, 1e-6f));
}

}  // namespace
}  // namespace runnel::compiler
