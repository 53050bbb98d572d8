// An .espdl file as an exporter would write it, with a node of a type that runnel does not know.
#pragma once

#include <cstddef>
#include <vector>

namespace example {

// x [1, 100, 2], int8 -> Relu -> ExponentialAverage (shift = 2) -> y.
std::vector<std::byte> espdl_file();

}  // namespace example
