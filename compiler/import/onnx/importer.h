// Reading .onnx files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/input_shapes.h"

namespace runnel::compiler {

struct OnnxOptions : InputShapes {
  // Inputs of integers that are fixed while importing (a sample rate that branches depend on): they are no
  // inputs of the graph any more.
  std::map<std::string, std::vector<std::int64_t>> values;
  // Those of the data at hand: used where they fit, ignored where not.
  std::map<std::string, std::vector<std::int64_t>> data_values;
};

struct OnnxImport {
  Graph graph;
  // One sentence each: sizes and values that were chosen.
  std::vector<std::string> notes;
};

// Does this build read .onnx files (RUNNEL_ONNX)?
bool have_onnx();
// Could these be the bytes of an .onnx file? A protobuf message has no magic number: its first fields are
// looked at.
bool looks_like_onnx(std::span<const std::byte> bytes);
// Float graphs of opset 7 to 21. Values that depend on nothing are computed, axes without size get one (a
// batch: 1), and the graph keeps the layout of the file at its inputs and outputs. Errors: invalid_data and
// unsupported, naming node, expected and found; unsupported when this build has no ONNX, not_found where the
// module with it is missing (base/host/late_library.h).
Result<OnnxImport> import_onnx(std::span<const std::byte> bytes, const OnnxOptions& options = {});

// The operators that are computed while running, by name, with what is asked of them; docs/formats.md is made
// of it.
struct ListedOperator {
  std::string name;
  std::string_view remarks;
};
std::vector<ListedOperator> onnx_operators();

}  // namespace runnel::compiler
