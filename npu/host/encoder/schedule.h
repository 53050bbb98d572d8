// Schedule: the order of operations on parallel hardware, with waits, tables, and the number of blocks of the
// previous operation that may still be open.
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

  // Adds an operation or copy with its final addresses, after any waits it needs, and sets
  // its block dependency.
  void add(Operation op);
  // The same for an operation with a table at `offset` of the constants, copied first if no slot holds it.
  void add_with_table(Operation op, std::size_t offset, const std::vector<std::byte>& table);

  // As decoded.
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
  std::deque<Access> kernels_, copies_;  // possibly unfinished, oldest first
  Operation previous_;                   // the last one that computes; STOP: none
  // Resident tables of all sizes, without overlaps.
  struct Held {
    std::size_t place = 0;  // bytes from the first table
    std::vector<std::byte> bytes;
  };
  std::vector<Held> tables_;
  std::size_t next_table_ = 0;
};

// How many blocks of `previous`, at most 3 or on a U85 7, need not be finished when `op` begins.
std::uint8_t block_dependency(const Operation& op, const Operation& previous,
                              const Accelerator& accelerator) noexcept;

}  // namespace runnel::npu
