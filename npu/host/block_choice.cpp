#include "npu/host/block_choice.h"

#include "npu/host/block_config.h"

namespace runnel::npu {

Status choose_block(Operation& op, const CycleModel& model) {
  const bool convolves = op.kind == OperationKind::conv || op.kind == OperationKind::depthwise;
  op.acc_format = op.ifm.element == 2 && convolves ? 1 : 0;
  Operation best;
  double least = -1;
  Status none;
  // Channels side by side, or elements of the kernel.
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
