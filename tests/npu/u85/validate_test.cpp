// Rules of the Ethos-U85's hardware: every rule is broken once, and valid streams break none.
#include "npu/validate.h"

#include <gtest/gtest.h>

namespace runnel::test {
namespace {

class Named final : public npu::ViolationSink {
 public:
  void report(const npu::Operation&, std::string_view rule, std::string_view what) noexcept override {
    text += std::string(rule) + ": " + std::string(what) + "\n";
  }
  std::string text;
};

// A maximum of 16 x 16 x 16, in memory.
npu::Operation pooling() {
  npu::Operation op;
  op.product = npu::Product::u85;
  op.kind = npu::OperationKind::pool;
  op.mode = static_cast<std::uint8_t>(npu::u85::PoolMode::max);
  for (npu::FeatureMap* map : {&op.ifm, &op.ofm}) {
    map->height = map->height0 = map->height1 = map->width = map->width0 = map->depth = 16;
    map->is_signed = true;
  }
  op.block_height = op.block_width = 4;
  op.block_depth = 16;
  op.microblock = 1;
  op.global_scale = true;
  return op;
}
npu::Operation convolution() {
  npu::Operation op = pooling();
  op.kind = npu::OperationKind::conv;
  op.mode = 0;
  op.microblock = 3;
  op.weights[0].length = 16;
  return op;
}

std::string broken(const npu::Operation& op, const char* name = "ethos-u85-256") {
  Named named;
  npu::Validator validator(**npu::find_accelerator(std::string_view(name)), {}, named);
  validator.check(op);
  return named.text;
}

TEST(U85Validator, FindsNothingInValidOperations) {
  EXPECT_EQ(broken(pooling()), "");
  EXPECT_EQ(broken(convolution()), "");
}

TEST(U85Validator, Blocks) {
  npu::Operation op = pooling();
  const auto block = [&](int height, int width, int depth, int micro, const char* name = "ethos-u85-256") {
    op.block_height = height;
    op.block_width = width;
    op.block_depth = depth;
    op.microblock = static_cast<std::uint8_t>(micro);
    return broken(op, name);
  };
  EXPECT_EQ(block(16, 16, 16, 1), "");
  EXPECT_EQ(block(16, 3, 16, 1), "block: block of 16 x 3 x 16, expected multiples of 1 x 2 x 16\n");
  EXPECT_EQ(block(16, 4, 24, 1), "block: block of 16 x 4 x 24, expected multiples of 1 x 2 x 16\n");
  EXPECT_EQ(block(4, 4, 16, 5), "block: micro-block 5, which ethos-u85-256 does not have\n");
  EXPECT_EQ(block(4, 4, 16, 7), "block: micro-block 7, which ethos-u85-256 does not have\n");
  EXPECT_EQ(block(4, 4, 16, 3), "block: micro-block 3, which does not compute this operation of 8 bits\n");
  EXPECT_EQ(block(4, 4, 16, 5, "ethos-u85-2048"), "");
  EXPECT_NE(block(130, 2, 16, 1).find("expected at most 128 x 128 x 1024"), std::string::npos);
  EXPECT_EQ(block(16, 18, 16, 1), "shram: accumulators take 18432 bytes, expected at most 16384\n");
  op.acc_format = 1;
  EXPECT_EQ(block(16, 10, 16, 1), "shram: accumulators take 20480 bytes, expected at most 16384\n");
  op = pooling();
  op.u85.reversed = npu::u85::Axis::depth;
  EXPECT_EQ(block(2, 2, 32, 1), "block: block of 32 channels of a reversed output, expected 16\n");
  op = pooling();
  op.ofm.layout = npu::Layout::nhcwb16;
  op.u85.transpose = npu::u85::Transpose::hcw;
  EXPECT_EQ(block(2, 8, 16, 1),
            "block: block of 8 columns that become channels, expected a multiple of 16\n");
  op.u85.transpose = npu::u85::Transpose::wch;
  EXPECT_EQ(block(8, 2, 16, 1), "block: block of 8 rows that become channels, expected a multiple of 16\n");
}

TEST(U85Validator, BlocksOfTheInput) {
  npu::Operation op = convolution();
  op.ifm.height = op.ifm.width = 100;
  op.ifm.depth = 100;
  op.kernel.height = op.kernel.width = 3;
  op.kernel.stride_y = op.kernel.stride_x = 2;
  op.block_height = op.block_width = 8;
  // 64 channels, in units of one position; by parts of the kernel 16, in units of 2 x 2.
  EXPECT_EQ(broken(op), "shram: a block of the input takes 18496 bytes, expected at most 16384\n");
  op.kernel.part_kernel = true;
  EXPECT_EQ(broken(op), "");
  op.kernel.part_kernel = false;
  op.ifm.height = 12;
  EXPECT_EQ(broken(op), "") << "no more rows than there are";
}

TEST(U85Validator, Resizing) {
  npu::Operation op = pooling();
  op.kind = npu::OperationKind::resize;
  op.mode = 0;
  op.u85.columns = {2, 0, 0, 1};
  op.block_height = 1;
  op.block_width = 29;
  EXPECT_EQ(broken(op), "");
  op.block_width = 30;
  EXPECT_EQ(broken(op),
            "block: block of 30 columns, whose input takes more than its memory; expected at most 29\n");
  op.block_height = 2;
  op.block_width = 8;
  EXPECT_EQ(broken(op), "block: block of 2 rows and 16 channels, expected 1 and 16\n");
}

TEST(U85Validator, Kernels) {
  npu::Operation op = pooling();
  op.kernel.stride_y = 4;
  EXPECT_EQ(broken(op), "kernel: stride 4 x 1, expected at most 3\n");
  op = pooling();
  op.kernel.top = 1;
  EXPECT_EQ(broken(op), "kernel: padding of 1 rows and 0 columns, expected less than the kernel\n");
  op.kernel.height = 300;
  op.kernel.top = 128;
  EXPECT_NE(broken(op).find("kernel: padding of 128, 0, 0 and 0, expected at most 127, 127, 255 and 255"),
            std::string::npos);
}

TEST(U85Validator, Weights) {
  npu::Operation op = convolution();
  op.weights[0].length = 0;
  EXPECT_EQ(broken(op), "weights: no weights\n");
  op.weights[0] = {8, 16};
  EXPECT_EQ(broken(op), "alignment: weight base is 8, expected a multiple of 16\n");
  op.weights[0] = {0, 16};
  op.u85.fast_weights = true;
  EXPECT_EQ(broken(op), "alignment: weight length is 16, expected a multiple of 32\n");
  op.weights[0].length = 32;
  EXPECT_EQ(broken(op), "");
  op.kind = npu::OperationKind::depthwise;
  op.microblock = 1;
  EXPECT_EQ(broken(op), "weights: fast or sparse weights of a depthwise convolution\n");
}

TEST(U85Validator, PrecisionAndScales) {
  npu::Operation op = convolution();
  op.ifm.element = 4;
  op.ifm.stride_x = op.ifm.stride_y = 64;
  EXPECT_NE(broken(op).find("precision: input of 32 bits, expected 8 or 16"), std::string::npos);
  op = convolution();
  op.ifm.zero_point = 128;
  EXPECT_EQ(broken(op), "precision: IFM zero point 128 of 8 bits\n");
  op = pooling();
  op.mode = static_cast<std::uint8_t>(npu::u85::PoolMode::average);
  op.has_scales = true;
  EXPECT_EQ(broken(op), "precision: a scale for each channel, expected one for all\n");
  op = pooling();
  op.kind = npu::OperationKind::elementwise;
  op.mode = static_cast<std::uint8_t>(npu::u85::ElementwiseMode::shr);
  op.u85.ofm_scale = {4, 1, 0, npu::u85::Rounding::natural};
  EXPECT_EQ(broken(op), "precision: a shift or quotient is scaled by 4 >> 1, expected 1\n");
  // Beyond the word.
  op.u85.ofm_scale = {1 << 24, 56, 0, npu::u85::Rounding::natural};
  EXPECT_EQ(broken(op), "precision: a shift or quotient is scaled by 16777216 >> 56, expected 1\n");
  op = pooling();
  op.u85.transpose = npu::u85::Transpose::whc;
  op.u85.reversed = npu::u85::Axis::height;
  EXPECT_EQ(broken(op), "precision: an output that is transposed and reversed\n");
  op = pooling();
  op.has_ifm2 = true;
  op.ifm2 = op.ofm;
  op.ifm2.element = 2;
  op.u85.start = npu::u85::AccumulatorStart::ifm2;
  EXPECT_EQ(broken(op), "precision: accumulators start from 16 bits, expected 32\n");
}

TEST(U85Validator, ChainsAndWaits) {
  npu::Operation op = pooling();
  op.ifm.storage = npu::Storage::chained;
  op.ifm.width0 = 0;
  op.ifm.region = 4;
  EXPECT_EQ(broken(op), "chain: IFM reads chaining buffer 4, which nothing was written into\n");
  op = pooling();
  op.u85.start = npu::u85::AccumulatorStart::keep;
  EXPECT_EQ(broken(op), "chain: starts from accumulators that no operation has left\n");
  op = pooling();
  op.ofm.storage = npu::Storage::chained;
  op.ofm.width0 = 0;
  op.u85.reversed = npu::u85::Axis::width;
  EXPECT_EQ(broken(op), "chain: a chained output is transposed or reversed\n");
  op = {};
  op.kind = npu::OperationKind::dma_wait;
  op.param = 4;
  EXPECT_EQ(broken(op), "wait: up to 4 copies outstanding, expected at most 3\n");
  op.kind = npu::OperationKind::kernel_wait;
  op.param = 2;
  EXPECT_EQ(broken(op), "wait: up to 2 kernels outstanding, expected at most 1\n");
}

}  // namespace
}  // namespace runnel::test
