// The node detect for programs with a compiled-in decision: its facts are constants (compiler/embed).
// Preparing it parses and computes nothing, and code that the facts rule out is not linked.
#pragma once

#include "pipeline/nodes/decide/detector.h"

namespace runnel::pipeline {

// Decision::kFacts: the value of Detect::facts(), with pointers into ROM.
template <class Decision>
class RomDetect final : public Detector<RomDetect<Decision>> {
 public:
  static constexpr const DetectorFacts& facts() noexcept { return Decision::kFacts; }

  // Errors: mismatch when the format of the input is not the one that it was compiled for; out_of_memory.
  Status prepare(NodeContext& context) noexcept override {
    const Format& input = context.input;
    const bool integers = facts().dtype != DType::float32;
    if (input.dtype != facts().dtype || input.channels != facts().classes || input.codes ||
        (integers && input.exponent != facts().exponent)) {
      return Status(Code::mismatch) << context.input_label
                                    << " gives other frames than this decision was compiled for: expected "
                                    << facts().classes << ' ' << name_of(facts().dtype);
    }
    return this->make_ready(context);
  }
};

}  // namespace runnel::pipeline
