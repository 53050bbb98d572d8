// Reads ExecuTorch programs: .pte files, and .bpte files, which bring test cases (docs/formats.md).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "inference/operator.h"

namespace runnel::compiler {

struct PteImport {
  Graph graph;
  // One sentence each: methods that were left out, test cases that could not be taken.
  std::vector<std::string> notes;
};

// Whether the bytes say that they are a program (ET12 at byte 4) or one with test cases (BP08).
bool is_pte(std::span<const std::byte> bytes);

// `bytes`: the whole file. Takes the first method. Inputs and outputs have the program's order of axes.
// Mutable buffers make the graph one of usage `step`; otherwise `operators` tells whether it can be streamed,
// and without a stream it is of usage `whole`. Calls of delegates become operators of the code `delegate`.
// Test cases of a .bpte file become vectors. Errors: invalid_data with value or instruction, expected and
// found; unsupported naming every kernel that is not known, all at once.
Result<PteImport> import_pte(std::span<const std::byte> bytes, OperatorTable operators = all_operators());

// The kernels that are taken, by name, with what is asked of them; docs/formats.md is made of it.
std::vector<std::pair<std::string_view, std::string_view>> pte_kernels();

}  // namespace runnel::compiler
