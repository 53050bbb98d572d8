#include "npu/host/cycles/u85/cycle_model.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "npu/host/cycles/depth_slices.h"
#include "npu/host/cycles/u85/access.h"
#include "npu/host/cycles/u85/output_stage.h"
#include "npu/port.h"

namespace runnel::npu::u85 {
namespace {

EncodedWeights encoded(const Layer& layer, bool begins) noexcept {
  EncodedWeights out;
  if (!convolves(layer.first) || layer.first.u85.second_weights) return out;
  for (const Operation* slice : layer.slices) {
    for (const Bytes& stream : slice->weights) out.weights += static_cast<double>(stream.length);
    for (const Bytes& stream : slice->scales) out.scales += static_cast<double>(stream.length);
  }
  out.buffered = layer.first.weight_region != 0;
  if (out.buffered && !begins) out.ahead = stream_bytes(*layer.slices.front());
  return out;
}

// Where maps are when the compiler plans copies: before any of them moves from the arena into the cache.
void into_arena(FeatureMap& map) noexcept {
  if (map.region == kFastScratch && map.storage != Storage::chained) map.region = kScratch;
}

// The time of the last slice of a layer, as the compiler knows it when it plans the next layer's copies.
double slack_of(const Layer& layer, const CycleModel& model, bool buffered) noexcept {
  Operation op = layer.first;
  for (FeatureMap* map : {&op.ifm, &op.ifm2, &op.ofm}) into_arena(*map);
  Part part;
  if (!buffered) {
    part.dense = true;
    return model.cycles(op, layer.chained, part);
  }
  part.first = layer.slices.size() == 1;
  op.ofm.depth = layer.slices.back()->ofm.depth;
  // Only the part of the input that is needed.
  const auto along = [](std::int32_t out, std::int32_t stride, std::int32_t taps, std::int32_t in) {
    return static_cast<std::int32_t>(
        std::min<std::int64_t>(std::int64_t{out - 1} * stride + taps, std::max(in, 1)));
  };
  if (op.upscale == Upscale::none) {
    op.ifm.height = along(op.ofm.height, op.kernel.stride_y, op.kernel.height, op.ifm.height);
    op.ifm.width = along(op.ofm.width, op.kernel.stride_x, op.kernel.width, op.ifm.width);
  }
  return model.cycles(op, layer.chained, part);
}

// A function's table, where the function is the operation itself; fused ones are not counted.
double table_cycles(const Layer& layer, const CycleModel& model) noexcept {
  if (!only_activates(layer.first) || layer.first.u85.function == Function::none) return 0;
  return model.copy_cycles(model.area_of(kConstants), MemoryArea::internal,
                           static_cast<double>(table_size(layer.first.u85.function)));
}

}  // namespace

Result<CycleModel> CycleModel::make(const Accelerator& accelerator, const SystemConfiguration& system,
                                    const MemoryMode& mode) {
  if (accelerator.product != Product::u85)
    return Status(Code::unsupported) << accelerator.name << ": its cycles have another model";
  if (mode.arena_outside && system.other.writes == 0)
    return Status(Code::invalid_argument)
           << system.name << " with " << mode.name
           << ": the second memory cannot be written, expected a mode with the arena in SRAM";
  return CycleModel(accelerator, Memories(accelerator.product, system, mode));
}

OperationEstimate CycleModel::cost(std::span<const Operation> chain) const {
  Layer layer = layer_of(chain.front());
  for (const Operation& op : chain.subspan(1)) layer.chained.push_back(&op);
  return estimate_layer(layer, *this, 0, true).cost;
}

LayerEstimate estimate_layer(const Layer& layer, const CycleModel& model, double slack, bool begins,
                             double uncut) noexcept {
  const Operation& op = layer.first;
  LayerEstimate out;
  OperationEstimate& one = out.cost;
  one.first = op.index;
  one.last = layer.chained.empty() ? layer.slices.back()->index : layer.chained.back()->index;
  one.kind = op.kind;
  one.mode = op.mode;
  one.macs = whole_count(multiply_adds(op));

  const EncodedWeights weights = encoded(layer, begins);
  const MemoryAccess access = memory_access(layer, weights, model.accelerator(), model.transfers());
  one.access = access.cycles;
  one.traffic = access.traffic;
  out.slack = slack_of(layer, model, weights.buffered);

  const double arithmetic = model.cycles(op, layer.chained), table = table_cycles(layer, model);
  if (weights.buffered) {
    const MemoryArea from = model.area_of(kConstants), to = model.area_of(op.weight_region);
    const double all = model.copy_cycles(from, to, uncut > 0 ? uncut : weights.weights + weights.scales),
                 first = model.copy_cycles(from, to, stream_bytes(*layer.slices.front()));
    one.npu = std::max(all - slack + out.slack, arithmetic + std::max(first - slack, 0.0)) + table;
  } else {
    one.npu = arithmetic + std::max(table - slack, 0.0);
  }
  settle(one, model.accelerator());
  return out;
}

Estimate estimate(std::span<const Operation> operations, const CycleModel& model,
                  std::span<const UncutWeights> uncut) {
  Estimate out;
  double slack = 0;
  bool begins = true;
  LayerReader reader(operations);
  for (Layer layer; reader.next(layer);) {
    // In the order of layers, too.
    while (!uncut.empty() && uncut.front().first < layer.first.index) uncut = uncut.subspan(1);
    const bool known = !uncut.empty() && uncut.front().first == layer.first.index;
    const LayerEstimate one = estimate_layer(layer, model, slack, begins, known ? uncut.front().bytes : 0);
    append(out, one.cost);
    slack = one.slack;
    begins = false;
  }
  close(out, model.accelerator(), model.system());
  return out;
}

}  // namespace runnel::npu::u85
