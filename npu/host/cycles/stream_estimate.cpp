#include <algorithm>

#include "npu/bounds.h"
#include "npu/host/cycles/cycles.h"
#include "npu/host/cycles/depth_slices.h"

namespace runnel::npu {
namespace {

class Estimator {
 public:
  Estimator(const CycleModel& model, std::span<const UncutWeights> uncut, Estimate& out) noexcept
      : model_(model), uncut_(uncut), out_(out) {}

  void add(std::span<const Operation> slices) {
    Operation whole = slices.front();
    for (const Operation& slice : slices.subspan(1)) {
      whole.ofm.depth += slice.ofm.depth;
      if (whole.kind == OperationKind::depthwise) whole.ifm.depth += slice.ifm.depth;
    }
    OperationEstimate one;
    one.first = slices.front().index;
    one.last = slices.back().index;
    one.kind = whole.kind;
    one.mode = whole.mode;
    one.macs = model_.macs(whole);
    transfers(whole, slices, one);
    memories(whole, slices, one);
    finish(one);
  }

  // A copy of other data than weights and tables counts as an operation.
  void add_copy(const Operation& op) {
    OperationEstimate one;
    one.first = one.last = op.index;
    one.kind = op.kind;
    const double bytes = static_cast<double>(op.dma.length) * static_cast<double>(op.dma.rows) *
                         static_cast<double>(op.dma.planes);
    const MemoryArea from = model_.area_of(op.dma.source.region), to = model_.area_of(op.dma.target.region);
    one.npu = std::max(model_.copy_cycles(from, to, bytes) - slack_, 0.0);
    traffic(one, from).read += bytes;
    traffic(one, to).written += bytes;
    slack_ = 0;
    finish(one);
  }

 private:
  static Traffic& traffic(OperationEstimate& one, MemoryArea area) noexcept {
    return one.traffic[static_cast<std::size_t>(area)];
  }

  // Arithmetic, and copies as far as they take longer than the previous operation, which hides them.
  void transfers(const Operation& whole, std::span<const Operation> slices, OperationEstimate& one) {
    const bool weighs = whole.kind == OperationKind::conv || whole.kind == OperationKind::depthwise;
    const bool copied = weighs && whole.weight_region != 0;
    // Time that can hide the next operation's copies, as known before maps move from the arena into the
    // cache; scales are there already.
    const auto alone = [&](std::int32_t depth) {
      Operation part = whole;
      part.ofm.depth = depth;
      if (weighs) part.weight_region = 2;
      for (FeatureMap* map : {&part.ifm, &part.ofm}) {
        if (map->region == 2) map->region = 1;
      }
      return static_cast<double>(model_.cycles(part));
    };
    const MemoryArea constants = model_.area_of(0);
    double table = 0;
    if (whole.activation.table()) {
      const double bytes = table_bytes(whole.ofm.element);
      table = model_.copy_cycles(constants, MemoryArea::internal, bytes);
      traffic(one, constants).read += bytes;
    }
    const auto compute = static_cast<double>(model_.cycles(whole));
    const double slack = alone(slices.back().ofm.depth);
    if (!copied) {
      one.npu = compute + std::max(table - slack_, 0.0);
    } else {
      double bytes = 0;
      for (const Operation& slice : slices) bytes += stream_bytes(slice);
      const MemoryArea to = model_.area_of(whole.weight_region);
      const auto known = std::find_if(uncut_.begin(), uncut_.end(), [&](const UncutWeights& weights) {
        return weights.first == one.first;
      });
      const double first = model_.copy_cycles(constants, to, stream_bytes(slices.front()));
      const double full = model_.copy_cycles(constants, to, known == uncut_.end() ? bytes : known->bytes);
      traffic(one, constants).read += bytes;
      traffic(one, to).written += bytes;
      one.npu = slices.size() > 1 ? std::max(full - slack_ + slack, compute + std::max(first - slack_, 0.0))
                                  : compute + full - std::min(first, slack_);
      one.npu += table;
    }
    slack_ = slack;
  }

  void memories(const Operation& whole, std::span<const Operation> slices, OperationEstimate& one) {
    const ElementAccess access = model_.access(whole);
    const auto count = [&](const FeatureMap& map, MemoryArea area, bool read, double elements) {
      const double bytes = elements * map.element;
      (read ? traffic(one, area).read : traffic(one, area).written) += bytes;
      one.access[static_cast<std::size_t>(area)] +=
          model_.with_bursts(map, whole, read, area, bytes) / model_.bytes_per_cycle(area);
    };
    count(whole.ofm, model_.area_of(whole.ofm.region), false, access.ofm);
    count(whole.ifm, model_.area_of(whole.ifm.region), true, access.ifm);
    if (whole.has_ifm2)
      count(whole.ifm2, model_.area_of(whole.scalar ? 0 : whole.ifm2.region), true, access.ifm2);
    if (access.weights <= 0) return;
    double stored = 0;
    for (const Operation& slice : slices) stored += stream_bytes(slice);
    const bool once = whole.kind == OperationKind::depthwise;
    const double original = static_cast<double>(whole.kernel.taps_y()) * whole.kernel.taps_x() *
                            (once ? 1 : whole.ifm.depth) * whole.ofm.depth;
    const double scales = access.scales * static_cast<double>(kScaleRecord),
                 bytes = access.weights * ((stored - scales) / original) + scales;
    const MemoryArea area = model_.area_of(whole.weight_region);
    traffic(one, area).read += bytes;
    // Weights copied into SRAM are read in parallel with the arithmetic.
    if (whole.weight_region == 0)
      one.access[static_cast<std::size_t>(area)] += bytes / model_.bytes_per_cycle(area);
  }

  void finish(OperationEstimate& one) {
    settle(one, model_.accelerator());
    append(out_, one);
  }

  const CycleModel& model_;
  std::span<const UncutWeights> uncut_;
  Estimate& out_;
  double slack_ = 0;
};

// Whether one of the `following` operations reads this copy's data as weights or scales.
bool brings_weights(const Dma& dma, std::span<const Operation> following) noexcept {
  if (dma.source.region != 0 || dma.source.internal) return false;
  for (const Operation& op : following) {
    if (op.kind != OperationKind::conv && op.kind != OperationKind::depthwise) continue;
    if (op.weight_region != dma.target.region) continue;
    for (const Bytes* stream : {&op.weights[0], &op.scales[0]}) {
      if (stream->length > 0 && stream->base >= dma.target.address &&
          stream->base < dma.target.address + dma.length)
        return true;
    }
  }
  return false;
}

}  // namespace

Estimate estimate(std::span<const Operation> operations, const CycleModel& model,
                  std::span<const UncutWeights> uncut) {
  Estimate out;
  Estimator estimator(model, uncut, out);
  std::vector<Operation> slices;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& op = operations[i];
    if (op.kind == OperationKind::dma) {
      // Double buffers are filled one or two operations ahead.
      const auto following = operations.subspan(i + 1, std::min<std::size_t>(operations.size() - i - 1, 16));
      if (op.dma.target.internal || brings_weights(op.dma, following)) continue;
    }
    if (!op.computes() && op.kind != OperationKind::dma) continue;
    if (!slices.empty() && (op.kind == OperationKind::dma || !continues(slices.back(), op))) {
      estimator.add(slices);
      slices.clear();
    }
    if (op.kind == OperationKind::dma) {
      estimator.add_copy(op);
    } else {
      slices.push_back(op);
    }
  }
  if (!slices.empty()) estimator.add(slices);
  close(out, model.accelerator(), model.system());
  return out;
}

}  // namespace runnel::npu
