// Resource variables that hold the last frames of a stream, in both forms, and what is refused of them;
// bounds of strided slices.
#include "compiler/import/tflite/variables.h"

#include <functional>
#include <limits>
#include <string>

#include "tests/compiler/import/tflite/tiny_tflite.h"

namespace runnel::test {
namespace {

using tflite::BuiltinOptions;
using Ids = std::vector<std::int32_t>;

constexpr std::int8_t kZero = -5;

std::string refusal(const Bytes& file) {
  const auto graph = compiler::import_tflite(file);
  return graph.ok() ? std::string("taken") : std::string(graph.status().text());
}

// A file with a variable of the last two frames of three channels before x [1, 1, 3]; y is both, [1, 3, 3]:
//   y = concat(read, x); assign(the last two of y)             or, `inner`:
//   y = concat(the last two of read, x); assign(y)
// Each member is what a test may change.
struct Window {
  explicit Window(bool inner_form = false) : inner(inner_form) {}

  bool inner;
  // ---- the graph that is called once
  int init = 1;
  bool call = true;
  std::vector<std::int8_t> first = std::vector<std::int8_t>(inner ? 9 : 6, kZero);
  Ids first_shape = {1, inner ? 3 : 2, 3};
  // ---- operands
  bool handle = true;
  int read_outputs = 1, assign_inputs = 2, reads = 1;
  bool used = true;
  // ---- the slice
  std::vector<std::int32_t> begin = {0, 1, 0}, end = {1, 3, 3};
  Ids cut_shape = {1, 2, 3};
  bool sliced = true;
  int slice_inputs = 4;
  // ---- the concatenation
  bool state_first = true;
  int axis = 1;
  std::int8_t activation = 0;

