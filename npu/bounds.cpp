#include "npu/bounds.h"

#include "npu/saturating.h"
#include "npu/u85/bounds.h"

namespace runnel::npu {
namespace {

Saturating elements(const FeatureMap& map) noexcept {
  Saturating count(map.height);
  count *= map.width;
  count *= map.depth;
  return count;
}

}  // namespace

Status check_inside(std::string_view what, const Extent& extent, const Area& area) noexcept {
  if (extent.low >= 0 && extent.high >= extent.low && static_cast<std::uint64_t>(extent.high) <= area.size)
    return {};
  Status status(Code::invalid_data);
  status << what << " reaches bytes " << extent.low << " to " << extent.high << " of ";
  if (area.region < 0) return std::move(status) << "internal memory, which has " << area.size;
  return std::move(status) << "region " << area.region << ", which has " << area.size;
}

Status check_bounds(const Operation& op, const Accelerator& accelerator,
                    std::span<const std::uint64_t> regions) noexcept {
  if (accelerator.product == Product::u85) return u85::check_bounds(op, regions);
  const auto area = [&](std::uint8_t region) {
    return Area{region < regions.size() ? regions[region] : 0, region};
  };
  if (op.kind == OperationKind::dma) {
    const auto check = [&](std::string_view what, const DmaPlace& place) {
      return check_inside(what, extent_of(op.dma, place),
                          place.internal ? Area{accelerator.shram_bytes()} : area(place.region));
    };
    // Extents in three dimensions may exceed 64 bits; extents of memory do not.
    constexpr std::int64_t kMax = std::int64_t{1} << 45;
    const std::int64_t row = (op.dma.length + op.dma.skip0) * op.dma.rows;
    if (op.dma.length * op.dma.rows > kMax / op.dma.planes || row > kMax || row < -kMax)
      return Status(Code::invalid_data) << "a copy over more than " << kMax << " bytes";
    RUNNEL_TRY(check("the source", op.dma.source));
    return check("the target", op.dma.target);
  }
  if (!op.computes()) return {};
  // A map whose registers were never read is a scalar.
  if (op.ifm.width0 > 0) RUNNEL_TRY(check_inside("IFM", extent_of(op.ifm), area(op.ifm.region)));
  if (op.ifm2.width0 > 0) RUNNEL_TRY(check_inside("IFM2", extent_of(op.ifm2), area(op.ifm2.region)));
  if (op.ofm.width0 > 0) RUNNEL_TRY(check_inside("OFM", extent_of(op.ofm), area(op.ofm.region)));
  for (const Bytes& stream : op.weights)
    RUNNEL_TRY(
        check_inside("the weights", {stream.base, stream.base + stream.length}, area(op.weight_region)));
  for (int core = 0; core < 2; ++core) {
    const Bytes& stream = op.scales[core];
    RUNNEL_TRY(check_inside("the scales", {stream.base, stream.base + stream.length}, area(op.scale_region)));
    if (!op.has_scales || core >= op.cores) continue;
    const std::int64_t needed = kScaleRecord * channels_of(op.ofm.depth, core, op.cores);
    if (stream.length < needed)
      return Status(Code::invalid_data)
             << "scales of " << stream.length << " bytes, expected at least " << needed;
  }
  if (op.activation.table()) {
    const std::int64_t size = table_bytes(op.ofm.element),
                       base = accelerator.table_base() + size * op.activation.slot();
    RUNNEL_TRY(check_inside("the table", {base, base + size}, Area{accelerator.shram_bytes()}));
  }
  return {};
}

std::uint64_t work_of(const Operation& op, const Accelerator& accelerator) noexcept {
  if (accelerator.product == Product::u85) return u85::work_of(op, accelerator);
  if (op.kind == OperationKind::dma) {
    Saturating bytes(op.dma.length);
    bytes *= op.dma.rows;
    bytes *= op.dma.planes;
    return bytes.value();
  }
  if (!op.computes()) return 0;
  Saturating work = elements(op.ofm);
  if (op.kind != OperationKind::elementwise) {
    work *= op.kernel.taps_y();
    work *= op.kernel.taps_x();
    // Channels are read in whole bricks, even where fewer exist.
    if (op.kind == OperationKind::conv || op.is(PoolMode::reduce_sum)) work *= (op.ifm.depth + 31) / 32 * 32;
  }
  if (op.kind == OperationKind::conv || op.kind == OperationKind::depthwise) {
    Saturating weights(op.kernel.taps_y() + 3);
    weights *= op.kernel.taps_x() + 3;
    // Whole ublocks in each block.
    const std::int64_t block = op.block_depth > op.cores ? op.block_depth / op.cores : 1;
    weights *= op.ofm.depth + 8 * (op.ofm.depth / block + op.cores);
    if (op.kind == OperationKind::conv) weights *= (op.ifm.depth + 31) / 32 * 32;
    work += weights;
  }
  work += elements(op.ifm);
  if (op.has_ifm2 && !op.scalar) work += elements(op.ifm2);
  work += elements(op.ofm);
  return work.value();
}

}  // namespace runnel::npu
