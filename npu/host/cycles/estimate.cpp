#include "npu/host/cycles/estimate.h"

#include <algorithm>

#include "base/checked.h"
#include "npu/host/cycles/cycles.h"
#include "npu/host/cycles/u85/cycle_model.h"
#include "npu/host/cycles/u85/uncut_weights.h"

namespace runnel::npu {
namespace {

double utilisation(std::int64_t macs, double cycles, const Accelerator& accelerator) noexcept {
  return cycles > 0 ? static_cast<double>(macs) / (cycles * accelerator.macs) : 0;
}

}  // namespace

std::int64_t whole_count(double value) noexcept {
  constexpr double kMost = 9.0e18;
  return static_cast<std::int64_t>(std::min(value, kMost));
}

void settle(OperationEstimate& one, const Accelerator& accelerator) noexcept {
  one.total = std::max(one.npu, *std::max_element(one.access.begin(), one.access.end()));
  one.utilisation = utilisation(one.macs, one.total, accelerator);
}

void append(Estimate& estimate, const OperationEstimate& one) {
  for (std::size_t area = 0; area < kMemoryAreas; ++area) {
    estimate.access[area] += one.access[area];
    estimate.traffic[area].read += one.traffic[area].read;
    estimate.traffic[area].written += one.traffic[area].written;
  }
  if (!checked_add(estimate.macs, one.macs, estimate.macs)) estimate.macs = INT64_MAX;
  estimate.npu += one.npu;
  estimate.total += one.total;
  estimate.operations.push_back(one);
}

void close(Estimate& estimate, const Accelerator& accelerator, const SystemConfiguration& system) noexcept {
  estimate.seconds = estimate.total / system.clock;
  estimate.utilisation = utilisation(estimate.macs, estimate.total, accelerator);
}

Result<Estimate> estimate_stream(std::span<const Operation> operations, const Accelerator& accelerator,
                                 const SystemConfiguration& system, const MemoryMode& mode,
                                 std::span<const std::byte> constants) {
  if (accelerator.product == Product::u85) {
    RUNNEL_ASSIGN(const u85::CycleModel model, u85::CycleModel::make(accelerator, system, mode));
    return u85::estimate(operations, model, u85::uncut_weights(operations, accelerator, constants));
  }
  RUNNEL_ASSIGN(const CycleModel model, CycleModel::make(accelerator, system, mode));
  return estimate(operations, model);
}

}  // namespace runnel::npu
