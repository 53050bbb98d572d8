// Resource variables that hold the last frames of a stream, found by how they are used:
//   C = concat(read, x); assign(the last frames of C)      or      C = concat(the last frames of read, x);
//   assign(C).
// In both C is x after a StreamingCache.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/status.h"
#include "compiler/import/tflite/source.h"

namespace runnel::compiler::tflite_source {

struct Windows {
  std::map<std::size_t, std::int32_t>
      frames;  // operators (CONCATENATION) that are caches, with the number of frames kept
  std::set<std::size_t> absorbed;  // operators of which nothing remains
};

// Errors: unsupported naming a variable that is used in another way, or starts with something else than zero;
// invalid_data for graphs that cannot be.
Result<Windows> find_windows(const Model& model);

// What a STRIDED_SLICE takes: first element, step and length per axis, and which axes vanish. Errors:
// unsupported for ellipses and new axes, and for bounds that are no constants.
struct SlicePlan {
  std::vector<std::int32_t> begin, step, length;
  std::vector<bool> shrunk;
};
Result<SlicePlan> plan_slice(const Subgraph& graph, const Operator& op,
                             const std::vector<std::int32_t>& shape);

}  // namespace runnel::compiler::tflite_source
