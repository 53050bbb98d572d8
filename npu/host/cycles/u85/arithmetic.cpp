#include "npu/host/cycles/u85/arithmetic.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "npu/bounds.h"
#include "npu/host/cycles/u85/layer.h"
#include "npu/host/cycles/u85/output_stage.h"
#include "npu/u85/configuration.h"

namespace runnel::npu::u85 {
namespace {

constexpr double kScaleBurst = 256;     // bytes of scales per latency
constexpr double kCommandsAtATime = 4;  // blocks that are issued while one is computed

double count(std::int32_t size, std::int32_t part) noexcept {
  return static_cast<double>(ceil_div(size, std::max(part, 1)));
}
Block counts(const Block& whole, const Block& part) noexcept {
  const auto one = [](std::int32_t size, std::int32_t step) {
    return static_cast<std::int32_t>(ceil_div(size, std::max(step, 1)));
  };
  return {one(whole.height, part.height), one(whole.width, part.width), one(whole.depth, part.depth)};
}

// One output block.
class BlockTime {
 public:
  BlockTime(const Operation& op, Unit unit, const Accelerator& accelerator, const Memories& memories,
            bool dense) noexcept
      : op_(op), unit_(unit) {
    const TransferMap ifm = first_input(op, memories), ofm = output(op, memories);
    const MicroBlock micro = microblock(accelerator, op.microblock);
    const Block blocks =
        counts(smaller(ofm.shape, output_block(op)), {micro.height, micro.width, micro.depth});
    across_ = static_cast<double>(blocks.height) * blocks.width;
    deep_ = blocks.depth;
    channels_ = std::min(ifm.shape.depth, input_block_shape(op, accelerator).depth);
    rounds_ = count(ifm.shape.depth, channels_);
    element_ = ifm.element;
    // Weights are decoded at this pace at best.
    decode_ = static_cast<double>(32 * micro.depth / (8 * blocks_of(accelerator).decoders));
    delay_ = op.acc_format == 1 && accelerator.macs <= 128 ? 3 : 2;
    halved_ = op.u85.sparse_weights && !dense;
  }

  // All parts of the kernel, 8 x 8 taps at a time: most of them are whole.
  [[nodiscard]] double cycles() const noexcept {
    const bool whole = unit_ == Unit::product;
    const std::int32_t taps_y = op_.kernel.taps_y(), taps_x = op_.kernel.taps_x(),
                       side = whole ? 1 : kMaxSubKernel;
    double sum = 0;
    for (const bool rest_y : {false, true}) {
      for (const bool rest_x : {false, true}) {
        const std::int32_t rows = rest_y ? taps_y % side : side, columns = rest_x ? taps_x % side : side;
        const double times = static_cast<double>(rest_y ? 1 : taps_y / side) * (rest_x ? 1 : taps_x / side);
        if (rows > 0 && columns > 0 && times > 0) sum += times * sub_kernel(rows * columns);
      }
    }
    return depth_by_depth(unit_) ? sum : sum * rounds_;
  }

 private:
  [[nodiscard]] double sub_kernel(std::int32_t taps) const noexcept {
    const bool by_part = unit_ == Unit::convolution && op_.kernel.part_kernel;
    double steps = 1, cycles = 0;
    if (unit_ == Unit::pooling) {
      cycles = std::max(4, taps) * across_ * deep_ * (4 * element_);
    } else if (unit_ == Unit::depthwise) {
      steps = count(taps, 4);
      cycles = std::max(decode_, 4 * across_ * element_) * steps * deep_;
    } else if (by_part) {
      steps = count(taps, element_ == 2 ? 2 : 4);
      cycles = halved(std::max(decode_, 4 * across_) * steps * deep_ * count(channels_, 8));
    } else {
      steps = taps;
      cycles =
          halved(std::max(decode_, static_cast<double>(channels_ / 8) * across_) * steps * deep_ * element_);
    }
    return cycles + waiting(steps) * (by_part ? count(channels_, 8) : 1);
  }
  [[nodiscard]] double halved(double cycles) const noexcept {
    return halved_ ? std::floor(cycles / 2) : cycles;
  }
  // With a single micro-block at a time, sums wait for each other.
  [[nodiscard]] double waiting(double steps) const noexcept {
    if (across_ != 1) return 0;
    return deep_ == 1 ? delay_ * steps : delay_ * (steps - 1) * deep_;
  }

