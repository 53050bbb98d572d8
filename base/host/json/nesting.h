// How deep JSON nests, found before it is read: what copies or prints a value calls itself once for each
// level, and a message of brackets alone would use up the stack. An ordered object copies its values even
// while it is read, whenever another key comes.
#pragma once

#include <string_view>

#include "base/limits.h"

namespace runnel {

// Whether brackets and braces of a JSON text are more than `most` levels deep; texts that are no JSON give
// any answer. One pass, no memory.
bool nests_deeper(std::string_view json, int most = limits::kJsonNesting) noexcept;

}  // namespace runnel
