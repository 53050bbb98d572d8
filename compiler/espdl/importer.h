// Reads .espdl files (ESP-DL's model format; container, schema and arithmetic as documented in docs/espdl.md).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "compiler/graph.h"

namespace runnel::compiler {

// Chips whose quantizer rules differ: rounding, per-channel weights, layouts.
enum class EspdlTarget { automatic, c, esp32s3, esp32p4 };

struct EspdlOptions {
  EspdlTarget target = EspdlTarget::automatic;
  // 16-bit tables are interpolated, which is closer to the function (errors of a few units instead of some hundred), instead of
  // looked up at the nearest entry, which gives ESP-DL's values.
  bool linear_tables = false;
};

struct EspdlImport {
  Graph graph;
  EspdlTarget target = EspdlTarget::c;
  // How the target was found, for people: "half-even rounding reproduces the embedded test values", "metadata says esp32p4".
  std::string target_reason;
};

// `bytes`: the whole file. Shapes are recomputed from the inputs; StreamingCache nodes become the left context of the operator
// behind them, or stay operators where that would not be the same (docs/espdl.md; usage `step`). Errors: invalid_data with file offset or node, expected and found; unsupported naming every operator that is
// not known, all at once.
Result<EspdlImport> import_espdl(std::span<const std::byte> bytes, const EspdlOptions& options = {});

}  // namespace runnel::compiler
