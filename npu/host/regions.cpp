#include "npu/host/regions.h"

#include <algorithm>

#include "npu/decoder.h"
#include "npu/u85/bounds.h"

namespace runnel::npu {
namespace {

void widen(Extent& all, const Extent& one) {
  if (one.high <= one.low) return;
  const bool first = all.high == 0;
  all.low = first ? one.low : std::min(all.low, one.low);
  all.high = first ? one.high : std::max(all.high, one.high);
}

class Uses {
 public:
  explicit Uses(const Segment& segment) {
    const auto sizes = segment.region_sizes();
    for (std::size_t i = 0; i < kRegions; ++i) uses_[i].bytes = sizes[i];
  }

  Status add(const Operation& op) {
    if (op.kind == OperationKind::dma) return copy(op);
    if (!op.computes()) return {};
    for (const FeatureMap* map : {&op.ifm, &op.ifm2}) {
      if (map->width0 > 0) widen(uses_[map->region].read, extent_of(*map));
    }
    if (op.ofm.width0 > 0) widen(uses_[op.ofm.region].written, extent_of(stored_output(op)));
    for (const Bytes& stream : op.weights)
      widen(uses_[op.weight_region].read, {stream.base, stream.base + stream.length});
    for (const Bytes& stream : op.scales)
      widen(uses_[op.scale_region].read, {stream.base, stream.base + stream.length});
    return {};
  }
  [[nodiscard]] const std::array<RegionUse, kRegions>& uses() const { return uses_; }

 private:
  Status copy(const Operation& op) {
    const auto end = [&](const DmaPlace& place, const u85::CopyEnd& strides, bool written) -> Status {
      if (place.internal) return {};
      Extent extent = extent_of(op.dma, place);
      if (op.product == Product::u85) RUNNEL_TRY(u85::extent_of_end(op, place, strides, extent));
      widen(written ? uses_[place.region].written : uses_[place.region].read, extent);
      return {};
    };
    RUNNEL_TRY(end(op.dma.source, op.u85.source, false));
    RUNNEL_TRY(end(op.dma.target, op.u85.target, true));
    if (op.u85.source.indexed || op.u85.target.indexed)
      widen(uses_[op.u85.index_region].read,
            {op.u85.index_address, op.u85.index_address + 4 * op.dma.rows * op.dma.planes});
    return {};
  }

  std::array<RegionUse, kRegions> uses_{};
};

}  // namespace

Result<std::array<RegionUse, kRegions>> region_use(const Segment& segment) {
  constexpr bool kFollow = true;
  Uses uses(segment);
  Decoder decoder(segment.payload.commands, *segment.accelerator, kFollow);
  for (Operation op;;) {
    RUNNEL_ASSIGN(const bool more, decoder.next(op));
    if (!more) return uses.uses();
    RUNNEL_TRY(uses.add(op));
  }
}

}  // namespace runnel::npu
