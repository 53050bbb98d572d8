// A program with test cases.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler::pte_source {

// The program inside; points into `file`. Errors: invalid_data.
Result<std::span<const std::byte>> bundled_program(std::span<const std::byte> file);

// The test cases of one method as vectors of the graph that was made of it, whose inputs and outputs are in
// the method's order. Cases that do not fit are left out, and `notes` says so. Errors: invalid_data for
// damaged cases.
Status add_test_cases(std::span<const std::byte> file, const std::string& method, Graph& graph,
                      std::vector<std::string>& notes);

}  // namespace runnel::compiler::pte_source
