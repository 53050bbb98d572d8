#include "npu/host/cycles/u85/output_stage.h"

#include <algorithm>

namespace runnel::npu::u85 {
namespace {

constexpr double kDivision = 33;

bool permutes(const Operation& op) noexcept {
  return op.u85.transpose != Transpose::hwc || op.u85.reversed != Axis::none;
}
// Values are only limited, more than by their type.
bool only_clips(const Operation& op) noexcept {
  if (!op.u85.clips || op.ofm.element > 2 || op.ifm.element != op.ofm.element) return false;
  const Scale& scale = op.u85.ofm_scale;
  if (op.has_scales || scale.multiplier != std::uint64_t{1} << scale.shift) return false;
  const std::int32_t low = op.ofm.is_signed ? -(1 << (8 * op.ofm.element - 1)) : 0,
                     high = low + (1 << 8 * op.ofm.element) - 1;
  return op.activation.low > low || op.activation.high < high;
}
bool exchanges_rows(const Operation& op) noexcept {
  const Transpose transpose = op.u85.transpose;
  return transpose == Transpose::whc || transpose == Transpose::wch || transpose == Transpose::cwh ||
         op.u85.reversed == Axis::width;
}

// Bytes of a value before its table.
std::int32_t element_before_table(const Operation& op) noexcept {
  switch (op.u85.function) {
    case Function::none:
      return op.ofm.element;
    case Function::u8_u8:
    case Function::s8_s8:
    case Function::s8_s16:
    case Function::s8_s32:
      return 1;
    default:
      return 2;
  }
}

OutputKind kind_of(const Operation& op) noexcept {
  const bool moves = op.kind == OperationKind::pool && static_cast<PoolMode>(op.mode) == PoolMode::none;
  const std::int32_t in = moves ? op.ifm2.element : op.ifm.element, out = element_before_table(op);
  const bool inside = op.ofm.storage == Storage::chained || op.u85.function != Function::none;
  if (inside && (out == 4 || in == 4)) return OutputKind::chained32;
  if (out == 8) return OutputKind::bits64;
  if (op.kind == OperationKind::elementwise && op.has_ifm2 && in == 4)
    return out == 4 ? OutputKind::binary32 : OutputKind::chained32;
  return out == 4 ? OutputKind::bits32 : out == 2 ? OutputKind::bits16 : OutputKind::bits8;
}

double cycles_of(const Operation& op, const Performance& performance) noexcept {
  const double step = performance.activation[exchanges_rows(op) ? 1 : 0];
  if (only_activates(op)) return step;
  const double fused = op.u85.function != Function::none || permutes(op) ? step : 0;
  if (op.kind == OperationKind::elementwise && static_cast<ElementwiseMode>(op.mode) == ElementwiseMode::div)
    return kDivision;
  return std::max<double>(performance.output[static_cast<int>(kind_of(op))], fused);
}

}  // namespace

bool only_activates(const Operation& op) noexcept {
  if (op.kind != OperationKind::pool) return false;
  const auto mode = static_cast<PoolMode>(op.mode);
  const bool single =
      mode == PoolMode::none || (mode == PoolMode::sum && op.kernel.height == 1 && op.kernel.width == 1);
  return single && (op.u85.function != Function::none || permutes(op) || only_clips(op));
}

double output_cycles(const Operation& first, std::span<const Operation* const> chained,
                     const Performance& performance) noexcept {
  double sum = cycles_of(first, performance);
  for (const Operation* op : chained) sum += cycles_of(*op, performance);
  return sum;
}

}  // namespace runnel::npu::u85
