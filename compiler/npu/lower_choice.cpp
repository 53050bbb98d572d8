// The largest or smallest of an axis, and where the largest is: pooling of a U85 along columns.
#include <algorithm>

#include "compiler/npu/lowering.h"

namespace runnel::compiler::ethos_u {
namespace {

constexpr std::int32_t kMaxPositions = 32768, kMaxColumns = 65536;

// One output for all columns.
void pool_columns(npu::Step& step, const npu::FeatureMap& in, npu::FeatureMap out, npu::u85::PoolMode mode) {
  npu::Operation& op = step.op;
  op.product = npu::Product::u85;
  op.kind = npu::OperationKind::pool;
  op.mode = static_cast<std::uint8_t>(mode);
  op.kernel.width = in.width;
  op.global_scale = true;
  op.ifm = in;
  op.ofm = out;
}

}  // namespace

Result<npu::FeatureMap> Lowering::along_columns(const Operand& operand, std::size_t axis) {
  // Outer and inner axes that lie after each other, or are missing.
  Operand map{operand.tensor, operand.place, {1, operand.shape[axis], 1}};
  const auto element = static_cast<std::int64_t>(size_of(operand.tensor->dtype));
  std::int64_t inner = element, outer = 0;
  for (std::size_t i = operand.shape.size(); i-- > 0;) {
    const std::int32_t size = operand.shape[i];
    if (i == axis || size == 1) continue;
    std::int32_t& all = map.shape[i > axis ? 2 : 0];
    std::int64_t& next = i > axis ? inner : outer;
    if (next != 0 && operand.place.strides[i] != next) return refuse() << "an axis between others with gaps";
    if (i < axis && next == 0) map.place.strides[0] = operand.place.strides[i];
    all *= size;
    next = operand.place.strides[i] * size;
  }
  const std::int64_t rows = map.shape[0] == 1 ? element : map.place.strides[0];
  map.place.strides = {rows, operand.place.strides[axis], element};
  return spatial(map);
}

Status Lowering::arg_max(const Node& node) {
  const Operand x = input(node, 0), y = output(node);
  if (x.tensor->dtype != DType::int8 || y.tensor->dtype != DType::int32)
    return refuse() << "positions of " << name_of(x.tensor->dtype) << " as " << name_of(y.tensor->dtype)
                    << ", expected int8 as int32";
  const int given = std::get<AxisOptions>(node.options).axis, rank = static_cast<int>(x.shape.size());
  const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
  if (x.shape[axis] > kMaxPositions)
    return refuse() << x.shape[axis] << " positions, expected at most " << kMaxPositions;
  RUNNEL_ASSIGN(npu::FeatureMap in, along_columns(x, axis));
  RUNNEL_ASSIGN(npu::FeatureMap out, along_columns(y, axis));
  in.zero_point = 0;
  npu::Step step;
  pool_columns(step, in, out, npu::u85::PoolMode::argmax_x);
  // The position is above the value.
  step.op.u85.ofm_scale = {1, 16, 0, npu::u85::Rounding::to_lower};
  step.op.u85.clips = false;
  step.ifm = x.place.buffer;
  step.ofm = y.place.buffer;
  program_.add(std::move(step));
  return {};
}

Status Lowering::extreme(const Node& node) {
  const Operand x = input(node, 0), y = output(node);
  if (x.tensor->dtype != DType::int8 || node.arithmetic == Arithmetic::windows)
    return refuse() << "an extreme of " << name_of(x.tensor->dtype) << ", or over windows of a stream";
  if (!same_scale(*x.tensor, *y.tensor)) return refuse() << "an extreme that changes its scale";
  // One axis, or several in sequence that are one.
  const auto& axes = std::get<ReduceOptions>(node.options).axes;
  const auto summed = [&](std::size_t axis) { return std::count(axes.begin(), axes.end(), axis) > 0; };
  Operand joined{x.tensor, {x.place.buffer, x.place.offset, {}}, {}};
  std::size_t axis = 0;
  bool found = false;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    const bool follows = i > 0 && found && summed(i) && summed(i - 1);
    if (summed(i) && found && !follows) return refuse() << "an extreme over axes that are not neighbours";
    if (!follows) {
      joined.shape.push_back(x.shape[i]);
      joined.place.strides.push_back(x.place.strides[i]);
      if (summed(i)) axis = joined.shape.size() - 1;
      found = found || summed(i);
      continue;
    }
    if (joined.place.strides.back() != x.shape[i] * x.place.strides[i])
      return refuse() << "an extreme over axes with gaps";
    joined.shape.back() *= x.shape[i];
    joined.place.strides.back() = x.place.strides[i];
  }
  if (!found) return copy(x, y);
  if (joined.shape[axis] > kMaxColumns)
    return refuse() << "an extreme of " << joined.shape[axis] << " values, expected at most " << kMaxColumns;
  Operand result{y.tensor, y.place, joined.shape};
  result.shape[axis] = 1;
  if (element_count(result.shape) != element_count(y.shape)) return refuse() << "a result of another size";
  // The output lies without gaps, whatever its axes are.
  const std::vector<std::int64_t> dense = dense_strides(y.shape, 1);
  for (std::size_t i = 0; i < dense.size(); ++i) {
    if (y.shape[i] != 1 && y.place.strides[i] != dense[i]) return refuse() << "a result with gaps";
  }
  result.place.strides = dense_strides(result.shape, 1);
  RUNNEL_ASSIGN(npu::FeatureMap in, along_columns(joined, axis));
  RUNNEL_ASSIGN(npu::FeatureMap out, along_columns(result, axis));
  in.zero_point = out.zero_point = 0;
  npu::Step step;
  pool_columns(step, in, out,
               node.code == OpCode::reduce_max ? npu::u85::PoolMode::max : npu::u85::PoolMode::min);
  step.op.u85.ofm_scale = {1, 0, 0, npu::u85::Rounding::natural};
  set_limits(step.op, y, Activation::none);
  step.ifm = x.place.buffer;
  step.ofm = y.place.buffer;
  program_.add(std::move(step));
  return {};
}

}  // namespace runnel::compiler::ethos_u
