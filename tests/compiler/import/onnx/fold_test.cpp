// What depends on shapes and constants alone is computed while importing.
#include <gmock/gmock.h>

#include "tests/compiler/import/onnx/graph_maker.h"

namespace runnel {
namespace {

using test::Dims;
using test::Floats;
using test::OnnxMaker;
using test::ramp;
using test::set;
using testing::ElementsAre;
using testing::HasSubstr;

// Runs x of these dimensions through Reshape to a shape that was computed, and gives the shape of the result.
std::vector<std::int32_t> shape_of_output(const OnnxMaker& maker) {
  const auto imported = maker.import();
  if (!imported.ok()) {
    ADD_FAILURE() << imported.status().text();
    return {};
  }
  return imported->graph.tensors[static_cast<std::size_t>(imported->graph.outputs[0])].shape;
}

TEST(OnnxFold, ShapeArithmeticDisappears) {
  OnnxMaker maker;
  maker.input("x", {2, 3, 4})
      .output("y")
      .integers("one", {1}, {1})
      .integers("zero", {1}, {0})
      .integers("rest", {1}, {-1})
      .integers("two", {1}, {2});
  maker.node("Shape", {"x"}, {"s"});
  set(maker.node("Gather", {"s", "one"}, {"second"}), "axis", std::int64_t{0});
  maker.node("Mul", {"second", "two"}, {"doubled"});
  maker.node("Sub", {"doubled", "one"}, {"five"});  // 5
  maker.node("Add", {"five", "one"}, {"six"});      // 6
  set(maker.node("Concat", {"six", "rest"}, {"wanted"}), "axis", std::int64_t{0});
  maker.node("Reshape", {"x", "wanted"}, {"y"});
  EXPECT_THAT(shape_of_output(maker), ElementsAre(6, 4));
  EXPECT_EQ(maker.import()->graph.nodes.size(), 1u);
}

TEST(OnnxFold, TorchPaddingChain) {
  // What PyTorch's F.pad exports: a list of pads, filled up, turned round, transposed.
  OnnxMaker maker;
  maker.input("x", {1, 1, 4})
      .output("y")
      .integers("pads", {2}, {2, 1})
      .integers("four", {1}, {4})
      .integers("pairs", {2}, {-1, 2});
  maker.integers("last", {1}, {-1})
      .integers("least", {1}, {-9223372036854775807})
      .integers("axis", {1}, {0})
      .integers("back", {1}, {-1});
  auto& zeros = maker.node("ConstantOfShape", {"four"}, {"more"});
  auto* attribute = zeros.add_attribute();
  attribute->set_name("value");
  attribute->set_type(::onnx::AttributeProto::TENSOR);
  attribute->mutable_t()->set_data_type(::onnx::TensorProto::INT64);
  attribute->mutable_t()->add_dims(1);
  attribute->mutable_t()->add_int64_data(0);
  set(maker.node("Concat", {"pads", "more"}, {"filled"}), "axis", std::int64_t{0});
  maker.node("Reshape", {"filled", "pairs"}, {"paired"});
  maker.node("Slice", {"paired", "last", "least", "axis", "back"}, {"reversed"});
  set(maker.node("Transpose", {"reversed"}, {"turned"}), "perm", Dims{1, 0});
  maker.node("Reshape", {"turned", "back"}, {"flat"});
  set(maker.node("Cast", {"flat"}, {"cast"}), "to", std::int64_t{::onnx::TensorProto::INT64});
  maker.node("Pad", {"x", "cast"}, {"padded"});
  maker.node("Neg", {"padded"}, {"y"});
  EXPECT_THAT(maker.run({{1, 2, 3, 4}})[0], ElementsAre(0, 0, -1, -2, -3, -4, 0));
}

TEST(OnnxFold, WhereEqualExpandRange) {
  OnnxMaker maker;
  maker.input("x", {3})
      .output("y")
      .integers("zero", {}, {0})
      .integers("three", {}, {3})
      .integers("one", {}, {1})
      .integers("length", {1}, {3});
  maker.node("Range", {"zero", "three", "one"}, {"counted"});
  maker.node("Equal", {"counted", "one"}, {"hit"});
  maker.node("Expand", {"three", "length"}, {"threes"});
  maker.node("Where", {"hit", "threes", "counted"}, {"chosen"});
  set(maker.node("Cast", {"chosen"}, {"numbers"}), "to", std::int64_t{::onnx::TensorProto::FLOAT});
  maker.node("Add", {"x", "numbers"}, {"y"});
  EXPECT_THAT(maker.run({{10, 20, 30}})[0], ElementsAre(10, 23, 32));
}

void add_branch(::onnx::NodeProto& node, const std::string& name, const std::string& op) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::GRAPH);
  auto* inner = attribute->mutable_g()->add_node();
  inner->set_op_type(op);
  inner->set_name(name);
  inner->add_input("x");
  inner->add_output("inner");
  attribute->mutable_g()->add_output()->set_name("inner");
}

