// Writes integer graphs as .espdl bytes and reports notes and refusals.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/write/espdl/writer.h"

namespace runnel::apps {

// Prints notes and every refusal on stderr, each after `name`. Errors: those of write_espdl; unsupported when
// an operator was refused.
Result<std::vector<std::byte>> espdl_bytes(const compiler::Graph& graph,
                                           const compiler::EspdlWriteOptions& options,
                                           const std::string& name);

}  // namespace runnel::apps
