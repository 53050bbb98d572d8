// Computes what an Ethos-U55 or U65 would compute, byte by byte, one operation after the other. Time, blocks
// and waits have no part in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "npu/host/segment.h"
#include "npu/host/weights.h"
#include "npu/operation.h"

namespace runnel::npu {

struct SimulatorOptions {
  std::uint64_t work = std::uint64_t{1} << 36;  // of one run (bounds.h): a stream with more of it is refused
  DeviceDescription device{};  // models that were made for another one are refused when they are prepared
};

// After each operation that computes something: the operation and its output, [height][width][depth] as it
// was stored.
using Observer = std::function<void(const Operation& op, std::span<const std::int32_t> output)>;

class Simulator {
 public:
  // The segment's bytes must live as long. Reads the whole stream: every address is inside its region, or the
  // stream is refused; constants cannot be written. Errors: invalid_data; unsupported for the U85, and for
  // what no public document says how to compute.
  static Result<std::unique_ptr<Simulator>> make(const Segment& segment,
                                                 const SimulatorOptions& options = {});

  // Where inputs are to be written before a run and outputs found after it. The scratch memory keeps its
  // bytes from run to run.
  [[nodiscard]] std::span<std::byte> input(std::size_t index) noexcept {
    return port(segment_.inputs[index]);
  }
  [[nodiscard]] std::span<std::byte> output(std::size_t index) noexcept {
    return port(segment_.outputs[index]);
  }
  // All of a region, constants excepted.
  [[nodiscard]] std::span<std::byte> region(std::uint8_t index) noexcept { return regions_[index]; }
  // From now on that region is memory of the caller's, as large and alive during runs: a tensor that is read
  // and written where it lies. Of regions from kFirstOwn on.
  void bind(std::uint8_t index, std::span<std::byte> memory) noexcept { regions_[index] = memory; }

  // Errors: invalid_data naming the operation when weights in memory cannot be decoded: nothing is computed
  // after it.
  Status run(const Observer& observer = {});
  // Zeros everywhere, and what is kept from run to run at its first values.
  void reset();

  [[nodiscard]] const Segment& segment() const noexcept { return segment_; }
  [[nodiscard]] const std::vector<Operation>& operations() const noexcept { return operations_; }
  [[nodiscard]] std::uint64_t work() const noexcept { return work_; }

 private:
  // Decoded weights of an operation, all cores together: [out][ky][kx][in], and the bytes that they were made
  // of.
  struct Weights {
    std::vector<std::byte> made_of;
    std::vector<std::int16_t> values;
  };

  explicit Simulator(const Segment& segment) : segment_(segment) {}
  std::span<std::byte> port(const Port& port) noexcept {
    return regions_[port.region].subspan(port.offset, port.bytes);
  }
  [[nodiscard]] std::span<const std::byte> memory(std::uint8_t region) const noexcept;
  Status prepare(const SimulatorOptions& options);
  Status check(const Operation& op) const;
  Status execute(const Operation& op);
  Result<const std::vector<std::int16_t>*> weights_of(const Operation& op);
  [[nodiscard]] std::vector<ScaleRecord> scales_of(const Operation& op) const;
  Status convolution(const Operation& op);
  void pool(const Operation& op);
  void elementwise(const Operation& op);
  void copy(const Dma& dma);

  Segment segment_;
  std::vector<Operation> operations_;
  std::uint64_t work_ = 0;
  std::array<std::vector<std::byte>, kRegions> memories_;  // of its own; constants are not among them
  std::array<std::span<std::byte>, kRegions> regions_;
  std::vector<std::byte> internal_;
  std::vector<Weights> weights_;                       // by operation
  std::vector<std::int32_t> first_, second_, result_;  // maps of the operation at hand
};

}  // namespace runnel::npu