  [[nodiscard]] Bytes file() const {
    TinyTflite model;
    auto& b = model.builder();
    const int h = model.tensor(kResource, {}, 0, 0),
              state = model.tensor(kInt8, {1, inner ? 3 : 2, 3}, 0.5f, kZero),
              x = model.tensor(kInt8, {1, 1, 3}, 0.5f, kZero),
              y = model.tensor(kInt8, {1, 3, 3}, 0.5f, kZero),
              cut = model.tensor(kInt8, cut_shape, 0.5f, kZero),
              other = model.tensor(kInt8, {1, 2, 3}, 0.5f, kZero);
    const int from = model.tensor(kInt32, {3}, 0, 0, begin), to = model.tensor(kInt32, {3}, 0, 0, end),
              steps = model.tensor<std::int32_t>(kInt32, {3}, 0, 0, {1, 1, 1});
    const auto variable = [&](int id) {
      if (handle)
        model.op(Builtin::VAR_HANDLE, {}, {id}, BuiltinOptions::VarHandle,
                 tflite::CreateVarHandleOptionsDirect(b, "", "frames"), false);
    };
    const auto slice = [&](int of) {
      Ids inputs{of, from, to, steps};
      inputs.resize(static_cast<std::size_t>(slice_inputs));
      if (sliced)
        model.op(Builtin::STRIDED_SLICE, inputs, {cut}, BuiltinOptions::StridedSlice,
                 tflite::CreateStridedSliceOptions(b));
      else
        model.op(Builtin::RELU, {of}, {cut});
    };
    if (call)
      model.op(Builtin::CALL_ONCE, {}, {}, BuiltinOptions::CallOnce, tflite::CreateCallOnceOptions(b, init),
               false);
    variable(h);
    for (int i = 0; i < reads; ++i) {
      Ids outputs{i == 0 ? state : other, cut};
      outputs.resize(static_cast<std::size_t>(read_outputs));
      model.op(Builtin::READ_VARIABLE, {h}, outputs, BuiltinOptions::NONE, Offset<void>(0), false);
    }
    if (inner) slice(state);
    const int front = !used ? other : inner ? cut : state;
    model.op(Builtin::CONCATENATION, state_first ? Ids{front, x} : Ids{x, front}, {y},
             BuiltinOptions::Concatenation, tflite::CreateConcatenationOptions(b, axis, activation));
    if (!inner) slice(y);
    Ids inputs{h, inner ? y : cut};
    inputs.resize(static_cast<std::size_t>(assign_inputs));
    model.op(Builtin::ASSIGN_VARIABLE, inputs, {}, BuiltinOptions::NONE, Offset<void>(0), false);
    model.end_graph({x}, {y});
    const int h2 = model.tensor(kResource, {}, 0, 0),
              value = model.tensor(kInt8, first_shape, 0.5f, kZero, first);
    variable(h2);
    if (handle)
      model.op(Builtin::ASSIGN_VARIABLE, {h2, value}, {}, BuiltinOptions::NONE, Offset<void>(0), false);
    return model.file({}, {});
  }
};

std::string refused(const std::function<void(Window&)>& change, bool inner = false) {
  Window window(inner);
  change(window);
  return refusal(window.file());
}

TEST(TfliteVariables, BothFormsKeepTheLastFrames) {
  for (const bool inner : {false, true}) {
    const auto graph = compiler::import_tflite(Window(inner).file());
    ASSERT_TRUE(graph.ok()) << graph.status().text();
    EXPECT_EQ(graph->pipeline.usage, UsageKind::step);
    ASSERT_EQ(graph->nodes.size(), 1U);
    EXPECT_EQ(graph->nodes[0].code, OpCode::streaming_cache);
    const auto runnable = RunnableGraph::make(*graph);
    ASSERT_TRUE(runnable.ok()) << runnable.status().text();
    const auto calls = (*runnable)->stepped({{bytes_of<std::int8_t>({1, 2, 3})},
                                             {bytes_of<std::int8_t>({4, 5, 6})},
                                             {bytes_of<std::int8_t>({7, 8, 9})},
                                             {bytes_of<std::int8_t>({10, 11, 12})}});
    ASSERT_TRUE(calls.ok()) << calls.status().text();
    ASSERT_EQ(calls->size(), 4U);
    EXPECT_EQ((*calls)[0][0], bytes_of<std::int8_t>({kZero, kZero, kZero, kZero, kZero, kZero, 1, 2, 3}));
    EXPECT_EQ((*calls)[1][0], bytes_of<std::int8_t>({kZero, kZero, kZero, 1, 2, 3, 4, 5, 6}));
    EXPECT_EQ((*calls)[2][0], bytes_of<std::int8_t>({1, 2, 3, 4, 5, 6, 7, 8, 9}));
    EXPECT_EQ((*calls)[3][0], bytes_of<std::int8_t>({4, 5, 6, 7, 8, 9, 10, 11, 12}));
  }
}

TEST(TfliteVariables, NegativeAxesCountFromTheEnd) {
  EXPECT_EQ(refused([](auto& w) { w.axis = -2; }), "taken");
}

TEST(TfliteVariables, OperandsThatAreMissing) {
  EXPECT_EQ(refused([](auto& w) { w.read_outputs = 2; }),
            "operator 2 (READ_VARIABLE): unexpected number of operands");
  EXPECT_EQ(refused([](auto& w) { w.assign_inputs = 1; }),
            "operator 5 (ASSIGN_VARIABLE): unexpected number of operands");
  EXPECT_EQ(refused([](auto& w) { w.handle = false; }), "operator 1 uses a variable before its VAR_HANDLE");
}

TEST(TfliteVariables, TheGraphThatIsCalledOnceIsAnotherOne) {
  for (const int graph : {-1, 0, 2})
    EXPECT_EQ(refused([&](auto& w) { w.init = graph; }),
              "CALL_ONCE of graph " + std::to_string(graph) + " of 2");
}

TEST(TfliteVariables, StartWithTheirZeroPoint) {
  EXPECT_EQ(refused([](auto& w) { w.call = false; }), "variable \"frames\" does not start with a constant");
  EXPECT_EQ(refused([](auto& w) { w.first.clear(); }), "variable \"frames\" does not start with a constant");
  EXPECT_EQ(refused([](auto& w) {
              w.first_shape = {1, 3, 3};
              w.first.resize(9, kZero);
            }),
            "variable \"frames\" starts with a value of another type or shape");
  EXPECT_EQ(refused([](auto& w) { w.first[5] = 0; }),
            "variable \"frames\" starts with something else than its zero point -5");
}

TEST(TfliteVariables, OtherUsesAreRefused) {
  const std::string sentence =
      "variable \"frames\": used in a way that is not understood, expected the last frames of a "
      "concatenation, "
      "read and assigned once";
  for (const bool inner : {false, true}) {
    SCOPED_TRACE(inner);
    EXPECT_EQ(refused([](auto& w) { w.reads = 2; }, inner), sentence);
    EXPECT_EQ(refused([](auto& w) { w.used = false; }, inner), sentence);
    EXPECT_EQ(refused([](auto& w) { w.state_first = false; }, inner), sentence);
    EXPECT_EQ(refused([](auto& w) { w.activation = 1; }, inner), sentence);
    EXPECT_EQ(refused([](auto& w) { w.axis = 3; }, inner), sentence);
    EXPECT_EQ(refused([](auto& w) { w.axis = 2; }, inner), sentence);
    EXPECT_EQ(refused([](auto& w) { w.sliced = false; }, inner), sentence);
    // The first two, the first of two channels, another number than its shape says, no more than its name.
    EXPECT_EQ(refused([](auto& w) { w.begin = {0, 0, 0}, w.end = {1, 2, 3}; }, inner), sentence);
    EXPECT_EQ(refused([](auto& w) { w.end = {1, 3, 2}; }, inner), sentence);
    EXPECT_EQ(refused([](auto& w) { w.begin = {0, 2, 0}; }, inner), sentence);
    EXPECT_EQ(refused([](auto& w) { w.slice_inputs = 1; }, inner), sentence);
  }
  EXPECT_EQ(refused([](auto& w) { w.slice_inputs = 0; }), sentence);
}

// ---- STRIDED_SLICE

struct Slice {
  std::vector<std::int32_t> begin = {1, 2}, end = {2, 4}, step = {1, 1};
  std::int32_t inputs = 4, shrink = 0, ellipsis = 0, new_axis = 0;
  bool options = true;
  Ids shape = {1, 2};

