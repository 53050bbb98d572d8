// Functions of one value: tables of 256 entries, or a change of scale alone.
#include <algorithm>
#include <cstring>

#include "compiler/npu/lowering.h"
#include "compiler/npu/words.h"
#include "compiler/run_whole.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler::ethos_u {
namespace {

// What the CPU makes of each integer of `type`, in order.
Result<std::vector<std::byte>> values_of(const Graph& graph, const Node& node, DType type) {
  const std::int32_t lowest = kernels::lowest(type), count = 2 * -lowest;
  Graph small;
  small.tensors = graph.tensors;
  Node alone = node;
  for (TensorId& id : alone.inputs) {
    if (id < 0 || graph.tensors[static_cast<std::size_t>(id)].data) continue;
    small.tensors[static_cast<std::size_t>(id)].shape = {1, count};
    small.inputs = {id};
  }
  small.outputs = {alone.outputs[0]};
  small.tensors[static_cast<std::size_t>(alone.outputs[0])].shape = {1, count};
  small.nodes.push_back(std::move(alone));
  std::vector<std::byte> all;
  for (std::int32_t value = lowest; value < -lowest; ++value) {
    all.push_back(static_cast<std::byte>(value));
    if (type == DType::int16) all.push_back(static_cast<std::byte>(value >> 8));
  }
  RUNNEL_ASSIGN(const auto results, run_whole(small, {{all}}));
  return results[0][0];
}

}  // namespace

Status Lowering::look_up(const Operand& x, const Operand& y, std::vector<std::byte> table) {
  npu::Step step;
  npu::Operation& op = step.op;
  op.kind = npu::OperationKind::pool;
  op.mode = static_cast<std::uint8_t>(npu::PoolMode::max);
  set_limits(op, y, Activation::none);
  std::vector<npu::FeatureMap> maps;
  RUNNEL_TRY(flatten({&x, &y}, maps));
  op.ifm = maps[0];
  op.ofm = maps[1];
  op.ifm.zero_point = op.ofm.zero_point = 0;
  op.activation.function = table.empty() ? npu::Activation::kNone : npu::Activation::kFirstTable;
  step.table = std::move(table);
  step.ifm = x.place.buffer;
  step.ofm = y.place.buffer;
  program_.add(std::move(step));
  return {};
}

Status Lowering::copy(const Operand& from, const Operand& to) {
  if (size_of(from.tensor->dtype) > 2)
    return refuse() << "copies values of " << name_of(from.tensor->dtype) << ", expected int8 or int16";
  if (look_up(from, to, {}).ok()) return {};
  return move(from, to);
}

Status Lowering::table(const Node& node) {
  const Operand x = input(node, 0), y = output(node);
  const DType type = x.tensor->dtype;
  if ((type != DType::int8 && type != DType::int16) || y.tensor->dtype != type)
    return refuse() << "values of " << name_of(type) << " and " << name_of(y.tensor->dtype)
                    << ", expected int8 or int16 for both";
  RUNNEL_ASSIGN(std::vector<std::byte> values, values_of(graph_, node, type));
  if (type == DType::int8) return look_up(x, y, std::move(values));
  // Of int16 the table has segments.
  auto table = table_of_segments([&](std::int16_t value) {
    std::int16_t result = 0;
    std::memcpy(&result, values.data() + 2 * (std::ptrdiff_t{value} + 32768), sizeof result);
    return result;
  });
  if (!table) return refuse() << "a function of int16 that is not linear in segments of 128";
  return look_up(x, y, *std::move(table));
}

Status Lowering::requantize(const Node& node) {
  const Operand x = input(node, 0), y = output(node);
  const auto fits = [](DType type) { return type == DType::int8 || type == DType::int16; };
  if (!fits(x.tensor->dtype) || !fits(y.tensor->dtype))
    return refuse() << "values of " << name_of(x.tensor->dtype) << ", expected int8 or int16";
  npu::Step step;
  npu::Operation& op = step.op;
  op.kind = npu::OperationKind::pool;
  op.mode = static_cast<std::uint8_t>(npu::PoolMode::average);
  op.global_scale = true;
  set_limits(op, y, Activation::none);
  if (x.affine() != y.affine()) return table(node);
  if (y.affine()) {
    const kernels::Multiplier multiplier = kernels::multiplier_of(static_cast<double>(x.tensor->scales[0]) /
                                                                  static_cast<double>(y.tensor->scales[0]));
    const int shift = npu::kMultiplierBits + multiplier.shift;
    if (shift < 0 || shift > npu::kMaxShift) return table(node);
    op.ofm_scale = {static_cast<std::uint32_t>(multiplier.value), static_cast<std::uint8_t>(shift)};
    op.rounding = npu::Rounding::tfl;
  } else {
    const int shift = y.exponent() - x.exponent();
    // Where ties would go elsewhere a table knows better.
    if ((shift > 0 && node.rounding != kernels::Rounding::half_up) || shift < -npu::kMultiplierBits)
      return table(node);
    op.ofm_scale = shift <= 0 ? npu::Scale{1u << -shift, 0}
                              : npu::Scale{1, static_cast<std::uint8_t>(std::min(shift, npu::kMaxShift))};
    op.rounding = npu::Rounding::natural;
  }
  std::vector<npu::FeatureMap> maps;
  RUNNEL_TRY(flatten({&x, &y}, maps));
  op.ifm = maps[0];
  op.ofm = maps[1];
  step.ifm = x.place.buffer;
  step.ofm = y.place.buffer;
  program_.add(std::move(step));
  return {};
}

}  // namespace runnel::compiler::ethos_u
