#include "compiler/import/obstacles.h"

namespace runnel::compiler {

Status obstacle_status(const std::map<std::string, int>& obstacles, std::string_view what,
                       std::string_view unit) {
  if (obstacles.empty()) return {};
  Status failure(Code::unsupported);
  failure << what << " that cannot be imported: ";
  bool first = true;
  for (const auto& [name, count] : obstacles) {
    failure << (first ? "" : ", ") << name;
    if (count > 1) failure << " (" << count << " " << unit << ")";
    first = false;
  }
  return failure;
}

}  // namespace runnel::compiler
