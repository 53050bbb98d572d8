// Sums of a convolution, before scaling: what all Ethos-U share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "npu/operation.h"

namespace runnel::npu {

// Called once for each position of the output, in order, with the sums of its channels.
using SumWriter = std::function<void(std::size_t position, std::span<const std::int64_t> sums)>;

// `input`: [height][width][depth] less the zero point; `weights`: [out][ky][kx][in]. Sums are exact modulo
// 2^64.
void convolution_sums(const Operation& op, const std::vector<std::int32_t>& input,
                      const std::vector<std::int16_t>& weights, const SumWriter& write);

}  // namespace runnel::npu
