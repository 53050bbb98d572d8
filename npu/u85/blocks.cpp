#include "npu/u85/blocks.h"

#include <algorithm>

#include "npu/rule_check.h"

namespace runnel::npu::u85 {
namespace {

bool pools(const Operation& op, PoolMode mode) noexcept {
  return op.kind == OperationKind::pool && static_cast<PoolMode>(op.mode) == mode;
}

}  // namespace

bool has_window(const Operation& op) noexcept {
  return convolves(op) || (op.kind == OperationKind::pool && !pools(op, PoolMode::none));
}

bool sums_channels(const Operation& op) noexcept {
  return op.kind == OperationKind::conv || pools(op, PoolMode::reduce_sum);
}

unsigned usable_microblocks(const Operation& op, const Accelerator& accelerator) noexcept {
  constexpr unsigned kAny = 0x3f, kSmall = 1 << 0, kPair = 1 << 1, kFour = 1 << 2 | 1 << 3;
  const bool sums = sums_channels(op), wide = op.ifm.element >= 2;
  const bool single = op.kind == OperationKind::conv && op.kernel.taps_y() == 1 && op.kernel.taps_x() == 1 &&
                      !op.kernel.part_kernel;
  if (op.kind == OperationKind::elementwise) return kAny;
  if (accelerator.macs <= 512 && op.kind == OperationKind::resize) return kAny;
  if (pools(op, PoolMode::none) || op.ifm.element == 4) return kAny;
  switch (accelerator.macs) {
    case 128:
      return !wide ? sums ? kPair : kSmall : single ? kPair | kSmall : kPair;
    case 256:
      return !wide ? sums ? kFour : kPair : single ? kFour | kPair : kFour;
    case 1024:
      return op.kind == OperationKind::conv ? kAny : 1 << 4;
    case 2048:
      return op.kind == OperationKind::conv ? kAny : 1 << 5;
    default:
      return kAny;
  }
}

std::int32_t input_depth(const Operation& op, const Accelerator& accelerator) noexcept {
  constexpr std::int32_t kByParts = 16, kByDepth = 64, kSparse = 128, kByDepthOfNarrow = 32, kNarrow = 256,
                         kDeepMicro = 16;
  if (!sums_channels(op)) return op.block_depth;
  if (op.kernel.part_kernel) return kByParts;
  const bool narrow = op.ifm.element == 4 || (accelerator.macs <= kNarrow && !op.u85.sparse_weights &&
                                              microblock(accelerator, op.microblock).depth == kDeepMicro);
  return narrow ? kByDepthOfNarrow : op.u85.sparse_weights && op.ifm.element == 1 ? kSparse : kByDepth;
}

std::int64_t input_bytes(const Operation& op, const Accelerator& accelerator) noexcept {
  const std::int32_t depth = input_depth(op, accelerator);
  const MicroBlock unit = input_unit(accelerator, op.microblock, depth, op.ifm.element);
  const Kernel& k = op.kernel;
  const auto along = [&](std::int32_t block, std::int32_t stride, std::int32_t taps, std::int32_t units,
                         std::int32_t size) {
    return std::min(input_of(block, stride, taps, units, op.upscale), round_up(size, units));
  };
  return along(op.block_height, k.stride_y, k.height, unit.height, op.ifm.height) *
         along(op.block_width, k.stride_x, k.width, unit.width, op.ifm.width) *
         round_up(std::min(depth, op.ifm.depth), unit.depth) * op.ifm.element;
}

std::int64_t accumulator_bytes(const Operation& op) noexcept {
  return std::int64_t{op.block_height} * op.block_width * round_up(op.block_depth, kBrick) *
         (op.acc_format == 0 ? 4 : 8);
}

std::int64_t chaining_bricks(const Accelerator& accelerator, std::int32_t element) noexcept {
  constexpr std::int64_t kBuffers = 6;
  return blocks_of(accelerator).chaining_bytes / kBuffers / (std::int64_t{kBrick} * element);
}

std::int64_t most_resized_columns(const Operation& op, const Accelerator& accelerator) noexcept {
  const ResizeAxis& axis = op.u85.columns;
  const std::int64_t step = std::int64_t{axis.whole} * axis.denominator + axis.part;
  if (step < 1) return 0;
  return std::clamp<std::int64_t>(
      ceil_div((chaining_bricks(accelerator, op.ifm.element) - 2) * axis.denominator + 1, step), 1,
      kMaxBlock);
}

}  // namespace runnel::npu::u85