  const Operation& op_;
  Unit unit_;
  double across_ = 1, deep_ = 1, rounds_ = 1, element_ = 1, decode_ = 0, delay_ = 2;
  std::int32_t channels_ = 1;
  bool halved_ = false;
};

// Of the slowest input.
double first_input_block(const Operation& op, const Accelerator& accelerator,
                         const Transfers& transfers) noexcept {
  const Block block = input_block_shape(op, accelerator);
  TransferMap ifm = first_input(op, transfers.memories());
  const double first = transfers.first_block(ifm, block, true);
  if (!has_second_input(op)) return first;
  TransferMap second = second_input(op, transfers.memories());
  second.element = ifm.element;
  return std::max(first, transfers.first_block(second, block, true));
}

// Cycles of reading scales and biases of one block.
double scale_cycles(const Operation& op, const Block& block, Unit unit, const Memories& memories) noexcept {
  if ((unit != Unit::convolution && unit != Unit::depthwise) || !op.has_scales) return 0;
  const MemoryArea area = memories.area_of(op.weight_region);
  return static_cast<double>(kScaleRecord) * block.depth * memories.timing(area).read_latency / kScaleBurst;
}

double convolution(const Operation& op, std::span<const Operation* const> chained, Unit unit,
                   const Part& part, const Accelerator& accelerator, const Transfers& transfers) noexcept {
  const Memories& memories = transfers.memories();
  const TransferMap ofm = output(op, memories);
  const Block block = smaller(ofm.shape, output_block(op));
  const MicroBlock micro = microblock(accelerator, op.microblock);
  const Block unit_block{micro.height, micro.width, micro.depth};
  const double blocks = elements(counts(ofm.shape, unit_block)) / elements(counts(block, unit_block));

  const double out =
      std::max(std::ceil(output_cycles(op, chained, performance_of(accelerator)) * elements(block)),
               scale_cycles(op, block, unit, memories));
  const double multiply = BlockTime(op, unit, accelerator, memories, part.dense).cycles();
  const double read = first_input_block(op, accelerator, transfers),
               write = transfers.first_block(ofm, output_block(op), false);
  const double issue = ((blocks > 1 ? std::abs(write - read) : 0) + multiply + out) / kCommandsAtATime;
  const double slow_multiply = std::max(multiply, issue), slow_out = std::max(out, issue);
  double total = 0;
  if (slow_multiply > slow_out) {
    total = std::trunc(slow_multiply * blocks);
    if (part.last) total = std::trunc(total + slow_out);
  } else {
    total = std::trunc(slow_out * blocks + slow_multiply);
  }
  return total + (part.last ? write : 0) + (part.first ? read : 0);
}

double elementwise(const Operation& op, std::span<const Operation* const> chained,
                   const Accelerator& accelerator, const Transfers& transfers) noexcept {
  const TransferMap ofm = output(op, transfers.memories());
  const Block block = output_block(op);
  const double count = stored(ofm.shape, ofm.layout),
               pace = output_cycles(op, chained, performance_of(accelerator));
  const double slowest =
      std::max(transfers.first_block(ofm, block, false), first_input_block(op, accelerator, transfers));
  const double issue = (slowest / elements(block) + pace) / kCommandsAtATime;
  return std::max(std::ceil(issue * count), std::ceil(pace * count));
}

}  // namespace

double arithmetic_cycles(const Operation& first, std::span<const Operation* const> chained, const Part& part,
                         const Accelerator& accelerator, const Transfers& transfers) noexcept {
  const Unit unit = unit_of(first);
  if (unit == Unit::resize || unit == Unit::copy) return 0;
  if (unit == Unit::elementwise) return elementwise(first, chained, accelerator, transfers);
  return convolution(first, chained, unit, part, accelerator, transfers);
}

double multiply_adds(const Operation& op) noexcept {
  const Unit unit = unit_of(op);
  if (unit == Unit::elementwise || unit == Unit::resize || unit == Unit::copy) return 0;
  const bool moves = op.kind == OperationKind::pool && static_cast<PoolMode>(op.mode) == PoolMode::none;
  const double all = static_cast<double>(op.kernel.taps_y()) * op.kernel.taps_x() * op.ofm.height *
                     op.ofm.width * op.ofm.depth * (depth_by_depth(unit) || moves ? 1 : op.ifm.depth);
  return op.u85.sparse_weights ? std::floor(all / 2) : all;
}

}  // namespace runnel::npu::u85
