// Errors and requirements of prepare_conv.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>

#include "base/host/heap_memory.h"
#include "tests/kernels/conv_cases.h"

namespace runnel::kernels {
namespace {

class PrepareConv : public ::testing::Test {
 protected:
  PrepareConv() {
    spec_.in_channels = 8;
    spec_.out_channels = 8;
    spec_.weights = weights_.data();
    spec_.requant.shift = shift_.data();
  }
  Code prepare(const std::function<void(ConvSpec&)>& change) {
    ConvSpec spec = spec_;
    change(spec);
    HeapMemory memory;
    Conv conv;
    return prepare_conv(spec, best_isa(), memory, conv).code();
  }
  std::array<std::int8_t, 64> weights_{};
  std::array<std::int32_t, 8> shift_{};
  ConvSpec spec_;
};

TEST_F(PrepareConv, AcceptsTheBase) {
  EXPECT_EQ(prepare([](ConvSpec&) {}), Code::ok);
}

TEST_F(PrepareConv, RefusesWhatCannotBe) {
  std::int32_t bad_shift = 63;
  std::int32_t multiplier = 1 << 30;
  const std::function<void(ConvSpec&)> changes[] = {
      [](ConvSpec& s) { s.dtype = DType::float32; },
      [](ConvSpec& s) { s.in_width = 0; },
      [](ConvSpec& s) { s.stride_height = 0; },
      [](ConvSpec& s) { s.dilation_width = -1; },
      [](ConvSpec& s) { s.groups = 3; },
      [](ConvSpec& s) { s.weights = nullptr; },
      [](ConvSpec& s) { s.requant.shift = nullptr; },
      [](ConvSpec& s) { s.requant.count = 7; },
      [](ConvSpec& s) { s.requant.low = -129; },
      [](ConvSpec& s) { s.requant.low = 5, s.requant.high = 4; },
      [](ConvSpec& s) { s.requant.zero_point = 128; },
      [](ConvSpec& s) { s.in_zero_point = -129; },
      [&](ConvSpec& s) { s.requant.shift = &bad_shift; },
      [](ConvSpec& s) { s.requant.rounding = Rounding::single; },
      [&](ConvSpec& s) { s.requant.multiplier = &multiplier; },
      [](ConvSpec& s) { s.in_height = s.in_width = s.out_height = s.out_width = 1 << 30; },
  };
  int index = 0;
  for (const auto& change : changes)
    EXPECT_EQ(prepare(change), Code::invalid_argument) << "change " << index++;
}

TEST_F(PrepareConv, RefusesAccumulatorsBeyondSixtyFourBits) {
  std::array<std::int16_t, 64> weights{};
  std::array<std::int64_t, 8> bias{};
  bias[3] = -0x7fffffffffffffff;
  EXPECT_EQ(prepare([&](ConvSpec& s) {
              s.dtype = DType::int16;
              s.weights = weights.data();
              s.bias = bias.data();
            }),
            Code::invalid_argument);
}

TEST_F(PrepareConv, ReportsExhaustedMemoryAtEveryAllocation) {
  for (const int groups : {1, 8}) {
    spec_.groups = groups;
    for (const Isa isa : test::ConvCase::levels()) {
      HeapMemory measure;
      Conv conv;
      ASSERT_TRUE(prepare_conv(spec_, isa, measure, conv).ok());
      for (std::size_t limit = 0; limit < measure.used(); limit += 24) {
        HeapMemory memory(limit);
        EXPECT_EQ(prepare_conv(spec_, isa, memory, conv).code(), Code::out_of_memory)
            << limit << " of " << measure.used();
      }
    }
  }
}

}  // namespace
}  // namespace runnel::kernels
