// Uncut weights of the Ethos-U85: the size of a convolution's weights as one stream, where a command stream
// has them in several, which Arm's compiler uses for the time of their copy.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "npu/host/cycles/estimate.h"

namespace runnel::npu::u85 {

// One for each convolution whose channels are cut. The weights are taken from `constants` (region 0), put
// together and encoded again; what our encoder makes of the parts, against what is there, corrects the size.
// Leaves out weights that cannot be found or decoded, and stops after two millions of them.
std::vector<UncutWeights> uncut_weights(std::span<const Operation> operations, const Accelerator& accelerator,
                                        std::span<const std::byte> constants);

}  // namespace runnel::npu::u85
