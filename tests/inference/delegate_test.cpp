// Segments of back ends: found by kind, refused where there is no back end, verified before anything reads
// them. And variables.
#include "inference/delegate.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "inference/host/describe.h"
#include "tests/compiler/run_graph.h"
#include "tests/inference/graph_builder.h"

namespace runnel::test {
namespace {

using compiler::DelegateOptions;

// A back end that adds the first byte of its part.
struct BoundOffset : BoundOperator {
  std::int32_t x = 0, y = 0;
  std::size_t count = 0;
  std::byte offset{};
};
void run_offset(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundOffset&>(self);
  for (std::size_t i = 0; i < op.count; ++i) {
    context.data[op.y][i] =
        static_cast<std::byte>(std::to_integer<int>(context.data[op.x][i]) + std::to_integer<int>(op.offset));
  }
}
Result<const BoundOperator*> prepare_offset(PrepareContext& context) noexcept {
  const DelegateSegment segment(context.model(), context.op());
  void* const memory = context.memory().allocate(sizeof(BoundOffset), alignof(BoundOffset));
  if (memory == nullptr) return Status(Code::out_of_memory);
  auto* const bound = new (memory) BoundOffset;
  bound->run = run_offset;
  bound->x = segment.inputs()[0];
  bound->y = segment.outputs()[0];
  bound->count = static_cast<std::size_t>(context.shape(bound->y).elements());
  bound->offset = segment.part("offset")[0];
  return static_cast<const BoundOperator*>(bound);
}
const OperatorDefinition kOffset{OpCode::delegate, Arithmetic{1},   "offset-unit",
                                 check_delegate,   stream_delegate, prepare_offset};

// x [1, 6, 2] -> relu -> segment -> y
compiler::Graph graph_with(const std::function<void(compiler::Graph&, compiler::Node&)>& change = {}) {
  GraphBuilder builder;
  const auto x = builder.relu(builder.input({1, 6, 2}));
  compiler::Graph& graph = builder.graph();
  compiler::Tensor part;
  part.name = "offset";
  part.dtype = DType::uint8;
  part.shape = {1};
  part.data = std::vector<std::byte>{std::byte{3}};
  graph.tensors.push_back(part);
  compiler::Tensor y = graph.tensors[static_cast<std::size_t>(x)];
  y.name = "y";
  y.non_negative = false;
  graph.tensors.push_back(y);
  const auto id = static_cast<compiler::TensorId>(graph.tensors.size() - 1);
  compiler::Node node;
  node.name = "segment";
  node.code = OpCode::delegate;
  node.inputs = {id - 1, x};
  node.outputs = {id};
  node.options = DelegateOptions{"offset-unit", {"offset"}, {{"level", std::vector<std::int64_t>{7}}}};
  if (change) change(graph, node);
  graph.nodes.push_back(node);
  builder.output(id);
  return graph;
}

std::shared_ptr<const OwnedModel> open(const compiler::Graph& graph) {
  const auto written = compiler::write_model(graph);
  EXPECT_TRUE(written.ok()) << written.status().text();
  if (!written.ok()) return nullptr;
  EXPECT_EQ(written->refusals.size(), 1u);
  auto model = OwnedModel::from_bytes(written->bytes);
  EXPECT_TRUE(model.ok()) << model.status().text();
  return model.ok() ? *model : nullptr;
}

TEST(Delegate, RunsWhereItsBackEndIs) {
  const auto model = open(graph_with());
  ASSERT_NE(model, nullptr);
  std::vector<const OperatorDefinition*> table(all_operators().begin(), all_operators().end());
  table.push_back(&kOffset);
  PrepareOptions options;
  options.mode = RunMode::whole;
  const auto engine = Engine::make(model, options, table);
  ASSERT_TRUE(engine.ok()) << engine.status().text();
  const auto runner = Runner::make(*engine);
  ASSERT_TRUE(runner.ok());
  Session& session = (*runner)->session();
  const auto x = session.input(0);
  for (std::size_t i = 0; i < 12; ++i) x[i] = static_cast<std::byte>(i);
  session.run((*runner)->prepared().block());
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(session.output(0).block[i], static_cast<std::byte>(i + 3));
}

TEST(Delegate, IsRefusedByKindWhereThereIsNone) {
  const auto model = open(graph_with());
  ASSERT_NE(model, nullptr);
  PrepareOptions options;
  options.mode = RunMode::whole;
  const Status refused = Engine::make(model, options).status();
  EXPECT_EQ(refused.code(), Code::unsupported);
  EXPECT_NE(refused.text().find("delegate \"offset-unit\""), std::string::npos) << refused.text();
  // A table without the general definition names it, too.
  std::vector<const OperatorDefinition*> few;
  for (const OperatorDefinition* definition : all_operators()) {
    if (definition->code != OpCode::delegate) few.push_back(definition);
  }
  EXPECT_NE(
      Engine::make(model, options, few).status().text().find("delegate offset-unit version 1 'segment'"),
      std::string::npos);
}

TEST(Delegate, IsDescribedWithoutBackEnd) {
  const auto model = open(graph_with());
  ASSERT_NE(model, nullptr);
  const auto about = describe_model(model);
  ASSERT_TRUE(about.ok()) << about.status().text();
  ASSERT_EQ(about->delegates.size(), 1u);
  EXPECT_EQ(about->delegates[0].kind, "offset-unit");
  EXPECT_EQ(about->delegates[0].parts, (std::vector<std::pair<std::string, std::size_t>>{{"offset", 1}}));
  EXPECT_EQ(about->delegates[0].attributes,
            (std::vector<std::pair<std::string, std::string>>{{"level", "7"}}));
  EXPECT_EQ(about->delegates[0].inputs.size(), 1u);
}

// One run computes three frames: blocks of a stream are multiples of them.
TEST(Delegate, BlocksAreMultiplesOfItsRuns) {
  using Numbers = std::vector<std::int64_t>;
  const auto blocks_of = [](std::int64_t frames) {
    return [frames](compiler::Graph& graph, compiler::Node& node) {
      graph.time_axes = {1};
      std::get<DelegateOptions>(node.options).attributes = {{"stream_window", Numbers{1, 1, 0, 0}},
                                                            {"stream_axes", Numbers{1, 1}},
                                                            {"block_frames", Numbers{frames, frames, 0}}};
    };
  };
  compiler::WriteOptions write;
  write.blocks.clear();
  const auto written = compiler::write_model(graph_with(blocks_of(3)), write);
  ASSERT_TRUE(written.ok()) << written.status().text();
  EXPECT_TRUE(written->refusals.empty());
  const auto model = OwnedModel::from_bytes(written->bytes);
  ASSERT_TRUE(model.ok()) << model.status().text();
  EXPECT_EQ((*model)->model().plan()->block_multiple(), 3);
  std::vector<const OperatorDefinition*> table(all_operators().begin(), all_operators().end());
  table.push_back(&kOffset);
  PrepareOptions options;
  const auto smallest = Engine::make(*model, options, table);
  ASSERT_TRUE(smallest.ok()) << smallest.status().text();
  EXPECT_EQ((*smallest)->prepared().block(), 3);
  options.frames = 4;
  EXPECT_NE(Engine::make(*model, options, table).status().text().find("expected a positive multiple of 3"),
            std::string_view::npos);
  const auto none = compiler::write_model(graph_with(blocks_of(0)), write);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.status().text().find("attribute block_frames holds 0"), std::string_view::npos)
      << none.status().text();
}

std::string refusal(const std::function<void(compiler::Graph&, compiler::Node&)>& change) {
  const auto written = compiler::write_model(graph_with(change));
  EXPECT_FALSE(written.ok()) << "taken";
  return written.ok() ? "" : std::string(written.status().text());
}

TEST(Delegate, IsVerified) {
  EXPECT_EQ(refusal([](auto&, auto& node) { node.options = compiler::Options(); }),
            "operator 1: a delegate without its options");
  EXPECT_EQ(refusal([](auto&, auto& node) {
              node.options = DelegateOptions{"", {}, {}};
            }),
            "operator 1: a delegate whose kind has 0 bytes, expected 1 to 256");
  EXPECT_EQ(refusal([](auto&, auto& node) {
              node.options = DelegateOptions{"k", {""}, {}};
            }),
            "operator 1: a delegate's part whose name has 0 bytes, expected 1 to 256");
  EXPECT_EQ(refusal([](auto&, auto& node) {
              node.options = DelegateOptions{"k", {"a", "b"}, {}};
            }),
            "operator 1: part 1 of a delegate is no constant");
  EXPECT_EQ(refusal([](auto&, auto& node) {
              node.options = DelegateOptions{"k", {"a", "b", "c"}, {}};
            }),
            "operator 1: a delegate of 3 parts with 2 inputs");
  EXPECT_EQ(refusal([](auto&, auto& node) {
              node.options = DelegateOptions{"k", {"a"}, {{"", std::string("x")}}};
            }),
            "operator 1: attribute 0 has no name or 1 values, expected a name and one value");
  EXPECT_NE(refusal([](auto& graph, auto& node) {
              compiler::Tensor& part = graph.tensors[static_cast<std::size_t>(node.inputs[0])];
              part.dtype = DType::float32;
              part.data = std::vector<std::byte>(4);
            }).find("its part \"offset\" is float32, expected uint8 or int8"),
            std::string::npos);
}

// ---- variables: y = kept, then kept = x

compiler::Graph variables(const std::function<void(compiler::Graph&)>& change = {}) {
  compiler::Graph graph;
  const auto tensor = [&](const char* name, std::vector<std::int32_t> shape = {2}) {
    compiler::Tensor made;
    made.name = name;
    made.dtype = DType::int32;
    made.shape = std::move(shape);
    graph.tensors.push_back(made);
  };
  tensor("x");
  tensor("y");
  tensor("assigned");
  tensor("first");
  graph.tensors[3].data = std::vector<std::byte>{std::byte{5}, {}, {}, {}, std::byte{6}, {}, {}, {}};
  graph.inputs = {0};
  graph.outputs = {1, 2};
  graph.nodes = {
      {"read", OpCode::read_variable, Arithmetic::espdl, {3}, {1}, compiler::VariableOptions{4}},
      {"assign", OpCode::assign_variable, Arithmetic::espdl, {0}, {2}, compiler::VariableOptions{4}}};
  if (change) change(graph);
  return graph;
}

TEST(Variable, IsKeptFromCallToCall) {
  const auto model = RunnableGraph::make(variables());
  ASSERT_TRUE(model.ok()) << model.status().text();
  const Bytes a(8, std::byte{1}), b(8, std::byte{2});
  const auto steps = (*model)->stepped({{a}, {b}, {a}});
  ASSERT_TRUE(steps.ok()) << steps.status().text();
  EXPECT_EQ((*steps)[0][0], (Bytes{std::byte{5}, {}, {}, {}, std::byte{6}, {}, {}, {}}));
  EXPECT_EQ((*steps)[0][1], a);
  EXPECT_EQ((*steps)[1][0], a);
  EXPECT_EQ((*steps)[2][0], b);
}

std::string variable_refusal(const std::function<void(compiler::Graph&)>& change) {
  const auto model = RunnableGraph::make(variables(change));
  EXPECT_FALSE(model.ok()) << "taken";
  return model.ok() ? "" : std::string(model.status().text());
}

TEST(Variable, OperatorsMustAgree) {
  EXPECT_NE(variable_refusal([](auto& graph) {
              graph.nodes[0].options = compiler::VariableOptions{5};
            }).find("variable 4 is assigned before it is read"),
            std::string::npos);
  EXPECT_NE(variable_refusal([](auto& graph) {
              graph.nodes[0].options = graph.nodes[1].options = compiler::VariableOptions{256};
            }).find("variable 256, expected 0 to 255"),
            std::string::npos);
  EXPECT_NE(variable_refusal([](auto& graph) {
              graph.tensors[0].shape = graph.tensors[2].shape = {3};
            }).find("the variable has shape [3], expected [2]"),
            std::string::npos);
  EXPECT_NE(variable_refusal([](auto& graph) {
              graph.tensors[0].dtype = graph.tensors[2].dtype = DType::float32;
            }).find("variable 4 is float32 here and int32"),
            std::string::npos);
  EXPECT_NE(variable_refusal([](auto& graph) {
              graph.nodes[0].options = compiler::Options();
            }).find("its options are missing"),
            std::string::npos);
  EXPECT_NE(variable_refusal([](auto& graph) {
              graph.nodes[0].inputs = {0};
            }).find("its first value is computed, expected a constant"),
            std::string::npos);
}

}  // namespace
}  // namespace runnel::test
