#include "compiler/write/tflite/arena.h"

#include <algorithm>

#include "inference/plan/arena_planner.h"

namespace runnel::compiler::tflite_source {

std::size_t plan_tensor_arena(Draft& draft) {
  std::vector<ArenaItem> items(draft.tensors.size());
  const auto owner = [&](std::int32_t tensor) -> ArenaItem& {
    const std::int32_t block = draft.tensors[static_cast<std::size_t>(tensor)].block;
    return items[static_cast<std::size_t>(block < 0 ? tensor : block)];
  };
  const auto use = [&](std::int32_t tensor, std::int32_t step) {
    if (draft.tensors[static_cast<std::size_t>(tensor)].tensor.data) return;
    ArenaItem& item = owner(tensor);
    item.first = item.alive() ? std::min(item.first, step) : step;
    item.last = std::max(item.last, step);
  };
  for (std::size_t t = 0; t < items.size(); ++t) {
    const DraftTensor& tensor = draft.tensors[t];
    if (tensor.tensor.data || tensor.block >= 0) continue;
    const std::size_t bytes = size_of(tensor.tensor.dtype) * element_count(tensor.tensor.shape);
    items[t].bytes = std::max<std::size_t>((bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment,
                                           kArenaAlignment);
  }
  const auto end = static_cast<std::int32_t>(draft.operators.size()) + 1;
  for (const std::int32_t tensor : draft.inputs) use(tensor, 0);
  for (const std::int32_t tensor : draft.outputs) use(tensor, end);
  for (std::int32_t step = 1; step < end; ++step) {
    const DraftOperator& op = draft.operators[static_cast<std::size_t>(step) - 1];
    for (const auto* const tensors : {&op.inputs, &op.outputs}) {
      for (const std::int32_t tensor : *tensors) {
        if (tensor >= 0) use(tensor, step);
      }
    }
  }
  std::vector<std::int32_t> work(kArenaWork * items.size());
  const std::size_t bytes = plan_arena(items, kArenaAlignment, work);
  for (std::size_t t = 0; t < items.size(); ++t) {
    DraftTensor& tensor = draft.tensors[t];
    if (!tensor.tensor.data)
      tensor.arena =
          static_cast<std::int64_t>(owner(static_cast<std::int32_t>(t)).offset + tensor.block_offset);
  }
  return bytes;
}

}  // namespace runnel::compiler::tflite_source
