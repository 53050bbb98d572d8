// The integers of float constants that were dequantized while importing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/dtype.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler {

// value = (integer - zero_point) * scale; one entry, or one per channel. What operators made of the constant
// since then is not known here: a reader that wants the integers computes them from the values and checks
// that they give these values again.
struct Grid {
  DType dtype = DType::none;
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;
};
using GridPtr = std::shared_ptr<const Grid>;
// Of float32 tensors.
using Grids = std::map<TensorId, GridPtr>;

}  // namespace runnel::compiler
