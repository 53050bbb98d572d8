#include "npu/u85/validate.h"

#include "npu/rule_check.h"
#include "npu/u85/blocks.h"

namespace runnel::npu::u85 {
namespace {

constexpr std::int32_t kMaxPad = 127, kMaxPadAfter = 255, kMaxKernel = 65536;

class Check : RuleCheck {
 public:
  using RuleCheck::RuleCheck;

  void all(Chains& chains) noexcept {
    switch (op_.kind) {
      case OperationKind::dma:
        return copy();
      case OperationKind::kernel_wait:
        return wait(1, "kernels");
      case OperationKind::dma_wait:
        return wait(3, "copies");
      default:
        break;
    }
    if (!op_.computes()) return;
    map(op_.ifm, "IFM");
    map(op_.ifm2, "IFM2");
    map(op_.ofm, "OFM");
    chain(chains);
    streams();
    if (has_window(op_)) kernel();
    precision();
    scaling();
    block();
  }

 private:
  [[nodiscard]] PoolMode pool() const noexcept { return static_cast<PoolMode>(op_.mode); }
  [[nodiscard]] bool pools(PoolMode mode) const noexcept {
    return op_.kind == OperationKind::pool && pool() == mode;
  }
  [[nodiscard]] bool is(ElementwiseMode mode) const noexcept {
    return op_.kind == OperationKind::elementwise && static_cast<ElementwiseMode>(op_.mode) == mode;
  }
  void wait(int most, std::string_view what) noexcept {
    expect(op_.param <= most, rule::kWait, "up to ", op_.param, ' ', what, " outstanding, expected at most ",
           most);
  }
  void copy() noexcept {
    for (const DmaPlace* place : {&op_.dma.source, &op_.dma.target}) {
      if (place->internal)
        aligned(place->address, kBrick, place == &op_.dma.source ? "source" : "target", "address");
    }
    if (op_.u85.source.indexed || op_.u85.target.indexed)
      aligned(op_.u85.index_address, 4, "index", "address");
  }
  void map(const FeatureMap& map, std::string_view name) noexcept {
    if (map.width0 > 0) alignment(map, name);
    if (map.height == 0) return;
    const std::int32_t zero = map.zero_point;
    const bool fits = map.element == 1
                          ? zero >= (map.is_signed ? -128 : 0) && zero <= (map.is_signed ? 127 : 255)
                      : map.element == 2 ? zero == 0 || (!map.is_signed && zero == 32768) || &map == &op_.ofm
                                         : zero == 0 || &map == &op_.ofm;
    expect(fits, rule::kPrecision, name, " zero point ", zero, " of ", 8 * map.element, " bits");
  }
  void chain(Chains& chains) noexcept {
    if (const Status status = chains.follow(op_); !status.ok()) expect(false, rule::kChain, status.text());
    if (op_.ofm.storage != Storage::chained) return;
    expect(op_.u85.transpose == Transpose::hwc && op_.u85.reversed == Axis::none, rule::kChain,
           "a chained output is transposed or reversed");
    expect(op_.kind != OperationKind::resize && !pools(PoolMode::none), rule::kChain,
           "a chain begins with an operation that cannot begin one");
  }

  void streams() noexcept {
    const bool fast = reads_weights(op_) && op_.u85.fast_weights;
    for (const Bytes& weights : op_.weights) {
      aligned(weights.base, kBrick, "weight", "base");
      aligned(weights.length, fast ? 32 : kBrick, "weight", "length");
    }
    aligned(op_.scales[0].base, kBrick, "scale", "base");
    aligned(op_.scales[0].length, kBrick, "scale", "length");
    if (!reads_weights(op_)) return;
    expect(op_.weights[0].length > 0, rule::kWeights, "no weights");
    const bool plain = !op_.u85.fast_weights && !op_.u85.sparse_weights;
    expect(op_.kind == OperationKind::conv || plain, rule::kWeights,
           "fast or sparse weights of a depthwise convolution");
  }

  void kernel() noexcept {
    const Kernel& k = op_.kernel;
    expect(k.top <= kMaxPad && k.left <= kMaxPad && k.bottom <= kMaxPadAfter && k.right <= kMaxPadAfter,
           rule::kKernel, "padding of ", k.top, ", ", k.left, ", ", k.bottom, " and ", k.right,
           ", expected at most 127, 127, 255 and 255");
    expect(k.stride_y <= 3 && k.stride_x <= 3, rule::kKernel, "stride ", k.stride_y, " x ", k.stride_x,
           ", expected at most 3");
    expect(k.top < k.height && k.left < k.width, rule::kKernel, "padding of ", k.top, " rows and ", k.left,
           " columns, expected less than the kernel");
    const std::int64_t taps = std::int64_t{k.taps_y()} * k.taps_x();
    expect(taps <= kMaxKernel, rule::kKernel, "a kernel of ", taps, " elements, expected at most ",
           kMaxKernel);
  }

