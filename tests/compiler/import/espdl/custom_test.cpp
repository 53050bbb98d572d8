// Types of nodes that only the application knows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/import/espdl/importer.h"
#include "tests/compiler/import/espdl/tiny_model.h"

namespace runnel::compiler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// x [1, 5, 2], constant k -> Fold (attributes) -> y [1, 5, 1]
test::TinyModel tiny_fold() {
  test::TinyModel model;
  model.inputs = {{"x", {1, 5, 2}, espdl::TensorDataType::INT8, -4}};
  model.outputs = {{"y", {9, 9, 9}, espdl::TensorDataType::INT16, -7}};  // shapes of files are not used
  model.constants = {{"k", {3}, espdl::TensorDataType::INT8, {1, 2, 3}, {-2}}};
  model.nodes = {
      {"Fold", {"x", "", "k"}, {"y"}, {{"times", 4}}, {{"taps", {1, 2, 1}}}, {{"mode", "soft"}}, "fold it"}};
  return model;
}

CustomOperator fold() {
  return {.op_type = "Fold",
          .version = 3,
          .shapes = [](const CustomNode& node) -> Result<std::vector<std::vector<std::int32_t>>> {
            if (node.inputs.size() != 3)
              return Status(Code::invalid_data) << node.inputs.size() << " inputs, expected 3";
            std::vector<std::int32_t> shape = node.inputs[0]->shape;
            shape.back() /= 2;
            return std::vector<std::vector<std::int32_t>>{shape};
          }};
}
Result<EspdlImport> import(const test::TinyModel& model, std::vector<CustomOperator> custom) {
  return import_espdl(model.file(), {.target = EspdlTarget::c, .custom_operators = std::move(custom)});
}
std::string refusal(const test::TinyModel& model, std::vector<CustomOperator> custom) {
  const auto imported = import(model, std::move(custom));
  return imported.ok() ? "accepted" : std::string(imported.status().text());
}

TEST(EspdlCustomOperator, IsPassedOn) {
  const auto imported = import(tiny_fold(), {fold()});
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  const Graph& graph = imported->graph;
  ASSERT_EQ(graph.nodes.size(), 1u);
  const Node& node = graph.nodes[0];
  EXPECT_EQ(node.code, OpCode::custom);
  EXPECT_EQ(node.arithmetic, Arithmetic{3});
  EXPECT_EQ(node.name, "fold it");
  ASSERT_EQ(node.inputs.size(), 3u);
  EXPECT_EQ(node.inputs[1], kAbsent);
  const Tensor& k = graph.tensors[static_cast<std::size_t>(node.inputs[2])];
  EXPECT_THAT(k.shape, ElementsAre(3));
  EXPECT_TRUE(k.data.has_value());
  const Tensor& y = graph.tensors[static_cast<std::size_t>(graph.outputs[0])];
  EXPECT_THAT(y.shape, ElementsAre(1, 5, 1));
  EXPECT_EQ(y.dtype, DType::int16);
  EXPECT_THAT(y.exponents, ElementsAre(-7));
  const auto& options = std::get<CustomOptions>(node.options);
  EXPECT_EQ(options.name, "Fold");
  ASSERT_EQ(options.attributes.size(), 3u);  // by name
  EXPECT_EQ(options.attributes[0].name, "mode");
  EXPECT_EQ(std::get<std::string>(options.attributes[0].value), "soft");
  EXPECT_THAT(std::get<std::vector<std::int64_t>>(options.attributes[1].value), ElementsAre(1, 2, 1));
  EXPECT_THAT(std::get<std::vector<std::int64_t>>(options.attributes[2].value), ElementsAre(4));
}

TEST(EspdlCustomOperator, WithoutAFunctionTheShapeStays) {
  const auto imported = import(tiny_fold(), {{.op_type = "Fold"}});
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  EXPECT_THAT(imported->graph.tensors[static_cast<std::size_t>(imported->graph.outputs[0])].shape,
              ElementsAre(1, 5, 2));
}

TEST(EspdlCustomOperator, UnknownTypesStayUnknown) {
  EXPECT_THAT(refusal(tiny_fold(), {}), HasSubstr("operators that cannot be imported: Fold"));
  EXPECT_THAT(refusal(tiny_fold(), {{.op_type = "fold"}}),
              HasSubstr("operators that cannot be imported: Fold"));
}

TEST(EspdlCustomOperator, KnownTypesAreNotReplaced) {
  for (const char* known : {"Conv", "Sigmoid"})
    EXPECT_THAT(refusal(tiny_fold(), {fold(), {.op_type = known}}),
                HasSubstr("runnel imports this type itself"));
}

TEST(EspdlCustomOperator, WhatTheApplicationSaysIsChecked) {
  const auto stating = [](Result<std::vector<std::vector<std::int32_t>>> shapes) {
    return std::vector<CustomOperator>{
        {.op_type = "Fold", .shapes = [shapes](const CustomNode&) { return shapes; }}};
  };
  EXPECT_THAT(refusal(tiny_fold(), stating(Status(Code::unsupported, "too few taps"))),
              HasSubstr("node \"fold it\" (Fold): too few taps"));
  EXPECT_THAT(refusal(tiny_fold(), stating(std::vector<std::vector<std::int32_t>>{})),
              HasSubstr("shapes of 0 outputs were stated, expected 1"));
  EXPECT_THAT(refusal(tiny_fold(), stating(std::vector<std::vector<std::int32_t>>{{1, 0, 2}})),
              HasSubstr("dimensions of 1 or more"));
  EXPECT_THAT(refusal(tiny_fold(), stating(std::vector<std::vector<std::int32_t>>{{1, -5}})),
              HasSubstr("dimensions of 1 or more"));
  EXPECT_THAT(refusal(tiny_fold(),
                      stating(std::vector<std::vector<std::int32_t>>{{2000000000, 2000000000, 2000000000}})),
              HasSubstr("more than"));
  for (const int version : {0, 256, -1})
    EXPECT_THAT(refusal(tiny_fold(), {{.op_type = "Fold", .version = version}}),
                HasSubstr("expected 1 to 255"));
}

TEST(EspdlCustomOperator, AFirstInputThatIsAbsentHasNoShape) {
  test::TinyModel model = tiny_fold();
  model.nodes[0].inputs = {"", "x"};
  EXPECT_THAT(refusal(model, {{.op_type = "Fold"}}), HasSubstr("input 0 is absent"));
}

}  // namespace
}  // namespace runnel::compiler
