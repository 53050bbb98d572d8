#include "npu/host/cycles/u85/layer.h"

#include <algorithm>

#include "base/checked.h"
#include "npu/host/cycles/depth_slices.h"
#include "npu/port.h"
#include "npu/u85/blocks.h"

namespace runnel::npu::u85 {
namespace {

PoolMode pool_mode(const Operation& op) noexcept { return static_cast<PoolMode>(op.mode); }
// Moves what accumulators start from: the operand in the registers of the second one is its only one.
bool moves_accumulators(const Operation& op) noexcept {
  return op.kind == OperationKind::pool && pool_mode(op) == PoolMode::none;
}

std::int32_t round_up(std::int32_t value, std::int32_t step) noexcept {
  return step > 1 ? static_cast<std::int32_t>(ceil_div(value, step)) * step : value;
}

TransferMap map_of(const FeatureMap& map, const Memories& memories) noexcept {
  TransferMap out;
  out.shape = {std::max(map.height, 1), std::max(map.width, 1), std::max(map.depth, 1)};
  out.element = std::max<std::int32_t>(map.element, 1);
  if (map.storage == Storage::chained || map.storage == Storage::none) {
    out.layout = Layout::nhcwb16;
    out.memory = memories.area_of(kScratch);
  } else {
    out.layout = map.layout;
    out.memory = memories.area_of(map.region);
  }
  return out;
}
TransferMap operand(const FeatureMap& map, bool scalar, const Memories& memories) noexcept {
  TransferMap out = map_of(map, memories);
  if (!scalar) return out;
  // A constant of one element among the others.
  out.shape = {1, 1, 1};
  out.layout = Layout::nhwc;
  out.memory = memories.area_of(kConstants);
  return out;
}

bool reads_chain(const Operation& op) noexcept {
  return op.ifm.storage == Storage::chained || (op.has_ifm2 && op.ifm2.storage == Storage::chained);
}

}  // namespace

Layer layer_of(const Operation& operation) { return {operation, {&operation}, {}}; }

// The next operation that computes, from `at` on; the end if there is a branch before it. Operations that
// only order or move data may stand between those of a layer.
std::size_t LayerReader::computing(std::size_t at) const noexcept {
  while (at < operations_.size() && !operations_[at].computes()) {
    if (operations_[at].kind == OperationKind::branch) return operations_.size();
    ++at;
  }
  return at;
}

// The layer that begins with operation `at`; goes on after its last operation.
Layer LayerReader::find(std::size_t at) {
  Layer layer = layer_of(operations_[at]);
  std::size_t last = at;
  for (std::size_t next = computing(at + 1); next < operations_.size(); next = computing(next + 1)) {
    const Operation& op = operations_[next];
    if (!continues(operations_[last], op) || layer.first.ofm.depth > kMaxSize - op.ofm.depth) break;
    layer.first.ofm.depth += op.ofm.depth;
    if (op.kind == OperationKind::depthwise) layer.first.ifm.depth += op.ifm.depth;
    layer.slices.push_back(&op);
    last = next;
  }
  for (std::size_t next = computing(last + 1); next < operations_.size() && reads_chain(operations_[next]);
       next = computing(next + 1)) {
    layer.chained.push_back(&operations_[next]);
    last = next;
  }
  at_ = last + 1;
  return layer;
}

bool LayerReader::next(Layer& out) {
  for (; at_ < operations_.size(); ++at_) {
    const Operation& op = operations_[at_];
    if (op.computes()) {
      out = find(at_);
      return true;
    }
    // Other copies than those with indices bring weights and tables.
    if (op.kind == OperationKind::dma && (op.u85.source.indexed || op.u85.target.indexed)) {
      out = layer_of(op);
      ++at_;
      return true;
    }
  }
  return false;
}

Unit unit_of(const Operation& op) noexcept {
  switch (op.kind) {
    case OperationKind::conv:
      return op.u85.second_weights ? Unit::product : Unit::convolution;
    case OperationKind::depthwise:
      return Unit::depthwise;
    case OperationKind::pool:
      return pool_mode(op) == PoolMode::reduce_sum ? Unit::reduce_sum : Unit::pooling;
    case OperationKind::elementwise:
      return Unit::elementwise;
    case OperationKind::resize:
      return Unit::resize;
    default:
      return Unit::copy;
  }
}
bool depth_by_depth(Unit unit) noexcept { return unit == Unit::depthwise || unit == Unit::pooling; }

bool has_second_input(const Operation& op) noexcept { return op.has_ifm2 && !moves_accumulators(op); }
TransferMap first_input(const Operation& op, const Memories& memories) noexcept {
  if (moves_accumulators(op)) return map_of(op.ifm2, memories);
  return operand(op.ifm, op.kind == OperationKind::elementwise && op.u85.first_scalar, memories);
}
TransferMap second_input(const Operation& op, const Memories& memories) noexcept {
  return operand(op.ifm2, op.kind == OperationKind::elementwise && op.scalar, memories);
}
TransferMap output(const Operation& op, const Memories& memories) noexcept {
  return map_of(stored_output(op), memories);
}

Block output_block(const Operation& op) noexcept {
  return {std::max(op.block_height, 1), std::max(op.block_width, 1), std::max(op.block_depth, 1)};
}

// GetArchIFMBlockSize and FindBlockConfig of Regor's ethos_u85.cpp.
Block input_block_shape(const Operation& op, const Accelerator& accelerator) noexcept {
  const Unit unit = unit_of(op);
  const Block block = output_block(op);
  if (unit == Unit::elementwise) return block;
  const std::int32_t depth = std::max(input_depth(op, accelerator), 1);
  const std::int32_t element = moves_accumulators(op) ? op.ifm2.element : op.ifm.element;
  const MicroBlock granule =
      input_unit(accelerator, op.microblock, depth, std::max<std::int32_t>(element, 1));
  const std::int32_t upscale = op.upscale == Upscale::none ? 1 : 2;
  const auto along = [&](std::int32_t size, std::int32_t stride, std::int32_t taps, std::int32_t step) {
    const std::int32_t read =
        (size - 1) * stride + std::min(taps, kMaxSubKernel) + (op.upscale == Upscale::nearest ? 1 : 0);
    return round_up(static_cast<std::int32_t>(ceil_div(read, upscale)), step);
  };
  const Kernel& kernel = op.kernel;
  const bool rounded = depth_by_depth(unit) || unit == Unit::reduce_sum;
  return {along(block.height, kernel.stride_y, kernel.height, granule.height),
          along(block.width, kernel.stride_x, kernel.width, granule.width),
          rounded ? round_up(depth, granule.depth) : depth};
}

}  // namespace runnel::npu::u85
