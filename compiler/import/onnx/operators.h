// The operators of ONNX that this importer converts, one row each.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "compiler/import/onnx/source.h"
#include "inference/op_code.h"

namespace runnel::compiler::onnx_source {

class Builder;

struct OperatorRow {
  std::string_view name;
  Status (*convert)(Builder& builder, const Node& node);
  // The operator of the runtime, where the conversion serves several that differ in nothing else.
  OpCode code = OpCode::none;
  // What is asked of it, for docs/formats.md.
  std::string_view remarks = {};
};

// All rows, sorted by name.
std::span<const OperatorRow> operator_rows();
// The row of a name; null for an operator that is not supported.
const OperatorRow* find_operator(std::string_view name);

}  // namespace runnel::compiler::onnx_source
