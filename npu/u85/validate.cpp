#include "npu/u85/validate.h"

#include "npu/rule_check.h"
#include "npu/u85/configuration.h"

namespace runnel::npu::u85 {
namespace {

constexpr std::int32_t kMaxBlock = 128, kMaxBlockDepth = 1024, kBrick = 16, kMaxPad = 127, kMaxPadAfter = 255,
                       kMaxKernel = 65536;

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
    if (has_kernel()) kernel();
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
  [[nodiscard]] bool reads_weights() const noexcept { return convolves(op_) && !op_.u85.second_weights; }
  // Without pooling nothing is read but what accumulators start from.
  [[nodiscard]] bool has_kernel() const noexcept {
    return convolves(op_) || (op_.kind == OperationKind::pool && pool() != PoolMode::none);
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
    const bool fast = reads_weights() && op_.u85.fast_weights;
    for (const Bytes& weights : op_.weights) {
      aligned(weights.base, kBrick, "weight", "base");
      aligned(weights.length, fast ? 32 : kBrick, "weight", "length");
    }
    aligned(op_.scales[0].base, kBrick, "scale", "base");
    aligned(op_.scales[0].length, kBrick, "scale", "length");
    if (!reads_weights()) return;
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
    expect(!shifts || scale.multiplier >> scale.shift == 1, rule::kPrecision,
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

  // Bit n: micro-block n may be used for the operation.
  [[nodiscard]] unsigned usable() const noexcept {
    constexpr unsigned kAny = 0x3f, kSmall = 1 << 0, kPair = 1 << 1, kFour = 1 << 2 | 1 << 3;
    const bool sums = op_.kind == OperationKind::conv || pools(PoolMode::reduce_sum);
    const bool wide = op_.ifm.element >= 2;
    const bool single = op_.kind == OperationKind::conv && op_.kernel.taps_y() == 1 &&
                        op_.kernel.taps_x() == 1 && !op_.kernel.part_kernel;
    if (op_.kind == OperationKind::elementwise) return kAny;
    if (accelerator_.macs <= 512 && op_.kind == OperationKind::resize) return kAny;
    if (pools(PoolMode::none) || op_.ifm.element == 4) return kAny;
    switch (accelerator_.macs) {
      case 128:
        return !wide ? sums ? kPair : kSmall : single ? kPair | kSmall : kPair;
      case 256:
        return !wide ? sums ? kFour : kPair : single ? kFour | kPair : kFour;
      case 1024:
        return op_.kind == OperationKind::conv ? kAny : 1 << 4;
      case 2048:
        return op_.kind == OperationKind::conv ? kAny : 1 << 5;
      default:
        return kAny;
    }
  }

  void block() noexcept {
    const std::int32_t height = op_.block_height, width = op_.block_width, depth = op_.block_depth;
    expect(height <= kMaxBlock && width <= kMaxBlock && depth <= kMaxBlockDepth, rule::kBlock, "block of ",
           height, " x ", width, " x ", depth, ", expected at most 128 x 128 x 1024");
    const MicroBlock micro = microblock(accelerator_, op_.microblock);
    expect(micro.depth > 0, rule::kBlock, "micro-block ", op_.microblock, ", which ", accelerator_.name,
           " does not have");
    if (micro.depth == 0) return;
    expect((usable() >> op_.microblock & 1) != 0, rule::kBlock, "micro-block ", op_.microblock,
           ", which does not compute this operation of ", 8 * op_.ifm.element, " bits");
    transposed_block();
    if (op_.kind == OperationKind::elementwise) return;
    const Blocks& blocks = blocks_of(accelerator_);
    if (op_.kind == OperationKind::resize) return resize_block(blocks);
    // Accumulators that start from a map only are laid out like elements.
    const std::int32_t multiple = pools(PoolMode::none) ? std::min(micro.depth, kBrick) : micro.depth;
    expect(height % micro.height == 0 && width % micro.width == 0 && depth % multiple == 0, rule::kBlock,
           "block of ", height, " x ", width, " x ", depth, ", expected multiples of ", micro.height, " x ",
           micro.width, " x ", multiple);
    // Accumulators of 48 bits take 64.
    const std::int64_t positions = std::int64_t{height} * width,
                       accumulators = positions * round_up(depth, kBrick) * (op_.acc_format == 0 ? 4 : 8);
    expect(accumulators <= blocks.accumulator_bytes, rule::kShram, "accumulators take ", accumulators,
           " bytes, expected at most ", blocks.accumulator_bytes);
    if (has_kernel()) input_block(blocks.ifm_bytes);
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

  void resize_block(const Blocks& blocks) noexcept {
    expect(op_.block_height == 1 && op_.block_depth == kBrick, rule::kBlock, "block of ", op_.block_height,
           " rows and ", op_.block_depth, " channels, expected 1 and 16");
    const ResizeAxis& axis = op_.u85.columns;
    const std::int64_t step = std::int64_t{axis.whole} * axis.denominator + axis.part,
                       columns = blocks.chaining_bytes / 6 / (kBrick * op_.ifm.element);
    if (step < 1) return;
    const std::int64_t most =
        std::clamp<std::int64_t>(ceil_div((columns - 2) * axis.denominator + 1, step), 1, kMaxBlock);
    expect(op_.block_width <= most, rule::kBlock, "block of ", op_.block_width,
           " columns, whose input takes more than its memory; expected at most ", most);
  }

  // One block of the input, as far as there is input; Arm's compiler falls back to one where two do not fit.
  void input_block(std::int64_t most) noexcept {
    constexpr std::int32_t kByParts = 16, kByDepth = 64, kSparse = 128, kByDepthOfNarrow = 32, kNarrow = 256,
                           kDeepMicro = 16;
    std::int32_t depth = op_.block_depth;
    if (op_.kind == OperationKind::conv || pools(PoolMode::reduce_sum)) {
      const bool narrow =
          op_.ifm.element == 4 || (accelerator_.macs <= kNarrow && !op_.u85.sparse_weights &&
                                   microblock(accelerator_, op_.microblock).depth == kDeepMicro);
      const bool sparse = op_.u85.sparse_weights && op_.ifm.element == 1;
      depth = op_.kernel.part_kernel ? kByParts : narrow ? kByDepthOfNarrow : sparse ? kSparse : kByDepth;
    }
    const MicroBlock unit = input_unit(accelerator_, op_.microblock, depth, op_.ifm.element);
    const Kernel& k = op_.kernel;
    const auto along = [&](std::int32_t block, std::int32_t stride, std::int32_t taps, std::int32_t units,
                           std::int32_t size) {
      return std::min(input_of(block, stride, taps, units, op_.upscale), round_up(size, units));
    };
    const std::int64_t bytes = along(op_.block_height, k.stride_y, k.height, unit.height, op_.ifm.height) *
                               along(op_.block_width, k.stride_x, k.width, unit.width, op_.ifm.width) *
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
