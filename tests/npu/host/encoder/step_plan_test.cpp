// Step plans: every permitted choice gives the same result, and the choice made is not slower than
// any other tried.
#include "npu/host/encoder/step_plan.h"

#include <gtest/gtest.h>

#include <numeric>

#include "npu/host/encoder/block_choice.h"
#include "npu/host/encoder/schedule.h"
#include "npu/host/segment.h"

namespace runnel::test {
namespace {

npu::FeatureMap map(std::int32_t height, std::int32_t width, std::int32_t depth) {
  npu::FeatureMap map;
  map.height = map.height0 = map.height1 = height;
  map.width = map.width0 = width;
  map.depth = depth;
  map.is_signed = true;
  map.region = npu::kScratch;
  map.stride_c = 1;
  map.stride_x = depth;
  map.stride_y = std::int64_t{depth} * width;
  return map;
}
npu::Operation convolution(std::int32_t height, std::int32_t width, std::int32_t in, std::int32_t out,
                           std::int32_t rows, std::int32_t columns) {
  npu::Operation op;
  op.kind = npu::OperationKind::conv;
  op.ifm = map(height + rows - 1, width + columns - 1, in);
  op.ofm = map(height, width, out);
  op.ofm.base[0] = 1 << 20;
  op.kernel.height = rows;
  op.kernel.width = columns;
  op.has_scales = true;
  op.activation.low = -128;
  op.activation.high = 127;
  return op;
}
std::shared_ptr<const npu::Generation> generation_of(const char* accelerator, const char* system,
                                                     const char* mode) {
  return *npu::Generation::make({*npu::find_accelerator(std::string_view(accelerator)),
                                 *npu::find_system(system), *npu::find_memory_mode(mode)});
}

TEST(StepPlan, ExchangingTwiceChangesNothing) {
  npu::Operation op = convolution(7, 3, 4, 5, 3, 2);
  op.kernel.top = 2;
  op.broadcast = 5;
  npu::Operation twice = op;
  npu::exchange(twice);
  EXPECT_EQ(twice.ofm.height, 3);
  EXPECT_EQ(twice.ifm.stride_x, op.ifm.stride_y);
  EXPECT_EQ(twice.kernel.left, 2);
  EXPECT_EQ(twice.broadcast, 6);
  std::vector<std::int16_t> weights(5 * 3 * 2 * 4);
  std::iota(weights.begin(), weights.end(), std::int16_t{0});
  const std::vector<std::int16_t> exchanged = npu::exchange_weights(op, weights);
  // Output 1, row 2, column 1, channel 3.
  EXPECT_EQ(exchanged[((1 * 2 + 1) * 3 + 2) * 4 + 3], weights[((1 * 3 + 2) * 2 + 1) * 4 + 3]);
  EXPECT_EQ(npu::exchange_weights(twice, exchanged), weights);
  npu::exchange(twice);
  EXPECT_EQ(twice.ifm.stride_y, op.ifm.stride_y);
  EXPECT_EQ(twice.kernel.height, op.kernel.height);
}

TEST(StepPlan, ExchangesOnlyWhatStridesDescribe) {
  npu::Operation op = convolution(7, 3, 16, 16, 1, 1);
  EXPECT_TRUE(npu::can_exchange(op));
  op.ofm.layout = npu::Layout::nhcwb16;
  EXPECT_FALSE(npu::can_exchange(op));
  op = convolution(7, 3, 16, 16, 1, 1);
  op.ifm.height0 = 4;  // two tiles
  EXPECT_FALSE(npu::can_exchange(op));
  op = convolution(7, 3, 16, 16, 1, 1);
  op.kernel.width = 100;  // longer than rows may be
  EXPECT_FALSE(npu::can_exchange(op));
}

// A column of this accelerator's micro-blocks of 1 x 2 is half empty, a row is not.
TEST(StepPlan, LaysAColumnDownAsARow) {
  const auto generation = generation_of("ethos-u55-128", "Ethos_U55_High_End_Embedded", "Shared_Sram");
  const npu::Operation op = convolution(40, 1, 32, 32, 3, 1);
  const auto plan = npu::plan_step(op, {}, 3000, *generation);
  ASSERT_TRUE(plan.ok()) << plan.status().text();
  EXPECT_TRUE(plan->exchanged);
  EXPECT_EQ(plan->op.ofm.width, 40);
  npu::Operation as_it_is = op;
  as_it_is.weights[0].length = 3000;
  ASSERT_TRUE(generation->choose_block(as_it_is).ok());
  EXPECT_LT(generation->estimate({&plan->op, 1}).npu, generation->estimate({&as_it_is, 1}).npu);
}

// A long previous operation hides the copy of weights; before the first operation, without one, they are read
// in place, or in slices.
TEST(StepPlan, CopiesWeightsWhereThatIsHidden) {
  const auto generation = generation_of("ethos-u55-128", "Ethos_U65_High_End", "Shared_Sram");
  npu::Operation front = convolution(32, 32, 32, 32, 3, 3);
  ASSERT_TRUE(generation->choose_block(front).ok());
  const npu::Operation op = convolution(16, 16, 64, 64, 1, 1);
  const auto after = npu::plan_step(op, {&front, 1}, 4096, *generation),
             first = npu::plan_step(op, {}, 4096, *generation);
  ASSERT_TRUE(after.ok() && first.ok());
  EXPECT_TRUE(after->copied);
  EXPECT_EQ(after->slices, std::vector<std::int32_t>{64});
  EXPECT_TRUE(!first->copied || first->slices.size() > 1);
  // Constants in on-chip memory are not copied.
  const auto inside = npu::plan_step(op, {&front, 1}, 4096,
                                     *generation_of("ethos-u55-128", "Ethos_U65_High_End", "Sram_Only"));
  ASSERT_TRUE(inside.ok());
  EXPECT_FALSE(inside->copied);
}

TEST(StepPlan, SlicesChannelsOfDepthwiseMapsOnBothSides) {
  npu::Operation op = convolution(4, 4, 48, 48, 1, 1);
  op.kind = npu::OperationKind::depthwise;
  const npu::Operation slice = npu::slice_of(op, 16, 32);
  EXPECT_EQ(slice.ofm.depth, 32);
  EXPECT_EQ(slice.ifm.depth, 32);
  EXPECT_EQ(slice.ofm.base[0], op.ofm.base[0] + 16);
  EXPECT_EQ(slice.ifm.base[0], op.ifm.base[0] + 16);
  op.kind = npu::OperationKind::conv;
  EXPECT_EQ(npu::slice_of(op, 16, 32).ifm.depth, 48);
}

// Tables of different sizes share the accelerator's memory: a table in use is the last one copied there.
TEST(Schedule, TablesOfDifferentSizesDoNotCoverEachOther) {
  const npu::Accelerator& accelerator = **npu::find_accelerator(std::string_view("ethos-u55-128"));
  npu::Schedule schedule(accelerator);
  std::vector<std::vector<std::byte>> tables;
  for (const std::size_t size : {256, 1024, 256, 256, 1024, 2048, 256})
    tables.emplace_back(size, static_cast<std::byte>(tables.size() + 1));
  std::vector<std::size_t> used;
  for (const std::size_t i : {0, 1, 2, 0, 1, 3, 4, 0, 5, 6, 1, 6, 5, 0, 2}) {
    npu::Operation op = convolution(1, 2, 8, 8, 1, 1);
    op.kind = npu::OperationKind::pool;
    op.mode = static_cast<std::uint8_t>(npu::PoolMode::max);
    op.ofm.element = tables[i].size() == 256 ? 1 : tables[i].size() == 1024 ? 4 : 2;
    op.activation.function = npu::Activation::kFirstTable;
    schedule.add_with_table(op, 4096 * i, tables[i]);
    used.push_back(i);
  }
  std::vector<std::size_t> memory(2048);  // which table each byte is of, plus 1
  std::size_t next = 0;
  for (const npu::Operation& op : schedule.operations()) {
    if (op.kind == npu::OperationKind::dma) {
      const auto at = static_cast<std::size_t>(op.dma.target.address) - accelerator.table_base();
      ASSERT_LE(at + static_cast<std::size_t>(op.dma.length), memory.size());
      std::fill_n(memory.begin() + static_cast<std::ptrdiff_t>(at), op.dma.length,
                  static_cast<std::size_t>(op.dma.source.address) / 4096 + 1);
    } else if (op.computes()) {
      const std::size_t table = used[next++], size = tables[table].size(),
                        at = size * static_cast<std::size_t>(op.activation.slot());
      for (std::size_t i = 0; i < size; ++i)
        ASSERT_EQ(memory[at + i], table + 1) << "operation " << op.index << ", byte " << i;
    }
  }
  EXPECT_EQ(next, used.size());
}

}  // namespace
}  // namespace runnel::test
