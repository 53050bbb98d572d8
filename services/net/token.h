// Comparing secrets.
#pragma once

#include <string_view>

namespace runnel::net {

// Whether both are the same; takes as long wherever they differ. A wrong length is told by the time, the
// token itself is not.
bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept;

}  // namespace runnel::net
