// Gate tables, and one step of a GRU by hand.
#include "kernels/recurrent/recurrent.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

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

}  // namespace
}  // namespace runnel::kernels
