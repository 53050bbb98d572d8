// Gate tables, one step of a GRU by hand, and the vectors of every level against the plain loops.
#include "kernels/recurrent/recurrent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/host/heap_memory.h"
#include "kernels/recurrent/sequence_lstm.h"
#include "tests/kernels/conv_cases.h"

namespace runnel::kernels {
namespace {

TEST(Recurrent, TablesEndWhereTheVendorsDo) {
  EXPECT_EQ(gate_table_last(GateFunction::sigmoid, -9), 3226);  // 6.3 * 512 = 3225.6
  EXPECT_EQ(gate_table_last(GateFunction::tanh, -9), 1793);     // 3.5 * 512 = 1792
  std::vector<float> sigmoid(3227), tanh(1794);
  fill_gate_table(GateFunction::sigmoid, -9, sigmoid.data());
  fill_gate_table(GateFunction::tanh, -9, tanh.data());
  EXPECT_EQ(sigmoid[0], 0.5f);
  EXPECT_EQ(tanh[0], 0.0f);
  for (std::size_t i = 0; i < sigmoid.size(); ++i)
    EXPECT_NEAR(sigmoid[i], 1 / (1 + std::exp(-static_cast<double>(i) / 512)), 6e-8) << i;
  for (std::size_t i = 0; i < tanh.size(); ++i)
    EXPECT_NEAR(tanh[i], std::tanh(static_cast<double>(i) / 512), 6e-8) << i;
}

TEST(Recurrent, OneStepOfAGruByHand) {
  std::vector<float> sigmoid(3227), tanh(1794);
  fill_gate_table(GateFunction::sigmoid, -9, sigmoid.data());
  fill_gate_table(GateFunction::tanh, -9, tanh.data());
  const std::int8_t weights[] = {10, -20, 30}, hidden[] = {5, 6, -7};  // z r n
  const std::int16_t bias[] = {100, -100, 50};
  RecurrentSpec spec;
  spec.inputs = spec.hidden = 1;
  spec.input_weights = weights;
  spec.hidden_weights = hidden;
  spec.input_bias = bias;
  spec.input_exponent = -10;  // products of 2^-10 are halved
  spec.hidden_exponent = -13;
  spec.gate_exponent = -9;
  spec.state_exponent = -7;
  spec.sigmoid = {sigmoid.data(), 3226};
  spec.tanh = {tanh.data(), 1793};
  const std::int8_t x = 40;
  std::int8_t h = 64;
  std::int32_t scratch[6];
  ASSERT_EQ(spec.scratch_bytes(), sizeof(scratch));
  recurrent_step(spec, &x, &h, nullptr, scratch);
  // From x: 200 + 100, -400 - 100, 600 + 50; from h: 320/16 = 20, 384/16 = 24, -448/16 = -28.
  const auto sigma = [](double v) { return 1 / (1 + std::exp(-v / 512)); };
  const double z = sigma(320), r = sigma(-476), n = std::tanh(std::floor(650 + r * -28 + 0.5) / 512);
  EXPECT_EQ(h, static_cast<int>(std::floor((1 - z) * n * 128 + z * 64 + 0.5)));
}

// Vectors of recurrent layers exist for x86.
bool has_gates(Isa isa) { return isa >= Isa::avx2 && isa < Isa::neon; }

class RecurrentVectorsTest : public testing::Test {
 protected:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  template <class T>
  std::vector<T> numbers(std::int32_t count) {
    constexpr int kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
    std::vector<T> values(static_cast<std::size_t>(count));
    const int kind = pick(0, 5);
    for (T& v : values) {
      const int limit = kind == 0 ? 3 : kHigh;
      v = static_cast<T>(kind == 1 ? (pick(0, 1) == 0 ? kLow : kHigh) : pick(-limit, limit));
    }
    return values;
  }

