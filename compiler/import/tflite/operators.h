// The operators of TensorFlow Lite that this importer converts, one row each.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "compiler/import/tflite/operator_codes.h"
#include "compiler/import/tflite/source.h"
#include "inference/op_code.h"

namespace runnel::compiler::tflite_source {

class Builder;

struct OperatorRow {
  Builtin builtin;
  std::string_view name;
  // Null: part of what surrounds it (variables.h).
  Status (*convert)(Builder& builder, const Operator& op);
  // For docs/formats.md.
  std::string_view types;
  // The operator of the runtime, where the conversion serves several.
  OpCode code = OpCode::none;
};

// All rows, in the order of the table.
std::span<const OperatorRow> operator_rows();
// The row of an operator; null when it is not supported.
const OperatorRow* find_operator(Builtin builtin);
// The same; custom operators are found by name.
const OperatorRow* find_operator(const Operator& op);

}  // namespace runnel::compiler::tflite_source
