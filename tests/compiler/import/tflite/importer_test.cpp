// Small .tflite models made here: what is read, what is computed, what is refused.
#include <limits>
#include <random>
#include <string>

#include "tests/compiler/import/tflite/tiny_tflite.h"

namespace runnel::test {
namespace {

std::string refusal(const Bytes& file) {
  const auto graph = compiler::import_tflite(file);
  return graph.ok() ? std::string("taken") : std::string(graph.status().text());
}

Bytes sum(std::int8_t activation) {
  TinyTflite model;
  const int a = model.tensor(kInt8, {1, 4}, 0.5f, 0), b = model.tensor(kInt8, {1, 4}, 0.25f, 4),
            y = model.tensor(kInt8, {1, 4}, 0.5f, -10);
  model.op(Builtin::ADD, {a, b}, {y}, tflite::BuiltinOptions::Add,
           tflite::CreateArithmeticOptions(model.builder(), activation));
  return model.file({a, b}, {y});
}

TEST(TfliteImporter, AddsNumbersOfUnequalScales) {
  // Values 1, -20, 60, 3 and 0.5, 1, 30, -1: sums 1.5, -19, 90 (limited), 2.
  const std::vector<Bytes> inputs{bytes_of<std::int8_t>({2, -40, 120, 6}),
                                  bytes_of<std::int8_t>({6, 8, 124, 0})};
  EXPECT_EQ(run<std::int8_t>(sum(0), inputs), (std::vector<std::int8_t>{-7, -48, 127, -6}));
}

TEST(TfliteImporter, FusedActivationsLimitAtTheirValues) {
  const std::vector<Bytes> inputs{bytes_of<std::int8_t>({2, -40, 120, 6}),
                                  bytes_of<std::int8_t>({6, 8, 124, 0})};
  EXPECT_EQ(run<std::int8_t>(sum(1), inputs),
            (std::vector<std::int8_t>{-7, -10, 127, -6}));                                   // ReLU: 0 is -10
  EXPECT_EQ(run<std::int8_t>(sum(3), inputs), (std::vector<std::int8_t>{-7, -10, 2, -6}));   // ReLU6: 6 is 2
  EXPECT_EQ(run<std::int8_t>(sum(2), inputs), (std::vector<std::int8_t>{-8, -12, -8, -8}));  // [-1, 1]
  EXPECT_NE(refusal(sum(5)).find("fused activation 5"), std::string::npos);
}

// EXPAND_DIMS and SQUEEZE before a window of 200: shapes follow from the input, whatever the file says
// of the tensors between.
TEST(TfliteImporter, OpenAxesGetTheSizeAskedForOrOneThatFits) {
  TinyTflite model;
  const int x = model.tensor(kFloat, {1, 1}, 0, 0, std::vector<float>(), {-1, -1}),
            wide = model.tensor(kFloat, {1, 1, 1}, 0, 0), image = model.tensor(kFloat, {1, 1, 1, 1}, 0, 0);
  const int last = model.tensor<std::int32_t>(kInt32, {1}, 0, 0, {-1}),
            one = model.tensor<std::int32_t>(kInt32, {1}, 0, 0, {1});
  const int pooled = model.tensor(kFloat, {1, 1, 1, 1}, 0, 0), y = model.tensor(kFloat, {1, 1}, 0, 0);
  model.op(Builtin::EXPAND_DIMS, {x, last}, {wide});
  model.op(Builtin::EXPAND_DIMS, {wide, one}, {image});
  model.op(Builtin::MAX_POOL_2D, {image}, {pooled}, tflite::BuiltinOptions::Pool2D,
           tflite::CreatePool2DOptions(model.builder(), 1, 100, 1, 200, 1));
  model.op(Builtin::SQUEEZE, {pooled}, {y}, tflite::BuiltinOptions::Squeeze,
           tflite::CreateSqueezeOptions(model.builder(),
                                        model.builder().CreateVector(std::vector<std::int32_t>{1, -1})));
  const Bytes file = model.file({x}, {y});
  const auto shapes_of = [&](const compiler::InputShapes& shapes, std::vector<std::string>* notes = nullptr) {
    const auto graph = compiler::import_tflite(file, all_operators(), shapes, notes);
    if (!graph.ok()) return std::string(graph.status().text());
    std::string text;
    for (const compiler::TensorId id : {graph->inputs[0], graph->outputs[0]}) {
      for (const std::int32_t dim : graph->tensors[static_cast<std::size_t>(id)].shape)
        text += std::to_string(dim) + " ";
    }
    return text;
  };
  const auto asked = [](const char* name, std::vector<std::int64_t> dims) {
    compiler::InputShapes shapes;
    shapes.shapes[name] = std::move(dims);
    return shapes;
  };
  const auto seen = [](std::vector<std::int64_t> dims) {
    compiler::InputShapes shapes;
    shapes.data_shapes["t0"] = std::move(dims);
    return shapes;
  };
  compiler::InputShapes counted;
  counted.data_elements["t0"] = 400;
  std::vector<std::string> notes;
  EXPECT_EQ(shapes_of({}, &notes), "1 512 1 4 ");  // 128 is too short
  EXPECT_EQ(notes, std::vector<std::string>{
                       "input t0 has no fixed size: imported as [1, 512] (--shape says otherwise)"});
  notes.clear();
  EXPECT_EQ(shapes_of(asked("t0", {2, 300}), &notes), "2 300 2 2 ");
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(shapes_of(asked("t0", {-1, 300})), "1 300 1 2 ");
  EXPECT_EQ(shapes_of(seen({1, 1000})), "1 1000 1 9 ");
  EXPECT_EQ(shapes_of(seen({1, 2, 3})), "1 512 1 4 ");
  EXPECT_EQ(shapes_of(counted), "1 400 1 3 ");
  EXPECT_EQ(shapes_of(asked("t0", {1, 0})), "shape [1, 0] for input \"t0\", which has [-1, -1] (-1: open)");
  EXPECT_EQ(shapes_of(asked("t1", {1, 300})), "a shape for input \"t1\", which the model does not have");
}

TEST(TfliteImporter, BothGenerationsOfOperatorCodes) {
  for (const bool old_code : {true, false}) {
    TinyTflite model;
    const int x = model.tensor(kFloat, {1, 3}, 0, 0), y = model.tensor(kFloat, {1, 3}, 0, 0);
    model.op(Builtin::RELU, {x}, {y}, tflite::BuiltinOptions::NONE, Offset<void>(0), old_code);
    EXPECT_EQ(run<float>(model.file({x}, {y}), {bytes_of<float>({-1, 0, 2})}), (std::vector<float>{0, 0, 2}));
  }
}

TEST(TfliteImporter, DenseLayersOfSixteenBitsRoundOnce) {
  TinyTflite model;
  const int x = model.tensor(kInt16, {1, 2}, 0.5f, 0),
            w = model.tensor<std::int8_t>(kInt8, {2, 2}, 0.5f, 0, {1, 2, -3, 4});
  const int b = model.tensor<std::int64_t>(kInt64, {2}, 0.25f, 0, {1, -1}),
            y = model.tensor(kInt16, {1, 2}, 0.5f, 0);
  model.op(Builtin::FULLY_CONNECTED, {x, w, b}, {y}, tflite::BuiltinOptions::FullyConnected,
           tflite::CreateFullyConnectedOptions(model.builder()));
  // Sums 1000 + 4000 + 1 = 5001 and -3000 + 8000 - 1 = 4999, halves up.
  EXPECT_EQ(run<std::int16_t>(model.file({x}, {y}), {bytes_of<std::int16_t>({1000, 2000})}),
            (std::vector<std::int16_t>{2501, 2500}));
}

TEST(TfliteImporter, DynamicRangeQuantizesEachRow) {
  TinyTflite model;
  const int x = model.tensor(kFloat, {2, 2}, 0, 0),
            w = model.tensor<std::int8_t>(kInt8, {1, 2}, 0.5f, 0, {2, 4}),
            y = model.tensor(kFloat, {2, 1}, 0, 0);
  model.op(Builtin::FULLY_CONNECTED, {x, w, -1}, {y}, tflite::BuiltinOptions::FullyConnected,
           tflite::CreateFullyConnectedOptions(model.builder()));
  // Rows become {127, 64} (1/127 each: 0.5 is 63.5, away from zero) and {0, -127} (8/127 each).
  const auto found = run<float>(model.file({x}, {y}), {bytes_of<float>({1, 0.5f, 0, -8})});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[0], (127 * 2 + 64 * 4) * 0.5 / 127, 1e-6);
  EXPECT_NEAR(found[1], -16, 1e-5);
}

TEST(TfliteImporter, RequantizesBetweenTypes) {
  TinyTflite model;
  const int x = model.tensor(kInt8, {1, 4}, 1.0f / 256, -128),
            y = model.tensor(kUint8, {1, 4}, 1.0f / 256, 0);
  model.op(Builtin::QUANTIZE, {x}, {y});
  EXPECT_EQ(run<std::uint8_t>(model.file({x}, {y}), {bytes_of<std::int8_t>({-128, -1, 0, 127})}),
            (std::vector<std::uint8_t>{0, 127, 128, 255}));
}

// A SLICE of [2, 3, 4]; begins and sizes of int32 or int64.
template <class T>
Bytes slice_of(const std::vector<T>& begin, const std::vector<T>& size, Type numbers,
               const std::vector<std::int32_t>& shape) {
  TinyTflite model;
  const auto count = static_cast<std::int32_t>(begin.size());
  const int x = model.tensor(kInt8, {2, 3, 4}, 0.5f, 3),
            from = model.tensor<T>(numbers, {count}, 0, 0, begin),
            sizes = model.tensor<T>(numbers, {static_cast<std::int32_t>(size.size())}, 0, 0, size),
            y = model.tensor(kInt8, shape, 0.5f, 3);
  model.op(Builtin::SLICE, {x, from, sizes}, {y});
  return model.file({x}, {y});
}

TEST(TfliteImporter, SlicesByFirstElementAndSize) {
  std::vector<std::int8_t> x(24);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int8_t>(i * 5 - 60);
  std::vector<std::int8_t> expected;  // [1, 0 to 1, 2 to 3]
  for (const std::size_t row : {0U, 1U}) {
    for (const std::size_t column : {2U, 3U}) expected.push_back(x[12 + row * 4 + column]);
  }
  EXPECT_EQ(run<std::int8_t>(slice_of<std::int32_t>({1, 0, 2}, {1, 2, 2}, kInt32, {1, 2, 2}), {bytes_of(x)}),
            expected);
  // -1: all that follow.
  EXPECT_EQ(
      run<std::int8_t>(slice_of<std::int64_t>({1, 0, 2}, {-1, 2, -1}, kInt64, {1, 2, 2}), {bytes_of(x)}),
      expected);
  EXPECT_EQ(
      run<std::int8_t>(slice_of<std::int32_t>({0, 0, 0}, {-1, -1, -1}, kInt32, {2, 3, 4}), {bytes_of(x)}), x);
}

TEST(TfliteImporter, RefusesSlicesOutsideTheInput) {
  const auto expect_words = [](const std::string& text, std::string_view words) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  const auto refused = [](std::vector<std::int64_t> begin, std::vector<std::int64_t> size) {
    return refusal(slice_of(begin, size, kInt64, {1, 1, 1}));
  };
  expect_words(refused({0, 0}, {1, 1}), "2 begins and 2 sizes, expected 3");
  expect_words(refused({0, 0, 0}, {1, 1}), "3 begins and 2 sizes, expected 3");
  expect_words(refused({0, 3, 0}, {1, 1, 1}), "begin 3 on axis 1, expected 0 to 2");
  expect_words(refused({-1, 0, 0}, {1, 1, 1}), "begin -1 on axis 0, expected 0 to 1");
  expect_words(refused({0, 0, 1}, {1, 1, 4}), "size 4 on axis 2 from 1, expected -1 or 1 to 3");
  expect_words(refused({0, 0, 1}, {1, 0, 1}), "size 0 on axis 1 from 0, expected -1 or 1 to 3");
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
  expect_words(refused({far, 0, 0}, {far, 1, 1}), "on axis 0, expected 0 to 1");
  expect_words(refused({0, 0, 1}, {1, 1, -far}), "on axis 2 from 1, expected -1 or 1 to 3");
}

TEST(TfliteImporter, EndsOfStridedSlicesMayCountFromTheirBegins) {
  const auto slice_of = [](std::int64_t begin, std::int64_t end) {
    TinyTflite model;
    const int x = model.tensor(kInt8, {6}, 0.5f, 0),
              from = model.tensor<std::int64_t>(kInt64, {1}, 0, 0, {begin}),
              to = model.tensor<std::int64_t>(kInt64, {1}, 0, 0, {end}),
              step = model.tensor<std::int64_t>(kInt64, {1}, 0, 0, {1}),
              y = model.tensor(kInt8, {3}, 0.5f, 0);
    model.op(Builtin::STRIDED_SLICE, {x, from, to, step}, {y}, tflite::BuiltinOptions::StridedSlice,
             tflite::CreateStridedSliceOptions(model.builder(), 0, 0, 0, 0, 0, true));
    return model.file({x}, {y});
  };
  const Bytes x = bytes_of<std::int8_t>({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run<std::int8_t>(slice_of(2, 3), {x}), (std::vector<std::int8_t>{3, 4, 5}));
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(run<std::int8_t>(slice_of(3, far), {x}), (std::vector<std::int8_t>{4, 5, 6}));
  EXPECT_NE(refusal(slice_of(far, far)).find("nothing of 6 elements on axis 0"), std::string::npos);
}

TEST(TfliteImporter, NamesEveryOperatorThatItDoesNotKnow) {
  TinyTflite model;
  model.custom("another-unit");
  const int x = model.tensor(kInt8, {1, 4}, 1, 0), y = model.tensor(kInt8, {1, 4}, 1, 0),
            z = model.tensor(kInt8, {1, 4}, 1, 0);
  model.op(Builtin::CUSTOM, {x}, {y});
  model.op(static_cast<Builtin>(120), {y}, {z});
  const std::string text = refusal(model.file({x}, {z}));
  EXPECT_NE(text.find("custom operator \"another-unit\""), std::string::npos) << text;
  EXPECT_NE(text.find("operator code 120"), std::string::npos) << text;
}

TEST(TfliteImporter, BuffersMustLieInsideTheFile) {
  TinyTflite model;
  const int x = model.tensor(kFloat, {1, 4}, 0, 0), shape = model.outside({2}, 1'000'000, 8),
            y = model.tensor(kFloat, {2, 2}, 0, 0);
  model.op(Builtin::RESHAPE, {x, shape}, {y});
  EXPECT_NE(refusal(model.file({x}, {y})).find("8 bytes at 1000000 of a file"), std::string::npos);
}

// Differences from a zero point far outside would not fit anything.
TEST(TfliteImporter, ZeroPointsAreIntegersOfTheirType) {
  struct Case {
    Type type;
    std::int64_t zero;
    const char* expected;
  };
  for (const Case& c : {Case{kInt8, -2147483648, "zero point -2147483648, expected -128 to 127"},
                        Case{kInt8, 128, "zero point 128, expected -128 to 127"},
                        Case{kUint8, -1, "zero point -1, expected 0 to 255"},
                        Case{kInt16, 32768, "zero point 32768, expected -32768 to 32767"}}) {
    TinyTflite file;
    const int x = file.tensor(kInt8, {1, 4}, 0.5f, 0), w = file.tensor(c.type, {2, 4}, 0.5f, c.zero),
              y = file.tensor(kInt8, {1, 2}, 0.5f, 0);
    file.op(Builtin::FULLY_CONNECTED, {x, w, -1}, {y});
    const std::string text = refusal(file.file({x}, {y}));
    EXPECT_NE(text.find(c.expected), std::string::npos) << text;
  }
}

TEST(TfliteImporter, TensorsThatNobodyComputesAreAnError) {
  TinyTflite model;
  const int x = model.tensor(kFloat, {1, 4}, 0, 0), loose = model.tensor(kFloat, {1, 4}, 0, 0),
            y = model.tensor(kFloat, {1, 4}, 0, 0);
  model.op(Builtin::ADD, {x, loose}, {y});
  EXPECT_NE(refusal(model.file({x}, {y})).find("neither a constant nor computed"), std::string::npos);
}

TEST(TfliteImporter, DamagedFilesAreRefusedOrRunButNeverCrash) {
  const Bytes good = sum(1);
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto graph = compiler::import_tflite(std::span(good).first(size));
    if (graph.ok()) static_cast<void>(RunnableGraph::make(*graph));
  }
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 5000; ++i) {
    Bytes bad = good;
    for (int k = 0; k < 1 + i % 3; ++k) bad[random() % bad.size()] = static_cast<std::byte>(random());
    const auto graph = compiler::import_tflite(bad);
    refused += graph.ok() && RunnableGraph::make(*graph).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 500);
}