  template <class T>
  void compare(Isa isa, int& vectors) {
    RecurrentSpec spec;
    spec.lstm = pick(0, 1) == 1;
    spec.dtype = sizeof(T) == 1 ? DType::int8 : DType::int16;
    spec.inputs = pick(1, 70);
    spec.hidden = pick(1, 50);
    const std::int32_t rows = spec.rows();
    const auto weights = numbers<T>(rows * spec.inputs), hidden = numbers<T>(rows * spec.hidden);
    const auto bias = numbers<std::int16_t>(2 * rows);
    spec.input_weights = weights.data();
    spec.hidden_weights = hidden.data();
    if (pick(0, 3) > 0) spec.input_bias = bias.data();
    if (pick(0, 3) > 0) spec.hidden_bias = bias.data() + rows;
    spec.gate_exponent = pick(-13, -1);
    spec.input_exponent = pick(0, 20) == 0 ? 127 : pick(-30, -4);
    spec.hidden_exponent = pick(-30, -4);
    spec.state_exponent = pick(-15, -4);
    spec.rounding = pick(0, 1) == 0 ? Rounding::half_up : Rounding::half_even;
    std::vector<float> sigmoid(60000), tanh(60000);
    spec.sigmoid = {sigmoid.data(), gate_table_last(GateFunction::sigmoid, spec.gate_exponent)};
    spec.tanh = {tanh.data(), gate_table_last(GateFunction::tanh, spec.gate_exponent)};
    fill_gate_table(GateFunction::sigmoid, spec.gate_exponent, sigmoid.data());
    fill_gate_table(GateFunction::tanh, spec.gate_exponent, tanh.data());
    HeapMemory memory;
    RecurrentSpec fast = spec;
    ASSERT_TRUE(use_vectors(isa, memory, fast).ok());
    vectors += fast.vectors != nullptr ? 1 : 0;
    auto h = numbers<T>(spec.hidden), fast_h = h;
    auto c = numbers<std::int16_t>(spec.hidden), fast_c = c;
    std::vector<std::byte> scratch(std::max(spec.scratch_bytes(), fast.scratch_bytes()), std::byte{0xff});
    for (int step = 0; step < 3; ++step) {
      const auto x = numbers<T>(spec.inputs);
      recurrent_step(spec, x.data(), h.data(), c.data(), scratch.data());
      recurrent_step(fast, x.data(), fast_h.data(), fast_c.data(), scratch.data());
      ASSERT_EQ(fast_h, h) << "lstm " << spec.lstm << " inputs " << spec.inputs << " hidden " << spec.hidden;
      ASSERT_EQ(fast_c, c);
    }
  }

  void compare_lstm(Isa isa, int& vectors) {
    SequenceLstmSpec spec;
    spec.batches = pick(1, 2);
    spec.steps = pick(1, pick(0, 3) == 0 ? 40 : 4);
    spec.inputs = pick(1, 70);
    spec.units = pick(1, 40);
    spec.time_major = pick(0, 1) == 1;
    spec.x_zero = pick(-128, 127);
    spec.h_zero = pick(-128, 127);
    spec.cell_exponent = pick(-15, -9);
    spec.clip = static_cast<std::int16_t>(pick(0, 2) == 0 ? pick(1, 32767) : 0);
    const Rounding rounding[] = {Rounding::half_up, Rounding::half_even, Rounding::tflite_double};
    const Rounding how = rounding[pick(0, 2)];
    const auto scaling = [&](int low, int high) {
      Scaling made;
      made.rounding = how;
      made.shift = pick(low, high);
      made.multiplier = {pick(1 << 30, 0x7fffffff), made.shift};
      return made;
    };
    std::vector<std::vector<std::int8_t>> weights;
    std::vector<std::vector<std::int32_t>> biases;
    for (int g = 0; g < 4; ++g) {
      weights.push_back(numbers<std::int8_t>(spec.units * spec.inputs));
      spec.x_weights[g] = weights.back().data();
      weights.push_back(numbers<std::int8_t>(spec.units * spec.units));
      spec.h_weights[g] = weights.back().data();
      auto& bias = biases.emplace_back(static_cast<std::size_t>(spec.units));
      for (auto& b : bias) b = pick(-1 << 20, 1 << 20);
      if (pick(0, 40) == 0) bias[0] = 0x7fffffff;
      spec.bias[g] = bias.data();
      spec.x_scale[g] = scaling(-5, 12);
      spec.h_scale[g] = scaling(-5, 12);
    }
    spec.forget_cell = scaling(12, 18);
    spec.input_cell = scaling(12, 22);
    spec.hidden = scaling(16, 26);
    HeapMemory memory;
    SequenceLstmSpec fast = spec;
    ASSERT_TRUE(use_vectors(isa, memory, fast).ok());
    vectors += fast.vectors != nullptr ? 1 : 0;
    const std::int32_t frames = spec.batches * spec.steps, state = spec.batches * spec.units;
    const auto x = numbers<std::int8_t>(frames * spec.inputs);
    auto h = numbers<std::int8_t>(state), fast_h = h;
    auto c = numbers<std::int16_t>(state), fast_c = c;
    std::vector<std::int8_t> y(static_cast<std::size_t>(frames * spec.units)), fast_y(y.size());
    std::vector<std::byte> scratch(std::max(spec.scratch_bytes(), fast.scratch_bytes()), std::byte{0xff});
    sequence_lstm(spec, x.data(), h.data(), c.data(), y.data(), scratch.data());
    sequence_lstm(fast, x.data(), fast_h.data(), fast_c.data(), fast_y.data(), scratch.data());
    ASSERT_EQ(fast_y, y) << "rounding " << static_cast<int>(how) << " units " << spec.units;
    ASSERT_EQ(fast_c, c);
  }

