// Names of processes that work together.
#pragma once

#include <string>

namespace runnel::fleet {

// Unique among all processes that ever were: `name` (empty: the machine's) and a number. Letters, digits, -
// and _.
std::string worker_name(const std::string& name = {});

}  // namespace runnel::fleet
