// An .espdl file read, written and read again.
#pragma once

#include <filesystem>

#include "compiler/import/espdl/importer.h"

namespace runnel::test {

// Expects the same graph, the same test inputs, the outputs of the graph that was read first, and the same
// bytes when it is written again.
void round_trip(const std::filesystem::path& file, compiler::EspdlTarget target);

}  // namespace runnel::test
