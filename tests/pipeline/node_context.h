// What a node's test prepares it with.
#pragma once

#include "base/host/heap_memory.h"
#include "pipeline/node.h"

namespace runnel::pipeline::test {

// A context for a node that reads up to `max_input` frames of float32 with so many channels.
inline NodeContext context_for(HeapMemory& memory, Kind kind, std::int32_t channels, std::int64_t max_input) {
  NodeContext context{.memory = memory,
                      .label = "node",
                      .input_label = "test",
                      .input = {},
                      .operators = {},
                      .fast = {},
                      .output = {},
                      .fix = {}};
  context.input.kind = kind;
  context.input.dtype = DType::float32;
  context.input.channels = channels;
  context.output = context.input;
  context.max_input = max_input;
  return context;
}

}  // namespace runnel::pipeline::test
