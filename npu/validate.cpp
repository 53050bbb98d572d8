#include "npu/validate.h"

#include <algorithm>

#include "base/checked.h"
#include "npu/bounds.h"
#include "npu/rule_check.h"
#include "npu/u85/validate.h"

namespace runnel::npu {
namespace {

constexpr std::int32_t kFirstBank = 2;  // the earlier ones hold output
constexpr std::int32_t kMaxBlockHeight = 32, kMaxBlockWidth = 64, kMaxBlockDepth = 128, kMaxPad = 127,
                       kMaxStride = 3;

// Checks one operation of a U55 or U65.
class Check : RuleCheck {
 public:
  using RuleCheck::RuleCheck;

  void all() noexcept {
    switch (op_.kind) {
      case OperationKind::dma:
        return dma();
      case OperationKind::kernel_wait:
        return wait(2, "kernels");
      case OperationKind::dma_wait:
        return wait(accelerator_.product == Product::u55 ? 1 : 2, "copies");
      default:
        break;
    }
    if (!op_.computes()) return;
    if (op_.ifm.width0 > 0) map(op_.ifm, "IFM");
    if (op_.ifm2.width0 > 0) map(op_.ifm2, "IFM2");
    map(op_.ofm, "OFM");
    streams();
    if (op_.kind != OperationKind::elementwise) kernel();
    precision();
    block();
    shram();
  }

 private:
  [[nodiscard]] bool u55() const noexcept { return accelerator_.product == Product::u55; }
  void address(std::int64_t value, std::string_view what) noexcept {
    if (u55())
      expect(value < std::int64_t{1} << 32, rule::kAddress, what, " at ", value,
             ", expected less than 4294967296");
  }
  void map(const FeatureMap& map, std::string_view name) noexcept {
    for (const std::int64_t base : map.base) address(base, name);
    alignment(map, name);
  }

  void streams() noexcept {
    if (op_.kind != OperationKind::conv && op_.kind != OperationKind::depthwise) return;
    for (int core = 0; core < 4; ++core) {
      address(op_.weights[core].base, "weights");
      aligned(op_.weights[core].base, 16, "weight", "base");
      aligned(op_.weights[core].length, 16, "weight", "length");
    }
    for (const Bytes& scales : op_.scales) {
      address(scales.base, "scales");
      aligned(scales.base, 16, "scale", "base");
      aligned(scales.length, 16, "scale", "length");
    }
    expect(op_.weights[0].length > 0, rule::kWeights, "no weights");
  }

  void dma() noexcept {
    const Dma& dma = op_.dma;
    for (const DmaPlace* place : {&dma.source, &dma.target}) {
      const std::string_view name = place == &dma.source ? "source" : "target";
      address(place->address, name);
      if (u55() || place->internal) aligned(place->address, 16, name, "address");
    }
    if (dma.target.internal) aligned(dma.length, 16, "copied", "length");
  }
  void wait(int most, std::string_view what) noexcept {
    expect(op_.param <= most, rule::kWait, "up to ", op_.param, ' ', what, " outstanding, expected at most ",
           most);
  }

  void kernel() noexcept {
    const Kernel& k = op_.kernel;
    expect(k.top <= kMaxPad && k.left <= kMaxPad, rule::kKernel, "padding of ", k.top, " rows and ", k.left,
           " columns, expected at most ", kMaxPad);
    expect(k.stride_y <= kMaxStride && k.stride_x <= kMaxStride, rule::kKernel, "stride ", k.stride_y, " x ",
           k.stride_x, ", expected at most ", kMaxStride);
    expect(k.top < k.height && k.left < k.width, rule::kKernel, "padding of ", k.top, " rows and ", k.left,
           " columns, expected less than the kernel");
  }

  void precision() noexcept {
    const int bits = 8 * op_.ifm.element;
    if (convolves(op_)) expect(bits <= 16, rule::kPrecision, "input of ", bits, " bits, expected 8 or 16");
    if (op_.is(PoolMode::max) || op_.is(PoolMode::average))
      expect(bits <= 16, rule::kPrecision, "input of ", bits, " bits, expected 8 or 16");
    if (op_.is(PoolMode::reduce_sum)) {
      const bool rows_only = bits == 32 || accelerator_.cores > 1;
      expect(!rows_only || op_.ifm.layout == Layout::nhwc, rule::kPrecision,
             "a sum over channels of NHCWB16, expected NHWC");
    }
    if (op_.is(ElementwiseMode::clz) || op_.is(ElementwiseMode::shl) || op_.is(ElementwiseMode::shr))
      expect(bits == 32, rule::kPrecision, "input of ", bits, " bits, expected 32");
    expect(op_.acc_format <= 2, rule::kPrecision, "accumulator format ", op_.acc_format, ", expected 0 to 2");
    if (op_.has_ifm2 && !op_.scalar)
      expect(op_.ifm2.element == op_.ifm.element, rule::kPrecision, "operands of ", bits, " and ",
             8 * op_.ifm2.element, " bits");
  }

  void block() noexcept {
    const bool fits = op_.block_height <= kMaxBlockHeight && op_.block_width <= kMaxBlockWidth &&
                      op_.block_depth <= kMaxBlockDepth;
    expect(fits, rule::kBlock, "block of ", op_.block_height, " x ", op_.block_width, " x ", op_.block_depth,
           ", expected at most 32 x 64 x 128");
    const bool whole = op_.block_height % accelerator_.ublock_height == 0 &&
                       op_.block_width % accelerator_.ublock_width == 0 &&
                       op_.block_depth % accelerator_.ublock_depth == 0;
    expect(whole, rule::kBlock, "block of ", op_.block_height, " x ", op_.block_width, " x ", op_.block_depth,
           ", expected multiples of ", accelerator_.ublock_height, " x ", accelerator_.ublock_width, " x ",
           accelerator_.ublock_depth);
    expect(op_.block_dependency <= 3, rule::kBlock, "block dependency ", op_.block_dependency,
           ", expected at most 3");
  }

