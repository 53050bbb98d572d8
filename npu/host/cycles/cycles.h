// Cycle model of Ethos-U55 and U65, as in Arm's compiler: either the arithmetic or one of the memories
// limits an operation. The figures equal that compiler's for the same blocks; they are estimates, not
// measured on silicon.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npu/host/cycles/estimate.h"
#include "npu/host/cycles/memory_system.h"
#include "npu/operation.h"

namespace runnel::npu {

// Elements that an operation moves. Weights and scales: of the uncompressed tensors, including repeated reads
// for each block.
struct ElementAccess {
  double ifm = 0, ifm2 = 0, ofm = 0, weights = 0, scales = 0;
};

class CycleModel {
 public:
  // Names of the system and mode: see memory_system.h. Errors: unsupported for the U85.
  static Result<CycleModel> make(const Accelerator& accelerator, const SystemConfiguration& system,
                                 const MemoryMode& mode);

  // Cycles of the arithmetic of one computing operation, without transfers. A planned operation, not yet in a
  // stream, needs: kind, mode; shape, element, layout and region of ifm, ofm and ifm2 (has_ifm2, scalar; a
  // scalar has shape 1 x 1 x 1); kernel with part_kernel; upscale; block_height, _width, _depth; acc_format;
  // activation; has_scales and weight_region (the region that scales are read from).
  [[nodiscard]] std::int64_t cycles(const Operation& op) const noexcept;
  [[nodiscard]] std::int64_t macs(const Operation& op) const noexcept;
  [[nodiscard]] ElementAccess access(const Operation& op) const noexcept;

  [[nodiscard]] MemoryArea area_of(std::uint8_t region) const noexcept { return memories_.area_of(region); }
  [[nodiscard]] double bytes_per_cycle(MemoryArea area) const noexcept {
    return memories_.bytes_per_cycle(area);
  }
  // Cycles of a copy.
  [[nodiscard]] double copy_cycles(MemoryArea from, MemoryArea to, double bytes) const noexcept;
  // `bytes` plus the waste of short bursts for this map's blocks.
  [[nodiscard]] double with_bursts(const FeatureMap& map, const Operation& op, bool read, MemoryArea area,
                                   double bytes) const noexcept;

  [[nodiscard]] const Accelerator& accelerator() const noexcept { return *accelerator_; }
  [[nodiscard]] const SystemConfiguration& system() const noexcept { return memories_.system(); }
  [[nodiscard]] const MemoryMode& mode() const noexcept { return memories_.mode(); }

 private:
  CycleModel(const Accelerator& accelerator, const SystemConfiguration& system,
             const MemoryMode& mode) noexcept
      : accelerator_(&accelerator), memories_(accelerator.product, system, mode) {}
  [[nodiscard]] double convolution(const Operation& op, MemoryArea scales) const noexcept;
  [[nodiscard]] double output_cycles(const Operation& op) const noexcept;
  [[nodiscard]] double block_memory_cycles(const Operation& op) const noexcept;

  const Accelerator* accelerator_;
  Memories memories_;
};

// Estimate for all operations of one run, in order, from a stream or planned (then with the fields for
// `cycles`, index, weights and scales with base and length, ofm.base, copies). Weights outside region 0 count
// as copied there, hidden under the previous operation as far as that is long enough. Without `uncut`, the
// sum of the streams of a cut convolution is used, which differs by a few units of 16 bytes.
Estimate estimate(std::span<const Operation> operations, const CycleModel& model,
                  std::span<const UncutWeights> uncut = {});

}  // namespace runnel::npu
