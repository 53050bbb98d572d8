// Rules of the Ethos-U85's hardware (npu/validate.h).
#pragma once

#include "npu/u85/chains.h"
#include "npu/validate.h"

namespace runnel::npu::u85 {

// `chains`: what earlier operations have left.
void check_rules(const Operation& op, const Accelerator& accelerator, Chains& chains,
                 ViolationSink& sink) noexcept;

}  // namespace runnel::npu::u85
