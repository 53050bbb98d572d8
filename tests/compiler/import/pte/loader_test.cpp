// Every rule for reading .pte and .bpte files, each with a crafted file. Tests are named after the fault that
// the rule keeps out.
#include <gtest/gtest.h>

#include <cstring>

#include "compiler/import/pte/importer.h"
#include "tests/compiler/import/pte/program_maker.h"

namespace runnel::test {
namespace {

Status import(const Bytes& file) {
  const auto imported = compiler::import_pte(file);
  return imported.ok() ? Status() : imported.status();
}
std::string refusal(const Bytes& file) {
  const Status status = import(file);
  EXPECT_FALSE(status.ok()) << "taken";
  return status.ok() ? "" : std::string(status.text());
}
std::string refusal(ProgramMaker& maker) { return refusal(maker.file()); }

// One input, one relu, one output; `make` gives the tensor that is read.
template <class Make>
std::string refusal_of_input(const Make& make) {
  ProgramMaker maker;
  maker.memories[1] = 64;
  const int x = make(maker);
  const int y = maker.planned({4});
  maker.kernel("aten::relu", "out", {x, y, y});
  maker.inputs = {x};
  maker.outputs = {y};
  return refusal(maker);
}

// ---- the head of the file

TEST(PteLoader, AValidProgramIsTaken) {
  EXPECT_EQ(import(tiny_program().file()).text(), "");
  auto inside = tiny_program();
  inside.inline_constants = true;
  EXPECT_EQ(import(inside.file()).text(), "");
}

TEST(PteLoader, HeadIsShorterThan64Bytes) {
  Bytes file = tiny_program().file();
  file.resize(40);
  EXPECT_EQ(refusal(file), "40 bytes, expected at least 64");
}

TEST(PteLoader, HeaderLengthIsTooShort) {
  Bytes file = tiny_program().file();
  put(file, kHeaderLength, 16, 4);
  EXPECT_EQ(refusal(file), "extended header: a length of 16, expected at least 24");
}

TEST(PteLoader, ShortAndLongHeadersAreTaken) {
  Bytes file = tiny_program().file();
  put(file, kHeaderLength, 24, 4);
  EXPECT_EQ(import(file).text(), "");
  put(file, kHeaderLength, 48, 4);
  EXPECT_EQ(import(file).text(), "");
}

TEST(PteLoader, ProgramIsLargerThanTheFile) {
  Bytes file = tiny_program().file();
  put(file, kProgramSize, file.size() + 1, 8);
  EXPECT_NE(refusal(file).find("extended header: a program of "), std::string::npos);
  put(file, kProgramSize, ~std::uint64_t{0}, 8);
  EXPECT_NE(refusal(file).find("extended header: a program of "), std::string::npos);
}

TEST(PteLoader, SegmentsBeginOutsideOfTheFile) {
  Bytes file = tiny_program().file();
  put(file, kSegmentBase, file.size() + 16, 8);
  EXPECT_NE(refusal(file).find("extended header: segments from byte "), std::string::npos);
  put(file, kSegmentBase, 80, 8);
  EXPECT_NE(refusal(file).find("extended header: segments from byte 80"), std::string::npos);
}

TEST(PteLoader, SegmentsEndOutsideOfTheFile) {
  Bytes file = tiny_program().file();
  put(file, kSegmentSize, ~std::uint64_t{0} - 8, 8);
  EXPECT_NE(refusal(file).find("extended header: segments of "), std::string::npos);
}

TEST(PteLoader, SegmentReachesOutside) {
  auto behind = tiny_program();
  behind.extra_segments = {{0, 1 << 20}};
  EXPECT_NE(refusal(behind).find("segment 2: 1048576 bytes at 0, outside of "), std::string::npos);
  auto overflow = tiny_program();
  overflow.extra_segments = {{~std::uint64_t{0} - 15, 32}};
  EXPECT_NE(refusal(overflow).find("segment 2: 32 bytes at 18446744073709551600, outside of "),
            std::string::npos);
}

TEST(PteLoader, SegmentsWithoutAPlaceForThem) {
  Bytes file = tiny_program().file();
  put(file, kSegmentBase, 0, 8);
  EXPECT_NE(refusal(file).find("outside of 0"), std::string::npos);
}

TEST(PteLoader, StructureIsDamaged) {
  Bytes file = tiny_program().file();
  put(file, 0, 0x7ffffff0, 4);
  EXPECT_NE(refusal(file).find("are not a valid FlatBuffer with identifier ET12"), std::string::npos);
}

TEST(PteLoader, SchemaVersionIsUnknown) {
  auto maker = tiny_program();
  maker.version = 3;
  EXPECT_EQ(refusal(maker), "schema version 3, expected 0");
}

// ---- tensors

TEST(PteLoader, Cve2025_30402_SizesOverflow) {
  EXPECT_NE(refusal_of_input([](ProgramMaker& maker) {
              return maker.tensor({{0x7fffffff, 0x7fffffff, 0x7fffffff, 2}, 6, {}, 0});
            }).find("more than 2147483648 bytes"),
            std::string::npos);
  // A size of 0 hides nothing.
  EXPECT_NE(refusal_of_input([](ProgramMaker& maker) {
              return maker.tensor({{0, 0x7fffffff, 0x7fffffff, 0x7fffffff}, 6, {}, 0});
            }).find("more than 2147483648 bytes"),
            std::string::npos);
}

TEST(PteLoader, SizeIsNegative) {
  EXPECT_NE(refusal_of_input([](ProgramMaker& maker) {
              return maker.tensor({{4, -1}, 6, {}, 0});
            }).find("a size of -1"),
            std::string::npos);
}

TEST(PteLoader, Cve2025_30404_TensorLiesOutsideOfItsMemory) {
  EXPECT_NE(refusal_of_input([](ProgramMaker& maker) {
              return maker.tensor({{4}, 6, {}, 4096});
            }).find("16 bytes at 4096 of a memory of "),
            std::string::npos);
}

TEST(PteLoader, Cve2025_30404_TensorsThatOverlapAreNotMixed) {
  ProgramMaker maker;
  const int x = maker.planned({4}), y = maker.planned({4});
  const int overlapping = maker.tensor({{4}, 6, {}, 8});
  maker.kernel("aten::relu", "out", {x, overlapping, overlapping});
  maker.kernel("aten::relu", "out", {x, y, y});
  maker.inputs = {x};
  maker.outputs = {y};
  EXPECT_EQ(refusal(maker),
            "instruction 1 (aten::relu.out): value 0 is 16 bytes of memory that nothing wrote, or that "
            "something else has overwritten");
}

TEST(PteLoader, Cve2025_30405_OffsetAndSizeOverflow) {
  EXPECT_NE(refusal_of_input([](ProgramMaker& maker) {
              return maker.tensor({{4}, 6, {}, 0x7ffffffffffffff8});
            }).find("16 bytes at 9223372036854775800 of a memory of "),
            std::string::npos);
}

TEST(PteLoader, MemoryDoesNotExist) {
  for (const std::uint32_t memory : {0u, 2u, 0xffffffffu}) {
    EXPECT_NE(refusal_of_input([&](ProgramMaker& maker) {
                return maker.tensor({{4}, 6, {}, 0, memory});
              }).find(" of 2"),
              std::string::npos);
  }
}

TEST(PteLoader, MemoryIsNegative) {
  auto maker = tiny_program();
  maker.memories[0] = -1;
  EXPECT_NE(refusal(maker).find("a memory of -1 bytes"), std::string::npos);
}

TEST(PteLoader, Cve2025_54951_RankIsNotLimited) {
  EXPECT_NE(refusal_of_input([](ProgramMaker& maker) {
              return maker.tensor({std::vector<std::int32_t>(17, 1), 6, {}, 0});
            }).find("rank 17, expected at most 16"),
            std::string::npos);
  // Up to there it is valid, but more than the runtime takes.
  EXPECT_NE(refusal_of_input([](ProgramMaker& maker) {
              return maker.tensor({std::vector<std::int32_t>(7, 1), 6, {}, 0});
            }).find("a tensor of 7 axes, expected at most 6"),
            std::string::npos);
}

TEST(PteLoader, Cve2025_54952_ListsClaimMoreThanTheFileHolds) {
  // One long list that a great many values share.
  ProgramMaker maker;
  const int number = maker.integer(1);
  const std::vector<std::int64_t> many(2000, number);
  flatbuffers::FlatBufferBuilder builder;
  const auto list = pte::CreateIntList(builder, builder.CreateVector(many));
  std::vector<flatbuffers::Offset<pte::Value>> values{
      pte::CreateValue(builder, pte::Values::Int, pte::CreateInt(builder, 1).Union())};
  const auto shared = pte::CreateValue(builder, pte::Values::IntList, list.Union());
  for (int i = 0; i < 5000; ++i) values.push_back(shared);
  const std::vector<std::int32_t> none{0};
  const std::vector plans{pte::CreateExecutionPlanDirect(builder, "forward", 0, &values, &none, &none)};
  pte::FinishProgramBuffer(builder, pte::CreateProgramDirect(builder, 0, &plans));
  const auto* first = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  EXPECT_NE(refusal(Bytes(first, first + builder.GetSize()))
                .find("its tables lead to the same lists and texts so often that copies take more than 16 "
                      "times its "),
            std::string::npos);
}

// The same with names.
TEST(PteLoader, NamesThatTablesShareAreNotCopiedWithoutEnd) {
  flatbuffers::FlatBufferBuilder builder;
  const auto op = pte::CreateOperatorDirect(builder, std::string(5000, 'x').c_str(), "out");
  const std::vector ops(5000, op);
  const std::vector<flatbuffers::Offset<pte::Value>> values{
      pte::CreateValue(builder, pte::Values::Int, pte::CreateInt(builder, 1).Union())};
  const std::vector<std::int32_t> none{0};
  const std::vector plans{
      pte::CreateExecutionPlanDirect(builder, "forward", 0, &values, &none, &none, nullptr, &ops)};
  pte::FinishProgramBuffer(builder, pte::CreateProgramDirect(builder, 0, &plans));
  const auto* first = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  EXPECT_NE(
      refusal(Bytes(first, first + builder.GetSize())).find("so often that copies take more than 16 times"),
      std::string::npos);
}

TEST(PteLoader, ListNamesNoInteger) {
  for (const std::int64_t index : {std::int64_t{-1}, std::int64_t{1} << 40, std::int64_t{0}}) {
    ProgramMaker maker;
    const int x = maker.planned({4}), y = maker.planned({4}), list = maker.boxed({index});
    maker.kernel("aten::permute_copy", "out", {x, list, y, y});
    maker.inputs = {x};
    maker.outputs = {y};
    EXPECT_NE(refusal(maker).find("value 2: a list whose element is value " + std::to_string(index)),
              std::string::npos);
  }
}

// Where scales stand is looked up before the kernel itself is checked.
TEST(PteLoader, KernelHasTooFewArguments) {
  for (const char* kernel :
       {"quantize_per_tensor", "dequantize_per_tensor", "quantized_conv2d", "quantized_depthwise_conv2d",
        "quantized_linear", "quantized_avg_pool2d", "quantized_max_pool2d"}) {
    for (std::size_t count = 0; count <= 9; ++count) {
      ProgramMaker maker;
      const int x = maker.planned({4}), y = maker.planned({4});
      std::vector<std::int32_t> args(count, maker.integer(3));
      if (count > 0) args.back() = y;
      if (count > 1) args.front() = x;
      maker.kernel(std::string("cortex_m::") + kernel, "out", args);
      maker.inputs = {x};
      maker.outputs = {y};
      EXPECT_NE(refusal(maker).find(kernel), std::string::npos) << kernel << " with " << count;
    }
  }
}

TEST(PteLoader, ListNamesNoTensor) {
  for (const int index : {-2, 1000, 2}) {
    ProgramMaker maker;
    const int x = maker.planned({4}), y = maker.planned({4}), axis = maker.integer(0),
              list = maker.tensors({x, index});
    maker.kernel("aten::cat", "out", {list, axis, y, y});
    maker.inputs = {x};
    maker.outputs = {y};
    EXPECT_NE(refusal(maker).find("value 3: a list whose element is value " + std::to_string(index)),
              std::string::npos);
  }
}

TEST(PteLoader, DimOrderIsNoPermutation) {
  for (const std::vector<std::uint8_t>& order :
       {std::vector<std::uint8_t>{0, 0}, {0, 2}, {0}, {0, 255}, {0, 1, 2}}) {
    EXPECT_NE(refusal_of_input([&](ProgramMaker& maker) {
                return maker.tensor({{2, 2}, 6, order, 0});
              }).find("does not name each of 2 axes once"),
              std::string::npos);
  }
}

TEST(PteLoader, TypeIsUnknown) {
  EXPECT_NE(refusal_of_input([](ProgramMaker& maker) {
              return maker.tensor({{4}, 99, {}, 0});
            }).find("type 99, which is none of ExecuTorch's"),
            std::string::npos);
  EXPECT_NE(refusal_of_input([](ProgramMaker& maker) {
              return maker.tensor({{4}, 5, {}, 0});
            }).find("has a type that nothing here computes with"),
            std::string::npos);
}

TEST(PteLoader, StorageOffsetIsNotZero) {
  ProgramMaker::Tensor tensor{{4}, 6, {}, 0};
  tensor.storage_offset = 8;
  EXPECT_NE(refusal_of_input([&](ProgramMaker& maker) {
              return maker.tensor(tensor);
            }).find("a storage offset of 8, expected 0"),
            std::string::npos);
}

TEST(PteLoader, ShapeHasNoUpperBound) {
  ProgramMaker::Tensor tensor{{4}, 6, {}, 0};
  tensor.dynamism = 2;
  EXPECT_NE(refusal_of_input([&](ProgramMaker& maker) {
              return maker.tensor(tensor);
            }).find("a shape without upper bound"),
            std::string::npos);
}

TEST(PteLoader, ConstantReachesOutsideOfItsSegment) {
  ProgramMaker maker;
  const int x = maker.planned({1024}), y = maker.planned({1024});
  ProgramMaker::Tensor large{{1024}};
  large.buffer = 1;
  maker.constant<float>({1}, ProgramMaker::kFloat, {1});
  const int w = maker.tensor(large);
  maker.kernel("aten::mul", "out", {x, w, y, y});
  maker.inputs = {x};
  maker.outputs = {y};
  EXPECT_NE(refusal(maker).find("value 3: 4096 bytes at 0 of a segment of 4"), std::string::npos);
}

TEST(PteLoader, ConstantDoesNotExist) {
  for (const bool inside : {false, true}) {
    ProgramMaker maker;
    maker.inline_constants = inside;
    ProgramMaker::Tensor missing{{4}};
    missing.buffer = 70000;
    const int x = maker.planned({4}), w = maker.tensor(missing), y = maker.planned({4});
    maker.kernel("aten::mul", "out", {x, w, y, y});
    maker.inputs = {x};
    maker.outputs = {y};
    EXPECT_NE(refusal(maker).find(" 70000 of "), std::string::npos);
  }
}

// ---- instructions

TEST(PteLoader, Cve2025_54950_ArgumentCountIsTrusted) {
  ProgramMaker few;
  const int x = few.planned({4}), y = few.planned({4});
  few.kernel("aten::mul", "out", {x, y});
  few.inputs = {x};
  few.outputs = {y};
  EXPECT_EQ(
      refusal(few),
      "instruction 0 (aten::mul.out): 2 operands, expected 4; another version of ExecuTorch may have others");
  ProgramMaker none;
  const int z = none.planned({4});
  none.kernel("executorch_prim::et_view", "default", {});
  none.inputs = none.outputs = {z};
  EXPECT_NE(refusal(none).find("0 operands, expected 3"), std::string::npos);
}

TEST(PteLoader, Cve2025_54950_ArgumentTypesAreTrusted) {
  ProgramMaker maker;
  const int x = maker.planned({4}), y = maker.planned({4}), number = maker.number(1.5);
  maker.kernel("executorch_prim::et_view", "default", {x, number, y});
  maker.inputs = {x};
  maker.outputs = {y};
  EXPECT_EQ(refusal(maker),
            "instruction 0 (executorch_prim::et_view.default): operand 1 is no list of integers");
  ProgramMaker other;
  const int a = other.integer(1), b = other.planned({4});
  other.kernel("aten::relu", "out", {a, b, b});
  other.inputs = {b};
  other.outputs = {b};
  EXPECT_EQ(refusal(other), "instruction 0 (aten::relu.out): operand 0 is no tensor");
}

TEST(PteLoader, Cve2025_54949_ViewWritesPastItsDestination) {
  ProgramMaker maker;
  const int x = maker.planned({4}), y = maker.planned({2}), size = maker.integers({4});
  maker.kernel("executorch_prim::et_view", "default", {x, size, y});
  maker.inputs = {x};
  maker.outputs = {y};
  EXPECT_EQ(refusal(maker),
            "instruction 0 (executorch_prim::et_view.default): computes float32 [4], but the program says "
            "float32 [2]");
  ProgramMaker larger;
  const int a = larger.planned({4}), b = larger.planned({400}), wanted = larger.integers({400});
  larger.kernel("executorch_prim::et_view", "default", {a, wanted, b});
  larger.inputs = {a};
  larger.outputs = {b};
  EXPECT_NE(refusal(larger).find("a dimension of 400 for 4 elements"), std::string::npos);
}

TEST(PteLoader, ArgumentIndexIsOutside) {
  for (const std::int32_t index : {-1, 100}) {
    auto maker = tiny_program();
    maker.kernel("aten::relu", "out", {index, 0, 0});
    EXPECT_EQ(refusal(maker), "instruction 3: value " + std::to_string(index) + " of 7");
  }
}

TEST(PteLoader, OperatorIndexIsOutside) {
  for (const int op : {-1, 3}) {
    auto maker = tiny_program();
    maker.kernel_number(op, {0, 0, 0});
    EXPECT_EQ(refusal(maker), "instruction 3: operator " + std::to_string(op) + " of 3");
  }
}

TEST(PteLoader, InputsAndOutputsAreOutside) {
  auto inputs = tiny_program();
  inputs.inputs = {64};
  EXPECT_EQ(refusal(inputs), "the inputs: value 64 of 7");
  auto outputs = tiny_program();
  outputs.outputs = {-1};
  EXPECT_EQ(refusal(outputs), "the outputs: value -1 of 7");
  auto twice = tiny_program();
  twice.inputs = {0, 0};
  EXPECT_EQ(refusal(twice), "input \"input1\" is there twice or a constant");
}

TEST(PteLoader, BackwardJumpLoopsForEver) {
  auto maker = tiny_program();
  const int condition = maker.boolean(false);
  maker.jump(condition, 0);
  EXPECT_EQ(refusal(maker), "kernels that cannot be imported: jumps (control flow)");
}

TEST(PteLoader, EveryUnknownKernelIsNamed) {
  auto maker = tiny_program();
  maker.kernel("aten::fft", "out", {0, 0});
  maker.kernel("mine::special", "", {0, 0});
  maker.kernel("aten::fft", "out", {0, 0});
  EXPECT_EQ(refusal(maker), "kernels that cannot be imported: aten::fft.out (2 times), mine::special");
}

TEST(PteLoader, DelegateListIsMissing) {
  ProgramMaker maker;
  flatbuffers::FlatBufferBuilder builder;
  const std::vector<std::int32_t> args{0};
  const std::vector instructions{
      pte::CreateInstruction(builder, pte::InstructionArguments::DelegateCall,
                             pte::CreateDelegateCallDirect(builder, 0, &args).Union())};
  const std::vector values{pte::CreateValue(builder, pte::Values::Null, pte::CreateNull(builder).Union())};
  const std::vector chains{pte::CreateChainDirect(builder, nullptr, nullptr, &instructions)};
  const std::vector plans{
      pte::CreateExecutionPlanDirect(builder, "forward", 0, &values, nullptr, nullptr, &chains)};
  pte::FinishProgramBuffer(builder, pte::CreateProgramDirect(builder, 0, &plans));
  const auto* first = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  EXPECT_EQ(refusal(Bytes(first, first + builder.GetSize())), "instruction 0: delegate 0 of 0");
}

TEST(PteLoader, MoreThanOneChain) {
  auto maker = tiny_program();
  maker.chains = 2;
  EXPECT_EQ(refusal(maker), "2 chains of instructions, expected 1");
}

TEST(PteLoader, ConstantsOutOfNothing) {
  // A large tensor of one number costs a few bytes to ask for.
  ProgramMaker maker;
  const int size = maker.integers({1 << 14, 1 << 14}), zero = maker.integer(0),
            y = maker.planned({1 << 14, 1 << 14});
  const int x = maker.planned({4});
  maker.kernel("aten::full", "out", {size, zero, y, y});
  maker.inputs = {x};
  maker.outputs = {y};
  EXPECT_NE(refusal(maker).find("1073741824 bytes of one number, expected at most 1048576"),
            std::string::npos);
}

TEST(PteLoader, ConstantIsWritten) {
  auto maker = tiny_program();
  maker.kernel("aten::relu", "out", {0, 1, 1});
  EXPECT_EQ(refusal(maker), "instruction 3 (aten::relu.out): writes value 1, which is a constant");
}

TEST(PteLoader, OutputIsWrittenByNothing) {
  ProgramMaker maker;
  const int x = maker.planned({4}), y = maker.planned({4});
  maker.inputs = {x};
  maker.outputs = {y};
  EXPECT_NE(refusal(maker).find("that nothing wrote"), std::string::npos);
}

// ---- programs with test cases

TEST(BpteLoader, TestCasesAreTaken) {
  const auto imported =
      compiler::import_pte(tiny_program().bundle({{{{{4}, {1, 2, 3, 4}}}, {{{4}, {1, 0, 6, 1}}}}}));
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  EXPECT_EQ(imported->graph.vectors.size(), 1u);
  EXPECT_TRUE(imported->notes.empty());
}

TEST(BpteLoader, TestCasesOfOtherShapesAreLeftOut) {
  const auto imported =
      compiler::import_pte(tiny_program().bundle({{{{{2}, {1, 2}}}, {{{4}, {1, 0, 6, 1}}}}, {{}, {}}}));
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  EXPECT_TRUE(imported->graph.vectors.empty());
  ASSERT_EQ(imported->notes.size(), 1u);
  EXPECT_NE(imported->notes[0].find("2 test cases left out"), std::string::npos);
}

TEST(BpteLoader, DataOfAnotherSizeThanItsShape) {
  EXPECT_EQ(refusal(tiny_program().bundle({{{{{4}, {1, 2, 3}}}, {{{4}, {1, 0, 6, 1}}}}})),
            "test case 0 inputs, value 0: 12 bytes for a shape of 16");
}

TEST(BpteLoader, SizesOverflow) {
  EXPECT_NE(
      refusal(tiny_program().bundle({{{{{0x7fffffff, 0x7fffffff, 0x7fffffff}, {1}}}, {{{4}, {1, 0, 6, 1}}}}}))
          .find("more than 2147483648 bytes"),
      std::string::npos);
}

TEST(BpteLoader, ProgramInsideIsNone) {
  flatbuffers::FlatBufferBuilder builder;
  const std::vector<std::uint8_t> nothing(128, 7);
  builder.Finish(pte::CreateBundledProgramDirect(builder, 0, nullptr, &nothing), "BP08");
  const auto* first = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  EXPECT_EQ(refusal(Bytes(first, first + builder.GetSize())), "no ET12 at byte 4 of the program");
  flatbuffers::FlatBufferBuilder empty;
  empty.Finish(pte::CreateBundledProgram(empty), "BP08");
  const auto* other = reinterpret_cast<const std::byte*>(empty.GetBufferPointer());
  EXPECT_EQ(refusal(Bytes(other, other + empty.GetSize())), "no program beside its test cases");
}

}  // namespace
}  // namespace runnel::test
