// Register writer: words of a command stream, without setters that would change nothing; the inverse of
// npu/register_reader.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "npu/map_registers.h"
#include "npu/operation.h"

namespace runnel::npu {

class RegisterWriter {
 public:
  void set(Short code, std::int32_t value);
  void set(Long code, std::int64_t value);  // an address, a distance, a length
  void set_long(Long code, std::uint16_t param, std::uint32_t payload);
  void command(OpCode code, std::uint16_t param);
  // A map's place in memory and its zero point.
  void map(const FeatureMap& map, const MapRegisters& codes);
  // Kernel and upscaling.
  void window(const Operation& op);
  // The output's size and block, and the dependency on the operation before.
  void output_block(const Operation& op);

  [[nodiscard]] const std::vector<std::uint32_t>& words() const noexcept { return words_; }

 private:
  std::vector<std::uint32_t> words_;
  std::array<std::optional<std::uint16_t>, Registers::kShorts> short_;
  std::array<std::optional<std::pair<std::uint16_t, std::uint32_t>>, Registers::kLongs> long_;
};

// Fields that the precision registers of all Ethos-U have alike, at their own bits.
constexpr std::int32_t width_field(std::uint8_t element) noexcept {
  return element == 1 ? 0 : element == 2 ? 1 : element == 4 ? 2 : 3;
}
constexpr std::int32_t layout_field(const FeatureMap& map) noexcept {
  return map.layout == Layout::nhcwb16 ? 1 << 6 : 0;
}
constexpr Long plus(Long code, int count) noexcept {
  return static_cast<Long>(static_cast<int>(code) + count);
}

}  // namespace runnel::npu
