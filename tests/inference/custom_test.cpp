// Operators of the application's own: found by name and version, their options checked before anything reads
// them.
#include "inference/custom.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "inference/host/describe.h"
#include "inference/model/verify.h"
#include "tests/inference/graph_builder.h"

namespace runnel {
namespace {

using compiler::CustomOptions;

struct BoundNegate : BoundOperator {
  std::int32_t x = 0, y = 0;
  std::size_t count = 0;
};
void run_negate(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundNegate&>(self);
  for (std::size_t i = 0; i < op.count; ++i) context.data[op.y][i] = ~context.data[op.x][i];
}
Status check_negate(const Model& model, const fb::Operator& op) noexcept {
  if (op.inputs()->size() != 1 || op.outputs()->size() != 1)
    return Status(Code::invalid_data) << "expected one input and one output";
  RUNNEL_TRY(CustomAttributes(op).integer("level", 0).status());
  return model.tensor(op.inputs()->Get(0)).dtype == DType::int8
             ? Status()
             : Status(Code::unsupported) << "expected int8";
}
Status stream_negate(const Model&, const fb::Operator&, TimeAxes axes, streaming::NodeRule&) noexcept {
  axes[1] = axes[0];
  return {};
}
Result<const BoundOperator*> prepare_negate(PrepareContext& context) noexcept {
  void* const memory = context.memory().allocate(sizeof(BoundNegate), alignof(BoundNegate));
  if (memory == nullptr) return Status(Code::out_of_memory);
  auto* const bound = new (memory) BoundNegate;
  bound->run = run_negate;
  bound->x = context.op().inputs()->Get(0);
  bound->y = context.op().outputs()->Get(0);
  bound->count = static_cast<std::size_t>(context.shape(bound->y).elements());
  return static_cast<const BoundOperator*>(bound);
}
const OperatorDefinition kNegate{OpCode::custom, Arithmetic{1}, "Negate",
                                 check_negate,   stream_negate, prepare_negate};
const OperatorDefinition kNegate2{OpCode::custom, Arithmetic{2}, "Negate",
                                  check_negate,   stream_negate, prepare_negate};
const OperatorDefinition kOther{OpCode::custom, Arithmetic{1}, "Other",
                                check_negate,   stream_negate, prepare_negate};

std::vector<const OperatorDefinition*> with(std::initializer_list<const OperatorDefinition*> mine) {
  std::vector<const OperatorDefinition*> table(all_operators().begin(), all_operators().end());
  table.insert(table.end(), mine);
  return table;
}

// x [1, 6, 2] -> relu -> Negate -> y
compiler::Graph graph_with(const CustomOptions& options, int version = 1) {
  test::GraphBuilder builder;
  auto x = builder.relu(builder.input({1, 6, 2}));
  compiler::Graph& graph = builder.graph();
  compiler::Tensor y = graph.tensors[static_cast<std::size_t>(x)];
  y.name = "y";
  y.non_negative = false;
  graph.tensors.push_back(y);
  const auto id = static_cast<compiler::TensorId>(graph.tensors.size() - 1);
  compiler::Node node;
  node.name = "mine";
  node.code = OpCode::custom;
  node.arithmetic = Arithmetic{static_cast<std::uint8_t>(version)};
  node.inputs = {x};
  node.outputs = {id};
  node.options = options;
  graph.nodes.push_back(node);
  builder.output(id);
  return graph;
}
CustomOptions negate() { return {"Negate", {}}; }

Result<std::vector<std::byte>> written(const compiler::Graph& graph, OperatorTable table) {
  compiler::WriteOptions options;
  options.operators = table;
  RUNNEL_ASSIGN(compiler::WrittenModel model, compiler::write_model(graph, options));
  return std::move(model.bytes);
}

TEST(CustomOperator, RunsWholeAndStreamed) {
  const auto table = with({&kOther, &kNegate2, &kNegate});
  const auto bytes = written(graph_with(negate()), table);
  ASSERT_TRUE(bytes.ok()) << bytes.status().text();
  const auto model = OwnedModel::from_bytes(*bytes);
  ASSERT_TRUE(model.ok()) << model.status().text();
  for (const RunMode mode : {RunMode::whole, RunMode::stream}) {
    PrepareOptions options;
    options.mode = mode;
    options.frames = 6;
    const auto engine = Engine::make(*model, options, table);
    ASSERT_TRUE(engine.ok()) << engine.status().text();
    const auto runner = Runner::make(*engine);
    Session& session = (*runner)->session();
    const auto input = session.input(0);
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::byte>(i * 9 - 40);
    session.run(6);
    const OutputFrames out = session.output(0);
    ASSERT_EQ(out.count, 6);
    for (int i = 0; i < 12; ++i)
      EXPECT_EQ(static_cast<std::int8_t>(out.data[i]), -1 - std::max(0, i * 9 - 40)) << i;
  }
  const auto about = describe_model(*model, {}, table);
  ASSERT_TRUE(about.ok()) << about.status().text();
  EXPECT_EQ(about->operators[1].type, "Negate");
}

TEST(CustomOperator, MissingOnesAreReportedByNameAndVersion) {
  const auto sentence = [](int version, const std::vector<const OperatorDefinition*>& table) {
    return std::string(written(graph_with({"Negate", {}}, version), table).status().text());
  };
  EXPECT_EQ(sentence(1, with({})), "operators that this build does not have: custom Negate version 1 'mine'");
  EXPECT_EQ(sentence(1, with({&kOther})),
            "operators that this build does not have: custom Negate version 1 'mine'");
  EXPECT_EQ(sentence(2, with({&kNegate})),
            "operators that this build does not have: custom Negate version 2 'mine'");
  EXPECT_EQ(sentence(2, with({&kNegate2})), "");
}

TEST(CustomOperator, RefusalsNameIt) {
  const auto table = with({&kNegate});
  const auto bytes = written(graph_with({"Negate", {{"level", std::string("high")}}}), table);
  EXPECT_EQ(std::string(bytes.status().text()),
            "operator 1 (Negate 'mine'): attribute \"level\" is not one integer");
}

TEST(CustomOperator, AttributesAreReadAsTheyAre) {
  const CustomOptions options{"Negate",
                              {{"level", std::vector<std::int64_t>{-3}},
                               {"list", std::vector<std::int64_t>{1, std::int64_t{1} << 40}},
                               {"gain", std::vector<float>{0.5f}},
                               {"curve", std::vector<float>{1, 2, 3}},
                               {"mode", std::string("fast\0er", 7)},
                               {"none", std::vector<std::int64_t>{}}}};
  const auto bytes = written(graph_with(options), with({&kNegate}));
  ASSERT_TRUE(bytes.ok()) << bytes.status().text();
  const auto model = OwnedModel::from_bytes(*bytes);
  const CustomAttributes found((*model)->model().op(1));
  EXPECT_EQ(*found.integer("level", 7), -3);
  EXPECT_EQ(*found.integer("depth", 7), 7);
  EXPECT_EQ(*found.number("gain", 2.0f), 0.5f);
  EXPECT_EQ(*found.number("loss", 2.0f), 2.0f);
  ASSERT_EQ(found.integers("list").size(), 2u);
  EXPECT_EQ(found.integers("list")[1], std::int64_t{1} << 40);
  ASSERT_EQ(found.numbers("curve").size(), 3u);
  EXPECT_EQ(found.numbers("curve")[2], 3.0f);
  EXPECT_EQ(found.text("mode"), std::string_view("fast\0er", 7));
  EXPECT_TRUE(found.has("none"));
  EXPECT_FALSE(found.has("nine"));
  // Another type, another count.
  for (const char* name : {"list", "gain", "mode", "none"})
    EXPECT_EQ(found.integer(name, 0).status().code(), Code::invalid_data) << name;
  for (const char* name : {"curve", "level", "mode", "none"})
    EXPECT_EQ(found.number(name, 0).status().code(), Code::invalid_data) << name;
  EXPECT_TRUE(found.numbers("list").empty());
  EXPECT_EQ(found.text("gain"), "");
  // An operator of the library has none.
  EXPECT_FALSE(CustomAttributes((*model)->model().op(0)).has("level"));
}

TEST(CustomOperator, OptionsAreVerified) {
  const auto refusal = [](const std::function<void(compiler::Node&)>& change) {
    compiler::Graph graph = graph_with(negate());
    change(graph.nodes[1]);
    return std::string(written(graph, with({&kNegate})).status().text());
  };
  EXPECT_EQ(refusal([](compiler::Node& node) { node.options = compiler::Options(); }),
            "operator 1: a custom operator without its options");
  EXPECT_EQ(refusal([](compiler::Node& node) { node.options = compiler::AxisOptions{}; }),
            "operator 1: a custom operator without its options");
  EXPECT_EQ(refusal([](compiler::Node& node) {
              node.options = CustomOptions{"", {}};
            }),
            "operator 1: a custom operator whose name has 0 bytes, expected 1 to 256");
  EXPECT_EQ(refusal([](compiler::Node& node) {
              node.options = CustomOptions{std::string(257, 'n'), {}};
            }),
            "operator 1: a custom operator whose name has 257 bytes, expected 1 to 256");
  EXPECT_EQ(refusal([](compiler::Node& node) {
              node.options = CustomOptions{"Negate", {{"", std::string("x")}}};
            }),
            "operator 1: attribute 0 has no name or 1 values, expected a name and one value");
}

// An attribute without value, or with two, cannot be written by the compiler; a file may hold one all the
// same.
TEST(CustomOperator, AttributesHaveOneValue) {
  for (const int values : {0, 2}) {
    flatbuffers::FlatBufferBuilder builder;
    const auto name = builder.CreateString("level");
    const auto integers = values == 2 ? builder.CreateVector(std::vector<std::int64_t>{1}) : 0;
    const auto text = values == 2 ? builder.CreateString("1") : 0;
    const std::vector<flatbuffers::Offset<fb::CustomAttribute>> attributes = {
        fb::CreateCustomAttribute(builder, name, integers, 0, text)};
    const auto options = fb::CreateCustomOptionsDirect(builder, "Negate", &attributes);
    const std::vector<std::int32_t> shape = {1, 6, 2}, x = {0}, y = {1};
    const std::vector<flatbuffers::Offset<fb::Tensor>> tensors = {
        fb::CreateTensorDirect(builder, &shape, static_cast<std::uint8_t>(DType::int8)),
        fb::CreateTensorDirect(builder, &shape, static_cast<std::uint8_t>(DType::int8))};
    const std::vector<flatbuffers::Offset<fb::Operator>> operators = {fb::CreateOperatorDirect(
        builder, to_file(OpCode::custom), 1, &x, &y, fb::Options::CustomOptions, options.Union())};
    builder.Finish(fb::CreateGraphDirect(builder, &tensors, &operators, &x, &y));
    const Status status = verify_graph(*flatbuffers::GetRoot<fb::Graph>(builder.GetBufferPointer()), {});
    EXPECT_EQ(std::string(status.text()), "operator 0: attribute 0 has no name or " + std::to_string(values) +
                                              " values, expected a name and one value");
  }
}

}  // namespace
}  // namespace runnel
