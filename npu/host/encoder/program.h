// Program under construction: operations on buffers without addresses. finish() adds addresses, weights,
// waits and registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "npu/host/cycles/cycles.h"
#include "npu/host/cycles/memory_system.h"
#include "npu/host/segment.h"
#include "npu/host/weights.h"
#include "npu/operation.h"

namespace runnel::npu {

// The memory mode determines where constants and maps are: weights outside on-chip memory are copied first
// where that is quicker; maps are outside as far as the fast memory has no room.
struct ProgramOptions {
  const Accelerator* accelerator = nullptr;     // U55 or U65
  const SystemConfiguration* system = nullptr;  // null: the product's default
  const MemoryMode* mode = nullptr;
};

using BufferId = std::int32_t;
inline constexpr BufferId kNoBuffer = -1;

// An operation whose addresses are relative to its buffers.
struct Step {
  Operation op;  // regions, streams, blocks and banks are not set yet
  BufferId ifm = kNoBuffer, ifm2 = kNoBuffer, ofm = kNoBuffer;  // copies: from ifm to ofm, places in op.dma
  std::vector<std::int16_t> weights;                            // by position, [outs][height][width][depth]
  std::vector<ScaleRecord> scales;                              // one per output channel
  std::vector<std::byte> table;                                 // of the activation; its slot is not set yet
  bool copied = false;  // set by the program: weights are copied into on-chip memory first
};

struct CompiledProgram {
  std::vector<std::byte> payload, constants;
  std::size_t scratch = 0, fast_scratch = 0;
  std::vector<std::size_t> offsets;   // of each buffer in its region
  std::vector<std::uint8_t> regions;  // of each buffer
  std::vector<Operation> operations;  // as decoded, waits and copies included
};

class Program {
 public:
  // Lifetime of a buffer: its operations, from the start of a run, to its end, or across runs.
  enum class Lifetime : std::uint8_t { operations, from_begin, to_end, always };

  explicit Program(const ProgramOptions& options);

  BufferId buffer(std::size_t bytes, Lifetime lifetime = Lifetime::operations);
  // External memory with its own region; kNoBuffer when all regions are taken.
  BufferId own_region();
  // Read-only bytes; equal ones share a buffer.
  BufferId constant(std::vector<std::byte> bytes);
  // Extends a buffer's lifetime to the end of the run.
  void keep_to_end(BufferId id);
  void keep_from_begin(BufferId id);

  void add(Step step) { steps_.push_back(std::move(step)); }
  [[nodiscard]] bool empty() const { return steps_.empty(); }
  [[nodiscard]] const ProgramOptions& options() const { return options_; }

  // Errors: unsupported when an operation has no block that fits.
  Result<CompiledProgram> finish();

 private:
  struct Buffer {
    std::size_t bytes = 0;
    bool from_begin = false, to_end = false, is_constant = false;
    std::uint8_t own = 0;  // its region if it is external, else 0
    std::vector<std::byte> data;
  };
  struct Streams {  // of one step, consecutive in the constants
    std::size_t offset = 0, bytes = 0;
    Bytes scales[2], weights[2];  // relative to the step's streams
    BufferId copy = kNoBuffer;    // where they are copied to
  };

  struct Planned {
    std::vector<Step> steps;
    double cycles = 0;
  };
  Result<Planned> plan(std::vector<Step> steps, const CycleModel& model) const;
  std::vector<std::vector<bool>> layouts(const CycleModel& model) const;
  Result<CompiledProgram> emit();
  Status pack(Step& step, Streams& streams);
  std::size_t append(std::span<const std::byte> bytes);
  void allocate();
  [[nodiscard]] std::uint8_t region_of(BufferId id) const;
  [[nodiscard]] std::uint8_t region_or_scratch(BufferId id) const;
  void place(FeatureMap& map, BufferId id) const;

  ProgramOptions options_;
  std::vector<Buffer> buffers_;
  std::vector<Step> steps_;
  std::vector<Streams> streams_;
  std::map<std::string, std::size_t> known_;  // offsets of constants by their bytes
  std::uint8_t next_own_ = kFirstOwn;
  std::vector<bool> fast_;  // buffers in the fast memory
  CompiledProgram out_;
};

}  // namespace runnel::npu
