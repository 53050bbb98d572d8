// Validator: finds operations that the hardware would refuse or execute harmfully.
#pragma once

#include <span>

#include "npu/operation.h"
#include "npu/u85/chains.h"

namespace runnel::npu {

// Names of rules, as `runnel npu validate` prints them and docs/npu.md explains them.
namespace rule {
inline constexpr std::string_view kRegion = "region", kAddress = "address", kAlignment = "alignment",
                                  kShape = "shape", kKernel = "kernel", kPrecision = "precision",
                                  kBlock = "block", kShram = "shram", kWeights = "weights", kWait = "wait",
                                  kWork = "work", kStream = "stream", kChain = "chain";
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
  std::uint64_t work = std::uint64_t{1} << 36;  // limit for all operations together (bounds.h)
};

// Judges operations in order.
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
  u85::Chains chains_;
};

struct Block {
  std::int32_t height = 0, width = 0, depth = 0;
};
// The input block of one output block (U55, U65): whole micro-blocks, at most 8 x 8 taps of a large kernel at
// a time, and 16 or 32 channels of a convolution at a time.
Block ifm_block_of(const Operation& op, const Accelerator& accelerator) noexcept;

// Banks that buffers take in the accelerator's memory (U55, U65).
struct BankUse {
  std::int32_t ifm = 0;  // one input buffer; element-wise operations on two maps have two
  std::int32_t accumulators = 0;
  std::int32_t usable = 0;  // banks before tables and reserved ones
};
BankUse banks_of(const Operation& op, const Accelerator& accelerator) noexcept;

}  // namespace runnel::npu
