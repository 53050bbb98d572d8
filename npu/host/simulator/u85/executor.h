// Executor: computes operations of an Ethos-U85 on whole maps. Blocks, waits and time are ignored.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/cpu.h"
#include "npu/host/simulator/decoded_weights.h"
#include "npu/host/simulator/kernel_pairs.h"
#include "npu/host/simulator/u85/fault.h"
#include "npu/host/simulator/u85/output_stage.h"
#include "npu/host/weights.h"
#include "npu/port.h"

namespace runnel::npu::u85 {

// Whether an operation can be executed at all; together with check_bounds and Chains::follow everything that
// execute() needs. Errors: invalid_data, or unsupported for what no public document specifies.
Status check_executable(const Operation& op, const Accelerator& accelerator) noexcept;

// The memory of a run.
struct Memories {
  std::span<const std::byte> constants;
  std::array<std::span<std::byte>, kRegions> regions;

  [[nodiscard]] std::span<const std::byte> read(std::uint8_t region) const noexcept {
    return region == kConstants ? constants : std::span<const std::byte>(regions[region]);
  }
};

class Executor {
 public:
  // For a stream of that many operations. `isa`, `fault`: as SimulatorOptions.
  Executor(const Accelerator& accelerator, std::size_t operations, Isa isa, Fault fault)
      : accelerator_(accelerator),
        isa_(isa),
        fault_(fault),
        weights_(operations),
        kernels_(operations),
        pairs_(operations),
        tables_(kTableMemory) {}

  // Computes one operation of a run and writes its output. Errors: invalid_data for weights that cannot be
  // decoded and for indices past their limit; nothing is written then.
  Status execute(const Operation& op, const Memories& memory);
  // The output of `op`, which is the last operation executed, [height][width][depth] before transposition;
  // empty if it had none.
  [[nodiscard]] std::span<const std::int64_t> result(const Operation& op);
  // Of a convolution with streams (Simulator::weights_of).
  Result<const std::vector<std::int16_t>*> weights_of(const Operation& op, const Memories& memory) {
    memory_ = &memory;
    return weights_of(op);
  }
  [[nodiscard]] std::vector<ScaleRecord> scales_of(const Operation& op, const Memories& memory) const;
  // Zeros the memory of tables.
  void reset() { tables_.assign(kTableMemory, std::byte{0}); }

 private:
  using Values = std::vector<std::int64_t>;

  void read(const FeatureMap& map, Values& values) const;
  // The same less the zero point.
  void read_operand(const FeatureMap& map, Values& values) const;
  void write(const Operation& op);
  // Adds what accumulators start from to the sums in result_, of wrapped arithmetic, and keeps them for later
  // operations. False without output.
  bool accumulate(const Operation& op);
  [[nodiscard]] std::vector<ScaleRecord> records(const Operation& op) const { return records(op, *memory_); }
  static std::vector<ScaleRecord> records(const Operation& op, const Memories& memory);
  void scale(const Operation& op);

  Status convolution(const Operation& op);
  Result<const std::vector<std::int16_t>*> weights_of(const Operation& op);
  Result<std::vector<std::int16_t>> second_weights(const Operation& op);
  // On a kernel of this processor; false where none gives the same bytes.
  bool convolution_on_kernel(const Operation& op, const std::vector<std::int16_t>& weights);
  KernelConvolution* kernel_of(const Operation& op, const std::vector<std::int16_t>& weights,
                               const KernelOutput& stored);
  void pool(const Operation& op);
  void window_pool(const Operation& op);
  void elementwise(const Operation& op);
  // On a kernel of this processor; false where none gives the same bytes.
  bool pairs_on_kernel(const Operation& op, const OutputStage& output);
  // Stores what a kernel computed: as it is, or through result_.
  void store(const Operation& op, const OutputStage& output, const KernelOutput& kernel,
             std::span<std::byte> results);
  void resize(const Operation& op);
  Status copy(const Operation& op);

  const Accelerator& accelerator_;
  Isa isa_;
  Fault fault_;
  const Memories* memory_ = nullptr;            // of the operation at hand
  std::vector<DecodedWeights> weights_;         // by operation
  std::vector<OnKernel> kernels_;               // by operation; of those with weights in streams
  std::unique_ptr<KernelConvolution> product_;  // of those without
  std::vector<OnPairs> pairs_;                  // by operation
  // Where the output of the operation at hand is still in a kernel, and result_ is empty.
  std::span<const std::byte> unread_;
  std::vector<std::byte> tables_;
  std::array<Values, kChains> chained_;
  Values accumulators_;
  Values first_, second_, result_;    // maps of the operation at hand
  std::vector<std::int64_t> counts_;  // valid elements of each window of an average
  std::vector<std::int32_t> narrow_;  // the input of a convolution
};

}  // namespace runnel::npu::u85
