// Where two results of one tensor differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "inference/host/check.h"
#include "inference/model/model.h"

namespace runnel {

using Bytes = std::vector<std::byte>;

// Compares a tensor; `frames` along its time axis (1 and frame-major when there is none). Notes the first
// difference.
bool same(const TensorView& view, int tensor, int time_axis, std::int64_t frames, const Bytes& expected,
          const Bytes& found, std::string run, std::vector<Difference>& differences);

// The largest difference between two tensors of one type; infinite when a NaN meets a number or the sizes
// differ.
double largest_difference(DType type, const Bytes& expected, const Bytes& found);

}  // namespace runnel