  std::mt19937 random_{1};
};

TEST_F(RecurrentVectorsTest, SequencesOfFloatsAsThePlainLoops) {
  const auto floats = [&](std::int64_t count, float size) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& v : values) v = std::uniform_real_distribution<float>(-size, size)(random_);
    return values;
  };
  const auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  };
  for (int repeat = 0; repeat < 100; ++repeat) {
    SequenceLstmSpec spec;
    spec.dtype = DType::float32;
    spec.batches = pick(1, 2), spec.steps = pick(1, 40);
    spec.inputs = pick(1, 40), spec.units = pick(1, 40);
    spec.time_major = pick(0, 1) == 1;
    spec.float_clip = pick(0, 2) == 0 ? 0.3F : 0.0F;
    std::vector<std::vector<float>> numbers;
    for (int g = 0; g < 4; ++g) {
      spec.x_weights[g] = numbers.emplace_back(floats(spec.units * spec.inputs, 1)).data();
      spec.h_weights[g] = numbers.emplace_back(floats(spec.units * spec.units, 1)).data();
      spec.bias[g] = numbers.emplace_back(floats(spec.units, 1)).data();
    }
    const std::int32_t frames = spec.batches * spec.steps, state = spec.batches * spec.units;
    const auto x = floats(frames * spec.inputs, 2), h = floats(state, 1), c = floats(state, 1);
    auto expected_h = h, expected_c = c;
    std::vector<float> expected(static_cast<std::size_t>(frames * spec.units)), y(expected.size());
    std::vector<std::byte> scratch(spec.scratch_bytes());
    sequence_lstm(spec, x.data(), expected_h.data(), expected_c.data(), expected.data(), scratch.data());
    for (const Isa isa : test::ConvCase::levels()) {
      HeapMemory memory;
      SequenceLstmSpec fast = spec;
      ASSERT_TRUE(use_vectors(isa, memory, fast).ok());
      EXPECT_EQ(fast.kernels != nullptr, has_gates(isa));
      auto fast_h = h, fast_c = c;
      scratch.assign(fast.scratch_bytes(), std::byte{0xff});
      sequence_lstm(fast, x.data(), fast_h.data(), fast_c.data(), y.data(), scratch.data());
      ASSERT_TRUE(same(y, expected) && same(fast_h, expected_h) && same(fast_c, expected_c))
          << name_of(isa) << ", " << spec.units << " units";
    }
  }
}

TEST_F(RecurrentVectorsTest, StepsAsThePlainLoops) {
  for (const Isa isa : test::ConvCase::levels()) {
    int vectors = 0;
    for (int repeat = 0; repeat < 300 && !HasFatalFailure(); ++repeat) {
      compare<std::int8_t>(isa, vectors);
      compare<std::int16_t>(isa, vectors);
    }
    EXPECT_EQ(vectors > 300, has_gates(isa)) << vectors;
  }
}

TEST_F(RecurrentVectorsTest, SequencesAsThePlainLoops) {
  for (const Isa isa : test::ConvCase::levels()) {
    int vectors = 0;
    for (int repeat = 0; repeat < 500 && !HasFatalFailure(); ++repeat) compare_lstm(isa, vectors);
    EXPECT_EQ(vectors > 300, has_gates(isa)) << vectors;
  }
}

}  // namespace
}  // namespace runnel::kernels
