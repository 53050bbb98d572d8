#include "npu/u85/validate.h"

#include "npu/rule_check.h"
#include "npu/u85/configuration.h"

namespace runnel::npu::u85 {
namespace {

constexpr std::int32_t kMaxBlock = 128, kMaxBlockDepth = 1024;

class Check : RuleCheck {
 public:
  using RuleCheck::RuleCheck;

  void all(Chains& chains) noexcept {
    switch (op_.kind) {
      case OperationKind::kernel_wait:
        return wait(1, "kernels");
      case OperationKind::dma_wait:
        return wait(3, "copies");
      default:
        break;
    }
    if (!op_.computes()) return;
    if (op_.ifm.width0 > 0) alignment(op_.ifm, "IFM");
    if (op_.ifm2.width0 > 0) alignment(op_.ifm2, "IFM2");
    if (op_.ofm.width0 > 0) alignment(op_.ofm, "OFM");
    if (const Status status = chains.follow(op_); !status.ok()) expect(false, rule::kChain, status.text());
    streams();
    block();
  }

 private:
  void wait(int most, std::string_view what) noexcept {
    expect(op_.param <= most, rule::kWait, "up to ", op_.param, ' ', what, " outstanding, expected at most ",
           most);
  }
  void streams() noexcept {
    for (const Bytes& weights : op_.weights) {
      aligned(weights.base, 16, "weight", "base");
      aligned(weights.length, 16, "weight", "length");
    }
    aligned(op_.scales[0].base, 16, "scale", "base");
    aligned(op_.scales[0].length, 16, "scale", "length");
    const bool reads = convolves(op_) && !op_.u85.second_weights;
    expect(!reads || op_.weights[0].length > 0, rule::kWeights, "no weights");
  }

  // Element-wise operations and resizing use neither memory.
  void block() noexcept {
    const std::int32_t height = op_.block_height, width = op_.block_width, depth = op_.block_depth;
    expect(height <= kMaxBlock && width <= kMaxBlock && depth <= kMaxBlockDepth, rule::kBlock,
           "block of ", height, " x ", width, " x ", depth, ", expected at most 128 x 128 x 1024");
    if (op_.kind == OperationKind::elementwise || op_.kind == OperationKind::resize) return;
    const MicroBlock micro = microblock(accelerator_, op_.microblock);
    expect(micro.depth > 0, rule::kBlock, "micro-block ", op_.microblock, ", which ", accelerator_.name,
           " does not have");
    if (micro.depth == 0) return;
    expect(height % micro.height == 0 && width % micro.width == 0 && depth % micro.depth == 0, rule::kBlock,
           "block of ", height, " x ", width, " x ", depth, ", expected multiples of ", micro.height, " x ",
           micro.width, " x ", micro.depth);
    const Blocks& blocks = blocks_of(accelerator_);
    // Accumulators of 48 bits take 64.
    const std::int64_t positions = std::int64_t{height} * width,
                       accumulators = 2 * positions * round_up(depth, 16) * (op_.acc_format == 0 ? 4 : 8);
    expect(accumulators <= blocks.accumulator_bytes, rule::kShram, "accumulators take ", accumulators,
           " bytes, expected at most ", blocks.accumulator_bytes);
    if (op_.kind == OperationKind::conv) return convolution_block(micro, blocks.ifm_bytes);
    if (op_.upscale != Upscale::none) return;
    const auto input = [](std::int64_t block, std::int64_t stride, std::int64_t taps) {
      return (block - 1) * stride + std::min<std::int64_t>(taps, kMaxSubKernel);
    };
    const Kernel& k = op_.kernel;
    const std::int64_t bytes =
        2 * input(height, k.stride_y, k.height) * input(width, k.stride_x, k.width) * depth * op_.ifm.element;
    expect(bytes <= blocks.ifm_bytes, rule::kShram, "the input takes ", bytes, " bytes, expected at most ",
           blocks.ifm_bytes);
  }

  // Arm's compiler falls back to one block of the input where two do not fit; more channels at once, for
  // sparse weights, only need more.
  void convolution_block(const MicroBlock& micro, std::int64_t most) noexcept {
    constexpr std::int32_t kByParts = 16, kByDepth = 64, kByDepthOfNarrow = 32, kNarrow = 256,
                           kDeepMicro = 16;
    const bool narrow = op_.ifm.element == 4 || (accelerator_.macs <= kNarrow && micro.depth == kDeepMicro);
    const std::int32_t depth = op_.kernel.part_kernel ? kByParts : narrow ? kByDepthOfNarrow : kByDepth;
    const MicroBlock unit = input_unit(accelerator_, op_.microblock, depth, op_.ifm.element);
    const Kernel& k = op_.kernel;
    const std::int64_t bytes = input_of(op_.block_height, k.stride_y, k.height, unit.height, op_.upscale) *
                               input_of(op_.block_width, k.stride_x, k.width, unit.width, op_.upscale) *
                               round_up(std::min(depth, op_.ifm.depth), unit.depth) * op_.ifm.element;
    expect(bytes <= most, rule::kShram, "a block of the input takes ", bytes, " bytes, expected at most ",
           most);
  }
};

}  // namespace

void check_rules(const Operation& op, const Accelerator& accelerator, Chains& chains,
                 ViolationSink& sink) noexcept {
  Check(op, accelerator, sink).all(chains);
}

}  // namespace runnel::npu::u85
