// Integer graphs as the bytes of .espdl files.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/write/espdl/writer.h"

namespace runnel::convert {

// Gives notes and every refusal to `say`, each after `name`. Errors: those of write_espdl; unsupported when
// an operator was refused.
Result<std::vector<std::byte>> espdl_bytes(const compiler::Graph& graph,
                                           const compiler::EspdlWriteOptions& options,
                                           const std::string& name,
                                           const std::function<void(std::string_view)>& say);

}  // namespace runnel::convert