OnnxMaker branching() {
  OnnxMaker maker;
  maker.input("x", {2}).input("sr", {}, ::onnx::TensorProto::INT64).output("y").integers("high", {}, {16000});
  maker.node("Equal", {"sr", "high"}, {"is_high"});
  auto& choice = maker.node("If", {"is_high"}, {"y"});
  add_branch(choice, "then_branch", "Neg");
  add_branch(choice, "else_branch", "Abs");
  return maker;
}

TEST(OnnxFold, IfTakesTheBranchOfAFixedInput) {
  compiler::OnnxOptions low;
  low.values["sr"] = {8000};
  EXPECT_THAT(branching().run({{1, -2}})[0], ElementsAre(-1, 2));  // sr: 16000 by itself
  EXPECT_THAT(branching().run({{1, -2}}, low)[0], ElementsAre(1, 2));
}

TEST(OnnxFold, IfAtRunTimeIsRefused) {
  OnnxMaker maker = branching();
  maker.model.mutable_graph()->mutable_input(1)->set_name("mode");
  maker.model.mutable_graph()->mutable_node(0)->set_input(0, "mode");
  maker.model.mutable_graph()->mutable_node(0)->set_op_type("Greater");
  const auto imported = maker.import();
  ASSERT_FALSE(imported.ok());
  EXPECT_THAT(std::string(imported.status().text()), HasSubstr("computed at run time"));
}

TEST(OnnxFold, SliceTakesWhatTheSpecificationSays) {
  struct Case {
    std::int64_t start, end, step;
    Floats expected;
  };
  for (const Case& one :
       {Case{1, 3, 1, {1, 2}}, Case{-2, 100, 1, {4, 5}}, Case{-100, 2, 1, {0, 1}},
        Case{5, -100, -2, {5, 3, 1}}, Case{100, 0, -1, {5, 4, 3, 2, 1}}, Case{0, 6, 4, {0, 4}}}) {
    OnnxMaker maker;
    maker.input("x", {6})
        .output("y")
        .integers("start", {1}, {one.start})
        .integers("end", {1}, {one.end})
        .integers("axis", {1}, {0})
        .integers("step", {1}, {one.step});
    maker.floats("zero", {}, {0});
    maker.node("Slice", {"x", "start", "end", "axis", "step"}, {"cut"});
    maker.node("Add", {"cut", "zero"}, {"y"});
    EXPECT_EQ(maker.run({ramp(6)})[0], one.expected) << one.start << ':' << one.end << ':' << one.step;
    // The same on a constant.
    OnnxMaker constant;
    constant.input("x", {1})
        .output("y")
        .integers("start", {1}, {one.start})
        .integers("end", {1}, {one.end})
        .integers("axis", {1}, {0})
        .integers("step", {1}, {one.step});
    constant.floats("table", {6}, ramp(6));
    constant.node("Slice", {"table", "start", "end", "axis", "step"}, {"cut"});
    constant.node("Mul", {"cut", "x"}, {"y"});
    EXPECT_EQ(constant.run({{1}})[0], one.expected) << one.start << ':' << one.end << ':' << one.step;
  }
}

}  // namespace
}  // namespace runnel
