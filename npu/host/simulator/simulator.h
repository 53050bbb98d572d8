// Simulator: computes what an Ethos-U would compute, byte for byte, operation by operation. It ignores time,
// blocks and waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/cpu.h"
#include "npu/host/segment.h"
#include "npu/host/simulator/decoded_weights.h"
#include "npu/host/simulator/kernel_convolution.h"
#include "npu/host/simulator/kernel_pairs.h"
#include "npu/host/simulator/u85/executor.h"
#include "npu/host/weights.h"
#include "npu/operation.h"

namespace runnel::npu {

class OutputStage;

struct SimulatorOptions {
  std::uint64_t work = std::uint64_t{1} << 36;  // limit of one run (bounds.h); streams with more are refused
  DeviceDescription device{};                   // preparing a model made for another one fails
  // Kernels of at most this level compute what they compute exactly; reference: plain loops, the definition.
  Isa isa = best_isa();
  u85::Fault fault = u85::Fault::none;  // for tests: a rule that is broken
};

// Called after each computing operation with its output, [height][width][depth] as stored; of a U85 before
// transposition, elements of 64 bits saturated, and empty for an operation without output.
using Observer = std::function<void(const Operation& op, std::span<const std::int32_t> output)>;

class Simulator {
 public:
  // The segment's bytes must outlive the simulator. Reads the whole stream and refuses it if an address is
  // outside its region or a constant would be written. Errors: invalid_data; unsupported for operations that
  // no public document specifies.
  static Result<std::unique_ptr<Simulator>> make(const Segment& segment,
                                                 const SimulatorOptions& options = {});

  // Memory to write inputs to before a run and read outputs from after it. The scratch memory keeps its
  // bytes between runs.
  [[nodiscard]] std::span<std::byte> input(std::size_t index) noexcept {
    return port(segment_.inputs[index]);
  }
  [[nodiscard]] std::span<std::byte> output(std::size_t index) noexcept {
    return port(segment_.outputs[index]);
  }
  // A whole region; not for constants.
  [[nodiscard]] std::span<std::byte> region(std::uint8_t index) noexcept { return regions_[index]; }
  // Makes a region, from kFirstOwn on, the caller's memory, of equal size and valid during runs: a tensor
  // used in place.
  void bind(std::uint8_t index, std::span<std::byte> memory) noexcept { regions_[index] = memory; }

  // Errors: invalid_data naming the operation whose weights cannot be decoded; later operations
  // are not computed.
  Status run(const Observer& observer = {});
  // Zeros all memory and sets data kept between runs to its initial values.
  void reset();

  // What a convolution multiplies and scales with, from its streams as they are in memory now: weights as
  // [out][ky][kx][in] (in 1 for depthwise), one record for each output channel, with the operation's scale
  // where one holds for all. From an observer: of the operation that just ran. Errors: invalid_data for
  // streams that cannot be decoded; unsupported without such streams.
  Result<const std::vector<std::int16_t>*> weights_of(const Operation& op);
  [[nodiscard]] std::vector<ScaleRecord> scales_of(const Operation& op) const;

  [[nodiscard]] const Segment& segment() const noexcept { return segment_; }
  [[nodiscard]] const std::vector<Operation>& operations() const noexcept { return operations_; }
  [[nodiscard]] std::uint64_t work() const noexcept { return work_; }

 private:
  explicit Simulator(const Segment& segment) : segment_(segment) {}
  std::span<std::byte> port(const Port& port) noexcept {
    return regions_[port.region].subspan(port.offset, port.bytes);
  }
  [[nodiscard]] std::span<const std::byte> memory(std::uint8_t region) const noexcept;
  Status prepare(const SimulatorOptions& options);
  Status check(const Operation& op) const;
  Status check_maps(const Operation& op) const;
  Status check_first_generations(const Operation& op) const;
  Status execute(const Operation& op);
  Status run_u85(const Observer& observer);
  Status convolution(const Operation& op);
  KernelConvolution* kernel_of(const Operation& op, const std::vector<std::int16_t>& weights,
                               const std::vector<ScaleRecord>& scales, const OutputStage& output);
  void pool(const Operation& op);
  void elementwise(const Operation& op);
  bool pairs_on_kernel(const Operation& op, const OutputStage& output);
  void copy(const Dma& dma);

  Segment segment_;
  std::vector<Operation> operations_;
  std::uint64_t work_ = 0;
  std::array<std::vector<std::byte>, kRegions> memories_;  // owned; without constants
  std::array<std::span<std::byte>, kRegions> regions_;
  std::vector<std::byte> internal_;
  std::optional<u85::Executor> u85_;     // executes everything of a U85
  std::vector<DecodedWeights> weights_;  // by operation
  std::vector<OnKernel> kernels_;        // by operation
  std::vector<OnPairs> pairs_;           // by operation
  Isa isa_ = Isa::reference;
  bool observed_ = false;
  u85::Fault fault_ = u85::Fault::none;
  std::vector<std::int32_t> first_, second_, result_;  // maps of the operation at hand
};

}  // namespace runnel::npu
