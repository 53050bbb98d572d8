#include "npu/host/encoder/block_choice.h"

#include <utility>

#include "npu/host/cycles/block_config.h"

namespace runnel::npu {
namespace {

constexpr std::int32_t kMaxExchanged = 64;  // rows of a kernel that every operation takes

bool by_strides(const FeatureMap& map) noexcept {
  return map.width0 == 0 || (map.layout == Layout::nhwc && map.width0 >= map.width &&
                             map.height0 >= map.height && map.height1 >= map.height);
}
void exchange(FeatureMap& map) noexcept {
  if (map.width0 == 0) return;
  std::swap(map.height, map.width);
  std::swap(map.stride_y, map.stride_x);
  map.height0 = map.height1 = map.height;
  map.width0 = map.width;
}

}  // namespace

bool can_exchange(const Operation& op) noexcept {
  // Positions along columns stay those.
  if (op.kind == OperationKind::pool && op.mode >= static_cast<std::uint8_t>(u85::PoolMode::argmax_x))
    return false;
  const Kernel& k = op.kernel;
  if (op.kind == OperationKind::resize || op.u85.second_weights || op.u85.transpose != u85::Transpose::hwc ||
      op.u85.reversed != u85::Axis::none)
    return false;
  if (!op.computes() || op.upscale != Upscale::none || k.height > kMaxExchanged || k.width > kMaxExchanged)
    return false;
  return by_strides(op.ifm) && by_strides(op.ofm) && (!op.has_ifm2 || op.scalar || by_strides(op.ifm2));
}

void exchange(Operation& op) noexcept {
  for (FeatureMap* map : {&op.ifm, &op.ifm2, &op.ofm}) exchange(*map);
  Kernel& k = op.kernel;
  std::swap(k.height, k.width);
  std::swap(k.stride_y, k.stride_x);
  std::swap(k.dilation_y, k.dilation_x);
  std::swap(k.top, k.left);
  std::swap(k.bottom, k.right);
  for (std::uint8_t* axes : {&op.broadcast, &op.u85.first_broadcast})
    *axes = static_cast<std::uint8_t>((*axes & ~3) | (*axes & 1) << 1 | (*axes & 2) >> 1);
}

std::vector<std::int16_t> exchange_weights(const Operation& op, const std::vector<std::int16_t>& weights) {
  const auto rows = static_cast<std::size_t>(op.kernel.taps_y()),
             columns = static_cast<std::size_t>(op.kernel.taps_x());
  const std::size_t depth = op.kind == OperationKind::depthwise ? 1 : static_cast<std::size_t>(op.ifm.depth),
                    each = rows * columns * depth;
  std::vector<std::int16_t> out(weights.size());
  for (std::size_t first = 0; first < weights.size(); first += each) {
    for (std::size_t y = 0; y < rows; ++y) {
      for (std::size_t x = 0; x < columns; ++x) {
        for (std::size_t c = 0; c < depth; ++c)
          out[first + (x * rows + y) * depth + c] = weights[first + (y * columns + x) * depth + c];
      }
    }
  }
  return out;
}

Status choose_block(Operation& op, const CycleModel& model) {
  op.acc_format = op.ifm.element == 2 && convolves(op) ? 1 : 0;
  Operation best;
  double least = -1;
  Status none;
  // Channels in parallel, or elements of the kernel.
  for (const bool part_kernel : {false, true}) {
    if (part_kernel && op.kind != OperationKind::conv) break;
    op.kernel.part_kernel = part_kernel;
    const auto config = best_block(op, model);
    if (!config.ok()) {
      none = config.status();
      continue;
    }
    set_block(op, *config);
    const double cycles = estimate({&op, 1}, model).total;
    if (least >= 0 && cycles >= least) continue;
    best = op;
    least = cycles;
  }
  if (least < 0) return none;
  op = best;
  return {};
}

}  // namespace runnel::npu
