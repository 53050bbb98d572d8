// The obstacles to an import, all in one sentence.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace runnel::compiler {

// Success where there is nothing; else unsupported: "WHAT that cannot be imported: A, B (3 UNIT)", for names
// and how often each was met.
Status obstacle_status(const std::map<std::string, int>& obstacles, std::string_view what,
                       std::string_view unit);

}  // namespace runnel::compiler
