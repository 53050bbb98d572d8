// Comparing secrets.
#pragma once

#include <string_view>

namespace runnel::net {

// Constant-time comparison: the time reveals a wrong length, but not the position of a difference.
bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept;

}  // namespace runnel::net
