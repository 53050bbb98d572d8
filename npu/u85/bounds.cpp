#include "npu/u85/bounds.h"

#include <string_view>

#include "npu/bounds.h"
#include "npu/saturating.h"
#include "npu/u85/configuration.h"

namespace runnel::npu::u85 {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 45;  // addresses have 40 bits

// The bytes that steps from an address reach, for all 64-bit steps and counts.
class Reach {
 public:
  explicit Reach(std::int64_t from) noexcept : low_(from), high_(from) {}
  // Goes on by `count` steps, forwards or backwards; count >= 0.
  void go(std::int64_t step, std::int64_t count) noexcept {
    std::int64_t way = 0;
    std::int64_t& end = step < 0 ? low_ : high_;
    if (__builtin_mul_overflow(step, count, &way) || __builtin_add_overflow(end, way, &end)) far_ = true;
  }
  // Error: invalid_data, naming `what`, where it is beyond every address.
  Status extent(std::string_view what, Extent& out) const noexcept {
    if (far_ || low_ < -kMost || high_ > kMost)
      return Status(Code::invalid_data) << what << " over more than " << kMost << " bytes";
    out = {low_, high_};
    return {};
  }

 private:
  std::int64_t low_, high_;
  bool far_ = false;
};

Status check_copy(const Operation& op, std::span<const std::uint64_t> regions) noexcept {
  const auto area = [&](const DmaPlace& place) {
    if (place.internal) return Area{static_cast<std::uint64_t>(kTableMemory)};
    return Area{place.region < regions.size() ? regions[place.region] : 0, place.region};
  };
  Extent extent;
  RUNNEL_TRY(extent_of_end(op, op.dma.source, op.u85.source, extent));
  RUNNEL_TRY(check_inside("the source", extent, area(op.dma.source)));
  RUNNEL_TRY(extent_of_end(op, op.dma.target, op.u85.target, extent));
  RUNNEL_TRY(check_inside("the target", extent, area(op.dma.target)));
  if (!op.u85.source.indexed && !op.u85.target.indexed) return {};
  Reach indices(op.u85.index_address);
  indices.go(op.u85.index_skip, op.dma.planes - 1);
  indices.go(std::int64_t{4} * op.dma.rows, op.dma.planes);
  RUNNEL_TRY(indices.extent("indices", extent));
  return check_inside("indices", extent, area({op.u85.index_region, false, 1, 0}));
}

Saturating elements(const FeatureMap& map) noexcept {
  Saturating count(map.height);
  count *= map.width;
  count *= map.depth;
  return count;
}

// Weights of all streams with their filler.
Saturating weights(const Operation& op, const Accelerator& accelerator) noexcept {
  constexpr std::int64_t kMostPadding = 16, kSub = 8, kMostDepth = 128, kMostMicro = 64;
  const Kernel& k = op.kernel;
  const std::int64_t subs =
      ceil_div(k.taps_y(), kSub / k.dilation_y) * ceil_div(k.taps_x(), kSub / k.dilation_x);
  Saturating taps(k.taps_y());
  taps *= k.taps_x();
  taps += kMostPadding * subs;
  const MicroBlock micro = microblock(accelerator, op.microblock);
  const std::int64_t unit = micro.depth > 0 ? micro.depth : kMostMicro;
  const std::int64_t blocks = ceil_div(op.ofm.depth, op.block_depth);
  Saturating outs(op.ofm.depth + blocks * unit);
  // Filler of one micro-block lasts as long as a whole unit of the input.
  if (op.kind == OperationKind::conv) outs *= (op.ifm.depth + kMostDepth - 1) / kMostDepth * kMostDepth;
  taps *= outs;
  return taps;
}

}  // namespace

Status extent_of_end(const Operation& op, const DmaPlace& place, const CopyEnd& end, Extent& out) noexcept {
  Reach copy(place.address);
  copy.go(end.row, end.indexed ? op.u85.index_most : op.dma.rows - 1);
  copy.go(end.plane, op.dma.planes - 1);
  copy.go(op.dma.length, 1);
  return copy.extent("a copy", out);
}

Status check_bounds(const Operation& op, std::span<const std::uint64_t> regions) noexcept {
  const auto area = [&](std::uint8_t region) {
    return Area{region < regions.size() ? regions[region] : 0, region};
  };
  if (op.kind == OperationKind::dma) return check_copy(op, regions);
  if (!op.computes()) return {};
  if (op.ifm.width0 > 0) RUNNEL_TRY(check_inside("IFM", extent_of(op.ifm), area(op.ifm.region)));
  if (op.ifm2.width0 > 0) RUNNEL_TRY(check_inside("IFM2", extent_of(op.ifm2), area(op.ifm2.region)));
  if (op.ofm.width0 > 0) RUNNEL_TRY(check_inside("OFM", extent_of(stored_output(op)), area(op.ofm.region)));
  for (const Bytes& stream : op.weights)
    RUNNEL_TRY(
        check_inside("the weights", {stream.base, stream.base + stream.length}, area(op.weight_region)));
  if (op.has_scales) {
    const Bytes& stream = op.scales[0];
    RUNNEL_TRY(check_inside("the scales", {stream.base, stream.base + stream.length}, area(op.scale_region)));
    const std::int64_t needed = kScaleRecord * op.ofm.depth;
    if (stream.length < needed)
      return Status(Code::invalid_data)
             << "scales of " << stream.length << " bytes, expected at least " << needed;
  }
  if (const std::int64_t size = table_size(op.u85.function); size > 0) {
    const std::int64_t base = size * op.u85.table;
    RUNNEL_TRY(check_inside("the table", {base, base + size}, {static_cast<std::uint64_t>(kTableMemory)}));
  }
  return {};
}

std::uint64_t work_of(const Operation& op, const Accelerator& accelerator) noexcept {
  if (op.kind == OperationKind::dma) {
    Saturating bytes(op.dma.length + (op.u85.source.indexed || op.u85.target.indexed ? 4 : 0));
    bytes *= op.dma.rows;
    bytes *= op.dma.planes;
    return bytes.value();
  }
  if (!op.computes()) return 0;
  Saturating work = elements(op.ofm);
  const bool pools = op.kind == OperationKind::pool;
  if (op.kind == OperationKind::conv || op.kind == OperationKind::depthwise || pools) {
    work *= op.kernel.taps_y();
    work *= op.kernel.taps_x();
    const bool all_channels = pools && static_cast<PoolMode>(op.mode) == PoolMode::reduce_sum;
    if (op.kind == OperationKind::conv || all_channels) work *= (op.ifm.depth + 31) / 32 * 32;
  }
  if (convolves(op) && !op.u85.second_weights) work += weights(op, accelerator);
  work += elements(op.ifm);
  work += elements(op.ifm2);
  work += elements(op.ofm);
  return work.value();
}

}  // namespace runnel::npu::u85
