// Estimate: what an Ethos-U's cycle model says of the operations of one run. The same for all generations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "npu/host/cycles/memory_system.h"
#include "npu/operation.h"

namespace runnel::npu {

// Payload bytes, without the waste of short bursts.
struct Traffic {
  double read = 0, written = 0;
};

// One operation as a compiler sees it: depth slices of a convolution, whose weights arrive one by one,
// count as one.
struct OperationEstimate {
  std::uint32_t first = 0, last = 0;  // indices of operations in the stream
  OperationKind kind = OperationKind::conv;
  std::uint8_t mode = 0;
  std::int64_t macs = 0;
  double npu = 0;  // cycles: arithmetic, and transfers of weights and tables that are not hidden
  std::array<double, kMemoryAreas> access{};  // cycles that each memory is busy (MemoryArea)
  double total = 0;                           // the largest of them
  std::array<Traffic, kMemoryAreas> traffic{};
  double utilisation = 0;  // multiply-adds as a share of the possible ones in this time; 0 to 1
};

struct Estimate {
  std::vector<OperationEstimate> operations;
  std::int64_t macs = 0;
  double npu = 0, total = 0;  // cycles, sums over operations
  std::array<double, kMemoryAreas> access{};
  std::array<Traffic, kMemoryAreas> traffic{};
  double seconds = 0;  // total at the system's clock
  double utilisation = 0;
};

// Bytes of a convolution's weights and scales compressed as one stream, where its channels are cut into
// several operations, whose streams do not show it. Arm's compiler uses this size where copies, not products,
// take the time.
struct UncutWeights {
  std::uint32_t first = 0;  // index of the first operation
  double bytes = 0;
};

// A count that stops at the largest: sizes in a stream may be anything.
std::int64_t whole_count(double value) noexcept;
// Sets total and utilization of an operation whose `npu`, `access` and `macs` are known.
void settle(OperationEstimate& one, const Accelerator& accelerator) noexcept;
// Appends a settled operation and adds it to the sums.
void append(Estimate& estimate, const OperationEstimate& one);
// After the last one.
void close(Estimate& estimate, const Accelerator& accelerator, const SystemConfiguration& system) noexcept;

// Of a whole stream, by the model of its product (cycles.h, u85/cycle_model.h). `constants`: region 0, if it
// is known; a U85's estimate then knows uncut weights. Errors: as their make().
Result<Estimate> estimate_stream(std::span<const Operation> operations, const Accelerator& accelerator,
                                 const SystemConfiguration& system, const MemoryMode& mode,
                                 std::span<const std::byte> constants = {});

}  // namespace runnel::npu