  void precision() noexcept {
    const int bits = 8 * op_.ifm.element;
    if (convolves(op_)) expect(bits <= 16, rule::kPrecision, "input of ", bits, " bits, expected 8 or 16");
    if (op_.u85.second_weights)
      expect(op_.ifm2.element == op_.ifm.element, rule::kPrecision, "operands of ", bits, " and ",
             8 * op_.ifm2.element, " bits");
    if (pools(PoolMode::average) || pools(PoolMode::sum))
      expect(bits <= 16, rule::kPrecision, "input of ", bits, " bits, expected 8 or 16");
    if (pools(PoolMode::reduce_sum))
      expect(op_.acc_format == 0, rule::kPrecision, "a sum over channels in 48 bits, expected 32");
    if (is(ElementwiseMode::clz) || is(ElementwiseMode::shl))
      expect(bits == 32, rule::kPrecision, "input of ", bits, " bits, expected 32");
    if (op_.u85.start == AccumulatorStart::ifm2 && op_.kind != OperationKind::elementwise) {
      const int wanted = op_.acc_format == 0 ? 4 : 8;
      expect(op_.ifm2.element == wanted, rule::kPrecision, "accumulators start from ", 8 * op_.ifm2.element,
             " bits, expected ", 8 * wanted);
    }
    expect(op_.u85.transpose == Transpose::hwc || op_.u85.reversed == Axis::none, rule::kPrecision,
           "an output that is transposed and reversed");
  }

  void scaling() noexcept {
    const bool shifts = is(ElementwiseMode::shr) || is(ElementwiseMode::shl) || is(ElementwiseMode::div);
    const Scale& scale = op_.u85.ofm_scale;
    expect(!shifts || std::uint64_t{scale.multiplier} >> scale.shift == 1, rule::kPrecision,
           "a shift or quotient is scaled by ", scale.multiplier, " >> ", scale.shift, ", expected 1");
    if (is(ElementwiseMode::add) || is(ElementwiseMode::sub)) {
      const auto unit = [](const Scale& one) { return one.multiplier == std::uint64_t{1} << one.shift; };
      const bool wide = op_.ifm.element > 2 || op_.ifm2.element > 2;
      expect(!wide || (unit(op_.u85.ifm_scale) && unit(op_.u85.ifm2_scale)), rule::kPrecision,
             "operands of 32 bits are scaled");
    }
    const bool whole = op_.kind == OperationKind::elementwise || op_.kind == OperationKind::resize ||
                       pools(PoolMode::reduce_sum) || pools(PoolMode::average);
    expect(!whole || !op_.has_scales, rule::kPrecision, "a scale for each channel, expected one for all");
  }

  // ---- blocks

  void block() noexcept {
    const std::int32_t height = op_.block_height, width = op_.block_width, depth = op_.block_depth;
    expect(height <= kMaxBlock && width <= kMaxBlock && depth <= kMaxBlockDepth, rule::kBlock, "block of ",
           height, " x ", width, " x ", depth, ", expected at most 128 x 128 x 1024");
    const MicroBlock micro = microblock(accelerator_, op_.microblock);
    expect(micro.depth > 0, rule::kBlock, "micro-block ", op_.microblock, ", which ", accelerator_.name,
           " does not have");
    if (micro.depth == 0) return;
    expect((usable_microblocks(op_, accelerator_) >> op_.microblock & 1) != 0, rule::kBlock, "micro-block ",
           op_.microblock, ", which does not compute this operation of ", 8 * op_.ifm.element, " bits");
    transposed_block();
    if (op_.kind == OperationKind::elementwise) return;
    const Blocks& blocks = blocks_of(accelerator_);
    if (op_.kind == OperationKind::resize) return resize_block();
    // Accumulators that start from a map only are laid out like elements.
    const std::int32_t multiple = pools(PoolMode::none) ? std::min(micro.depth, kBrick) : micro.depth;
    expect(height % micro.height == 0 && width % micro.width == 0 && depth % multiple == 0, rule::kBlock,
           "block of ", height, " x ", width, " x ", depth, ", expected multiples of ", micro.height, " x ",
           micro.width, " x ", multiple);
    const std::int64_t accumulators = accumulator_bytes(op_);
    expect(accumulators <= blocks.accumulator_bytes, rule::kShram, "accumulators take ", accumulators,
           " bytes, expected at most ", blocks.accumulator_bytes);
    if (!has_window(op_)) return;
    // Arm's compiler falls back to one block of the input where two do not fit.
    const std::int64_t input = input_bytes(op_, accelerator_);
    expect(input <= blocks.ifm_bytes, rule::kShram, "a block of the input takes ", input,
           " bytes, expected at most ", blocks.ifm_bytes);
  }

  // Bricks of the stored output begin with whole bricks of the block.
  void transposed_block() noexcept {
    if (op_.u85.reversed == Axis::depth)
      expect(op_.block_depth == kBrick, rule::kBlock, "block of ", op_.block_depth,
             " channels of a reversed output, expected 16");
    if (op_.ofm.layout != Layout::nhcwb16 || op_.ofm.width0 == 0) return;
    const bool columns = op_.u85.transpose == Transpose::hcw || op_.u85.transpose == Transpose::chw,
               rows = op_.u85.transpose == Transpose::wch || op_.u85.transpose == Transpose::cwh;
    expect(!columns || op_.block_width % kBrick == 0, rule::kBlock, "block of ", op_.block_width,
           " columns that become channels, expected a multiple of 16");
    expect(!rows || op_.block_height % kBrick == 0, rule::kBlock, "block of ", op_.block_height,
           " rows that become channels, expected a multiple of 16");
  }

  void resize_block() noexcept {
    expect(op_.block_height == 1 && op_.block_depth == kBrick, rule::kBlock, "block of ", op_.block_height,
           " rows and ", op_.block_depth, " channels, expected 1 and 16");
    const std::int64_t most = most_resized_columns(op_, accelerator_);
    expect(most == 0 || op_.block_width <= most, rule::kBlock, "block of ", op_.block_width,
           " columns, whose input takes more than its memory; expected at most ", most);
  }
};

}  // namespace

void check_rules(const Operation& op, const Accelerator& accelerator, Chains& chains,
                 ViolationSink& sink) noexcept {
  Check(op, accelerator, sink).all(chains);
}

}  // namespace runnel::npu::u85