// Segments of an NPU, as Vela leaves them.
TEST(TfliteImporter, NpuOperatorsBecomeSegments) {
  TinyTflite made;
  const std::vector<std::uint8_t> commands{'C', 'O', 'P', '1'};
  const int stream = made.tensor<std::uint8_t>(kUint8, {4}, 0, 0, commands),
            weights = made.tensor<std::uint8_t>(kUint8, {0}, 0, 0);
  const int scratch = made.tensor<std::uint8_t>(kUint8, {96}, 0, 0),
            fast = made.tensor<std::uint8_t>(kUint8, {32}, 0, 0);
  const int x = made.tensor(kInt8, {1, 4}, 0.5f, 3), y = made.tensor(kInt8, {1, 2}, 0.25f, -3);
  made.custom("ethos-u");
  made.op(Builtin::CUSTOM, {stream, weights, scratch, fast, x}, {y});
  const auto graph = compiler::import_tflite(made.file({x}, {y}));
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  ASSERT_EQ(graph->nodes.size(), 1u);
  EXPECT_EQ(graph->nodes[0].code, OpCode::delegate);
  const auto& options = std::get<compiler::DelegateOptions>(graph->nodes[0].options);
  EXPECT_EQ(options.kind, "ethos-u");
  EXPECT_EQ(options.parts, std::vector<std::string>{"command_stream"});  // nothing but commands
  ASSERT_EQ(graph->nodes[0].inputs.size(), 2u);
  EXPECT_EQ(graph->tensors[static_cast<std::size_t>(graph->nodes[0].inputs[0])].data->size(), 4u);
  const auto number = [&](std::string_view name) {
    for (const auto& attribute : options.attributes) {
      if (attribute.name == name) return std::get<std::vector<std::int64_t>>(attribute.value);
    }
    return std::vector<std::int64_t>();
  };
  EXPECT_EQ(number("scratch_bytes"), std::vector<std::int64_t>{96});
  EXPECT_EQ(number("fast_scratch_bytes"), std::vector<std::int64_t>{32});
  EXPECT_EQ(number("input_offsets"), std::vector<std::int64_t>{-1});
  EXPECT_EQ(graph->pipeline.usage, UsageKind::whole);
  const auto runnable = RunnableGraph::make(*graph);
  ASSERT_TRUE(runnable.ok()) << runnable.status().text();
  EXPECT_NE((*runnable)->whole({Bytes(4)}).status().text().find("delegate \"ethos-u\""), std::string::npos);
}

