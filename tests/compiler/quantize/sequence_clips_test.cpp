// Steps with the state that the float model leaves before each.
#include "compiler/quantize/calibrate/sequence_clips.h"

#include <gmock/gmock.h>

#include "compiler/quantize/quantize.h"
#include "tests/compiler/quantize/small_graph.h"

namespace runnel::test {
namespace {

using namespace compiler::quantizer;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;

// y = x + h; y is the next h.
compiler::Graph running_sum() {
  compiler::Graph graph;
  for (const char* name : {"x", "h", "y"}) {
    compiler::Tensor tensor;
    tensor.name = name;
    tensor.shape = {1, 2};
    tensor.dtype = DType::float32;
    graph.tensors.push_back(std::move(tensor));
  }
  compiler::Node add;
  add.name = "sum";
  add.code = OpCode::add;
  add.inputs = {0, 1};
  add.outputs = {2};
  add.options = compiler::BinaryOptions{};
  graph.nodes.push_back(std::move(add));
  graph.inputs = {0, 1};
  graph.outputs = {2};
  graph.pipeline.usage = UsageKind::step;
  graph.pipeline.states = {{2, 1}};
  return graph;
}

std::unique_ptr<Clips> steps(int count) {
  std::vector<Clip> clips;
  for (int i = 1; i <= count; ++i) clips.push_back({{static_cast<float>(i), static_cast<float>(-i)}});
  return std::make_unique<MemoryClips>(std::move(clips));
}

TEST(SequenceClips, StatesGoFromStepToStepAndBeginWithZeros) {
  const compiler::Graph graph = running_sum();
  const auto clips = sequence_clips(graph, steps(4), {true, false, false, true});
  ASSERT_TRUE(clips.ok()) << clips.status().text();
  ASSERT_EQ((*clips)->size(), 4u);
  Clip clip;
  ASSERT_TRUE((*clips)->read(2, clip).ok());
  EXPECT_THAT(clip[0], ElementsAre(3, -3));
  EXPECT_THAT(clip[1], ElementsAre(3, -3));  // 1 + 2
  ASSERT_TRUE((*clips)->read(3, clip).ok());
  EXPECT_THAT(clip[1], ElementsAre(0, 0));
  ASSERT_TRUE((*clips)->read(0, clip).ok());
  EXPECT_THAT(clip[1], ElementsAre(0, 0));
}

TEST(SequenceClips, AStateHasOneTypeAndScaleOnBothSides) {
  const compiler::Graph graph = running_sum();
  const auto clips = sequence_clips(graph, steps(12));
  ASSERT_TRUE(clips.ok()) << clips.status().text();
  for (const DType type : {DType::int8, DType::int16, DType::float32}) {
    Options options = options_for("generic");
    options.methods = Methods{};
    options.types = {{"sum", type}};
    const auto made = quantize(graph, **clips, options);
    ASSERT_TRUE(made.ok()) << made.status().text();
    const compiler::Tensor &in = made->graph.tensors[1], &out = made->graph.tensors[2];
    EXPECT_EQ(in.dtype, type);
    EXPECT_EQ(out.dtype, type);
    EXPECT_EQ(in.exponents, out.exponents);
  }
}

TEST(SequenceClips, StatesOfAnotherSizeAreRefused) {
  compiler::Graph graph = running_sum();
  graph.tensors[1].shape = {1, 1};
  const auto clips = sequence_clips(graph, steps(2));
  EXPECT_THAT(std::string(clips.status().text()), testing::HasSubstr("state y=h: 2 values for 1"));
}

}  // namespace
}  // namespace runnel::test
