// Steps of a program under construction: operations whose addresses are relative to their buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "npu/host/cycles/memory_system.h"
#include "npu/host/weights.h"
#include "npu/operation.h"

namespace runnel::npu {

// The memory mode determines where constants and maps are: weights outside on-chip memory are copied first
// where that is quicker; maps are outside as far as the fast memory has no room.
enum class Optimise : std::uint8_t { speed, size };
struct ProgramOptions {
  const Accelerator* accelerator = nullptr;
  const SystemConfiguration* system = nullptr;  // null: the product's default
  const MemoryMode* mode = nullptr;
  // Size: of all variants the one that needs the least scratch memory, without copies of weights.
  Optimise optimise = Optimise::speed;
  std::size_t most_scratch = 0;  // bytes, both scratch memories together; 0: no limit
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
  bool copied = false;       // set by the program: weights are copied into on-chip memory first
  std::vector<Step> others;  // other ways to the same result, of which the program takes the quickest
};

struct CompiledProgram {
  std::vector<std::byte> payload, constants;
  std::size_t scratch = 0, fast_scratch = 0;
  std::vector<std::size_t> offsets;   // of each buffer in its region
  std::vector<std::uint8_t> regions;  // of each buffer
  std::vector<Operation> operations;  // as decoded, waits and copies included
};

}  // namespace runnel::npu
