// A prepared program: the implementation of runnel_node.
#pragma once

#include <string_view>

#include "base/memory.h"
#include "embed/gate.h"
#include "embed/program.h"
#include "embed/sample_source.h"
#include "embed/sinks.h"

namespace runnel::embed {

// Stores the sentence for runnel_last_failure().
runnel_code fail(runnel_code code, std::string_view text) noexcept;
runnel_code fail(const Status& status) noexcept;
// Checks version, target, pointers and alignment.
runnel_code check(const runnel_program* program, const runnel_options* options) noexcept;

}  // namespace runnel::embed

struct runnel_node {
  runnel_node(const runnel_program& of, const runnel::FixedMemory& from,
              std::span<std::byte> fast_bytes) noexcept
      : program(&of), memory(from), fast(fast_bytes), fast_start(fast_bytes.data()) {}

  const runnel_program* program;
  runnel::FixedMemory memory, fast;
  std::byte* fast_start;
  runnel::ModelLoader* loader = nullptr;  // null: the model is compiled into the program
  runnel::pipeline::Executor* executor = nullptr;
  runnel::embed::SampleSource* source = nullptr;
  runnel::embed::EventQueue* queue = nullptr;
  runnel::embed::EnergyGate gate;
  std::uint64_t gated = 0, overruns = 0;
  bool ended = false;
};
