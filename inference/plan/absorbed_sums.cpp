#include "inference/plan/absorbed_sums.h"

#include <algorithm>

namespace runnel {
namespace {

bool is_sum_behind(const Prepared& prepared, int i, std::span<const std::int64_t> readers) noexcept {
  const Model& model = prepared.model();
  const fb::Operator &op = model.op(i), &sum = model.op(i + 1);
  if (code_of(sum) != OpCode::add || sum.inputs()->size() != 2 || sum.options_as_BinaryOptions() == nullptr)
    return false;
  const std::int32_t own = op.outputs()->Get(0), a = sum.inputs()->Get(0), b = sum.inputs()->Get(1),
                     y = sum.outputs()->Get(0);
  if ((a == own) == (b == own)) return false;
  const std::int32_t addend = a == own ? b : a;
  for (const std::int32_t tensor : {own, addend, y}) {
    const TensorView view = model.tensor(tensor);
    if (view.constant || view.dtype != DType::int8 || !view.scales.empty() ||
        view.exponent() != model.tensor(y).exponent() || prepared.shape(tensor) != prepared.shape(y) ||
        prepared.placement(tensor).time_axis != prepared.placement(y).time_axis) {
      return false;
    }
  }
  const Placement& at = prepared.placement(own);
  if (at.capacity > 0 || at.fill || at.delay != prepared.placement(y).delay) return false;
  return readers[static_cast<std::size_t>(own)] == 1;
}

}  // namespace

void find_absorbed_sums(const Prepared& prepared, OperatorTable table, std::span<std::int64_t> readers,
                        std::span<std::int32_t> absorbed_by) noexcept {
  const Model& model = prepared.model();
  std::fill(absorbed_by.begin(), absorbed_by.end(), -1);
  std::fill(readers.begin(), readers.end(), 0);
  for (int i = 0; i < model.operator_count(); ++i) {
    for (const std::int32_t input : *model.op(i).inputs()) {
      if (input >= 0) ++readers[static_cast<std::size_t>(input)];
    }
  }
  for (const std::int32_t output : model.outputs()) ++readers[static_cast<std::size_t>(output)];
  for (int i = 0; i + 1 < model.operator_count(); ++i) {
    const bool able = find_operator(table, model.op(i))->absorbs_sum;
    if (able && is_sum_behind(prepared, i, readers)) absorbed_by[static_cast<std::size_t>(i) + 1] = i;
  }
}

}  // namespace runnel
