// Cycle model of the Ethos-U85, as in Arm's compiler (Regor, ethos-u-vela 4.4): either the arithmetic or one
// of the memories limits a layer. The figures equal that compiler's for the same blocks; they are estimates,
// not measured on silicon.
#pragma once

#include <span>

#include "npu/host/cycles/estimate.h"
#include "npu/host/cycles/u85/arithmetic.h"
#include "npu/host/cycles/u85/layer.h"

namespace runnel::npu::u85 {

class CycleModel {
 public:
  // Names of the system and mode: see memory_system.h; all three must outlive the model. Errors: unsupported
  // for other products; invalid_argument where the mode puts the arena into a memory that cannot be written.
  static Result<CycleModel> make(const Accelerator& accelerator, const SystemConfiguration& system,
                                 const MemoryMode& mode);

  // Cycles of the arithmetic of one operation, with the transfers of its first and last block, without those
  // of weights and tables. A planned operation, not yet in a stream, needs: kind, mode; shape, element,
  // layout, storage and region of ifm, ofm and ifm2 (has_ifm2, scalar, u85.first_scalar; a scalar has shape
  // 1 x 1 x 1); kernel with part_kernel; upscale; block_height, _width, _depth; microblock; acc_format;
  // weight_region (0: weights stay in the constants' memory; else they are copied there first), has_scales;
  // of u85: transpose, reversed, function, start, second_weights, fast_weights, sparse_weights.
  // `chained`: the operations after `op` in its chain.
  [[nodiscard]] double cycles(const Operation& op, std::span<const Operation* const> chained = {},
                              const Part& part = {}) const noexcept {
    return arithmetic_cycles(op, chained, part, *accelerator_, transfers_);
  }
  // All costs of one operation, or of a chain, by itself: also those of memories, of its weights' copy and
  // its table, with nothing before it that would hide them. Needs the fields above, and the lengths of
  // weights[] and scales[0] in bytes (the compiler's measure of a weight format and its compression).
  [[nodiscard]] OperationEstimate cost(std::span<const Operation> chain) const;

  // Cycles of a copy between two memories.
  [[nodiscard]] double copy_cycles(MemoryArea from, MemoryArea to, double bytes) const noexcept {
    return transfers_.copy(from, to, bytes);
  }
  [[nodiscard]] MemoryArea area_of(std::uint8_t region) const noexcept {
    return transfers_.memories().area_of(region);
  }

  [[nodiscard]] const Accelerator& accelerator() const noexcept { return *accelerator_; }
  [[nodiscard]] const Transfers& transfers() const noexcept { return transfers_; }
  [[nodiscard]] const SystemConfiguration& system() const noexcept { return transfers_.memories().system(); }
  [[nodiscard]] const MemoryMode& mode() const noexcept { return transfers_.memories().mode(); }

 private:
  CycleModel(const Accelerator& accelerator, const Memories& memories) noexcept
      : accelerator_(&accelerator), transfers_(accelerator, memories) {}

  const Accelerator* accelerator_;
  Transfers transfers_;
};

// A layer of a run, and the time of its last part under which copies for the next layer can hide.
struct LayerEstimate {
  OperationEstimate cost;
  double slack = 0;
};
// `slack`: of the previous layer; `begins`: there is none before it; `uncut`: bytes of weights and scales as
// one stream, 0 if that is not known.
LayerEstimate estimate_layer(const Layer& layer, const CycleModel& model, double slack, bool begins,
                             double uncut = 0) noexcept;

// Estimate for all operations of one run, in order, from a stream or planned (then with the fields for
// `cost`, index, and the bases and strides of maps, which show the parts of a convolution whose channels are
// cut). `uncut`: in the same order; without it the sum of the streams of a cut convolution is used, which is
// larger, and for few channels much.
Estimate estimate(std::span<const Operation> operations, const CycleModel& model,
                  std::span<const UncutWeights> uncut = {});

}  // namespace runnel::npu::u85
