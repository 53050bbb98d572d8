// Sums, differences, products, the larger and the smaller of two.
#include <algorithm>

#include "compiler/npu/lowering.h"
#include "compiler/npu/scales.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler::ethos_u {
namespace {

constexpr int kMaxGap = 15;

npu::ElementwiseMode mode_of(OpCode code) {
  switch (code) {
    case OpCode::add:
      return npu::ElementwiseMode::add;
    case OpCode::sub:
      return npu::ElementwiseMode::sub;
    case OpCode::mul:
      return npu::ElementwiseMode::mul;
    case OpCode::min:
      return npu::ElementwiseMode::min;
    default:
      return npu::ElementwiseMode::max;
  }
}

kernels::Affine affine_of(const Tensor& tensor) {
  return {tensor.dtype, tensor.scales[0], tensor.zero_points.empty() ? 0 : tensor.zero_points[0]};
}

bool covers(const Operand& operand, const Operand& y) {
  return element_count(operand.shape) == element_count(y.shape);
}

}  // namespace

Status Lowering::sum(const Node& node, const Operand& a, const Operand& b, const Operand& y,
                     npu::Operation& op) {
  if (!y.affine()) {
    const int least = std::min(a.exponent(), b.exponent()), first = a.exponent() - least,
              second = b.exponent() - least;
    if (node.arithmetic == Arithmetic::espdl && (first != second || least != y.exponent()))
      return refuse() << "operands that are rounded before their sum";
    if (first > kMaxGap || second > kMaxGap)
      return refuse() << "scales " << std::max(first, second) << " powers of two apart, expected at most "
                      << kMaxGap;
    op.opa_scale = {1u << first, 0};
    op.opb_scale = {1u << second, 0};
    RUNNEL_ASSIGN(op.ofm_scale, scale_of(y.exponent() - least, node.rounding));
    op.rounding = npu::Rounding::natural;
    return {};
  }
  kernels::AffinePairSpec spec;
  spec.op = node.code == OpCode::add ? kernels::AffinePair::add : kernels::AffinePair::sub;
  kernels::set_scales(spec, affine_of(*a.tensor), affine_of(*b.tensor), affine_of(*y.tensor));
  // The operand with the larger scale is multiplied by exactly one half.
  const bool scale_first = a.tensor->scales[0] <= b.tensor->scales[0];
  op.operand_to_scale = scale_first ? 1 : 2;
  RUNNEL_ASSIGN(op.opa_scale, scale_of(scale_first ? spec.a : spec.b, spec.left_shift));
  RUNNEL_ASSIGN(op.ofm_scale, scale_of(spec.y));
  op.rounding = npu::Rounding::tfl;
  return {};
}

// Operands as the operation has them: changed over where op.reversed says so.
Status Lowering::scales(const Node& node, const Operand& a, const Operand& b, const Operand& y,
                        npu::Operation& op) {
  if (node.code == OpCode::add || node.code == OpCode::sub) {
    if (!op.reversed || !y.affine()) return sum(node, a, b, y, op);
    RUNNEL_TRY(sum(node, b, a, y, op));
    op.operand_to_scale = op.operand_to_scale == 1 ? 2 : 1;
    return {};
  }
  if (node.code != OpCode::mul) {
    if (!same_scale(*a.tensor, *y.tensor) || !same_scale(*b.tensor, *y.tensor))
      return refuse() << "operands of different scales";
    op.opa_scale = op.opb_scale = op.ofm_scale = {1, 0};
    return {};
  }
  if (y.affine()) {
    kernels::AffinePairSpec spec;
    spec.op = kernels::AffinePair::mul;
    kernels::set_scales(spec, affine_of(*a.tensor), affine_of(*b.tensor), affine_of(*y.tensor));
    RUNNEL_ASSIGN(op.ofm_scale, scale_of(spec.y));
    op.rounding = npu::Rounding::tfl;
    return {};
  }
  if (node.arithmetic == Arithmetic::espdl && y.tensor->dtype != DType::int8)
    return refuse() << "products of int16 through float32";
  RUNNEL_ASSIGN(op.ofm_scale, scale_of(y.exponent() - a.exponent() - b.exponent(), node.rounding));
  op.rounding = npu::Rounding::natural;
  return {};
}

Status Lowering::binary(const Node& node) {
  Operand a = input(node, 0), b = input(node, 1);
  const Operand y = output(node);
  const DType type = y.tensor->dtype;
  if ((type != DType::int8 && type != DType::int16) || a.tensor->dtype != type || b.tensor->dtype != type) {
    return refuse() << "values of " << name_of(a.tensor->dtype) << " and " << name_of(b.tensor->dtype)
                    << ", expected int8 or int16";
  }
  npu::Step step;
  npu::Operation& op = step.op;
  op.kind = npu::OperationKind::elementwise;
  op.mode = static_cast<std::uint8_t>(mode_of(node.code));
  op.has_ifm2 = true;
  // The second map is the one that may be broadcast.
  if (!covers(a, y)) {
    if (!covers(b, y)) return refuse() << "operands that are both broadcast";
    std::swap(a, b);
    op.reversed = true;
  }
  const auto* options = std::get_if<BinaryOptions>(&node.options);
  set_limits(op, y, options == nullptr ? Activation::none : options->activation);
  RUNNEL_TRY(scales(node, a, b, y, op));
  std::vector<npu::FeatureMap> maps;
  RUNNEL_TRY(flatten({&a, &b, &y}, maps));
  const npu::FeatureMap &first = maps[0], &second = maps[1], &out = maps[2];
  if (first.height != out.height || first.width != out.width || first.depth != out.depth)
    return refuse() << "operands that are both broadcast";
  op.ifm = first;
  op.ifm2 = second;
  op.ofm = out;
  const auto broadcast = [](std::int32_t own, std::int32_t full, int bit) {
    return own == 1 && full != 1 ? 1 << bit : 0;
  };
  op.broadcast = static_cast<std::uint8_t>(broadcast(second.height, out.height, 0) |
                                           broadcast(second.width, out.width, 1) |
                                           broadcast(second.depth, out.depth, 2));
  step.ifm = a.place.buffer;
  step.ifm2 = b.place.buffer;
  step.ofm = y.place.buffer;
  program_.add(std::move(step));
  return {};
}

}  // namespace runnel::compiler::ethos_u
