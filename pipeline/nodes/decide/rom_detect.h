// The node detect for programs whose decision is known when they are compiled: its facts are constants
// (compiler/embed), nothing is read by name or computed to prepare it, and what they rule out is not linked.
#pragma once

#include "pipeline/nodes/decide/detector.h"

namespace runnel::pipeline {

// Decision::kFacts: as Detect::facts() had them, pointers into ROM included.
template <class Decision>
class RomDetect final : public Detector<RomDetect<Decision>> {
 public:
  static constexpr const DetectorFacts& facts() noexcept { return Decision::kFacts; }

  // Errors: mismatch when other frames come than it was made for; out_of_memory.
  Status prepare(PrepareContext& context) noexcept override {
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
