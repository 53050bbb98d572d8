// Register reader: the registers of one operation, as all Ethos-U have them.
#pragma once

#include "npu/map_registers.h"
#include "npu/operation.h"

namespace runnel::npu {

// Reads registers into one operation; remembers the first fault: a register that was never set, a
// meaningless value.
class RegisterReader {
 public:
  RegisterReader(const Registers& registers, const Accelerator& accelerator, Operation& op) noexcept
      : registers_(registers), accelerator_(accelerator), op_(op) {}

 protected:
  static Status fail() noexcept { return Status(Code::invalid_data); }
  void refuse(Status&& status) noexcept {
    if (status_.ok()) status_ = std::move(status);
  }

  std::uint16_t get(Short code) noexcept;
  std::uint16_t get_or(Short code, std::uint16_t otherwise) noexcept {
    return registers_.is_set(code) ? registers_.get(code) : otherwise;
  }
  // The code itself, which is set.
  Long need(Long code) noexcept;
  static std::int32_t as_signed(std::uint16_t value, bool is_signed) noexcept {
    return is_signed ? static_cast<std::int16_t>(value) : value;
  }
  std::int32_t signed_of(Short code, bool is_signed) noexcept { return as_signed(get(code), is_signed); }
  std::int64_t address(Long code) noexcept { return registers_.address(need(code)); }
  std::int64_t distance(Long code) noexcept { return registers_.distance(need(code)); }
  Bytes bytes(Long base, Long length) noexcept {
    return {address(base), std::int64_t{registers_.payload(need(length))}};
  }
  static Long plus(Long code, int count) noexcept {
    return static_cast<Long>(static_cast<int>(code) + count);
  }

  // A map in memory. `map.storage` is set.
  void place(FeatureMap& map, const MapRegisters& from, std::int64_t height, std::int64_t width,
             std::int64_t depth, const char* name) noexcept;
  // Its size alone.
  void size(FeatureMap& map, std::int64_t height, std::int64_t width, std::int64_t depth,
            const char* name) noexcept;
  void type(FeatureMap& map, const MapRegisters& from) noexcept;
  void block() noexcept;
  // Kernel and upscaling.
  void window() noexcept;
  // Of the map that the window reads: it follows from the size of the output.
  [[nodiscard]] std::int64_t window_rows() const noexcept;
  [[nodiscard]] std::int64_t window_columns() const noexcept;

  const Registers& registers_;
  const Accelerator& accelerator_;
  Operation& op_;
  Status status_;
};

}  // namespace runnel::npu
