// Integer graphs as .espdl bytes, with what is to be said about it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/write/espdl/writer.h"

namespace runnel::apps {

// Tells notes and every refusal on stderr, with `name` in front. Errors: those of write_espdl; unsupported
// when something was refused.
Result<std::vector<std::byte>> espdl_bytes(const compiler::Graph& graph,
                                           const compiler::EspdlWriteOptions& options,
                                           const std::string& name);

}  // namespace runnel::apps
