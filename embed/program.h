// Constants of a program in ROM: `runnel embed` writes them for a model, and the functions of
// runnel.h read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "base/memory.h"
#include "base/status.h"
#include "embed/runnel.h"
#include "inference/model/loader.h"
#include "inference/operator.h"
#include "pipeline/executor.h"
#include "pipeline/format.h"

struct runnel_cores;

namespace runnel::embed {

// Changes with the struct below and the meaning of its members.
inline constexpr std::uint32_t kProgramVersion = 5;

// The processor that the planned memory and the kernels rely on. `any` runs everywhere.
enum class Target : std::uint8_t { any, cortex_m4, cortex_m7, cortex_m55, rv32imac, rv32imafc, rv64gc };
// The target of this library.
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

// A model file in ROM under the name that a node asks for; 16-byte aligned.
struct NamedModel {
  const char* name = "";
  RomBytes file;
};

// Maximum number of nodes between source and sink.
inline constexpr int kMaxStages = 16;

// What an NPU adds to a program: its counters, and the first failure since it was asked last.
struct NpuLink {
  void (*count)(runnel_counters& out) noexcept;
  Status (*take_failure)() noexcept;
};

class OperatorTimes;

// What --counters and --cores of `runnel embed` add to a program. `node`: that of the inference.
struct InferLink {
  // Identifies the model (inference/model/model_sum.h); 0 where it lies in a partition.
  std::uint32_t model_sum = 0;
  // Null: without --counters.
  OperatorTimes& (*times)(pipeline::Node& node) noexcept = nullptr;
  // runnel_use_cores(). Null: without --cores.
  void (*use)(pipeline::Node& node, const runnel_cores* cores) noexcept = nullptr;
  int cores = 1;  // that operators are split for
  // Of programs with counters whose model lies in a partition: its sum. Null in others.
  std::uint32_t (*sum_of)(const Model& model) noexcept = nullptr;
};

}  // namespace runnel::embed

struct runnel_program {
  std::uint32_t version = runnel::embed::kProgramVersion;
  runnel::embed::Target target = runnel::embed::Target::any;
  const char* name = "";
  runnel::embed::RomBytes model;  // 16-byte aligned: a model file, or the constants of a compiled model
  // Models of other nodes than the inference, as a transducer has them.
  std::span<const runnel::embed::NamedModel> models = {};
  // For model files: makes their reader; returns null when the memory is exhausted. Null for a compiled model
  // without others, which links no reader.
  runnel::ModelLoader* (*make_loader)(runnel::Memory& memory,
                                      const runnel_program& program) noexcept = nullptr;
  bool compiled = false;            // `model` is no file
  bool plain_kernels = false;       // use plain kernels on every machine, as on a device
  runnel::OperatorTable operators;  // of the model files
  std::span<const char* const> labels;
  // Type of pushed samples: int16 or float32.
  runnel::DType samples = runnel::DType::int16;
  // Format of samples in the graph: float32 audio with channels and clock.
  runnel::pipeline::Format input;
  std::int64_t hop = 0;  // samples per step of the executor
  // Constructs the nodes after the source, with all their parameters, in `memory`; stages[i].input is i, as
  // the source is stage 0. False when the memory is exhausted.
  bool (*make_nodes)(runnel::Memory& memory, std::span<runnel::pipeline::Stage> stages) noexcept = nullptr;
  int stages = 0;
  int features_stage = -1, output_stage = -1;  // among them: last of the front end, the inference
  bool events = false;                         // the last one makes decisions
  int event_room = 4;                          // maximum number of waiting decisions
  // Null: the model has no parts for an NPU.
  const runnel::embed::NpuLink* npu = nullptr;
  // Null: without --counters and --cores.
  const runnel::embed::InferLink* infer = nullptr;
  // Maximum memory for runnel_prepare().
  std::size_t memory_bytes = 0, fast_bytes = 0;
};

namespace runnel::embed {

// runnel_program::make_loader for a program whose only model is a file: it is loaded for every name.
ModelLoader* rom_loader(Memory& memory, const runnel_program& program) noexcept;
// For programs with further models, which are loaded for their names, and `model` for any other one.
ModelLoader* rom_models_loader(Memory& memory, const runnel_program& program) noexcept;

// A node of type N in `memory`, for make_nodes(); null when the memory is exhausted.
template <class N>
N* place(Memory& memory) noexcept {
  void* at = memory.allocate(sizeof(N), alignof(N));
  return at == nullptr ? nullptr : new (at) N();
}

}  // namespace runnel::embed
