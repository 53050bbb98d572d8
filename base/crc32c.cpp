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
    // Addresses of their own, which the compiler must not compute anew from the first: a fifth of the loop.
    const std::uint32_t *table0 = kTables[0].data(), *table1 = kTables[1].data(), *table2 = kTables[2].data(), *table3 = kTables[3].data();
    __asm("" : "+r"(table0), "+r"(table1), "+r"(table2), "+r"(table3));
    for (const std::byte* const last = at + (end - at) / 4 * 4; at != last; at += 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, __builtin_assume_aligned(at, 4), sizeof word);
      crc ^= word;
      crc = table3[crc & 255] ^ table2[crc >> 8 & 255] ^ table1[crc >> 16 & 255] ^ table0[crc >> 24];
    }
  }
  for (; at != end; ++at) crc = add_byte(crc, *at);
  return ~crc;
}

}  // namespace runnel
