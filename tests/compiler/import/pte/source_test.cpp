// Programs put together from the tables of the schema, with what no other test has: every kind of value, and
// what is refused of it.
#include "compiler/import/pte/source.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/import/pte/pte_generated.h"

namespace runnel::compiler::pte_source {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

struct Made {
  std::vector<Offset<pte::Value>> values;
  std::vector<Offset<pte::Instruction>> instructions;
  std::vector<Offset<pte::Delegate>> delegates;
  std::vector<Offset<pte::NamedData>> named;
  std::vector<Offset<pte::Buffer>> constants;
};

// Value 0 is the integer 1; a test adds more.
std::vector<std::byte> program(const std::function<void(Builder&, Made&)>& add) {
  Builder builder;
  Made made;
  made.values = {pte::CreateValue(builder, pte::Values::Int, pte::CreateInt(builder, 1).Union())};
  add(builder, made);
  const std::vector<std::int32_t> ends{0};
  const std::vector chains{pte::CreateChainDirect(builder, nullptr, nullptr, &made.instructions)};
  const std::vector plans{pte::CreateExecutionPlanDirect(builder, "forward", 0, &made.values, &ends, &ends,
                                                         &chains, nullptr, &made.delegates),
                          pte::CreateExecutionPlanDirect(builder, "encode")};
  const std::vector segments{pte::CreateDataSegment(builder, 0, 0)};
  pte::FinishProgramBuffer(builder, pte::CreateProgramDirect(builder, 0, &plans, &made.constants, nullptr,
                                                             &segments, 0, nullptr, &made.named));
  const auto* first = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {first, first + builder.GetSize()};
}

std::string refusal(const std::function<void(Builder&, Made&)>& add) {
  const std::vector<std::byte> file = program(add);
  const auto read = read_program(file);
  return read.ok() ? "accepted" : std::string(read.status().text());
}
std::string refusal_of(const std::function<Offset<pte::Value>(Builder&)>& value) {
  return refusal([&](Builder& b, Made& made) { made.values.push_back(value(b)); });
}
Offset<pte::Value> tensor(Builder& b, std::int8_t type, std::uint32_t data = 0, std::int8_t dynamism = 0,
                          std::optional<std::int8_t> location = std::nullopt) {
  const std::vector<std::int32_t> sizes{4};
  const auto more = location ? pte::CreateExtraTensorInfoDirect(b, 0, "weights", *location)
                             : Offset<pte::ExtraTensorInfo>();
  return pte::CreateValue(
      b, pte::Values::Tensor,
      pte::CreateTensorDirect(b, type, 0, &sizes, nullptr, false, data, 0, 0, dynamism, more).Union());
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(PteSource, EveryKindOfValueIsRead) {
  const std::vector<std::byte> file = program([](Builder& b, Made& made) {
    const std::vector<double> numbers{0.5, 2};
    const std::vector<std::int32_t> tensors{-1, 4, 5};
    made.values.push_back(
        pte::CreateValue(b, pte::Values::String, pte::CreateStringDirect(b, "mean").Union()));
    made.values.push_back(
        pte::CreateValue(b, pte::Values::DoubleList, pte::CreateDoubleListDirect(b, &numbers).Union()));
    made.values.push_back(pte::CreateValue(b, pte::Values::BoolList, pte::CreateBoolList(b).Union()));
    made.values.push_back(tensor(b, 2, 0, 0, 0));
    made.values.push_back(pte::CreateValue(b, pte::Values::NONE));
    made.values.push_back(pte::CreateValue(b, pte::Values::OptionalTensorList,
                                           pte::CreateOptionalTensorListDirect(b, &tensors).Union()));
    made.instructions.push_back(
        pte::CreateInstruction(b, pte::InstructionArguments::FreeCall, pte::CreateFreeCall(b, 4).Union()));
    made.named.push_back(pte::CreateNamedDataDirect(b, "key", 0));
  });
  const auto read = read_program(file);
  ASSERT_TRUE(read.ok()) << read.status().text();
  const std::vector<Value>& values = read->method.values;
  EXPECT_EQ(std::get<std::string>(values[1]), "mean");
  EXPECT_EQ(std::get<Numbers>(values[2]).items, (std::vector<double>{0.5, 2}));
  EXPECT_TRUE(std::holds_alternative<Other>(values[3]));
  EXPECT_EQ(std::get<Tensor>(values[4]).name, "weights");
  EXPECT_EQ(std::get<Tensor>(values[4]).dtype, DType::int16);
  // What is None in the list is none of its tensors.
  EXPECT_EQ(std::get<Tensors>(values[6]).items, (std::vector<std::int32_t>{-1, 4, -1}));
  EXPECT_EQ(read->method.instructions[0].kind, Instruction::Kind::free);
  EXPECT_EQ(read->other_methods, std::vector<std::string>{"encode"});
  EXPECT_EQ(read->named_data[0].key, "key");
}

TEST(PteSource, RefusesValuesThatAreNone) {
  EXPECT_SAYS(refusal_of([](Builder& b) { return pte::CreateValue(b, pte::Values::String); }),
              "value 1: of kind");
  EXPECT_SAYS(refusal_of([](Builder& b) { return tensor(b, 6, 0, 3); }), "value 1: shape dynamism 3");
  EXPECT_SAYS(refusal_of([](Builder& b) { return tensor(b, 6, 0, 0, 1); }),
              "value 1: its data is in another file");
  EXPECT_SAYS(refusal([](Builder& b, Made& made) {
                const std::vector<std::uint8_t> few(3);
                made.constants = {pte::CreateBufferDirect(b), pte::CreateBufferDirect(b, &few)};
                made.values.push_back(tensor(b, 6, 1));
              }),
              "value 1: 3 bytes of data, expected 16");
  EXPECT_SAYS(
      refusal([](Builder& b, Made& made) { made.named.push_back(pte::CreateNamedDataDirect(b, "key", 7)); }),
      "named data \"key\": segment 7 of 1");
}

TEST(PteSource, RefusesInstructionsAndDelegatesThatAreNone) {
  EXPECT_SAYS(refusal([](Builder& b, Made& made) { made.instructions.push_back(pte::CreateInstruction(b)); }),
              "instruction 0: no arguments");
  for (const auto& [location, sentence] : {std::pair(0, ": data 5 of 0"), std::pair(1, ": segment 5 of 1"),
                                           std::pair(2, ": data at location 2, expected 0 (inline)")}) {
    EXPECT_SAYS(refusal([&, where = location](Builder& b, Made& made) {
                  const auto data = pte::CreateDelegateDataReference(b, static_cast<std::int8_t>(where), 5);
                  made.delegates.push_back(pte::CreateDelegateDirect(b, "mine", data));
                }),
                std::string("delegate 0 (mine)") + sentence);
  }
}

TEST(PteSource, Types) {
  EXPECT_EQ(dtype_of(0), DType::uint8);
  EXPECT_EQ(dtype_of(2), DType::int16);
  EXPECT_EQ(dtype_of(11), DType::boolean);
  EXPECT_EQ(dtype_of(27), DType::uint16);
  EXPECT_EQ(dtype_of(5), DType::none);  // half
  EXPECT_FALSE(dtype_of(8).has_value());
}

}  // namespace
}  // namespace runnel::compiler::pte_source
