#include "npu/host/encoder/schedule.h"

#include <algorithm>

#include "npu/bounds.h"

namespace runnel::npu {
namespace {

constexpr int kInternal = -1, kMaxDependency = 3;
constexpr std::size_t kMaxKernels = 2, kTableBytes = 2048;

bool overlap(const FeatureMap& a, const FeatureMap& b) {
  if (a.width0 == 0 || b.width0 == 0 || a.region != b.region) return false;
  const Extent x = extent_of(a), y = extent_of(b);
  return x.low < y.high && y.low < x.high;
}
bool same_place(const FeatureMap& a, const FeatureMap& b) {
  return a.region == b.region && a.layout == b.layout && a.element == b.element && a.base[0] == b.base[0] &&
         a.stride_y == b.stride_y && a.stride_x == b.stride_x && a.stride_c == b.stride_c &&
         a.height == b.height && a.width == b.width && a.depth == b.depth && a.width0 >= a.width &&
         a.height0 >= a.height && b.width0 >= b.width && b.height0 >= b.height;
}

// A part of a map, [low, high) along each axis.
struct Volume {
  std::int32_t low[3], high[3];
};
bool intersect(const Volume& a, const Volume& b) {
  for (int axis = 0; axis < 3; ++axis) {
    if (a.low[axis] >= b.high[axis] || b.low[axis] >= a.high[axis]) return false;
  }
  return true;
}

std::int32_t ceil_of(std::int32_t value, std::int32_t step) { return (value + step - 1) / step; }
std::int32_t blocks_of(const Operation& op) {
  return ceil_of(op.ofm.height, op.block_height) * ceil_of(op.ofm.width, op.block_width) *
         ceil_of(op.ofm.depth, op.block_depth);
}

// Output block `number`: depth first, then columns, then rows.
Volume block(const Operation& op, std::int32_t number) {
  const std::int32_t depths = ceil_of(op.ofm.depth, op.block_depth),
                     columns = ceil_of(op.ofm.width, op.block_width);
  const std::int32_t z = number % depths * op.block_depth, x = number / depths % columns * op.block_width,
                     y = number / depths / columns * op.block_height;
  return {{y, x, z},
          {std::min(y + op.block_height, op.ofm.height), std::min(x + op.block_width, op.ofm.width),
           std::min(z + op.block_depth, op.ofm.depth)}};
}
// The input of that block.
Volume input_of(const Operation& op, std::int32_t number) {
  const Volume out = block(op, number);
  if (op.kind == OperationKind::elementwise) return out;
  const Kernel& k = op.kernel;
  Volume in{{out.low[0] * k.stride_y - k.top, out.low[1] * k.stride_x - k.left, out.low[2]},
            {(out.high[0] - 1) * k.stride_y - k.top + k.height,
             (out.high[1] - 1) * k.stride_x - k.left + k.width, out.high[2]}};
  if (op.kind == OperationKind::conv || op.is(PoolMode::reduce_sum)) {
    in.low[2] = 0;
    in.high[2] = op.ifm.depth;
  }
  return in;
}

}  // namespace

std::uint8_t block_dependency(const Operation& op, const Operation& previous,
                              const Accelerator& accelerator) noexcept {
  if (!previous.computes()) return 0;
  // An operation without a table may have its accumulators where the previous one still reads its table.
  if (accelerator.banks <= 16 && previous.activation.table() && !op.activation.table()) return 0;
  const bool first = overlap(op.ifm, previous.ofm),
             second = op.has_ifm2 && !op.scalar && overlap(op.ifm2, previous.ofm);
  // An operation also waits if it writes where the previous one still reads or writes.
  if (overlap(op.ofm, previous.ofm)) return 0;
  if (!first && !second) return kMaxDependency;
  if (first && second) return 0;
  if (second && op.broadcast != 0) return 0;
  const FeatureMap& read = first ? op.ifm : op.ifm2;
  if (!same_place(read, previous.ofm) || op.upscale != Upscale::none) return 0;
  const std::int32_t count = blocks_of(previous), own = blocks_of(op);
  for (std::int32_t dependency = std::min(kMaxDependency, count - 1); dependency > 0; --dependency) {
    bool free = true;
    for (std::int32_t i = 0; i < std::min(dependency, own) && free; ++i) {
      const Volume needed = input_of(op, i);
      // When block i begins, at most i more blocks of the previous operation are finished; all possibly
      // open blocks count.
      for (std::int32_t back = 0; back < dependency && free; ++back)
        free = !intersect(needed, block(previous, count - 1 - back));
    }
    if (free) return static_cast<std::uint8_t>(dependency);
  }
  return 0;
}

Schedule::Access Schedule::access_of(const Operation& op) const {
  Access out;
  const auto range = [](int memory, const Extent& extent) { return Range{memory, extent.low, extent.high}; };
  if (op.kind == OperationKind::dma) {
    const auto memory = [](const DmaPlace& place) { return place.internal ? kInternal : int{place.region}; };
    out.reads.push_back(range(memory(op.dma.source), extent_of(op.dma, op.dma.source)));
    out.writes.push_back(range(memory(op.dma.target), extent_of(op.dma, op.dma.target)));
    return out;
  }
  if (op.ifm.width0 > 0) out.reads.push_back(range(op.ifm.region, extent_of(op.ifm)));
  if (op.has_ifm2 && !op.scalar) out.reads.push_back(range(op.ifm2.region, extent_of(op.ifm2)));
  for (std::int32_t core = 0; convolves(op) && core < op.cores; ++core) {
    out.reads.push_back(
        {op.weight_region, op.weights[core].base, op.weights[core].base + op.weights[core].length});
    out.reads.push_back(
        {op.scale_region, op.scales[core].base, op.scales[core].base + op.scales[core].length});
  }
  if (op.activation.table()) {
    const std::int64_t size = table_bytes(op.ofm.element),
                       base = accelerator_.table_base() + size * op.activation.slot();
    out.reads.push_back({kInternal, base, base + size});
  }
  // Small devices have no separate memory for tables.
  if (accelerator_.banks <= 16 && !op.activation.table())
    out.writes.push_back({kInternal, accelerator_.table_base(), accelerator_.shram_bytes()});
  out.writes.push_back(range(op.ofm.region, extent_of(op.ofm)));
  return out;
}

bool Schedule::conflict(const Access& later, const Access& earlier) {
  const auto meet = [](const std::vector<Range>& a, const std::vector<Range>& b) {
    for (const Range& x : a) {
      for (const Range& y : b) {
        if (x.memory == y.memory && x.low < y.high && y.low < x.high) return true;
      }
    }
    return false;
  };
  return meet(later.writes, earlier.reads) || meet(later.writes, earlier.writes) ||
         meet(later.reads, earlier.writes);
}

void Schedule::wait_for(std::deque<Access>& outstanding, const Access& access, OperationKind kind) {
  for (std::size_t newer = 0; newer < outstanding.size(); ++newer) {
    if (!conflict(access, outstanding[outstanding.size() - 1 - newer])) continue;
    Operation wait;
    wait.kind = kind;
    wait.param = static_cast<std::uint16_t>(newer);
    emit(wait);
    outstanding.erase(outstanding.begin(), outstanding.end() - static_cast<std::ptrdiff_t>(newer));
    return;
  }
}

void Schedule::emit(const Operation& op) {
  encoder_.add(op);
  operations_.push_back(op);
  operations_.back().index = static_cast<std::uint32_t>(operations_.size()) - 1;
}

void Schedule::add(Operation op) {
  const bool copy = op.kind == OperationKind::dma;
  const Access access = access_of(op);
  if (copy) {
    wait_for(kernels_, access, OperationKind::kernel_wait);
    wait_for(copies_, access, OperationKind::dma_wait);
    copies_.push_back(access);
    const std::size_t most = accelerator_.product == Product::u55 ? 1 : 2;
    if (copies_.size() > most) copies_.pop_front();
  } else {
    wait_for(copies_, access, OperationKind::dma_wait);
    op.block_dependency = block_dependency(op, previous_, accelerator_);
    previous_ = op;
    kernels_.push_back(access);
    if (kernels_.size() > kMaxKernels) kernels_.pop_front();
    if (accelerator_.banks <= 16 && !op.activation.table()) tables_.clear();
  }
  emit(op);
}

void Schedule::add_with_table(Operation op, std::size_t offset, const std::vector<std::byte>& table) {
  auto found =
      std::find_if(tables_.begin(), tables_.end(), [&](const Held& held) { return held.bytes == table; });
  if (found == tables_.end()) {
    const std::size_t size = table.size(), place = (next_table_ + size - 1) / size * size + size > kTableBytes
                                                       ? 0
                                                       : (next_table_ + size - 1) / size * size;
    next_table_ = place + size;
    const auto covered = [&](const Held& held) {
      return held.place < place + size && place < held.place + held.bytes.size();
    };
    tables_.erase(std::remove_if(tables_.begin(), tables_.end(), covered), tables_.end());
    found = tables_.insert(tables_.end(), {place, table});
    Operation copy;
    copy.kind = OperationKind::dma;
    copy.dma.length = static_cast<std::int64_t>(size);
    copy.dma.source = {0, false, 1, static_cast<std::int64_t>(offset)};
    copy.dma.target = {0, true, 1, static_cast<std::int64_t>(accelerator_.table_base() + place)};
    add(copy);
  }
  op.activation.function = static_cast<std::uint16_t>(Activation::kFirstTable + found->place / table.size());
  add(std::move(op));
}

}  // namespace runnel::npu
