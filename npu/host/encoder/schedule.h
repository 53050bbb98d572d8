// The order of operations with what the hardware does at the same time in mind: waits, tables, and how many
// blocks of the operation in front may still be on their way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "npu/host/encoder/stream_encoder.h"
#include "npu/operation.h"

namespace runnel::npu {

class Schedule {
 public:
  explicit Schedule(const Accelerator& accelerator) noexcept
      : accelerator_(accelerator), encoder_(accelerator) {}

  // An operation or copy with its final addresses; waits are put before it as needed, and the block
  // dependency is set.
  void add(Operation op);
  // The same for an operation with a table of this many bytes at `offset` of the constants: copied first
  // where no slot holds it.
  void add_with_table(Operation op, std::size_t offset, const std::vector<std::byte>& table);

  // As a decoder gives them.
  [[nodiscard]] const std::vector<Operation>& operations() const { return operations_; }
  [[nodiscard]] std::vector<std::byte> payload() const { return encoder_.payload(); }

 private:
  struct Range {
    int memory = 0;  // a region; -1: the accelerator's own
    std::int64_t low = 0, high = 0;
  };
  struct Access {
    std::vector<Range> reads, writes;
  };
  [[nodiscard]] Access access_of(const Operation& op) const;
  static bool conflict(const Access& later, const Access& earlier);
  void wait_for(std::deque<Access>& outstanding, const Access& access, OperationKind kind);
  void emit(const Operation& op);

  const Accelerator& accelerator_;
  StreamEncoder encoder_;
  std::vector<Operation> operations_;
  std::deque<Access> kernels_, copies_;  // that may not be finished, the oldest first
  Operation previous_;                   // the last one that computes; STOP: there is none
  // Tables of all sizes that are there, none over another one.
  struct Held {
    std::size_t place = 0;  // bytes after the first table
    std::vector<std::byte> bytes;
  };
  std::vector<Held> tables_;
  std::size_t next_table_ = 0;
};

// How many blocks of `previous`, at most 3, need not be finished when `op` begins.
std::uint8_t block_dependency(const Operation& op, const Operation& previous,
                              const Accelerator& accelerator) noexcept;

}  // namespace runnel::npu
