// Which chip an .espdl file was made for: it decides the rounding, and files do not record it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "compiler/espdl/source.h"
#include "compiler/import/espdl/importer.h"

namespace runnel::compiler::espdl_source {

struct TargetChoice {
  EspdlTarget target = EspdlTarget::automatic;
  std::string reason;
};

// Inferred from the file: metadata "target", weight layouts, exponents per channel, biases beyond the
// 20 bits of esp32s3. `automatic` when that leaves it open.
TargetChoice target_from_contents(const Model& model);

// "c", "esp32s3", "esp32p4" ("automatic" for automatic).
std::string_view name_of(EspdlTarget target);
// `automatic` for an unknown name; "esp32" is a synonym of "c".
EspdlTarget target_named(std::string_view name);

// Elements of the first test vector's outputs that come out differently when the graph runs as a whole; -1
// when it has no vector. Errors: those of writing or preparing it.
Result<std::int64_t> differing_elements(const Graph& graph, OperatorTable table);

}  // namespace runnel::compiler::espdl_source
