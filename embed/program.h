// What `runnel embed` writes for a model, and the functions of runnel.h read: constants of a program, in ROM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "base/memory.h"
#include "embed/runnel.h"
#include "inference/model/loader.h"
#include "inference/operator.h"
#include "pipeline/executor.h"
#include "pipeline/format.h"

namespace runnel::embed {

// Changes whenever the struct below or what its members mean changes.
inline constexpr std::uint32_t kProgramVersion = 2;

// Which instructions the planned memory and the kernels count on. `any` runs everywhere.
enum class Target : std::uint8_t { any, cortex_m4, cortex_m7, cortex_m55 };
// What this library was compiled for.
[[nodiscard]] Target this_target() noexcept;
[[nodiscard]] const char* name_of(Target target) noexcept;
// Whether a program for `program` runs here.
[[nodiscard]] bool runs_on(Target program, Target library) noexcept;

// The bytes of a model in ROM; an array of unsigned char, because that can be a constant.
struct RomBytes {
  const unsigned char* first = nullptr;
  std::size_t count = 0;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return {reinterpret_cast<const std::byte*>(first), count};
  }
};

// At most so many nodes between source and sink.
inline constexpr int kMaxStages = 16;

}  // namespace runnel::embed

struct runnel_program {
  std::uint32_t version = runnel::embed::kProgramVersion;
  runnel::embed::Target target = runnel::embed::Target::any;
  const char* name = "";
  runnel::embed::RomBytes model;  // 16-byte aligned: a model file, or the constants of a compiled model
  // Of a model file: makes what reads it. Null when the memory is exhausted; no function for a compiled
  // model, and no reader is linked.
  runnel::ModelLoader* (*make_loader)(runnel::Memory& memory,
                                      std::span<const std::byte> model) noexcept = nullptr;
  runnel::OperatorTable operators;
  std::span<const char* const> labels;
  // Of samples as they are pushed: int16 or float32.
  runnel::DType samples = runnel::DType::int16;
  // Of samples in the graph: float32 audio with channels and clock.
  runnel::pipeline::Format input;
  std::int64_t hop = 0;  // samples per step of the executor
  // Places the nodes after the source, with all their parameters, into `memory`; stages[i].input is i, the
  // source being stage 0 of all. False when the memory is exhausted.
  bool (*make_nodes)(runnel::Memory& memory, std::span<runnel::pipeline::Stage> stages) noexcept = nullptr;
  int stages = 0;
  int features_stage = -1, output_stage = -1;  // among them: last of the front end, the inference
  bool events = false;                         // the last one makes decisions
  int event_room = 4;                          // decisions that may wait
  // Plain kernels, whatever the machine has: what a device takes.
  bool plain_kernels = false;
  // What runnel_prepare() takes at most.
  std::size_t memory_bytes = 0, fast_bytes = 0;
};

namespace runnel::embed {

// runnel_program::make_loader for model files.
ModelLoader* rom_loader(Memory& memory, std::span<const std::byte> model) noexcept;

// A node of type N in `memory`, for make_nodes(); null when the memory is exhausted.
template <class N>
N* place(Memory& memory) noexcept {
  void* at = memory.allocate(sizeof(N), alignof(N));
  return at == nullptr ? nullptr : new (at) N();
}

}  // namespace runnel::embed
