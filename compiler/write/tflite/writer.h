// Writes compiled graphs as .tflite files in the form of Arm's compiler, which TensorFlow Lite Micro's kernel
// of the Ethos-U takes: each segment is a custom operator "ethos-u" whose inputs are command stream,
// constants, scratch memory, fast scratch memory, and the network's; builtin operators between.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler {

struct WrittenTflite {
  std::vector<std::byte> bytes;
  std::size_t arena = 0;           // bytes that all tensors without data need
  std::vector<std::string> notes;  // one sentence each
};

// `graph`: compiled with borders_in_scratch (compiler/npu/options.h). Every tensor without data has a place
// in the arena (metadata OfflineMemoryAllocation). A tensor that several segments need in different places,
// or that is still needed after a segment has used its memory, is copied by a RESHAPE. Errors: unsupported
// naming an operator that TensorFlow Lite has no form of.
Result<WrittenTflite> write_tflite(const Graph& graph);

}  // namespace runnel::compiler
