// Generation: what differs between the Ethos-U devices while a program is made: registers of an operation,
// blocks, streams of weights, and costs.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "npu/host/cycles/estimate.h"
#include "npu/host/encoder/step.h"

namespace runnel::npu {

// Scales and weights of one step, one after the other; places relative to the first byte.
struct PackedStreams {
  std::vector<std::byte> bytes;
  std::vector<Bytes> scales, weights;  // of each core or decoder
};

class Generation {
 public:
  // Of the accelerator; system and memory mode are set and outlive it. Errors: as CycleModel::make.
  static Result<std::shared_ptr<const Generation>> make(const ProgramOptions& options);
  virtual ~Generation() = default;

  // Completes an operation in the terms of U55 and U65 with what this device has registers for. `second`:
  // bytes of the second operand if they are constant. Errors: unsupported with the reason.
  virtual Status adapt(Step& step, std::span<const std::byte> second) const = 0;
  // Sets block, order and format of weights of an otherwise complete operation (weights: kernel and length
  // suffice): the quickest. Errors: not_found when no block fits.
  virtual Status choose_block(Operation& op) const = 0;
  // Bytes of the scales of a planned convolution.
  [[nodiscard]] virtual std::int64_t scale_bytes(const Operation& op) const = 0;
  // Of all operations of a run, planned or final ones.
  [[nodiscard]] virtual Estimate estimate(std::span<const Operation> operations) const = 0;
  // Whether steps are planned for maps in the cache, as far as it has room for them; else for the arena.
  [[nodiscard]] virtual bool expects_cache() const = 0;
  // Whether a table becomes part of the operation whose results it takes (fuse_tables.h).
  [[nodiscard]] virtual bool looks_up_results() const = 0;
  // Of a planned convolution; may set the format of its weights.
  [[nodiscard]] virtual PackedStreams pack(Step& step) const = 0;

  [[nodiscard]] const Accelerator& accelerator() const { return *options_.accelerator; }
  [[nodiscard]] const MemoryMode& mode() const { return *options_.mode; }
  // Whether weights may be copied into on-chip memory first.
  [[nodiscard]] bool copies_weights() const {
    return options_.mode->constants_outside && options_.optimise == Optimise::speed;
  }

 protected:
  explicit Generation(const ProgramOptions& options) : options_(options) {}

  ProgramOptions options_;
};

// Bytes that streams begin at a multiple of.
inline constexpr std::size_t kStreamAlignment = 16;
constexpr std::size_t align_stream(std::size_t value) noexcept {
  return (value + kStreamAlignment - 1) / kStreamAlignment * kStreamAlignment;
}

}  // namespace runnel::npu
