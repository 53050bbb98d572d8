// A program that has been prepared; what stands behind runnel_node.
#pragma once

#include <optional>
#include <string_view>

#include "base/memory.h"
#include "embed/gate.h"
#include "embed/program.h"
#include "embed/sample_source.h"
#include "embed/sinks.h"
#include "inference/loader.h"

namespace runnel::embed {

// The model of a program, whatever its name.
class RomModel final : public ModelLoader {
 public:
  explicit RomModel(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}
  Result<const Model*> load(std::string_view name) noexcept override;

 private:
  std::span<const std::byte> bytes_;
  std::optional<Model> model_;
};

// Keeps the sentence for runnel_last_failure().
runnel_code fail(runnel_code code, std::string_view text) noexcept;
runnel_code fail(const Status& status) noexcept;
// Version, target, pointers and alignment.
runnel_code check(const runnel_program* program, const runnel_options* options) noexcept;

}  // namespace runnel::embed

struct runnel_node {
  runnel_node(const runnel_program& of, const runnel::FixedMemory& from, std::span<std::byte> fast_bytes) noexcept
      : program(&of), memory(from), fast(fast_bytes), fast_start(fast_bytes.data()), loader(of.model.bytes()) {}

  const runnel_program* program;
  runnel::FixedMemory memory, fast;
  std::byte* fast_start;
  runnel::embed::RomModel loader;
  runnel::pipeline::Executor* executor = nullptr;
  runnel::embed::SampleSource* source = nullptr;
  runnel::embed::EventQueue* queue = nullptr;
  runnel::embed::EnergyGate gate;
  std::uint64_t gated = 0, overruns = 0;
  bool ended = false;
};
