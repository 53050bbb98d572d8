// Lines of text from outside.
#pragma once

#include <cstddef>
#include <istream>
#include <string>

#include "base/status.h"

namespace runnel {

// Bytes of a line at most. A file without line ends, or a device that never ends, would fill the memory
// otherwise.
inline constexpr std::size_t kLongestLine = std::size_t{1} << 20;

// The next line, without its end; false after the last one (in.bad() says whether it could be read). Error:
// invalid_data for a longer one.
Result<bool> read_line(std::istream& in, std::string& line);

}  // namespace runnel
