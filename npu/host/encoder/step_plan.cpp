#include "npu/host/encoder/step_plan.h"

#include <cmath>
#include <map>

#include "npu/host/encoder/block_choice.h"
#include "npu/host/segment.h"

namespace runnel::npu {
namespace {

constexpr std::int32_t kSliceStep = 16, kMaxSlices = 8;

using Cost = std::pair<double, double>;

class Planner {
 public:
  Planner(std::span<const Operation> previous, double weight_bytes, const Generation& generation)
      : generation_(generation),
        weight_bytes_(weight_bytes),
        operations_(previous.begin(), previous.end()),
        before_(cost_of(generation.estimate(operations_))) {}

  Status consider(Operation op, bool exchanged, bool copied) {
    op.weight_region = op.scale_region =
        copied ? (generation_.mode().arena_outside ? kFastScratch : kScratch) : kConstants;
    if (reads_weights(op)) set_lengths(op, weight_bytes_, op.ofm.depth);
    RUNNEL_TRY(generation_.choose_block(op));
    take({op, exchanged, copied, {op.ofm.depth}, {}});
    // In slices, the first one arrives sooner, and the others while it is used.
    const std::int32_t step =
                           std::max(kSliceStep, (op.block_depth + kSliceStep - 1) / kSliceStep * kSliceStep),
                       depth = op.ofm.depth;
    for (std::int32_t first = step; copied && first < depth && first <= kMaxSlices * step; first += step)
      take({op, exchanged, copied, {first, depth - first}, {}});
    return {};
  }
  [[nodiscard]] bool found() const { return found_; }
  StepPlan best() { return std::move(best_); }

 private:
  static Cost cost_of(const Estimate& estimate) {
    double second = 0;
    for (std::size_t area = 1; area < estimate.traffic.size(); ++area)
      second += estimate.traffic[area].read + estimate.traffic[area].written;
    return {estimate.total, second};
  }
  void set_lengths(Operation& op, double bytes, std::int32_t whole) const {
    op.weights[0] = {0, static_cast<std::int64_t>(bytes * op.ofm.depth / whole)};
    op.scales[0] = {0, generation_.scale_bytes(op)};
  }
  void take(StepPlan plan) {
    const std::size_t kept = operations_.size();
    std::int32_t first = 0;
    for (const std::int32_t channels : plan.slices) {
      operations_.push_back(slice_of(plan.op, first, channels));
      if (reads_weights(plan.op))
        set_lengths(operations_.back(), static_cast<double>(plan.op.weights[0].length), plan.op.ofm.depth);
      first += channels;
    }
    const Cost all = cost_of(generation_.estimate(operations_)),
               cost{all.first - before_.first, all.second - before_.second};
    operations_.resize(kept);
    if (found_ && cost >= best_.cost) return;
    found_ = true;
    best_ = std::move(plan);
    best_.cost = cost;
  }

  const Generation& generation_;
  double weight_bytes_;
  std::vector<Operation> operations_;
  Cost before_;
  bool found_ = false;
  StepPlan best_;
};

}  // namespace

Operation slice_of(const Operation& op, std::int32_t first, std::int32_t count) noexcept {
  Operation slice = op;
  const auto cut = [&](FeatureMap& map) {
    map.depth = count;
    for (std::int64_t& base : map.base)
      base += map.layout == Layout::nhwc ? std::int64_t{first} * map.element : first / 16 * map.stride_c;
  };
  if (count == op.ofm.depth) return slice;
  cut(slice.ofm);
  if (op.kind == OperationKind::depthwise) cut(slice.ifm);
  return slice;
}

double expected_bytes(std::span<const std::int16_t> weights) {
  std::map<std::int16_t, std::size_t> counts;
  for (const std::int16_t weight : weights) ++counts[weight];
  double bits = 0;
  const auto all = static_cast<double>(weights.size());
  for (const auto& [value, count] : counts)
    bits += static_cast<double>(count) * std::log2(all / static_cast<double>(count));
  return std::ceil(bits / 128) * 16;
}

Result<StepPlan> plan_step(const Operation& op, std::span<const Operation> previous, double weight_bytes,
                           const Generation& generation) {
  Planner planner(previous, weight_bytes, generation);
  Status status;
  const bool turns = can_exchange(op) && (op.ofm.height > 1 || op.ofm.width > 1),
             copies = reads_weights(op) && generation.copies_weights();
  for (const bool exchanged : {false, true}) {
    if (exchanged && !turns) break;
    Operation tried = op;
    if (exchanged) exchange(tried);
    for (const bool copied : {false, true}) {
      if (copied && !copies) break;
      if (const Status one = planner.consider(tried, exchanged, copied); !one.ok()) status = one;
    }
  }
  if (!planner.found()) return status;
  return planner.best();
}

}  // namespace runnel::npu
