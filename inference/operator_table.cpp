// Finding operators by code, version and name.
#include "inference/operator.h"

namespace runnel {

std::string_view operator_type(const fb::Operator& op) noexcept {
  const flatbuffers::String* name = nullptr;
  if (code_of(op) == OpCode::custom)
    name = op.options_as_CustomOptions()->name();
  else if (code_of(op) == OpCode::delegate)
    name = op.options_as_DelegateOptions()->kind();
  else
    return name_of(code_of(op));
  return {name->c_str(), name->size()};
}

const OperatorDefinition* find_operator(OperatorTable table, const fb::Operator& op) noexcept {
  const bool named = code_of(op) == OpCode::custom || code_of(op) == OpCode::delegate;
  const OperatorDefinition* any = nullptr;
  for (const OperatorDefinition* definition : table) {
    if (definition->code != code_of(op) || definition->arithmetic != arithmetic_of(op)) continue;
    if (!named || definition->name == operator_type(op)) return definition;
    if (code_of(op) == OpCode::delegate && definition->name == "delegate") any = definition;
  }
  return any;
}

Status missing_operators(const Model& model, OperatorTable table) noexcept {
  Status missing(Code::unsupported, "operators that this build does not have: ");
  int count = 0;
  for (int i = 0; i < model.operator_count(); ++i) {
    const fb::Operator& op = model.op(i);
    if (find_operator(table, op) != nullptr) continue;
    missing << (count++ == 0 ? "" : ", ")
            << (code_of(op) == OpCode::custom     ? "custom "
                : code_of(op) == OpCode::delegate ? "delegate "
                                                  : "");
    if (const std::string_view name = operator_type(op); !name.empty())
      missing << name;
    else
      missing << "number " << static_cast<int>(code_of(op));
    missing << " version " << op.version();
    if (const std::string_view name = model.operator_name(i); !name.empty()) missing << " '" << name << '\'';
  }
  return count > 0 ? missing : Status();
}

}  // namespace runnel
