// Maximum stack depth: the free stack is painted, and later scanned from its far end.
#pragma once

#include <cstddef>

namespace runnel::firmware {

// Overwrites the free stack with a pattern. Call it as high up as possible.
void paint_stack() noexcept;
// Bytes from the top of the stack down to the deepest word written since paint_stack().
std::size_t stack_used() noexcept;

}  // namespace runnel::firmware
