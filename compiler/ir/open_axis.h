// The one axis that a file leaves open, from the data at hand (.onnx and .tflite).
#pragma once

#include <cstdint>
#include <span>

#include "base/checked.h"

namespace runnel::compiler {

// How long the axis -1 of `dims` must be for so many elements; 0 where none is -1, or several are, or no
// length gives that number. Dimensions are the file's: their product may be more than 64 bits hold.
[[nodiscard]] constexpr std::int64_t open_length(std::span<const std::int64_t> dims,
                                                 std::int64_t elements) noexcept {
  std::int64_t others = 1;
  int open = 0;
  for (const std::int64_t dim : dims) {
    if (dim == -1)
      ++open;
    else if (dim < 1 || !checked_mul(others, dim, others))
      return 0;
  }
  return open == 1 && elements > 0 && elements % others == 0 ? elements / others : 0;
}

}  // namespace runnel::compiler
