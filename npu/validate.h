// What the hardware would not take, or would take and do harm with.
#pragma once

#include <span>

#include "npu/operation.h"

namespace runnel::npu {

// Names of rules, as `runnel npu validate` prints them and docs/npu.md explains them.
namespace rule {
inline constexpr std::string_view kRegion = "region", kAddress = "address", kAlignment = "alignment",
                                  kShape = "shape", kKernel = "kernel", kPrecision = "precision",
                                  kBlock = "block", kShram = "shram", kWeights = "weights", kWait = "wait",
                                  kWork = "work", kStream = "stream";
}

class ViolationSink {
 public:
  // `what` is one sentence: expected and found.
  virtual void report(const Operation& op, std::string_view rule, std::string_view what) noexcept = 0;

 protected:
  ~ViolationSink() = default;
};

struct ValidatorLimits {
  std::span<const std::uint64_t> regions;       // bytes of each; empty: not known, and not checked
  std::uint64_t work = std::uint64_t{1} << 36;  // of all operations together (bounds.h)
};

// Judges operations one after the other. U55 and U65: everything below; U85: regions, alignment, shapes,
// work, and of blocks what is known: the limits, micro-blocks, and the memories of accumulators and of the
// input.
class Validator {
 public:
  Validator(const Accelerator& accelerator, const ValidatorLimits& limits, ViolationSink& sink) noexcept
      : accelerator_(accelerator), limits_(limits), sink_(sink) {}

  void check(const Operation& op) noexcept;
  [[nodiscard]] std::uint64_t work() const noexcept { return work_; }

 private:
  const Accelerator& accelerator_;
  ValidatorLimits limits_;
  ViolationSink& sink_;
  std::uint64_t work_ = 0;
  bool exhausted_ = false;
};

struct Block {
  std::int32_t height = 0, width = 0, depth = 0;
};
// What of the input is read for one block of the output (U55, U65): with whole micro-blocks, of large kernels
// 8 x 8 taps at a time, and of the channels of a convolution 16 or 32 at a time.
Block ifm_block_of(const Operation& op, const Accelerator& accelerator) noexcept;

// Banks that buffers take in the accelerator's memory (U55, U65).
struct BankUse {
  std::int32_t ifm = 0;  // one buffer of the input; element-wise operations on two maps have two
  std::int32_t accumulators = 0;
  std::int32_t usable = 0;  // banks before tables and reserved ones
};
BankUse banks_of(const Operation& op, const Accelerator& accelerator) noexcept;

}  // namespace runnel::npu
