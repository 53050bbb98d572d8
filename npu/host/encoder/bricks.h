// Maps between operations in bricks of 16 channels (NHCWB16): of a brick the whole width is fetched, where
// rows of all channels (NHWC) are fetched in pieces of what a block reads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npu/host/encoder/program.h"

namespace runnel::npu {

// Buffers of which nobody sees where the bytes are: a map of 8-bit elements and whole bricks, which every
// step that uses it uses as a whole and in the same shape. `inside`: of each buffer, whether only the
// program's steps use it.
std::vector<bool> could_be_bricks(std::span<const Step> steps, const std::vector<bool>& inside);

// The maps of these buffers, in bricks.
void lay_in_bricks(std::span<Step> steps, const std::vector<bool>& buffers);

}  // namespace runnel::npu
