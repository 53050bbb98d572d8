#include "base/crc32c.h"

#include <array>

namespace runnel {
namespace {

// Four bits at a time: 64 bytes of table, which suits ROM, and fast enough for model files.
constexpr std::array<std::uint32_t, 16> make_table() {
  std::array<std::uint32_t, 16> table{};
  for (std::uint32_t i = 0; i < 16; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 4; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78u : 0u);
    table[i] = value;
  }
  return table;
}
constexpr auto kTable = make_table();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed) noexcept {
  std::uint32_t crc = ~seed;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<std::uint32_t>(byte);
    crc = (crc >> 4) ^ kTable[crc & 15];
    crc = (crc >> 4) ^ kTable[crc & 15];
  }
  return ~crc;
}

}  // namespace runnel
