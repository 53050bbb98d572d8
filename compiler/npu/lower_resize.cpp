// Resizing of rows and columns by a U85: the nearest element, or linear where the CPU's floats are exact.
#include <bit>

#include "compiler/npu/lowering.h"
#include "inference/ops/movement/axis_map.h"

namespace runnel::compiler::ethos_u {
namespace {

constexpr std::int64_t kMaxUnit = 2048, kMaxOffset = 2047, kMaxWhole = 15;
// Weights of two axes and a value of 8 bits stay below the 24 bits of a float.
constexpr std::int64_t kMaxExactUnit = 64;

// Output i reads (i * step + offset) / unit.
Result<npu::u85::ResizeAxis> axis_of(std::int64_t step, std::int64_t offset, std::int64_t unit) {
  if (unit > kMaxUnit || offset > kMaxOffset || offset < -kMaxOffset || step / unit > kMaxWhole)
    return Status(Code::unsupported) << "resizing in steps of " << step << " / " << unit << " from "
                                     << offset;
  return npu::u85::ResizeAxis{static_cast<std::int32_t>(unit), static_cast<std::int32_t>(offset),
                              static_cast<std::int32_t>(step / unit), static_cast<std::int32_t>(step % unit)};
}
// The hardware rounds positions to the nearest one, the CPU down: half a unit less, and a little more.
Result<npu::u85::ResizeAxis> nearest_axis(const ops::AxisMap& map) {
  return axis_of(2 * map.step, 2 * map.shift + 1 - map.unit, 2 * map.unit);
}
Result<npu::u85::ResizeAxis> linear_axis(const ops::AxisMap& map) {
  if (!std::has_single_bit(static_cast<std::uint64_t>(map.unit)) || map.unit > kMaxExactUnit)
    return Status(Code::unsupported) << "linear weights in units of 1/" << map.unit
                                     << ", expected a power of two up to " << kMaxExactUnit;
  return axis_of(map.step, map.shift, map.unit);
}

}  // namespace

Status Lowering::resize(const Node& node) {
  const Operand x = input(node, 0), y = output(node);
  if (x.tensor->dtype != DType::int8 || y.tensor->dtype != DType::int8)
    return refuse() << "values of " << name_of(x.tensor->dtype) << ", expected int8";
  const auto& o = std::get<ResizeOptions>(node.options);
  RUNNEL_ASSIGN(npu::FeatureMap in, spatial(x));
  RUNNEL_ASSIGN(npu::FeatureMap out, spatial(y));
  const auto rows = ops::AxisMap::of(o.coordinates, in.height, out.height),
             columns = ops::AxisMap::of(o.coordinates, in.width, out.width);
  npu::Step step;
  npu::Operation& op = step.op;
  npu::u85::Fields& u85 = op.u85;
  op.product = npu::Product::u85;
  op.kind = npu::OperationKind::resize;
  op.global_scale = true;
  in.zero_point = out.zero_point = 0;
  constexpr int kPosition = 16;  // results lie above as many bits
  const auto identity = [](std::int32_t size) { return size == 1; };
  if (o.mode == ResizeMode::nearest || (identity(in.height) && identity(in.width))) {
    if (!same_scale(*x.tensor, *y.tensor)) return refuse() << "a change of size that changes its scale";
    op.mode = static_cast<std::uint8_t>(npu::u85::ResizeMode::nearest);
    RUNNEL_ASSIGN(u85.rows, nearest_axis(rows));
    RUNNEL_ASSIGN(u85.columns, nearest_axis(columns));
    u85.ofm_scale = {1, kPosition, 0, npu::u85::Rounding::symmetric};
  } else {
    if (x.affine() || y.affine() || node.rounding != kernels::Rounding::half_up)
      return refuse() << "linear in float32, which rounds otherwise than the NPU";
    op.mode = static_cast<std::uint8_t>(npu::u85::ResizeMode::bilinear);
    RUNNEL_ASSIGN(u85.rows, linear_axis(rows));
    RUNNEL_ASSIGN(u85.columns, linear_axis(columns));
    const int shift = kPosition + std::countr_zero(static_cast<std::uint64_t>(rows.unit)) +
                      std::countr_zero(static_cast<std::uint64_t>(columns.unit)) + y.exponent() -
                      x.exponent();
    if (shift < 0 || shift > npu::kMaxShift) return refuse() << "a shift of " << shift;
    u85.ofm_scale = {1, static_cast<std::uint8_t>(shift), 0, npu::u85::Rounding::natural};
  }
  set_limits(op, y, Activation::none);
  op.ifm = in;
  op.ofm = out;
  step.ifm = x.place.buffer;
  step.ofm = y.place.buffer;
  program_.add(std::move(step));
  return {};
}

}  // namespace runnel::compiler::ethos_u
