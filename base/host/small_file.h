// Files that are known to be small, such as a graph or a token.
#pragma once

#include <string>

#include "base/status.h"

namespace runnel {

// Reads the whole file. Errors: not_found when it cannot be read; invalid_data beyond 1 MiB.
Result<std::string> read_small_file(const std::string& path);

}  // namespace runnel
