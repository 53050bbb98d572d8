#include "npu/host/block_choice.h"

#include <algorithm>
#include <cmath>

#include "npu/validate.h"

namespace runnel::npu {
namespace {

constexpr std::int32_t kFirstBank = 2, kMostHeight = 32, kMostWidth = 64, kMostDepth = 128, kDepthStep = 16;

std::int32_t round_up(std::int32_t value, std::int32_t step) { return (value + step - 1) / step * step; }
double ceil_of(double a, double b) { return std::ceil(a / b); }

bool all_channels(const Operation& op) { return op.kind == OperationKind::conv || op.is(PoolMode::reduce_sum); }

// Banks for the block that the operation has; false: it does not fit.
bool lay_out_banks(Operation& op, const Accelerator& accelerator) {
  const BankUse use = banks_of(op, accelerator);
  if (op.kind == OperationKind::elementwise) {
    op.ifm2_ib_start = kFirstBank + use.ifm;
    const std::int32_t end = op.has_ifm2 && !op.scalar ? op.ifm2_ib_start + use.ifm : op.ifm2_ib_start;
    op.ib_end = op.ab_start = use.usable;
    return end <= use.usable;
  }
  op.ib_end = kFirstBank + use.ifm;
  op.ab_start = use.usable - use.accumulators;
  return op.ib_end <= op.ab_start;
}

// Elements that are fetched for one element of the output: inputs again for each block of channels, weights again for each block of positions.
double fetched(const Operation& op) {
  const FeatureMap& y = op.ofm;
  const double elements = static_cast<double>(y.height) * y.width * y.depth;
  if (op.kind == OperationKind::elementwise) return std::max(elements / (static_cast<double>(op.block_height) * op.block_width * op.block_depth), 1.0);
  const double depth = op.ifm.depth, sub_kernels = ceil_of(op.kernel.width, 8) * ceil_of(op.kernel.height, 8);
  const double in_height = (op.block_height - 1) * op.kernel.stride_y + std::min(op.kernel.height, 8), in_width = (op.block_width - 1) * op.kernel.stride_x + std::min(op.kernel.width, 8);
  double inputs = in_height * in_width * depth * sub_kernels * (static_cast<double>(y.height) / op.block_height) * (static_cast<double>(y.width) / op.block_width);
  if (all_channels(op)) inputs *= ceil_of(y.depth, op.block_depth);
  double weights = 0;
  if (op.kind == OperationKind::conv || op.kind == OperationKind::depthwise) {
    weights = static_cast<double>(op.kernel.taps_y()) * op.kernel.taps_x() * ceil_of(y.width, op.block_width) * ceil_of(y.height, op.block_height);
    weights *= op.kind == OperationKind::conv ? depth * y.depth : y.depth;
  }
  double cost = (inputs + weights) / elements;
  if (static_cast<double>(op.ifm.height) * op.ifm.width * depth < 2 * in_height * in_width * std::min(depth, 32.0)) cost /= 2;
  return cost;
}

// Whether the multipliers see fewer empty places when the kernel's elements are what stands side by side, instead of channels.
bool prefers_part_kernel(const Operation& op) {
  if (op.kind != OperationKind::conv) return false;
  const std::int32_t depth = op.ifm.depth, taps = op.kernel.taps_y() * op.kernel.taps_x();
  if (depth <= 8) return true;
  const bool wide = op.ifm.element == 2;
  const double part = static_cast<double>(depth) * taps / (static_cast<double>(round_up(depth, 8)) * round_up(taps, wide ? 2 : 4));
  return part > static_cast<double>(depth) / round_up(depth, wide ? 16 : 32);
}

}  // namespace

Status choose_block(Operation& op, const Accelerator& accelerator) {
  op.kernel.part_kernel = prefers_part_kernel(op);
  op.acc_format = op.ifm.element == 2 && (op.kind == OperationKind::conv || op.kind == OperationKind::depthwise) ? 1 : 0;
  const auto whole = [&](std::int32_t size, std::int32_t ublock, std::int32_t most) { return std::min(round_up(size, ublock), most); };
  const std::int32_t most_height = whole(op.ofm.height, accelerator.ublock_height, kMostHeight), most_width = whole(op.ofm.width, accelerator.ublock_width, kMostWidth);
  const std::int32_t most_depth = whole(op.ofm.depth, accelerator.ublock_depth, kMostDepth);
  Operation best;
  double best_cost = -1;
  std::int32_t depth = std::max(accelerator.ublock_depth, std::min(op.ofm.depth, kDepthStep));
  depth = depth < op.ofm.depth ? round_up(depth, kDepthStep) : round_up(depth, accelerator.ublock_depth);
  if (accelerator.cores > 1) depth = round_up(depth, kDepthStep);
  for (; depth <= std::max(most_depth, kDepthStep); depth = depth < op.ofm.depth ? round_up(depth + 1, kDepthStep) : kMostDepth + 1) {
    for (std::int32_t height = accelerator.ublock_height; height <= most_height; height += accelerator.ublock_height) {
      for (std::int32_t width = accelerator.ublock_width; width <= most_width; width += accelerator.ublock_width) {
        op.block_height = height;
        op.block_width = width;
        op.block_depth = depth;
        if (!lay_out_banks(op, accelerator)) break;
        const double cost = fetched(op);
        // Of equals the later: fewer, larger blocks.
        if (best_cost >= 0 && cost > best_cost) continue;
        best = op;
        best_cost = cost;
      }
    }
  }
  if (best_cost < 0) return Status(Code::unsupported) << "no block of the output fits into " << accelerator.name;
  op = best;
  return {};
}

}  // namespace runnel::npu