// A segment reads and writes the file's uint8, everything else their int8 forms.
TEST(TfliteImporter, NpuOperatorsKeepUint8) {
  TinyTflite made;
  const std::vector<std::uint8_t> commands{'C', 'O', 'P', '1'};
  const int stream = made.tensor<std::uint8_t>(kUint8, {4}, 0, 0, commands),
            weights = made.tensor<std::uint8_t>(kUint8, {0}, 0, 0);
  const int scratch = made.tensor<std::uint8_t>(kUint8, {96}, 0, 0),
            fast = made.tensor<std::uint8_t>(kUint8, {32}, 0, 0);
  const int x = made.tensor(kUint8, {1, 4}, 0.5f, 131), y = made.tensor(kUint8, {1, 2}, 0.25f, 125);
  made.custom("ethos-u");
  made.op(Builtin::CUSTOM, {stream, weights, scratch, fast, x}, {y});
  const auto graph = compiler::import_tflite(made.file({x}, {y}));
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  const auto tensor = [&](compiler::TensorId id) { return graph->tensors[static_cast<std::size_t>(id)]; };
  int segments = 0;
  for (const compiler::Node& node : graph->nodes) {
    if (node.code != OpCode::delegate) continue;
    ++segments;
    EXPECT_EQ(node.inputs[1], graph->inputs[0]);
    EXPECT_EQ(node.outputs[0], graph->outputs[0]);
    EXPECT_EQ(tensor(node.inputs[1]).dtype, DType::uint8);
    EXPECT_EQ(tensor(node.inputs[1]).zero_points[0], 131);
    EXPECT_EQ(tensor(node.outputs[0]).dtype, DType::uint8);
    EXPECT_EQ(tensor(node.outputs[0]).zero_points[0], 125);
  }
  EXPECT_EQ(segments, 1);
}

// A small file must not become gigabytes of copies: thousands of operators have one long list.
TEST(TfliteImporter, ListsThatOperatorsShareAreNotCopiedWithoutEnd) {
  flatbuffers::FlatBufferBuilder builder;
  const auto list = builder.CreateVector(std::vector<std::int32_t>(2000, 0));
  const auto op = tflite::CreateOperator(builder, 0, list, list);
  const auto ops = builder.CreateVector(std::vector(5000, op));
  const auto code = tflite::CreateOperatorCode(builder, 0, 0, 1, 0);
  const auto tensor = tflite::CreateTensor(builder, builder.CreateVector(std::vector<std::int32_t>{4}));
  const auto ends = builder.CreateVector(std::vector<std::int32_t>{0});
  const auto graph =
      tflite::CreateSubGraph(builder, builder.CreateVector(std::vector{tensor}), ends, ends, ops);
  tflite::FinishModelBuffer(builder, tflite::CreateModel(builder, 3, builder.CreateVector(std::vector{code}),
                                                         builder.CreateVector(std::vector{graph})));
  const auto* first = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  EXPECT_NE(refusal({first, first + builder.GetSize()}).find("so often that copies take more than 16 times"),
            std::string::npos);
}

}  // namespace
}  // namespace runnel::test
