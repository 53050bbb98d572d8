#include "npu/host/encoder/fuse_tables.h"

#include <algorithm>

namespace runnel::npu {
namespace {

bool looks_up(const Step& step) {
  const Operation& op = step.op;
  return op.is(PoolMode::max) && op.kernel.height == 1 && op.kernel.width == 1 && !step.table.empty() &&
         op.ifm.element == 1 && op.ofm.element == 1 && op.ifm.zero_point == 0 && op.ofm.zero_point == 0;
}
bool same_map(const FeatureMap& a, const FeatureMap& b) {
  return a.height == b.height && a.width == b.width && a.depth == b.depth && a.base[0] == b.base[0] &&
         a.stride_y == b.stride_y && a.stride_x == b.stride_x && a.layout == b.layout &&
         a.element == b.element && a.is_signed == b.is_signed;
}
// Maps of one row or column have strides that say nothing.
FeatureMap canonical(FeatureMap map) {
  if (map.height == 1) map.stride_y = 0;
  if (map.width == 1) map.stride_x = 0;
  return map;
}
// Rows may be positions in sequence: as many in the same order.
bool same_elements(const FeatureMap& a, const FeatureMap& b) {
  if (same_map(canonical(a), canonical(b))) return true;
  const auto dense = [](const FeatureMap& map) {
    const std::int64_t column = std::int64_t{map.depth} * map.element;
    return map.layout == Layout::nhwc && (map.width == 1 || map.stride_x == column) &&
           (map.height == 1 || map.stride_y == column * map.width);
  };
  return dense(a) && dense(b) && a.base[0] == b.base[0] && a.element == b.element &&
         std::int64_t{a.height} * a.width * a.depth == std::int64_t{b.height} * b.width * b.depth;
}
bool may_look_up(const Operation& op) {
  return op.computes() && op.kind != OperationKind::resize && op.ofm.element == 1 && op.ofm.is_signed &&
         op.u85.transpose == u85::Transpose::hwc && op.u85.function == u85::Function::none && !op.u85.silent;
}

// As `written`, in the shape of `map`: both hold the same elements without gaps, or have the same strides.
bool place_like(FeatureMap& map, const FeatureMap& read, const FeatureMap& written) {
  if (same_map(canonical(map), canonical(read))) {
    map.base[0] = written.base[0];
    map.stride_y = written.stride_y;
    map.stride_x = written.stride_x;
    return true;
  }
  if (!same_elements(read, written)) {
    FeatureMap moved = written;
    moved.base[0] = read.base[0];
    if (!same_elements(read, moved)) return false;
  }
  map.base[0] = written.base[0];
  return true;
}

}  // namespace

void fuse_tables(std::vector<Step>& steps, const std::vector<bool>& inside) {
  const auto uses = [&](BufferId id) {
    std::ptrdiff_t count = 0;
    for (const Step& step : steps) count += (step.ifm == id) + (step.ifm2 == id) + (step.ofm == id);
    return count;
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& table = steps[i];
    if (!looks_up(table) || !inside[static_cast<std::size_t>(table.ifm)] || uses(table.ifm) != 2) continue;
    const auto maker = std::find_if(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(i),
                                    [&](const Step& step) { return step.ofm == table.ifm; });
    if (maker == steps.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    Step& step = *maker;
    if (!step.table.empty() || !may_look_up(step.op) || !step.others.empty() ||
        !same_elements(step.op.ofm, table.op.ifm))
      continue;
    // What is written earlier must not be needed by the steps between.
    const bool needed =
        std::any_of(maker + 1, steps.begin() + static_cast<std::ptrdiff_t>(i), [&](const Step& one) {
          return one.ifm == table.ofm || one.ifm2 == table.ofm || one.ofm == table.ofm;
        });
    FeatureMap placed = step.op.ofm;
    if (needed || !place_like(placed, table.op.ifm, table.op.ofm)) continue;
    step.op.ofm = placed;
    step.op.activation.function = table.op.activation.function;
    step.op.u85.function = table.op.u85.function;
    step.table = table.table;
    step.ofm = table.ofm;
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i));
    --i;
  }
}

}  // namespace runnel::npu
