// Bricks of 16 channels (NHCWB16) for maps between operations: a brick's whole width is fetched at once,
// while rows of all channels (NHWC) are fetched block by block.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npu/host/encoder/program.h"

namespace runnel::npu {

// Buffers whose layout is invisible outside: maps of 8-bit elements and whole bricks that every step uses
// whole and in the same shape. `inside`: per buffer, whether only the program's steps use it.
std::vector<bool> could_be_bricks(std::span<const Step> steps, const std::vector<bool>& inside);

// Converts the maps of these buffers to bricks.
void lay_in_bricks(std::span<Step> steps, const std::vector<bool>& buffers);

}  // namespace runnel::npu
