// How deep the stack was: it is painted below the caller, and later looked at from its far end.
#pragma once

#include <cstddef>

namespace runnel::firmware {

// Overwrites what is free of the stack with a pattern. Call it as high up as possible.
void paint_stack() noexcept;
// Bytes from the top of the stack down to the deepest word that was written since paint_stack().
std::size_t stack_used() noexcept;

}  // namespace runnel::firmware
