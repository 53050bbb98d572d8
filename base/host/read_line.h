// Lines of text from outside.
#pragma once

#include <cstddef>
#include <istream>
#include <string>

#include "base/status.h"

namespace runnel {

// The maximum bytes of a line. A file without line ends, or a device that never ends, would otherwise
// fill the memory.
inline constexpr std::size_t kLongestLine = std::size_t{1} << 20;

// Reads the next line, without its end; false after the last one (check in.bad() for read errors). Error:
// invalid_data for a longer line.
Result<bool> read_line(std::istream& in, std::string& line);

}  // namespace runnel
