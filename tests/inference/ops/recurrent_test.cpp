// GRU and LSTM: streamed equals whole, whatever stands around them; the state belongs to the frames that are
// data; directions, explicit states, saturation; float32 against double precision.
#include <cmath>

#include "tests/inference/ops/stream_case.h"

namespace runnel {
namespace {

using compiler::kAbsent;
using compiler::RecurrentOptions;
using test::Bytes;
using test::StreamCase;
using Id = compiler::TensorId;

struct Shape {
  bool lstm = false;
  DType dtype = DType::int8;
  int frames = 6, inputs = 4, hidden = 5, directions = 1;
  [[nodiscard]] int rows() const { return (lstm ? 4 : 3) * hidden; }
  [[nodiscard]] bool real() const { return dtype == DType::float32; }
};

constexpr int kGates = -9, kState = -7;

// The operator after x; returns its outputs as the options say.
std::vector<Id> recurrent(StreamCase& test, const Shape& s, Id x, RecurrentOptions options,
                          Id initial_h = kAbsent, Id initial_c = kAbsent, bool bias = true,
                          kernels::Rounding rounding = kernels::Rounding::half_up) {
  options.gate_exponent = s.real() ? 0 : kGates;
  const int state = s.dtype == DType::int16 ? -14 : kState, weight = s.dtype == DType::int16 ? -14 : -6,
            largest = s.dtype == DType::int16 ? 20000 : 127;
  std::vector<Id> inputs = {
      x, test.random_constant(s.dtype, {s.directions, s.rows(), s.inputs}, weight, largest),
      test.random_constant(s.dtype, {s.directions, s.rows(), s.hidden}, weight, largest),
      bias ? test.random_constant(s.real() ? DType::float32 : DType::int16, {s.directions, 2 * s.rows()},
                                  kGates, 700)
           : kAbsent,
      initial_h};
  if (s.lstm) inputs.push_back(initial_c);
  std::vector<Id> outputs;
  if ((options.outputs & 1) != 0)
    outputs.push_back(test.tensor(s.dtype, {s.frames, s.directions, 1, s.hidden}, state));
  if ((options.outputs & 2) != 0) outputs.push_back(test.tensor(s.dtype, {s.directions, 1, s.hidden}, state));
  if ((options.outputs & 4) != 0)
    outputs.push_back(
        test.tensor(s.real() ? DType::float32 : DType::int16, {s.directions, 1, s.hidden}, kGates));
  test.node(s.lstm ? OpCode::lstm : OpCode::gru, std::move(inputs), outputs, options, rounding);
  return outputs;
}

TEST(Recurrent, StreamedEqualsWhole) {
  for (unsigned seed = 1; seed <= 24; ++seed) {
    StreamCase test(seed);
    Shape s;
    s.lstm = seed % 2 == 0;
    s.dtype = seed % 6 < 3 ? DType::int8 : seed % 6 < 5 ? DType::int16 : DType::float32;
    s.inputs = test.pick(1, 9);
    s.hidden = test.pick(1, 17);
    RecurrentOptions options;
    options.outputs = s.lstm ? 7 : 3;
    const auto rounding = test.pick(0, 1) == 0 ? kernels::Rounding::half_up : kernels::Rounding::half_even;
    const Id x = test.input(s.dtype, {1, s.frames, s.inputs}, s.dtype == DType::int16 ? -13 : -5);
    // A look-ahead in front: frames that are not data come first and last.
    const Id frames =
        test.time_first(s.dtype == DType::int8 ? test.conv(x, s.inputs, 1, test.pick(0, 3), -5) : x);
    const Id initial =
        test.pick(0, 1) == 0
            ? kAbsent
            : test.random_constant(s.dtype, {1, 1, s.hidden}, s.dtype == DType::int16 ? -14 : kState, 100);
    const auto outputs = recurrent(test, s, frames, options, initial, kAbsent, test.pick(0, 2) > 0, rounding);
    test.graph.outputs = outputs;
    test.check({0, 1, 2, 5, 6, 23}, "seed " + std::to_string(seed));
  }
}

// After the last state no time is left; at the end of the stream it is what it is for the whole.
TEST(Recurrent, LastStateFeedsALayer) {
  StreamCase test(3);
  Shape s;
  const Id x = test.input(DType::int8, {1, s.frames, s.inputs}, -5);
  RecurrentOptions options;
  options.outputs = 2;
  const auto last = recurrent(test, s, test.time_first(test.conv(x, s.inputs, 0, 2, -5)), options);
  const Id weights = test.random_constant(DType::int8, {3, s.hidden}, -7),
           y = test.tensor(DType::int8, {1, 1, 3}, -5);
  test.node(OpCode::fully_connected, {last[0], weights, kAbsent}, {y}, compiler::FullyConnectedOptions{});
  test.graph.outputs = {y};
  test.check({1, 2, 7, 30}, "last state");
}

TEST(Recurrent, LastStateDoesNotMeetFrames) {
  StreamCase test(3);
  Shape s;
  const Id x = test.input(DType::int8, {s.frames, 1, s.inputs}, -5);
  RecurrentOptions options;
  options.outputs = 3;
  const auto outputs = recurrent(test, s, x, options);
  const Id y = test.tensor(DType::int8, {s.frames, 1, 1, s.hidden}, kState);
  test.node(OpCode::add, outputs, {y}, compiler::BinaryOptions{});
  test.graph.outputs = {y};
  EXPECT_NE(test.refusal().find("known only at the end of the recording"), std::string::npos)
      << test.refusal();
}

TEST(Recurrent, DirectionsAreTheForwardOneOnTheOtherOrder) {
  for (const bool lstm : {false, true}) {
    Shape s;
    s.lstm = lstm;
    StreamCase both(8), first(8), second(8);
    const Bytes data = both.random_values(DType::int8, static_cast<std::size_t>(s.frames * s.inputs), 127);
    Bytes reversed;
    for (int t = s.frames - 1; t >= 0; --t)
      reversed.insert(reversed.end(), data.begin() + t * s.inputs, data.begin() + (t + 1) * s.inputs);
    // The weights of both directions, then each of them alone.
    Shape two = s;
    two.directions = 2;
    RecurrentOptions options;
    options.outputs = 3;
    options.direction = Direction::bidirectional;
    both.graph.outputs = recurrent(both, two, both.input(DType::int8, {s.frames, 1, s.inputs}, -5), options);
    const auto part = [&](StreamCase& test, std::size_t d, Direction direction) {
      options.direction = direction;
      test.graph.outputs = recurrent(test, s, test.input(DType::int8, {s.frames, 1, s.inputs}, -5), options);
      for (const std::size_t position : {1u, 2u, 3u}) {
        const Bytes& all =
            *both.graph.tensors[static_cast<std::size_t>(both.graph.nodes[0].inputs[position])].data;
        const auto half = static_cast<std::ptrdiff_t>(all.size() / 2);
        test.graph.tensors[static_cast<std::size_t>(test.graph.nodes[0].inputs[position])].data =
            Bytes(all.begin() + static_cast<std::ptrdiff_t>(d) * half,
                  all.begin() + static_cast<std::ptrdiff_t>(d + 1) * half);
      }
    };
    part(first, 0, Direction::forward);
    part(second, 1, Direction::forward);
    const auto found = both.whole({data}), forward = first.whole({data}), backward = second.whole({reversed});
    for (int t = 0; t < s.frames; ++t) {
      const auto row = [&](const Bytes& bytes, int index) {
        return Bytes(bytes.begin() + index * s.hidden, bytes.begin() + (index + 1) * s.hidden);
      };
      EXPECT_EQ(row(found[0], 2 * t), row(forward[0], t)) << "frame " << t;
      EXPECT_EQ(row(found[0], 2 * t + 1), row(backward[0], s.frames - 1 - t))
          << "frame " << t << " backwards";
    }
    Bytes states = forward[1];
    states.insert(states.end(), backward[1].begin(), backward[1].end());
    EXPECT_EQ(found[1], states);
    StreamCase alone(8);
    part(alone, 1, Direction::reverse);
    EXPECT_EQ(alone.whole({data})[1], backward[1]);
    EXPECT_NE(alone.refusal().find("runs backwards, from the end of the recording"), std::string::npos)
        << alone.refusal();
    EXPECT_NE(both.refusal().find("in both directions"), std::string::npos) << both.refusal();
  }
}

// A clip in two pieces, the state passed by hand; and a session, which reads the initial state once and keeps
// its own.
TEST(Recurrent, ExplicitStates) {
  for (const bool lstm : {false, true}) {
    const auto build = [&](int frames) {
      StreamCase test(5);
      Shape s;
      s.lstm = lstm;
      s.frames = frames;
      const Id x = test.input(DType::int16, {frames, 1, s.inputs}, -13);
      s.dtype = DType::int16;
      const Id h = test.input(DType::int16, {1, 1, s.hidden}, -14),
               c = lstm ? test.input(DType::int16, {1, 1, s.hidden}, kGates) : kAbsent;
      RecurrentOptions options;
      options.outputs = lstm ? 7 : 3;
      test.graph.outputs = recurrent(test, s, x, options, h, c);
      return test;
    };
    StreamCase long_clip = build(8), piece = build(4);
    const Bytes x = long_clip.random_values(DType::int16, 8 * 4, 20000),
                h = long_clip.random_values(DType::int16, 5, 8000),
                c = long_clip.random_values(DType::int16, 5, 500);
    const auto inputs = [&](Bytes frames, Bytes state, Bytes cell) {
      std::vector<Bytes> list = {std::move(frames), std::move(state)};
      if (lstm) list.push_back(std::move(cell));
      return list;
    };
    const auto whole = long_clip.whole(inputs(x, h, c));
    const auto half = static_cast<std::ptrdiff_t>(x.size() / 2);
    const auto first = piece.whole(inputs(Bytes(x.begin(), x.begin() + half), h, c));
    const auto second = piece.whole(inputs(Bytes(x.begin() + half, x.end()), first[1], lstm ? first[2] : c));
    Bytes joined = first[0];
    joined.insert(joined.end(), second[0].begin(), second[0].end());
    EXPECT_EQ(joined, whole[0]);
    EXPECT_EQ(second[1], whole[1]);
    const auto runnable = test::RunnableGraph::make(long_clip.graph);
    ASSERT_TRUE(runnable.ok()) << runnable.status().text();
    ASSERT_TRUE((*runnable)->streams());
    for (const std::int64_t block : {1, 3, 8, 20}) {
      const auto streamed = (*runnable)->streamed(inputs(x, h, c), block);
      ASSERT_TRUE(streamed.ok()) << streamed.status().text();
      EXPECT_EQ(*streamed, whole) << "blocks of " << block;
    }
  }
}

// Gates and the cell saturate where int16 would wrap round.
TEST(Recurrent, Saturates) {
  StreamCase test(1);
  const Id x = test.input(DType::int8, {1, 1, 1}, 0);
  const Id weights = test.constant<std::int8_t>(DType::int8, {1, 3, 1}, {127, 0, 0}, 0),
           hidden = test.constant<std::int8_t>(DType::int8, {1, 3, 1}, {0, 0, 0}, 0);
  const Id bias = test.constant<std::int16_t>(DType::int16, {1, 6}, {32767, 0, 32767, 0, 0, 0}, kGates);
  const Id h = test.constant<std::int8_t>(DType::int8, {1, 1, 1}, {50}, kState),
           y = test.tensor(DType::int8, {1, 1, 1, 1}, kState);
  RecurrentOptions options;
  options.gate_exponent = kGates;
  test.node(OpCode::gru, {x, weights, hidden, bias, h}, {y}, options);
  test.graph.outputs = {y};
  // z is 0.998 (its table ends at 6.3): h keeps most of 50. Wrapped, z would be 1/2 and h 89.
  const auto found =
      test::from_bytes<std::int8_t>(test.whole({test::to_bytes(std::vector<std::int8_t>{127})})[0]);
  EXPECT_EQ(found[0], 50);
}

TEST(Recurrent, Float32IsTheFormula) {
  for (const bool lstm : {false, true}) {
    StreamCase test(11);
    Shape s;
    s.lstm = lstm;
    s.dtype = DType::float32;
    s.inputs = 11;
    s.hidden = 9;
    RecurrentOptions options;
    test.graph.outputs = recurrent(test, s, test.input(DType::float32, {s.frames, 1, s.inputs}), options);
    const Bytes data = test.random_values(DType::float32, static_cast<std::size_t>(s.frames * s.inputs), 1);
    const auto found = test::from_bytes<float>(test.whole({data})[0]), x = test::from_bytes<float>(data);
    const auto values = [&](std::size_t position) {
      return test::from_bytes<float>(
          *test.graph.tensors[static_cast<std::size_t>(test.graph.nodes[0].inputs[position])].data);
    };
    const auto w = values(1), r = values(2), b = values(3);
    const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
    const auto H = static_cast<std::size_t>(s.hidden), I = static_cast<std::size_t>(s.inputs),
               rows = static_cast<std::size_t>(s.rows());
    std::vector<double> h(H, 0), c(H, 0);
    for (std::size_t t = 0; t < static_cast<std::size_t>(s.frames); ++t) {
      std::vector<double> from_x(rows), from_h(rows);
      for (std::size_t row = 0; row < rows; ++row) {
        from_x[row] = b[row];
        from_h[row] = b[rows + row];
        for (std::size_t i = 0; i < I; ++i) from_x[row] += static_cast<double>(w[row * I + i]) * x[t * I + i];
        for (std::size_t i = 0; i < H; ++i) from_h[row] += static_cast<double>(r[row * H + i]) * h[i];
      }
      for (std::size_t k = 0; k < H; ++k) {
        const auto sum = [&](std::size_t gate) { return from_x[gate * H + k] + from_h[gate * H + k]; };
        if (lstm) {
          c[k] = sigmoid(sum(2)) * c[k] + sigmoid(sum(0)) * std::tanh(sum(3));
          h[k] = sigmoid(sum(1)) * std::tanh(c[k]);
        } else {
          const double z = sigmoid(sum(0)),
                       n = std::tanh(from_x[2 * H + k] + sigmoid(sum(1)) * from_h[2 * H + k]);
          h[k] = (1 - z) * n + z * h[k];
        }
        EXPECT_NEAR(found[t * H + k], h[k], 2e-6)
            << (lstm ? "lstm" : "gru") << " frame " << t << " unit " << k;
      }
    }
  }
}

TEST(Recurrent, RefusesWhatCannotBe) {
  const auto build = [](auto&& change) {
    StreamCase test(2);
    Shape s;
    test.graph.outputs =
        recurrent(test, s, test.input(DType::int8, {s.frames, 1, s.inputs}, -5), RecurrentOptions{});
    change(test);
    return test.refusal();
  };
  const auto options = [](StreamCase& test) -> RecurrentOptions& {
    return std::get<RecurrentOptions>(test.graph.nodes[0].options);
  };
  EXPECT_EQ(build([](StreamCase&) {}), "");
  EXPECT_NE(build([&](StreamCase& test) {
              options(test).gate_exponent = -14;
            }).find("gates of exponent -14, expected -13 to -1"),
            std::string::npos);
  EXPECT_NE(build([&](StreamCase& test) {
              options(test).gate_exponent = -8;
            }).find("the bias is not a constant int16 of the gates' exponent"),
            std::string::npos);
  EXPECT_NE(build([&](StreamCase& test) { options(test).outputs = 4; }).find("outputs 4, expected 1 to 3"),
            std::string::npos);
  EXPECT_NE(build([](StreamCase& test) {
              test.graph.tensors[0].shape = {3, 2, 4};
            }).find("a batch of 2, expected [time, 1, features]"),
            std::string::npos);
  EXPECT_NE(build([](StreamCase& test) {
              test.graph.tensors[0].shape = {6, 1, 3};
            }).find("the weights has shape [1,15,4], expected [1,15,3]"),
            std::string::npos);
}

}  // namespace
}  // namespace runnel
