// What verify_graph and verify_side_sections refuse, one sentence each: graphs that no writer makes, put
// together from the tables of the schema.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "inference/model/verify.h"

namespace runnel {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using Ints = std::vector<std::int32_t>;

struct MadeTensor {
  std::optional<Ints> shape = Ints{1, 4};
  int dtype = static_cast<int>(DType::int8);
  std::vector<std::int8_t> exponents = {};
  std::vector<float> scales = {};
  int channel_axis = -1;
  std::optional<fb::Range> data = std::nullopt;
};
struct MadeOperator {
  fb::OpCode code = fb::OpCode::relu;
  std::optional<Ints> inputs = Ints{0};
  Ints outputs = {1};
  int rounding = 0;
  fb::Options type = fb::Options::NONE;
  std::function<Offset<void>(Builder&)> options = nullptr;
};
// x -> relu -> y, and what a test changes. Tensors 2 and on are constants of the weights.
struct MadeGraph {
  std::vector<MadeTensor> tensors = std::vector<MadeTensor>(2);
  std::vector<MadeOperator> operators = std::vector<MadeOperator>(1);
  Ints inputs = {0}, outputs = {1};

  [[nodiscard]] const fb::Graph& make(Builder& builder) const {
    std::vector<Offset<fb::Tensor>> made;
    for (const MadeTensor& one : tensors)
      made.push_back(fb::CreateTensorDirect(
          builder, one.shape ? &*one.shape : nullptr, static_cast<std::uint8_t>(one.dtype), &one.exponents,
          &one.scales, nullptr, static_cast<std::int8_t>(one.channel_axis), one.data ? &*one.data : nullptr));
    std::vector<Offset<fb::Operator>> ops;
    for (const MadeOperator& one : operators) {
      const Offset<void> options = one.options ? one.options(builder) : 0;
      ops.push_back(fb::CreateOperatorDirect(builder, one.code, 1, one.inputs ? &*one.inputs : nullptr,
                                             &one.outputs, one.type, options,
                                             static_cast<std::uint8_t>(one.rounding)));
    }
    builder.Finish(fb::CreateGraphDirect(builder, &made, &ops, &inputs, &outputs));
    return *flatbuffers::GetRoot<fb::Graph>(builder.GetBufferPointer());
  }
};

constexpr std::byte kWeights[64] = {};

std::string refusal(const std::function<void(MadeGraph&)>& change) {
  MadeGraph graph;
  change(graph);
  Builder builder;
  const Status status = verify_graph(graph.make(builder), kWeights);
  return status.ok() ? "accepted" : std::string(status.text());
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(VerifyGraph, TheUnchangedOneIsAccepted) {
  EXPECT_EQ(refusal([](auto&) {}), "accepted");
}

TEST(VerifyGraph, PartsThatAreMissing) {
  Builder builder;
  builder.Finish(fb::CreateGraph(builder));
  EXPECT_SAYS(
      std::string(verify_graph(*flatbuffers::GetRoot<fb::Graph>(builder.GetBufferPointer()), {}).text()),
      "tensors, operators, inputs or outputs are missing");
  EXPECT_SAYS(refusal([](auto& graph) { graph.inputs.clear(); }), "at least one input and one output");
  EXPECT_SAYS(refusal([](auto& graph) { graph.operators[0].inputs = std::nullopt; }),
              "operator 0: expected up to 256 inputs and 1 to 256 outputs");
  EXPECT_SAYS(refusal([](auto& graph) { graph.operators[0].outputs.clear(); }), "1 to 256 outputs");
  EXPECT_SAYS(refusal([](auto& graph) { graph.operators[0].inputs->assign(257, 0); }), "up to 256 inputs");
  EXPECT_SAYS(refusal([](auto& graph) { graph.tensors.resize(70000); }), "graph: 70000 tensors");
}

TEST(VerifyGraph, Tensors) {
  EXPECT_SAYS(refusal([](auto& graph) { graph.tensors[0].shape = std::nullopt; }), "tensor 0: rank 0");
  EXPECT_SAYS(refusal([](auto& graph) { graph.tensors[0].shape = Ints(7, 1); }), "tensor 0: rank 7");
  EXPECT_SAYS(refusal([](auto& graph) { graph.tensors[1].dtype = 0; }), "tensor 1: unknown element type 0");
  EXPECT_SAYS(refusal([](auto& graph) { graph.tensors[1].dtype = 10; }), "tensor 1: unknown element type 10");
  EXPECT_SAYS(refusal([](auto& graph) {
                graph.tensors[1].shape = Ints{1, 0};
              }),
              "tensor 1: dimension 1 is 0, expected 1 to 16777216");
  EXPECT_SAYS(refusal([](auto& graph) { graph.tensors[1].shape = Ints(3, 1 << 24); }), "tensor 1: more than");
  EXPECT_SAYS(refusal([](auto& graph) { graph.tensors[1].channel_axis = 2; }),
              "tensor 1: channel axis 2, expected -1 to 1");
  EXPECT_SAYS(refusal([](auto& graph) {
                graph.tensors[1].exponents = {1};
                graph.tensors[1].scales = {1};
              }),
              "tensor 1: both exponents and scales");
  EXPECT_SAYS(refusal([](auto& graph) {
                graph.tensors[1].channel_axis = 1;
                graph.tensors[1].scales = {1, 2, 3};
              }),
              "tensor 1: 3 quantization entries, expected 1 or 4");
  EXPECT_SAYS(refusal([](auto& graph) { graph.tensors[1].exponents = {61}; }), "exponent 61");
  for (const float scale : {0.0f, -1.0f, std::numeric_limits<float>::infinity(), std::nanf("")})
    EXPECT_SAYS(refusal([&](auto& graph) { graph.tensors[1].scales = {scale}; }),
                "a scale that is not a positive number");
}

// One list in the file, which thousands of tensors name: whoever looks at it once for each would look at
// more numbers than a file can hold.
TEST(VerifyGraph, ListsThatTensorsShareAreCountedForEachOfThem) {
  constexpr std::uint32_t kChannels = 1 << 20;
  const auto with = [](std::uint32_t tensors) {
    Builder builder;
    const std::vector<std::int32_t> shape = {kChannels}, input = {0}, output = {1};
    const std::vector<float> numbers(kChannels, 0.5f);
    const auto dimensions = builder.CreateVector(shape);
    const auto scales = builder.CreateVector(numbers);
    std::vector<Offset<fb::Tensor>> made;
    for (std::uint32_t i = 0; i < tensors; ++i)
      made.push_back(
          fb::CreateTensor(builder, dimensions, static_cast<std::uint8_t>(DType::int8), 0, scales, 0, 0));
    const std::vector<Offset<fb::Operator>> ops = {
        fb::CreateOperatorDirect(builder, fb::OpCode::relu, 1, &input, &output)};
    builder.Finish(fb::CreateGraphDirect(builder, &made, &ops, &input, &output));
    const auto* graph = flatbuffers::GetRoot<fb::Graph>(builder.GetBufferPointer());
    return std::string(verify_graph(*graph, kWeights).text());
  };
  EXPECT_EQ(with(2), "");
  EXPECT_SAYS(with(16), "16 tensors are not constants, but inputs and operators make 2");
  EXPECT_SAYS(with(17),
              "tensor 16: 1048576 quantization entries after 16777216 of other tensors, expected at most "
              "16777216 in all");
}

TEST(VerifyGraph, Constants) {
  const auto with = [](std::uint64_t offset, std::uint64_t size, DType type = DType::int8) {
    return refusal([&](auto& graph) {
      graph.tensors.push_back({});
      graph.tensors[2].dtype = static_cast<int>(type);
      graph.tensors[2].data = fb::Range(offset, size);
      graph.operators[0].inputs = Ints{0, 2};
    });
  };
  EXPECT_EQ(with(8, 4), "accepted");
  EXPECT_SAYS(with(62, 4), "data at 62 of 4 bytes, outside the weights section of 64");
  EXPECT_SAYS(with(~std::uint64_t{0}, 4), "outside the weights section of 64");
  EXPECT_SAYS(with(8, 5), "5 bytes of data, expected 4");
  EXPECT_SAYS(with(6, 16, DType::float32), "data offset 6 is not a multiple of 4");
}

TEST(VerifyGraph, WhatIsComputedAndInWhichOrder) {
  EXPECT_SAYS(refusal([](auto& graph) { graph.inputs = {7}; }), "graph input 0: tensor 7 does not exist");
  EXPECT_SAYS(refusal([](auto& graph) { graph.inputs = {-1}; }), "graph input 0: tensor -1 does not exist");
  EXPECT_SAYS(refusal([](auto& graph) { graph.inputs = {0, 0}; }), "expected increasing indices");
  EXPECT_SAYS(refusal([](auto& graph) {
                graph.tensors.push_back({});
                graph.tensors[2].data = fb::Range(0, 4);
                graph.operators[0].outputs = {1, 2};
              }),
              "operator 0: tensor 2 is a constant, expected one that is computed");
  EXPECT_SAYS(refusal([](auto& graph) { graph.operators[0].inputs = Ints{5}; }),
              "operator 0: input tensor 5 does not exist, the graph has 2");
  EXPECT_SAYS(refusal([](auto& graph) { graph.operators[0].inputs = Ints{-2}; }), "input tensor -2");
  EXPECT_SAYS(refusal([](auto& graph) { graph.operators[0].inputs = Ints{1}; }),
              "reads tensor 1 before it is computed");
  EXPECT_SAYS(refusal([](auto& graph) { graph.operators[0].rounding = 4; }), "unknown rounding 4");
  EXPECT_SAYS(refusal([](auto& graph) { graph.tensors.push_back({}); }),
              "3 tensors are not constants, but inputs and operators make 2");
  EXPECT_SAYS(refusal([](auto& graph) { graph.outputs = {9}; }), "graph output 0: tensor 9");
  EXPECT_EQ(refusal([](auto& graph) { graph.operators[0].inputs = Ints{0, -1}; }), "accepted");
}

TEST(VerifyGraph, CustomOperators) {
  using Attributes = std::vector<Offset<fb::CustomAttribute>>;
  const auto with = [](const char* name, const std::function<Attributes(Builder&)>& attributes = nullptr) {
    return refusal([&](auto& graph) {
      graph.operators[0].code = fb::OpCode::custom;
      graph.operators[0].type = fb::Options::CustomOptions;
      graph.operators[0].options = [=](Builder& builder) {
        const Attributes made = attributes ? attributes(builder) : Attributes();
        return fb::CreateCustomOptionsDirect(builder, name, &made).Union();
      };
    });
  };
  const std::vector<std::int64_t> integers = {1};
  EXPECT_EQ(with("mine",
                 [&](Builder& b) { return Attributes{fb::CreateCustomAttributeDirect(b, "a", &integers)}; }),
            "accepted");
  EXPECT_SAYS(refusal([](auto& graph) { graph.operators[0].code = fb::OpCode::custom; }),
              "a custom operator without its options");
  EXPECT_SAYS(with(nullptr), "a custom operator whose name has 0 bytes, expected 1 to 256");
  EXPECT_SAYS(with(std::string(257, 'x').c_str()), "has 257 bytes");
  EXPECT_SAYS(with("mine", [](Builder& b) { return Attributes{fb::CreateCustomAttributeDirect(b, "a")}; }),
              "attribute 0 has no name or 0 values");
  EXPECT_SAYS(
      with("mine",
           [&](Builder& b) { return Attributes{fb::CreateCustomAttributeDirect(b, nullptr, &integers)}; }),
      "attribute 0 has no name or 1 values");
}

TEST(VerifyGraph, Delegates) {
  const auto with = [](const char* kind, const std::vector<std::string>& parts, const Ints& inputs) {
    return refusal([&](auto& graph) {
      graph.tensors.push_back({});
      graph.tensors[2].data = fb::Range(0, 4);
      graph.operators[0].code = fb::OpCode::delegate;
      graph.operators[0].inputs = inputs;
      graph.operators[0].type = fb::Options::DelegateOptions;
      graph.operators[0].options = [=](Builder& builder) {
        std::vector<Offset<flatbuffers::String>> made;
        for (const std::string& part : parts) made.push_back(builder.CreateString(part));
        return fb::CreateDelegateOptionsDirect(builder, kind, &made).Union();
      };
    });
  };
  EXPECT_EQ(with("npu", {"commands"}, {2, 0}), "accepted");
  EXPECT_SAYS(refusal([](auto& graph) { graph.operators[0].code = fb::OpCode::delegate; }),
              "a delegate without its options");
  EXPECT_SAYS(with(nullptr, {}, {0}), "a delegate whose kind has 0 bytes");
  EXPECT_SAYS(with("npu", {"a", "b", "c"}, {2, 0}), "a delegate of 3 parts with 2 inputs");
  EXPECT_SAYS(with("npu", {""}, {2, 0}), "a delegate's part whose name has 0 bytes");
  EXPECT_SAYS(with("npu", {"commands"}, {0, 2}), "part 0 of a delegate is no constant");
  EXPECT_SAYS(with("npu", {"commands"}, {-1, 2}), "part 0 of a delegate is no constant");
}

// The sentence about sections beside the unchanged graph.
std::string side_refusal(const std::function<void(Builder&, Sections&)>& change) {
  Builder graph_builder, builder;
  Sections sections;
  sections.graph = &MadeGraph().make(graph_builder);
  change(builder, sections);
  const Status status = verify_side_sections(sections);
  return status.ok() ? "accepted" : std::string(status.text());
}
template <class Table>
const Table* finished(Builder& builder, Offset<Table> made) {
  builder.Finish(made);
  return flatbuffers::GetRoot<Table>(builder.GetBufferPointer());
}

TEST(VerifySections, PlansNamesPipelinesAndMetadata) {
  EXPECT_EQ(side_refusal([](Builder&, Sections&) {}), "accepted");
  EXPECT_SAYS(side_refusal([](Builder& b, Sections& sections) {
                const std::vector<fb::StreamTensor> one(1);
                sections.plan = finished(b, fb::CreateStreamPlanDirect(b, &one));
              }),
              "section plan: expected one entry per tensor");
  EXPECT_SAYS(side_refusal([](Builder& b, Sections& sections) {
                const std::vector<Offset<flatbuffers::String>> one = {b.CreateString("x")};
                sections.names = finished(b, fb::CreateNamesDirect(b, "model", &one));
              }),
              "section names: expected one name per tensor");
  EXPECT_SAYS(side_refusal([](Builder& b, Sections& sections) {
                const std::vector<Offset<flatbuffers::String>> two(2, b.CreateString("x"));
                sections.names = finished(b, fb::CreateNamesDirect(b, "model", nullptr, &two));
              }),
              "section names: expected one name per operator");
  EXPECT_SAYS(side_refusal([](Builder& b, Sections& sections) {
                sections.pipeline = finished(b, fb::CreatePipelineDirect(b, fb::Usage::stream, -1));
              }),
              "section pipeline: unknown usage or negative sample rate");
  EXPECT_SAYS(side_refusal([](Builder& b, Sections& sections) {
                const std::vector<Offset<fb::Entry>> one = {fb::CreateEntryDirect(b, "key")};
                sections.metadata = finished(b, fb::CreateMetadataDirect(b, &one));
              }),
              "section metadata: an entry without key or value");
}

TEST(VerifySections, Vectors) {
  using Values = std::vector<Offset<fb::VectorTensor>>;
  const auto with = [](int tensor, const Ints& shape, std::size_t bytes, bool outputs = true) {
    return side_refusal([&](Builder& b, Sections& sections) {
      const std::vector<std::uint8_t> data(bytes);
      const Values values = {fb::CreateVectorTensorDirect(b, tensor, &shape, &data)};
      const std::vector<Offset<fb::VectorCase>> one = {
          fb::CreateVectorCaseDirect(b, &values, outputs ? &values : nullptr)};
      sections.vectors = finished(b, fb::CreateVectorsDirect(b, &one));
    });
  };
  EXPECT_EQ(with(0, {1, 4}, 4), "accepted");
  EXPECT_SAYS(with(0, {1, 4}, 4, false), "section vectors: case 0 has no inputs or no outputs");
  EXPECT_SAYS(with(2, {1, 4}, 4), "case 0 names tensor 2 or lacks data or shape");
  EXPECT_SAYS(with(-1, {1, 4}, 4), "case 0 names tensor -1");
  EXPECT_SAYS(with(0, Ints(7, 1), 1), "case 0 names tensor 0 or lacks data or shape");
  EXPECT_SAYS(with(0, {1, 0}, 4), "case 0 has dimension 0");
  EXPECT_SAYS(with(0, Ints(6, 1 << 24), 4), "case 0 has dimension");
  EXPECT_SAYS(with(0, {1, 4}, 5), "case 0 has 5 bytes for a shape of 4");
}

// The container: sections that no reader knows, twice, without data; sizes that do not fit.
std::string container_refusal(
    std::uint32_t version, std::vector<int> kinds, std::int64_t more_bytes = 0, bool with_data = true,
    const std::function<void(Builder&)>& fill = [](Builder& empty) {
      empty.Finish(fb::CreateGraph(empty));
    }) {
  Builder builder;
  Builder inner;
  fill(inner);
  std::uint64_t bytes = 0;
  std::vector<std::uint8_t> file;
  // Again, because the file states its own size, which takes room once it is not 0.
  for (int round = 0; round < 3; ++round) {
    builder.Clear();
    std::vector<Offset<fb::Section>> sections;
    for (const int kind : kinds) {
      builder.ForceVectorAlignment(inner.GetSize(), 1, 16);
      const auto data = builder.CreateVector(inner.GetBufferPointer(), inner.GetSize());
      sections.push_back(
          fb::CreateSection(builder, static_cast<fb::SectionKind>(kind), 0, with_data ? data : 0));
    }
    fb::FinishModelBuffer(builder,
                          fb::CreateModelDirect(builder, version, kinds.empty() ? nullptr : &sections,
                                                bytes + static_cast<std::uint64_t>(more_bytes)));
    file.assign(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
    bytes = file.size();
  }
  struct alignas(16) Block {
    std::byte bytes[16];
  };
  std::vector<Block> aligned(file.size() / 16 + 1);
  std::memcpy(aligned.data(), file.data(), file.size());
  const auto sections = read_container({aligned[0].bytes, file.size()}, false);
  return sections.ok() ? "accepted" : std::string(sections.status().text());
}

TEST(VerifyContainer, Sections) {
  EXPECT_EQ(container_refusal(1, {1}), "accepted");
  EXPECT_SAYS(container_refusal(2, {1}), "format version 2, this reader knows 1");
  EXPECT_SAYS(container_refusal(1, {1}, 16), "but the file says that it has");
  EXPECT_SAYS(container_refusal(1, {}), "no sections");
  EXPECT_SAYS(container_refusal(1, {0}), "section 0: unknown kind 0");
  EXPECT_SAYS(container_refusal(1, {1, 9}), "section 1: unknown kind 9; the file needs a newer reader");
  EXPECT_SAYS(container_refusal(1, {1, 1}), "section graph appears twice");
  EXPECT_SAYS(container_refusal(1, {1}, 0, false), "section graph: no data");
  EXPECT_SAYS(container_refusal(1, {2}), "no graph section");
  // All others, each of which has the tables of an empty graph, which are those of nothing.
  EXPECT_EQ(container_refusal(1, {1, 2, 3, 4, 5, 6, 7, 8}), "accepted");
}

// FlatBuffers' check alone would look at a hundred thousand texts for each of a hundred operators.
TEST(VerifyContainer, ListsOfPartsAreShort) {
  const auto with = [](std::uint32_t parts) {
    return container_refusal(1, {1}, 0, true, [&](Builder& builder) {
      const std::vector<Offset<flatbuffers::String>> names(parts, builder.CreateString("part"));
      const Offset<void> options = fb::CreateDelegateOptionsDirect(builder, "npu", &names).Union();
      const std::vector<Offset<fb::Operator>> ops(
          100,
          fb::CreateOperator(builder, fb::OpCode::delegate, 1, 0, 0, fb::Options::DelegateOptions, options));
      builder.Finish(fb::CreateGraphDirect(builder, nullptr, &ops));
    });
  };
  EXPECT_EQ(with(256), "accepted");
  EXPECT_EQ(with(100'000), "operator 0: a delegate of 100000 parts, expected at most 256");
}

TEST(VerifyContainer, BytesThatAreNoModel) {
  alignas(16) std::byte bytes[64] = {};
  EXPECT_SAYS(std::string(read_container(std::span(bytes).first(15), false).status().text()),
              "15 bytes, expected 16 to");
  EXPECT_SAYS(std::string(read_container(std::span(bytes).subspan(4), false).status().text()),
              "must start at a multiple of 16");
  std::memcpy(bytes + 4, "RNL1", 4);
  EXPECT_SAYS(std::string(read_container(bytes, false).status().text()), "is damaged or cut short");
}

}  // namespace
}  // namespace runnel