  // Of x [3, 4].
  [[nodiscard]] Bytes file() const {
    TinyTflite model;
    const auto numbers = [&](const std::vector<std::int32_t>& values) {
      return values.empty() ? -1 : model.tensor(kInt32, {static_cast<int>(values.size())}, 0, 0, values);
    };
    const int x = model.tensor(kInt8, {3, 4}, 0.5f, 0), from = numbers(begin), to = numbers(end),
              by = numbers(step), y = model.tensor(kInt8, shape, 0.5f, 0);
    Ids operands{x, from, to, by};
    operands.resize(static_cast<std::size_t>(inputs));
    if (options)
      model.op(Builtin::STRIDED_SLICE, operands, {y}, BuiltinOptions::StridedSlice,
               tflite::CreateStridedSliceOptions(model.builder(), 0, 0, ellipsis, new_axis, shrink));
    else
      model.op(Builtin::STRIDED_SLICE, operands, {y});
    return model.file({x}, {y});
  }
};

TEST(TfliteStridedSlice, ElementsInBothDirections) {
  const Bytes x = bytes_of<std::int8_t>({0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23});
  using Values = std::vector<std::int8_t>;
  const auto run_of = [&](const Slice& slice) { return run<std::int8_t>(slice.file(), {x}); };
  EXPECT_EQ(run_of({}), (Values{12, 13}));
  // Backwards, from beyond the end and to before the start: -1 is the last one.
  EXPECT_EQ(run_of({.begin = {99, 3}, .end = {-99, 0}, .step = {-1, -2}, .shape = {3, 2}}),
            (Values{23, 21, 13, 11, 3, 1}));
  EXPECT_EQ(run_of({.begin = {-1, -1}, .end = {-3, -99}, .step = {-1, -3}, .shape = {2, 2}}),
            (Values{23, 20, 13, 10}));
  EXPECT_EQ(run_of({.begin = {-2}, .end = {0}, .step = {1}, .shrink = 1, .shape = {4}}),
            (Values{10, 11, 12, 13}));
}

TEST(TfliteStridedSlice, Refusals) {
  const std::string place = "operator 0 (STRIDED_SLICE): ";
  const auto refused_of = [](const Slice& slice) { return refusal(slice.file()); };
  EXPECT_EQ(refused_of({.options = false}), place + "options or operands are missing");
  EXPECT_EQ(refused_of({.inputs = 3}), place + "options or operands are missing");
  EXPECT_EQ(refused_of({.ellipsis = 1}), place + "an ellipsis or new axes");
  EXPECT_EQ(refused_of({.new_axis = 2}), place + "an ellipsis or new axes");
  EXPECT_EQ(refused_of({.end = {}}), place + "operand 2 is absent");
  EXPECT_EQ(refused_of({.begin = {0, 0, 0}}), place + "3 bounds for 2 axes");
  EXPECT_EQ(refused_of({.end = {1}}), place + "1 bounds for 2 axes");
  EXPECT_EQ(refused_of({.step = {1, 0}}), place + "step 0 on axis 1");
  constexpr std::int32_t kFar = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(refused_of({.step = {kFar, 1}}), place + "step -2147483648 on axis 0");
  EXPECT_EQ(refused_of({.begin = {2, 2}}), place + "nothing of 3 elements on axis 0");
  EXPECT_EQ(refused_of({.begin = {1, 4}}), place + "nothing of 4 elements on axis 1");
}

}  // namespace
}  // namespace runnel::test
