// Small ExecuTorch programs: what is computed, what a session keeps, what stays opaque.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/import/pte/importer.h"
#include "inference/delegate.h"
#include "tests/compiler/import/pte/program_maker.h"

namespace runnel::test {
namespace {

constexpr auto kFloat = ProgramMaker::kFloat;
constexpr auto kInt8 = ProgramMaker::kInt8;

std::unique_ptr<RunnableGraph> load(ProgramMaker& maker, std::optional<UsageKind> usage = {}) {
  auto imported = compiler::import_pte(maker.file());
  EXPECT_TRUE(imported.ok()) << imported.status().text();
  if (!imported.ok()) return nullptr;
  if (usage) {
    EXPECT_EQ(imported->graph.pipeline.usage, *usage);
  }
  auto runnable = RunnableGraph::make(imported->graph);
  EXPECT_TRUE(runnable.ok()) << runnable.status().text();
  return runnable.ok() ? std::move(runnable).value() : nullptr;
}
std::string refusal(ProgramMaker& maker) {
  const auto imported = compiler::import_pte(maker.file());
  EXPECT_FALSE(imported.ok()) << "taken";
  return imported.ok() ? "" : std::string(imported.status().text());
}

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes out(values.size() * sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}
std::vector<float> floats_of(const Bytes& bytes) {
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}
std::vector<float> run(const RunnableGraph& model, const std::vector<float>& x) {
  auto outputs = model.whole({bytes_of(x)});
  EXPECT_TRUE(outputs.ok()) << outputs.status().text();
  return outputs.ok() ? floats_of((*outputs)[0]) : std::vector<float>();
}

TEST(PteConvert, ConstantsInSegmentsAndInline) {
  for (const bool inside : {false, true}) {
    auto maker = tiny_program();
    maker.inline_constants = inside;
    const auto model = load(maker);
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(run(*model, {1, 2, 3, 4}), (std::vector<float>{1, 0, 6, 1}));
  }
}

// Views that an exporter has left out: a tensor at the place of another one, in another shape or order of
// axes.
TEST(PteConvert, MemoryUnderAnotherShape) {
  ProgramMaker maker;
  const int x = maker.planned({1, 2, 3});
  const int doubled = maker.planned({1, 2, 3}), one = maker.integer(1);
  const int last = maker.tensor(
      {{1, 3, 2}, kFloat, {0, 2, 1}, maker.memories[1] - 32});  // the same bytes, the axes in another order
  const int flat = maker.tensor({{6}, kFloat, {}, maker.memories[1] - 32});
  const int relu = maker.planned({1, 3, 2}), y = maker.planned({6});
  maker.kernel("aten::add", "out", {x, x, one, doubled, doubled});
  maker.kernel("aten::relu", "out", {last, relu, relu});
  maker.kernel("aten::relu", "out", {flat, y, y});
  maker.inputs = {x};
  maker.outputs = {y, relu};
  const auto model = load(maker);
  ASSERT_NE(model, nullptr);
  const auto outputs = model->whole({bytes_of<float>({1, 2, 3, 4, 5, 6})});
  ASSERT_TRUE(outputs.ok()) << outputs.status().text();
  EXPECT_EQ(floats_of((*outputs)[0]), (std::vector<float>{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(floats_of((*outputs)[1]), (std::vector<float>{2, 8, 4, 10, 6, 12}));
}

TEST(PteConvert, MemoryUsedAgain) {
  ProgramMaker maker;
  const int x = maker.planned({4}), one = maker.integer(1);
  const int again = maker.tensor({{4}, kFloat, {}, 0}), y = maker.planned({4});
  maker.kernel("aten::add", "out", {x, x, one, again, again});  // over its own input
  maker.kernel("aten::mul", "out", {again, again, y, y});
  maker.inputs = {x};
  maker.outputs = {y};
  const auto model = load(maker);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(run(*model, {1, 2, 3, 4}), (std::vector<float>{4, 16, 36, 64}));
}

TEST(PteConvert, Moves) {
  auto maker = tiny_program();
  const int copy = maker.planned({4});
  maker.move(maker.outputs[0], copy);
  maker.outputs = {copy};
  const auto model = load(maker);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(run(*model, {1, 2, 3, 4}), (std::vector<float>{1, 0, 6, 1}));
}

// ---- mutable buffers

TEST(PteConvert, MutableBufferIsTheSessionsState) {
  ProgramMaker maker;
  const int x = maker.planned({2}), kept = maker.buffer({2}, {10, 20}), sum = maker.planned({2}),
            one = maker.integer(1), no = maker.boolean(false);
  maker.kernel("aten::add", "out", {kept, x, one, sum, sum});
  maker.kernel("aten::copy_", "", {kept, sum, no, kept});
  maker.inputs = {x};
  maker.outputs = {sum};
  const auto model = load(maker, UsageKind::step);
  ASSERT_NE(model, nullptr);
  EXPECT_FALSE(model->streams());
  const Bytes step = bytes_of<float>({1, 2});
  const auto steps = model->stepped({{step}, {step}, {step}});
  ASSERT_TRUE(steps.ok()) << steps.status().text();
  EXPECT_EQ(floats_of((*steps)[0][0]), (std::vector<float>{11, 22}));
  EXPECT_EQ(floats_of((*steps)[1][0]), (std::vector<float>{12, 24}));
  EXPECT_EQ(floats_of((*steps)[2][0]), (std::vector<float>{13, 26}));
  // A new session begins anew.
  const auto again = model->stepped({{step}});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(floats_of((*again)[0][0]), (std::vector<float>{11, 22}));
}

TEST(PteConvert, MutableBufferWithoutFirstValueIsZero) {
  ProgramMaker maker;
  const int x = maker.planned({1, 2, 2}),
            kept = maker.tensor({{1, 2, 2}, kFloat, {0, 2, 1}, maker.memories[1]}), no = maker.boolean(false),
            one = maker.integer(1);
  maker.memories[1] += 16;
  const int y = maker.planned({1, 2, 2});
  maker.kernel("aten::add", "out", {kept, x, one, y, y});
  maker.kernel("aten::copy_", "", {kept, x, no});
  maker.inputs = {x};
  maker.outputs = {y};
  const auto model = load(maker, UsageKind::step);
  ASSERT_NE(model, nullptr);
  const auto steps = model->stepped({{bytes_of<float>({1, 2, 3, 4})}, {bytes_of<float>({10, 20, 30, 40})}});
  ASSERT_TRUE(steps.ok()) << steps.status().text();
  EXPECT_EQ(floats_of((*steps)[0][0]), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(floats_of((*steps)[1][0]), (std::vector<float>{11, 22, 33, 44}));
}

TEST(PteConvert, CopyIntoSomethingElseThanABuffer) {
  auto maker = tiny_program();
  const int no = maker.boolean(false);
  maker.kernel("aten::copy_", "", {maker.outputs[0], maker.inputs[0], no});
  EXPECT_NE(refusal(maker).find("which is no mutable buffer"), std::string::npos);
}

// ---- delegates

TEST(PteConvert, UnknownDelegateStaysOpaque) {
  for (const bool in_segment : {false, true}) {
    ProgramMaker maker;
    const int x = maker.planned({2, 2}), sum = maker.planned({2, 2}), one = maker.integer(1),
              y = maker.planned({3});
    maker.kernel("aten::add", "out", {x, x, one, sum, sum});
    maker.delegate("SomeBackend", Bytes(100, std::byte{9}), {sum, x, y}, in_segment);
    maker.inputs = {x};
    maker.outputs = {y};
    const auto model = load(maker, UsageKind::whole);
    ASSERT_NE(model, nullptr);
    const DelegateSegment segment(model->model(), model->model().op(1));
    EXPECT_EQ(segment.kind(), "SomeBackend");
    ASSERT_EQ(segment.parts(), 1);
    EXPECT_EQ(segment.part_name(0), "payload");
    EXPECT_EQ(segment.part("payload").size(), 100u);
    EXPECT_EQ(segment.part("payload")[99], std::byte{9});
    EXPECT_TRUE(segment.part("other").empty());
    EXPECT_EQ(segment.inputs().size(), 2u);
    EXPECT_EQ(segment.outputs().size(), 1u);
    EXPECT_TRUE(segment.attributes().has("target"));
    EXPECT_EQ(model->model().tensor(segment.outputs()[0]).shape[0], 3);
    const auto refused = model->whole({Bytes(16)});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().code(), Code::unsupported);
    EXPECT_NE(refused.status().text().find("delegate \"SomeBackend\""), std::string::npos)
        << refused.status().text();
  }
}

ProgramMaker npu_program(const Bytes& payload, std::int8_t in = kInt8, bool two_inputs = false) {
  ProgramMaker maker;
  const int x = maker.planned({1, 1}, in), y = maker.planned({1, 1}, kInt8), z = maker.planned({1, 1}, kInt8);
  maker.delegate("EthosUBackend", payload,
                 two_inputs ? std::vector<std::int32_t>{x, z, y} : std::vector<std::int32_t>{x, y});
  maker.inputs = two_inputs ? std::vector<std::int32_t>{x, z} : std::vector<std::int32_t>{x};
  maker.outputs = {y};
  return maker;
}

TEST(PteConvert, NpuPayloadMustFitItsCall) {
  auto good = npu_program(tiny_vela_stream());
  EXPECT_NE(load(good), nullptr);
  // The checks that ExecuTorch makes after it has copied the input.
  auto count = npu_program(tiny_vela_stream(), kInt8, true);
  EXPECT_NE(refusal(count).find("3 operands, but the payload has 1 inputs and 1 outputs"), std::string::npos);
  auto size = npu_program(tiny_vela_stream(), kFloat);
  EXPECT_NE(refusal(size).find("operand 0 has 4 bytes, but the payload says 1 in elements of 1"),
            std::string::npos);
  auto cut = npu_program(Bytes(20));
  EXPECT_NE(refusal(cut).find("instruction 0 (delegate EthosUBackend): block \"vela_bin_stream\""),
            std::string::npos);
}

TEST(PteConvert, DelegateWithoutOutputs) {
  ProgramMaker maker;
  const int x = maker.planned({2});
  maker.delegate("SomeBackend", Bytes(4), {x});
  maker.inputs = maker.outputs = {x};
  EXPECT_NE(refusal(maker).find("no outputs"), std::string::npos);
}

// ---- quantized_decomposed

TEST(PteConvert, QuantizedPerTensorAndBack) {
  ProgramMaker maker;
  const int x = maker.planned({4}), scale = maker.number(0.5), zero = maker.integer(3),
            low = maker.integer(-4), high = maker.integer(127), type = maker.integer(1);
  const int q = maker.planned({4}, kInt8), y = maker.planned({4}), none = maker.none();
  maker.kernel("quantized_decomposed::quantize_per_tensor", "out", {x, scale, zero, low, high, type, q, q});
  maker.kernel("quantized_decomposed::dequantize_per_tensor", "out",
               {q, scale, zero, low, high, type, none, y, y});
  maker.inputs = {x};
  maker.outputs = {y};
  const auto model = load(maker);
  ASSERT_NE(model, nullptr);
  // -4 is the least: (-4 - 3) / 2.
  EXPECT_EQ(run(*model, {1.1f, -100, 1000, 0}), (std::vector<float>{1, -3.5f, 62, 0}));
}

TEST(PteConvert, ChannelsOfConstantWeightsAreFolded) {
  ProgramMaker maker;
  const int w = maker.constant<std::int8_t>({2, 2}, kInt8, {1, 2, 3, 4}),
            scales = maker.constant<double>({2}, ProgramMaker::kDouble, {0.5, 2});
  const int zeros = maker.constant<std::int64_t>({2}, ProgramMaker::kInt64, {0, 1}), axis = maker.integer(0),
            low = maker.integer(-127), high = maker.integer(127), type = maker.integer(1);
  const int real = maker.planned({2, 2}), turned = maker.planned({2, 2}), x = maker.planned({1, 2}),
            y = maker.planned({1, 2}), order = maker.integers({1, 0});
  maker.kernel("quantized_decomposed::dequantize_per_channel", "out",
               {w, scales, zeros, axis, low, high, type, real, real});
  maker.kernel("aten::permute_copy", "out", {real, order, turned, turned});
  maker.kernel("aten::mm", "out", {x, turned, y, y});
  maker.inputs = {x};
  maker.outputs = {y};
  const auto model = load(maker);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(run(*model, {1, 10}), (std::vector<float>{0.5f + 10, 4 + 60}));
}

TEST(PteConvert, ChannelsOfActivations) {
  ProgramMaker maker;
  const int x = maker.planned({2, 2}), scales = maker.constant<double>({2}, ProgramMaker::kDouble, {0.5, 2}),
            none = maker.none(), axis = maker.integer(1);
  const int low = maker.integer(-128), high = maker.integer(127), type = maker.integer(1),
            q = maker.planned({2, 2}, kInt8), y = maker.planned({2, 2});
  maker.kernel("quantized_decomposed::quantize_per_channel", "out",
               {x, scales, none, axis, low, high, type, q, q});
  maker.kernel("quantized_decomposed::dequantize_per_channel", "out",
               {q, scales, none, axis, low, high, type, y, y});
  maker.inputs = {x};
  maker.outputs = {y};
  const auto model = load(maker);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(run(*model, {1.1f, 4.5f, -0.6f, 1e6f}), (std::vector<float>{1, 4, -0.5f, 254}));
}

// ---- cortex_m

// A layer of one output with the multiplier 1/2: 2^30 and no shift.
ProgramMaker quantized_linear(std::int64_t in_offset, std::int64_t shift = 0,
                              std::int64_t multiplier = 1 << 30) {
  ProgramMaker maker;
  const int x = maker.planned({1, 2}), scale = maker.number(1), zero = maker.integer(-10),
            low = maker.integer(-128), high = maker.integer(127), type = maker.integer(1);
  const int q = maker.planned({1, 2}, kInt8), w = maker.constant<std::int8_t>({1, 2}, kInt8, {3, -1}),
            bias = maker.constant<std::int32_t>({1}, ProgramMaker::kInt32, {4});
  const int none = maker.none(), offset = maker.integer(in_offset), filter = maker.integer(0),
            out_offset = maker.integer(5);
  const int multipliers = maker.integers({multiplier}), shifts = maker.integers({shift}),
            most = maker.integer(50), least = maker.integer(-50);
  const int r = maker.planned({1, 1}, kInt8), y = maker.planned({1, 1}), out_scale = maker.number(0.25),
            out_zero = maker.integer(5);
  maker.kernel("cortex_m::quantize_per_tensor", "out", {x, scale, zero, low, high, type, q, q});
  maker.kernel("cortex_m::quantized_linear", "out",
               {q, w, bias, none, offset, filter, out_offset, multipliers, shifts, most, least, r, r});
  maker.kernel("cortex_m::dequantize_per_tensor", "out", {r, out_scale, out_zero, low, high, type, y, y});
  maker.inputs = {x};
  maker.outputs = {y};
  return maker;
}

TEST(PteConvert, LayerWithGivenMultipliers) {
  auto maker = quantized_linear(10);
  const auto model = load(maker);
  ASSERT_NE(model, nullptr);
  // (4 + 3 * 8 - 2) / 2 = 13; 13 + 5 as integer; (18 - 5) / 4.
  EXPECT_EQ(run(*model, {8, 2}), std::vector<float>{3.25f});
  // Limits of its own: 50.
  EXPECT_EQ(run(*model, {100, 2}), std::vector<float>{45 * 0.25f});
  auto shifted = quantized_linear(10, -1);
  const auto half = load(shifted);
  ASSERT_NE(half, nullptr);
  EXPECT_EQ(run(*half, {8, 2}), std::vector<float>{7 * 0.25f});  // 6.5 rounds away from zero
}

TEST(PteConvert, LayerThatContradictsItsInput) {
  auto zero = quantized_linear(20);
  EXPECT_NE(refusal(zero).find("zero point -20 of an input that was made with -10"), std::string::npos);
  for (const std::int64_t multiplier : {std::int64_t{5}, std::int64_t{-1}}) {
    auto small = quantized_linear(10, 0, multiplier);
    const auto imported = compiler::import_pte(small.file());
    ASSERT_TRUE(imported.ok());
    EXPECT_NE(RunnableGraph::make(imported->graph).status().text().find("expected 0 or 2^30 to 2^31 - 1"),
              std::string::npos);
  }
  auto far = quantized_linear(10, 40);
  const auto imported = compiler::import_pte(far.file());
  ASSERT_TRUE(imported.ok());
  EXPECT_NE(RunnableGraph::make(imported->graph).status().text().find("a shift of -40, expected -31 to 31"),
            std::string::npos);
}

// ---- windows

TEST(PteConvert, MaxPoolWithCeiling) {
  ProgramMaker maker;
  const int x = maker.planned({1, 1, 1, 5}), kernel = maker.integers({1, 2}), pad = maker.integers({0, 0}),
            dilation = maker.integers({1, 1}), ceil = maker.boolean(true);
  const int y = maker.planned({1, 1, 1, 3}), places = maker.planned({1, 1, 1, 3}, ProgramMaker::kInt64),
            both = maker.tensors({y, places});
  maker.kernel("aten::max_pool2d_with_indices", "out",
               {x, kernel, kernel, pad, dilation, ceil, y, places, both});
  maker.inputs = {x};
  maker.outputs = {y};
  const auto model = load(maker);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(run(*model, {1, 2, 4, 3, -5}), (std::vector<float>{2, 4, -5}));
}

TEST(PteConvert, ChannelsLastInMemory) {
  // A convolution whose input and output have their channels after in memory: nothing is moved around.
  ProgramMaker maker;
  const int x = maker.tensor({{1, 2, 1, 3}, kFloat, {0, 2, 3, 1}, 0});
  maker.memories[1] = 32;
  const int w = maker.constant<float>({1, 2, 1, 1}, kFloat, {1, 10}), none = maker.none(),
            ones = maker.integers({1, 1}), zeros = maker.integers({0, 0}), no = maker.boolean(false),
            groups = maker.integer(1);
  const int y = maker.planned({1, 1, 1, 3});
  maker.kernel("aten::convolution", "out", {x, w, none, ones, zeros, ones, no, zeros, groups, y, y});
  maker.inputs = {x};
  maker.outputs = {y};
  const auto model = load(maker);
  ASSERT_NE(model, nullptr);
  // Inputs have the program's order of axes, whatever its memory has.
  EXPECT_EQ(run(*model, {1, 2, 3, 4, 5, 6}), (std::vector<float>{41, 52, 63}));
}

TEST(PteConvert, SplitSelectAndSliceOfMiddleAxes) {
  ProgramMaker maker;
  const int x = maker.planned({2, 3}), one = maker.integer(1), minus = maker.integer(-1), none = maker.none(),
            sizes = maker.integers({1, 2});
  const int picked = maker.planned({2}), sliced = maker.planned({2, 2}), first = maker.planned({2, 1}),
            second = maker.planned({2, 2}), parts = maker.tensors({first, second});
  maker.kernel("aten::select_copy", "int_out", {x, one, minus, picked, picked});
  maker.kernel("aten::slice_copy", "Tensor_out", {x, one, one, none, one, sliced, sliced});
  maker.kernel("aten::split_with_sizes_copy", "out", {x, sizes, minus, parts, parts});
  maker.inputs = {x};
  maker.outputs = {picked, sliced, first, second};
  const auto model = load(maker);
  ASSERT_NE(model, nullptr);
  const auto outputs = model->whole({bytes_of<float>({1, 2, 3, 4, 5, 6})});
  ASSERT_TRUE(outputs.ok()) << outputs.status().text();
  EXPECT_EQ(floats_of((*outputs)[0]), (std::vector<float>{3, 6}));
  EXPECT_EQ(floats_of((*outputs)[1]), (std::vector<float>{2, 3, 5, 6}));
  EXPECT_EQ(floats_of((*outputs)[2]), (std::vector<float>{1, 4}));
  EXPECT_EQ(floats_of((*outputs)[3]), (std::vector<float>{2, 3, 5, 6}));
}

}  // namespace
}  // namespace runnel::test
