// The cycle model's formulas, by hand, on layers of a keyword spotter for the U85 with 256 multiply-adds.
#include "npu/host/cycles/u85/cycle_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "npu/port.h"

namespace runnel::test {
namespace {

using npu::OperationKind;

const npu::Accelerator& accelerator(const char* name) {
  return **npu::find_accelerator(std::string_view(name));
}
npu::u85::CycleModel model_of(const char* name, const char* system = "Ethos_U85_SYS_DRAM_Mid",
                              const char* mode = "Dedicated_Sram_384KB") {
  return *npu::u85::CycleModel::make(accelerator(name), **npu::find_system(system),
                                     **npu::find_memory_mode(mode));
}

npu::FeatureMap map(std::int32_t height, std::int32_t width, std::int32_t depth, std::uint8_t element = 1) {
  npu::FeatureMap out;
  out.height = height;
  out.width = width;
  out.depth = depth;
  out.element = element;
  out.is_signed = true;
  out.layout = npu::Layout::nhcwb16;
  out.region = npu::kFastScratch;
  return out;
}
npu::Operation operation(OperationKind kind, const npu::FeatureMap& ifm, const npu::FeatureMap& ofm,
                         npu::Block block, std::uint8_t microblock) {
  npu::Operation op;
  op.product = npu::Product::u85;
  op.kind = kind;
  op.ifm = ifm;
  op.ofm = ofm;
  op.block_height = block.height;
  op.block_width = block.width;
  op.block_depth = block.depth;
  op.microblock = microblock;
  op.has_scales = npu::convolves(op);
  op.weight_region = npu::kFastScratch;
  op.activation.low = -128;
  op.activation.high = 127;
  return op;
}
npu::Operation pooling(npu::u85::PoolMode mode, const npu::FeatureMap& ifm, const npu::FeatureMap& ofm,
                       npu::Block block, std::uint8_t microblock) {
  npu::Operation op = operation(OperationKind::pool, ifm, ofm, block, microblock);
  op.mode = static_cast<std::uint8_t>(mode);
  return op;
}
npu::Operation elementwise(npu::u85::ElementwiseMode mode, const npu::FeatureMap& ifm,
                           const npu::FeatureMap& ofm, npu::Block block) {
  npu::Operation op = operation(OperationKind::elementwise, ifm, ofm, block, 1);
  op.mode = static_cast<std::uint8_t>(mode);
  op.has_ifm2 = true;
  op.ifm2 = ifm;
  return op;
}
npu::Kernel kernel(std::int32_t height, std::int32_t width) {
  npu::Kernel out;
  out.height = height;
  out.width = width;
  return out;
}

// Of 25 x 6 micro-blocks of 1 x 2 x 16, 75 take 3 steps of 4 cycles: 900. 4 blocks of them, the last outputs
// of 25 x 5 x 16 / 4 = 500, and a block read and written.
TEST(U85CycleModel, FollowsTheHandCheckOfADepthwiseConvolution) {
  npu::Operation op = operation(OperationKind::depthwise, map(25, 5, 64), map(25, 5, 64), {25, 6, 16}, 1);
  op.kernel = kernel(3, 3);
  op.kernel.top = op.kernel.left = op.kernel.bottom = op.kernel.right = 1;
  EXPECT_EQ(model_of("ethos-u85-256").cycles(op), 900 * 4 + 500 + 94 + 94);
}
// 8 x 2 micro-blocks of 2 x 2 x 8 with 4 of them in depth, 8 cycles each: 512; 125 / 64 * 2 blocks and parts.
TEST(U85CycleModel, FollowsTheHandCheckOfAPointwiseConvolution) {
  const npu::Operation op = operation(OperationKind::conv, map(25, 5, 64), map(25, 5, 64), {16, 4, 32}, 3);
  EXPECT_EQ(model_of("ethos-u85-256").cycles(op), 2496 + 512 + 96 + 160);
}
// The kernel in parts of 8 x 8 taps, of which 125 take four cycles for each of 4 micro-blocks.
TEST(U85CycleModel, FollowsTheHandCheckOfASumOverAMap) {
  npu::Operation op = pooling(npu::u85::PoolMode::sum, map(25, 5, 64), map(1, 1, 64), {1, 2, 64}, 1);
  op.kernel = kernel(25, 5);
  EXPECT_EQ(model_of("ethos-u85-256").cycles(op), 2000 + 504 + 36 + 112);
}

// A quarter of a cycle for each of 16 x 25 x 5 x 4 elements; both operands and the output in SRAM.
TEST(U85CycleModel, CountsElements) {
  const npu::Operation op =
      elementwise(npu::u85::ElementwiseMode::add, map(25, 5, 64), map(25, 5, 64), {25, 5, 64});
  const npu::OperationEstimate cost = model_of("ethos-u85-256").cost({&op, 1});
  EXPECT_EQ(cost.npu, 2000);
  EXPECT_EQ(cost.macs, 0);
  // 3 x 8000 bytes of 32 in a cycle; bricks of 5 columns fill bursts of 64 bytes.
  EXPECT_EQ(cost.access[0], 781);  // two maps over the stream of inputs, 20.48 bytes in a cycle
  EXPECT_EQ(cost.access[1], 0);
  EXPECT_EQ(cost.total, 2000);
  EXPECT_EQ(cost.traffic[0].read, 16000);
  EXPECT_EQ(cost.traffic[0].written, 8000);
}

// The chained operation adds its time to that of the first one; the map between them is not stored.
TEST(U85CycleModel, AddsTheOutputStagesOfAChain) {
  const auto model = model_of("ethos-u85-1024");
  npu::Operation first =
      elementwise(npu::u85::ElementwiseMode::sub, map(1, 1, 64, 4), map(1, 1, 64, 4), {2, 64, 16});
  npu::Operation second = first;
  first.ofm.storage = npu::Storage::chained;
  second.mode = static_cast<std::uint8_t>(npu::u85::ElementwiseMode::shl);
  second.ifm2.storage = npu::Storage::chained;
  const npu::Operation* const chained[] = {&second};
  // An eighth into the buffer, a quarter to 32 bits.
  EXPECT_EQ(model.cycles(first, chained), 64 * 0.375);
  const npu::Operation chain[] = {first, second};
  EXPECT_EQ(model.cost(chain).traffic[0].written, 0);
  EXPECT_EQ(model.cost(chain).npu, 64 * 0.375);
}

TEST(U85CycleModel, CountsSparseWeightsHalf) {
  npu::Operation op = operation(OperationKind::conv, map(25, 5, 128), map(25, 5, 64), {16, 4, 32}, 3);
  const auto model = model_of("ethos-u85-256");
  EXPECT_EQ(model.cost({&op, 1}).macs, 25 * 5 * 64 * 128);
  const double dense = model.cycles(op);
  op.u85.sparse_weights = true;
  EXPECT_EQ(model.cost({&op, 1}).macs, 25 * 5 * 64 * 64);
  EXPECT_LT(model.cycles(op), dense);
}

// 12 bytes in a cycle at most; a copy of 1,000 bytes with 104 / 8 bursts of 128 on their way in 500 cycles.
TEST(U85CycleModel, CopiesAsFastAsRequestsAreAnswered) {
  const auto model = model_of("ethos-u85-256");
  EXPECT_EQ(model.copy_cycles(npu::MemoryArea::dram, npu::MemoryArea::sram, 1000), 375 + 500);
  // Tables: a byte in a cycle.
  EXPECT_EQ(model.copy_cycles(npu::MemoryArea::dram, npu::MemoryArea::internal, 2048), 2048);
}

TEST(U85CycleModel, CountsWeightsWhereTheyAre) {
  npu::Operation op = operation(OperationKind::conv, map(1, 1, 64), map(1, 1, 64), {2, 2, 64}, 3);
  op.weights[0].length = 4000;
  op.scales[0].length = 640;
  const auto model = model_of("ethos-u85-256");
  const npu::OperationEstimate copied = model.cost({&op, 1});
  op.weight_region = npu::kConstants;
  const npu::OperationEstimate in_place = model.cost({&op, 1});
  EXPECT_GT(copied.npu, in_place.npu);
  EXPECT_EQ(copied.traffic[0].read, 64 + 4640);
  EXPECT_EQ(in_place.traffic[0].read, 64);
  EXPECT_EQ(in_place.traffic[1].read, 4640);
  // Scales are the slowest: two bursts of 128 bytes at a time in 500 cycles, of which 0.8 are used.
  EXPECT_EQ(in_place.access[1], 1562);
}

TEST(U85CycleModel, RefusesWhatHasAnotherModel) {
  const auto& u55 = accelerator("ethos-u55-128");
  const auto refused = npu::u85::CycleModel::make(u55, npu::default_system(u55.product),
                                                  npu::default_memory_mode(u55.product));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::unsupported);
  const auto read_only =
      npu::u85::CycleModel::make(accelerator("ethos-u85-256"), **npu::find_system("Ethos_U85_SYS_Flash_High"),
                                 **npu::find_memory_mode("Dedicated_Sram_384KB"));
  ASSERT_FALSE(read_only.ok());
  EXPECT_NE(read_only.status().text().find("Ethos_U85_SYS_Flash_High"), std::string::npos);
}

// Sizes at the limits of registers: finite, at once.
TEST(U85CycleModel, TakesTheLargestSizes) {
  for (const char* name : {"ethos-u85-128", "ethos-u85-2048"}) {
    const auto model = model_of(name);
    for (const OperationKind kind : {OperationKind::conv, OperationKind::depthwise, OperationKind::pool,
                                     OperationKind::elementwise, OperationKind::resize}) {
      npu::Operation op =
          operation(kind, map(65536, 65536, 65536, 8), map(65536, 65536, 65536, 8), {128, 128, 1024}, 7);
      op.kernel = kernel(65536, 65536);
      for (npu::Bytes& stream : op.weights) stream.length = INT64_MAX / 8;
      const npu::OperationEstimate cost = model.cost({&op, 1});
      EXPECT_TRUE(std::isfinite(cost.total)) << name;
      EXPECT_GE(cost.macs, 0);
      // Nothing set at all.
      const npu::Operation empty = operation(kind, {}, {}, {}, 0);
      EXPECT_TRUE(std::isfinite(model.cost({&empty, 1}).total));
    }
  }
}

}  // namespace
}  // namespace runnel::test
