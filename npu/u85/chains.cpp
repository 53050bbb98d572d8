#include "npu/u85/chains.h"

namespace runnel::npu::u85 {
namespace {

// Whether it sums into accumulators, which element-wise operations and resizing do not.
bool accumulates(const Operation& op) noexcept {
  return op.kind == OperationKind::conv || op.kind == OperationKind::depthwise ||
         op.kind == OperationKind::pool;
}

}  // namespace

Status Chains::read(const FeatureMap& map, const char* name) const noexcept {
  if (map.storage != Storage::chained || map.region >= kChains) return {};
  const Shape& left = maps_[map.region];
  if (left.height == 0)
    return Status(Code::invalid_data)
           << name << " reads chaining buffer " << map.region << ", which nothing was written into";
  if (left == Shape{map.height, map.width, map.depth}) return {};
  return Status(Code::invalid_data) << name << " of " << map.height << " x " << map.width << " x "
                                    << map.depth << " reads chaining buffer " << map.region << ", which has "
                                    << left.height << " x " << left.width << " x " << left.depth;
}

Status Chains::follow(const Operation& op) noexcept {
  if (!op.computes()) return {};
  RUNNEL_TRY(read(op.ifm, "IFM"));
  RUNNEL_TRY(read(op.ifm2, "IFM2"));
  const Shape shape{op.ofm.height, op.ofm.width, op.ofm.depth};
  if (accumulates(op)) {
    if (op.u85.start == AccumulatorStart::keep && accumulators_ != shape) {
      Status status(Code::invalid_data);
      if (accumulators_.height == 0)
        return std::move(status) << "starts from accumulators that no operation has left";
      return std::move(status) << "starts from accumulators of " << accumulators_.height << " x "
                               << accumulators_.width << " x " << accumulators_.depth << ", expected "
                               << shape.height << " x " << shape.width << " x " << shape.depth;
    }
    accumulators_ = shape;
    if (op.u85.silent) return {};
  }
  if (op.ofm.storage == Storage::chained && op.ofm.region < kChains) maps_[op.ofm.region] = shape;
  return {};
}

void mark_kept(std::span<Operation> operations) noexcept {
  Operation* last = nullptr;
  for (Operation& op : operations) {
    if (!accumulates(op)) continue;
    if (last != nullptr) last->u85.kept = op.u85.start == AccumulatorStart::keep;
    last = &op;
  }
}

}  // namespace runnel::npu::u85
