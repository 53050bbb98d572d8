// Reads .espdl files (ESP-DL's model format; container, schema and arithmetic as documented in
// docs/espdl.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/key.h"
#include "base/status.h"
#include "compiler/ir/graph.h"
#include "inference/operator.h"

namespace runnel::compiler {

// Chips whose quantizer rules differ: rounding, per-channel weights, layouts.
enum class EspdlTarget { automatic, c, esp32s3, esp32p4 };

// A node of a type that runnel does not know, as its shape function sees it.
struct CustomNode {
  std::string_view name;
  const CustomOptions& options;       // its type as name, and its attributes
  std::vector<const Tensor*> inputs;  // computed values and constants, with their shapes; null: absent
};

// A type of operator that the application defines (docs/custom-operators.md).
struct CustomOperator {
  std::string op_type;  // in the file; also the name of the operator in the model
  int version = 1;      // of the OperatorDefinition that is meant, 1 to 255
  // Shapes of the outputs, one for each, all dimensions at least 1. A failure fails the import and is
  // reported with the node's name. Empty: every output has the shape of the first input.
  std::function<Result<std::vector<std::vector<std::int32_t>>>(const CustomNode& node)> shapes = {};
};

struct EspdlOptions {
  EspdlTarget target = EspdlTarget::automatic;
  // 16-bit tables are interpolated, which is closer to the function (errors of a few units instead of some
  // hundred), instead of looked up at the nearest entry, which gives ESP-DL's values.
  bool linear_tables = false;
  // Which model of a package (PDL1, PDL2, PDL3): its name or its index; empty: the only one.
  std::string member = {};
  // For encrypted models; not used for others.
  std::optional<crypto::Key> key = {};
  // The operators of the application; any other unknown type fails the import.
  std::vector<CustomOperator> custom_operators = {};
  // For running the embedded test values, which may decide on the target, and for checking what can be
  // streamed; contains the application's as well.
  OperatorTable operators = all_operators();
};

struct EspdlImport {
  Graph graph;
  EspdlTarget target = EspdlTarget::c;
  // How the target was found, for people: "half-even rounding reproduces the embedded test values", "metadata
  // says esp32p4".
  std::string target_reason;
};

// `bytes`: the whole file, a model or a package of models. Shapes are recomputed from the inputs;
// StreamingCache nodes become the left context of the operator after them, or stay operators where that
// would not be the same (docs/espdl.md; usage `step`). Errors: invalid_data with file offset or node,
// expected and found; unsupported naming every operator that is not known, all at once; those of packages
// (package.h) and of encrypted models (container.h).
Result<EspdlImport> import_espdl(std::span<const std::byte> bytes, const EspdlOptions& options = {});

}  // namespace runnel::compiler
