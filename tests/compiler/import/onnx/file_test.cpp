// Files that are not what they should be, and what a file leaves open.
#include <gmock/gmock.h>

#include <random>

#include "tests/compiler/import/onnx/graph_maker.h"
#include "tests/support/data.h"

namespace runnel {
namespace {

using test::Bytes;
using test::Dims;
using test::Floats;
using test::OnnxMaker;
using testing::ElementsAre;
using testing::HasSubstr;

std::string why(const OnnxMaker& maker, const compiler::OnnxOptions& options = {}) {
  const auto imported = maker.import(options);
  return imported.ok() ? "imported" : std::string(imported.status().text());
}

OnnxMaker adding(const Dims& dims) {
  OnnxMaker maker;
  maker.input("x", dims).output("y").floats("w", {2}, {1, 2});
  maker.node("Add", {"x", "w"}, {"y"});
  return maker;
}

TEST(OnnxFile, WeightsOfAnotherSizeThanTheirShape) {
  OnnxMaker maker = adding({2});
  maker.model.mutable_graph()->mutable_initializer(0)->set_dims(0, 3);
  EXPECT_THAT(why(maker), HasSubstr("8 bytes for shape [3] of float32, expected 12"));
  maker.model.mutable_graph()->mutable_initializer(0)->set_dims(0, -1);
  EXPECT_THAT(why(maker), HasSubstr("dimensions of 0 or more"));
  for (int i = 0; i < 5; ++i)
    maker.model.mutable_graph()->mutable_initializer(0)->add_dims(std::int64_t{1} << 60);
  maker.model.mutable_graph()->mutable_initializer(0)->set_dims(0, 3);
  EXPECT_THAT(why(maker), HasSubstr("at most"));
}

// Nothing is copied from an empty text, not even no bytes: UndefinedBehaviorSanitizer watches.
TEST(OnnxFile, WeightsOfNoBytes) {
  OnnxMaker maker = adding({2});
  maker.model.mutable_graph()->mutable_initializer(0)->set_raw_data("");
  EXPECT_THAT(why(maker), HasSubstr("0 bytes for shape [2] of float32, expected 8"));
}

TEST(OnnxFile, DataInOtherFilesIsRefusedByName) {
  OnnxMaker maker = adding({2});
  auto* tensor = maker.model.mutable_graph()->mutable_initializer(0);
  tensor->set_data_location(::onnx::TensorProto::EXTERNAL);
  auto* entry = tensor->add_external_data();
  entry->set_key("location");
  entry->set_value("../weights.bin");
  EXPECT_THAT(why(maker), HasSubstr("\"../weights.bin\""));
}

TEST(OnnxFile, OpsetsOutsideTheRange) {
  EXPECT_THAT(why(OnnxMaker(6)), HasSubstr("opset 6, expected 7 to 21"));
  EXPECT_THAT(why(OnnxMaker(22)), HasSubstr("opset 22, expected 7 to 21"));
}

TEST(OnnxFile, NamesThatNothingDefines) {
  OnnxMaker maker = adding({2});
  maker.model.mutable_graph()->mutable_node(0)->set_input(1, "nothing");
  EXPECT_THAT(why(maker), HasSubstr("reads \"nothing\""));
}

TEST(OnnxFile, AttributesOfAnotherType) {
  OnnxMaker maker;
  maker.input("x", {2}).output("y");
  test::set(maker.node("Softmax", {"x"}, {"y"}), "axis", 1.0f);
  EXPECT_THAT(why(maker), HasSubstr("attribute \"axis\""));
}

TEST(OnnxFile, OpenAxes) {
  OnnxMaker maker = adding({0, 0, 2});
  const auto shape = [&](const compiler::OnnxOptions& options) {
    const auto imported = maker.import(options);
    return imported.ok() ? imported->graph.tensors[static_cast<std::size_t>(imported->graph.inputs[0])].shape
                         : std::vector<std::int32_t>();
  };
  EXPECT_THAT(shape({}), ElementsAre(1, 128, 2));
  EXPECT_THAT(maker.import()->notes, ElementsAre(HasSubstr("[1, 128, 2]")));
  EXPECT_THAT(maker.import()->graph.time_axes, ElementsAre(1));
  compiler::OnnxOptions asked, counted, seen, strange, wrong, unknown;
  asked.shapes["x"] = {1, 50, 2};
  counted.data_elements["x"] = 60;
  seen.data_shapes["x"] = {1, 7, 2};
  strange.data_shapes["x"] = {1, 7, 9};
  wrong.shapes["x"] = {1, 50, 3};
  unknown.shapes["z"] = {1};
  EXPECT_THAT(shape(asked), ElementsAre(1, 50, 2));
  EXPECT_THAT(shape(counted), ElementsAre(1, 30, 2));
  EXPECT_THAT(shape(seen), ElementsAre(1, 7, 2));
  EXPECT_THAT(shape(strange), ElementsAre(1, 128, 2)) << "data that does not fit is not heeded";
  EXPECT_THAT(why(maker, wrong), HasSubstr("shape [1, 50, 3] for input \"x\""));
  EXPECT_THAT(why(maker, unknown), HasSubstr("which the model does not have"));
}

// The length of time can be chosen. Two open axes would be guesses.
TEST(OnnxFile, OpenAxesBesideBatchAndTimeAreRefusedByName) {
  OnnxMaker maker = adding({0, 0, 0});
  auto& dims =
      *maker.model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  dims.mutable_dim(1)->set_dim_param("bins");
  EXPECT_THAT(why(maker), HasSubstr("input \"x\" leaves axes 1 (bins) and 2"));
  EXPECT_THAT(why(maker), HasSubstr("expected only batch and time"));
  compiler::OnnxOptions asked, part;
  asked.shapes["x"] = {1, 3, 2};
  part.shapes["x"] = {1, -1, 2};
  EXPECT_EQ(why(maker, asked), "imported");
  EXPECT_EQ(why(maker, part), "imported");
}

TEST(OnnxFile, IsKnownByItsFirstFields) {
  EXPECT_TRUE(compiler::looks_like_onnx(adding({2}).bytes()));
  const Bytes other(64, std::byte{0x20});
  EXPECT_FALSE(compiler::looks_like_onnx(other));
  EXPECT_FALSE(compiler::looks_like_onnx({}));
}

// Whatever the bytes are, the answer is a model or a reason.
TEST(OnnxFile, DamagedFilesAreRefusedOrRead) {
  OnnxMaker maker(13);
  maker.input("x", {1, 2, 0})
      .output("y")
      .floats("w", {2, 2, 3}, test::ramp(12))
      .integers("pads", {6}, {0, 0, 2, 0, 0, 0})
      .integers("shape", {2}, {0, -1});
  maker.node("Pad", {"x", "pads"}, {"p"});
  test::set(maker.node("Conv", {"p", "w"}, {"c"}), "dilations", Dims{1});
  test::set(maker.node("Transpose", {"c"}, {"t"}), "perm", Dims{0, 2, 1});
  maker.node("Reshape", {"t", "shape"}, {"y"});
  const Bytes whole = maker.bytes();
  ASSERT_TRUE(compiler::import_onnx(whole).ok());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto imported = compiler::import_onnx(std::span(whole).first(length));
    EXPECT_TRUE(imported.ok() || !imported.status().text().empty());
  }
  std::mt19937 random(3);
  std::size_t refused = 0;
  constexpr std::size_t kMutations = 20000;
  for (std::size_t i = 0; i < kMutations; ++i) {
    Bytes damaged = whole;
    for (std::size_t k = 0; k <= i % 4; ++k)
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    const auto imported = compiler::import_onnx(damaged);
    if (imported.ok()) {
      (void)test::RunnableGraph::make(imported->graph);
    } else {
      ++refused;
    }
  }
  EXPECT_GT(refused, kMutations / 10);
}

}  // namespace
}  // namespace runnel
