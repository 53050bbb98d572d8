#include "base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

namespace runnel {
namespace {

// table[k][b]: what byte b does to the checksum k bytes further on. Four bytes at a time: 4 KiB in ROM, and a third of the instructions of one
// byte at a time, which counts where a microcontroller checks its model at every start.
constexpr std::array<std::array<std::uint32_t, 256>, 4> make_tables() {
  std::array<std::array<std::uint32_t, 256>, 4> tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78u : 0u);
    tables[0][i] = value;
  }
  for (std::size_t k = 1; k < 4; ++k) {
    for (std::size_t i = 0; i < 256; ++i) tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 255];
  }
  return tables;
}
constexpr auto kTables = make_tables();

std::uint32_t add_byte(std::uint32_t crc, std::byte byte) noexcept { return (crc >> 8) ^ kTables[0][(crc ^ static_cast<std::uint32_t>(byte)) & 255]; }

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed) noexcept {
  std::uint32_t crc = ~seed;
  const std::byte *at = bytes.data(), *const end = at + bytes.size();
  if constexpr (std::endian::native == std::endian::little) {
    for (; at != end && reinterpret_cast<std::uintptr_t>(at) % 4 != 0; ++at) crc = add_byte(crc, *at);
    for (; end - at >= 4; at += 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, __builtin_assume_aligned(at, 4), sizeof word);
      crc ^= word;
      crc = kTables[3][crc & 255] ^ kTables[2][crc >> 8 & 255] ^ kTables[1][crc >> 16 & 255] ^ kTables[0][crc >> 24];
    }
  }
  for (; at != end; ++at) crc = add_byte(crc, *at);
  return ~crc;
}

}  // namespace runnel
