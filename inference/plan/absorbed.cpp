#include "inference/plan/absorbed.h"

#include <algorithm>

namespace runnel {
namespace {

// Of operators that have one of element-wise shape: all their tensors have the shape and the time of y.
bool alike(const Prepared& prepared, int tensor, int y) noexcept {
  return !prepared.model().tensor(tensor).constant && prepared.shape(tensor) == prepared.shape(y) &&
         prepared.placement(tensor).time_axis == prepared.placement(y).time_axis;
}

bool is_sum(const Prepared& prepared, const fb::Operator& next, int own) noexcept {
  const Model& model = prepared.model();
  if (code_of(next) != OpCode::add || next.inputs()->size() != 2 ||
      next.options_as_BinaryOptions() == nullptr)
    return false;
  const std::int32_t a = next.inputs()->Get(0), b = next.inputs()->Get(1), y = next.outputs()->Get(0);
  if ((a == own) == (b == own)) return false;
  for (const std::int32_t tensor : {a, b, y}) {
    const TensorView view = model.tensor(tensor);
    if (view.dtype != DType::int8 || !view.scales.empty() || view.exponent() != model.tensor(y).exponent() ||
        !alike(prepared, tensor, y)) {
      return false;
    }
  }
  return true;
}

bool is_clip(const Prepared& prepared, const fb::Operator& next, int own) noexcept {
  const Model& model = prepared.model();
  if (code_of(next) != OpCode::clip && code_of(next) != OpCode::relu) return false;
  const std::int32_t y = next.outputs()->Get(0);
  return next.inputs()->Get(0) == own && model.tensor(own).dtype == DType::float32 &&
         model.tensor(y).dtype == DType::float32 && alike(prepared, own, y);
}

bool can_be_absorbed(const Prepared& prepared, int i, std::span<const std::int64_t> readers) noexcept {
  const fb::Operator &op = prepared.model().op(i), &next = prepared.model().op(i + 1);
  const std::int32_t own = op.outputs()->Get(0);
  if (readers[static_cast<std::size_t>(own)] != 1) return false;
  if (!is_sum(prepared, next, own) && !is_clip(prepared, next, own)) return false;
  const Placement& at = prepared.placement(own);
  return at.capacity == 0 && !at.fill && at.delay == prepared.placement(next.outputs()->Get(0)).delay;
}

}  // namespace

void find_absorbed(const Prepared& prepared, OperatorTable table, std::span<std::int64_t> readers,
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
    const bool able = find_operator(table, model.op(i))->absorbs;
    if (able && can_be_absorbed(prepared, i, readers)) absorbed_by[static_cast<std::size_t>(i) + 1] = i;
  }
}

Absorbed absorbed_as(const Model& model, int next) noexcept {
  const fb::Operator& op = model.op(next);
  Absorbed absorbed;
  absorbed.output = op.outputs()->Get(0);
  if (code_of(op) == OpCode::add) {
    const std::int32_t own = model.op(next - 1).outputs()->Get(0), first = op.inputs()->Get(0);
    absorbed.kind = Absorbed::Kind::sum;
    absorbed.addend = first == own ? op.inputs()->Get(1) : first;
    absorbed.activation = native(op.options_as_BinaryOptions()->activation());
  } else {
    absorbed.kind = Absorbed::Kind::clip;
    const fb::ClipOptions* const limits = op.options_as_ClipOptions();
    absorbed.low = limits == nullptr ? 0 : limits->low_value();
    if (limits != nullptr) absorbed.high = limits->high_value();
  }
  return absorbed;
}

}  // namespace runnel
