#include "compiler/known_operators.h"

#include <algorithm>
#include <string>
#include <vector>

#include "inference/operator.h"

namespace runnel::compiler {

Status check_known(const Model& model) {
  Status missing(Code::unsupported, "operators that this build does not have: ");
  std::vector<std::string> names;
  for (int i = 0; i < model.operator_count(); ++i) {
    const fb::Operator& op = model.op(i);
    if (find_operator(all_operators(), op.code(), op.version()) != nullptr) continue;
    std::string name = fb::EnumNameOpCode(op.code());
    if (name.empty()) name = "number " + std::to_string(static_cast<int>(op.code()));
    name += " version " + std::to_string(op.version());
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    missing << (names.empty() ? "" : ", ") << name;
    names.push_back(name);
  }
  return names.empty() ? Status() : missing;
}

}  // namespace runnel::compiler
