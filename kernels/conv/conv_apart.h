// A convolution of which a few channels do not fit into its kernel: they are computed apart.
#pragma once

#include "kernels/conv/conv.h"

namespace runnel::kernels {

// `conv`, prepared for all channels with something harmless in those of `channels` (ascending), becomes the
// convolution `whole`: these are then computed again by its definition. Copies `channels`.
// Error: out_of_memory.
Status compute_apart(const ConvSpec& whole, const std::int32_t* channels, std::int32_t count, Memory& memory,
                     Conv& conv) noexcept;

// The kernel of the other channels, or null if `conv` computes none apart.
const Conv* kernel_of_others(const Conv& conv) noexcept;

}  // namespace runnel::kernels
