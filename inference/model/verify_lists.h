// What FlatBuffers' own check leaves open: how often it looks at a list.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.h"

namespace runnel {

// Refuses a delegate that has more parts than an operator may have operands, in the bytes of a graph section
// that nobody has looked at yet. FlatBuffers looks at each text of a list again for every table that names
// the list, and counts tables only: thousands of operators that share one list of a million texts would take
// it minutes. What is no graph is left to FlatBuffers' check, which ends where this ends.
Status verify_lists_of_parts(std::span<const std::byte> section) noexcept;

}  // namespace runnel