  void shram() noexcept {
    const BankUse use = banks_of(op_, accelerator_);
    if (op_.kind == OperationKind::elementwise) {
      std::int32_t end = kFirstBank + use.ifm;
      if (op_.has_ifm2 && !op_.scalar) {
        expect(op_.ifm2_ib_start >= end, rule::kShram, "IFM2_IB_START is ", op_.ifm2_ib_start,
               ", but the first operand takes banks ", kFirstBank, " to ", end);
        end = op_.ifm2_ib_start + use.ifm;
      }
      expect(op_.ib_end >= end, rule::kShram, "IFM_IB_END is ", op_.ib_end,
             ", but operands take banks up to ", end);
      expect(op_.ib_end <= use.usable, rule::kShram, "IFM_IB_END is ", op_.ib_end, ", but banks end at ",
             use.usable);
      return;
    }
    expect(op_.ib_end >= kFirstBank + use.ifm, rule::kShram, "IFM_IB_END is ", op_.ib_end,
           ", but the input takes banks ", kFirstBank, " to ", kFirstBank + use.ifm);
    expect(op_.ab_start >= op_.ib_end, rule::kShram, "AB_START is ", op_.ab_start,
           ", inside the input's banks, which end at ", op_.ib_end);
    expect(op_.ab_start + use.accumulators <= use.usable, rule::kShram, "accumulators take banks ",
           op_.ab_start, " to ", op_.ab_start + use.accumulators, ", but banks end at ", use.usable);
  }
};

}  // namespace

Block ifm_block_of(const Operation& op, const Accelerator& accelerator) noexcept {
  const bool elementwise = op.kind == OperationKind::elementwise;
  const auto size = [&](std::int32_t block, std::int32_t stride, std::int32_t kernel, std::int32_t ublock) {
    return static_cast<std::int32_t>(elementwise ? round_up(block, ublock)
                                                 : input_of(block, stride, kernel, ublock, op.upscale));
  };
  Block block;
  block.height = size(op.block_height, op.kernel.stride_y, op.kernel.height, accelerator.ublock_height);
  block.width = size(op.block_width, op.kernel.stride_x, op.kernel.width, accelerator.ublock_width);
  block.depth = op.block_depth;
  if (op.kind == OperationKind::conv || op.is(PoolMode::reduce_sum)) {
    const std::int64_t most = op.ifm.element == 2 || op.kernel.part_kernel ? 16 : 32;
    block.depth = static_cast<std::int32_t>(
        round_up(std::min<std::int64_t>(op.ifm.depth, most), op.ifm.element == 2 ? 4 : 8));
  }
  return block;
}

BankUse banks_of(const Operation& op, const Accelerator& accelerator) noexcept {
  const BankGranules& granules = accelerator.granules;
  const bool elementwise = op.kind == OperationKind::elementwise;
  const Block input = ifm_block_of(op, accelerator);
  std::int64_t granule = elementwise ? granules.elementwise8 : granules.ifm8;
  if (op.ifm.element == 2) granule = elementwise ? granules.elementwise16 : granules.ifm16;
  if (op.ifm.element >= 4) granule = granules.ifm32;
  BankUse use;
  use.ifm = static_cast<std::int32_t>(
      round_up(2 * ceil_div(std::int64_t{input.height} * input.width *
                                round_up(std::int64_t{input.depth} * op.ifm.element, 8),
                            1024),
               granule));
  if (!elementwise) {
    const std::int64_t bits = op.acc_format == 0 ? 32 : op.acc_format == 1 ? 40 : 16;
    const std::int64_t acc_granule = op.acc_format == 0   ? granules.acc32
                                     : op.acc_format == 1 ? granules.acc40
                                                          : granules.acc16;
    // A single row is computed four columns at a time and needs no second row.
    const bool row = accelerator.ublock_height == 2 && op.ofm.height == 1 && op.kernel.height == 1;
    const std::int64_t elements =
        (row ? 1 : std::int64_t{op.block_height}) * op.block_width * round_up(op.block_depth, 8);
    use.accumulators =
        static_cast<std::int32_t>(round_up(2 * ceil_div(elements * bits / 8, 1024), acc_granule));
  }
  use.usable = accelerator.banks > 16 || op.activation.table() ? accelerator.banks - 2 : accelerator.banks;
  return use;
}

void Validator::check(const Operation& op) noexcept {
  if (accelerator_.product == Product::u85)
    u85::check_rules(op, accelerator_, chains_, sink_);
  else
    Check(op, accelerator_, sink_).all();
  if (!limits_.regions.empty()) {
    if (const Status status = check_bounds(op, accelerator_, limits_.regions); !status.ok())
      sink_.report(op, rule::kRegion, status.text());
  }
  if (!checked_add(work_, work_of(op, accelerator_), work_)) work_ = UINT64_MAX;
  if (work_ > limits_.work && !exhausted_) {
    exhausted_ = true;
    Status text(Code::invalid_data);
    text << "work up to here is " << work_ << ", expected at most " << limits_.work;
    sink_.report(op, rule::kWork, text.text());
  }
}

}  // namespace runnel::npu
