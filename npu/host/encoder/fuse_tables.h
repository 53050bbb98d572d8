// Tables of functions in the output stage of the operation before.
#pragma once

#include <vector>

#include "npu/host/encoder/step.h"

namespace runnel::npu {

// A step that only looks bytes up becomes part of the step that computes them, if nothing else reads these.
// For devices that limit results before they look them up, which the U85 does. `inside`: per buffer, whether
// only the steps use it.
void fuse_tables(std::vector<Step>& steps, const std::vector<bool>& inside);

}  // namespace runnel::npu
