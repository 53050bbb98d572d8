#include "base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#include "base/cpu.h"

namespace runnel {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78u;  // reflected

#ifdef __linux__
// table[k][b]: the effect of byte b on the checksum k bytes later. Four bytes at a time.
constexpr std::size_t kBytes = 4, kBits = 8;
#else
// table[k][b]: the effect of the four bits b on the checksum k half bytes later. Two half bytes at a time:
// 128 bytes of ROM instead of 4 KiB, for twice the instructions; a microcontroller that checks its model at
// the start can afford a few hundred thousand.
constexpr std::size_t kBytes = 2, kBits = 4;
#endif
using Tables = std::array<std::array<std::uint32_t, std::size_t{1} << kBits>, kBytes>;
constexpr Tables make_tables() {
  constexpr std::uint32_t kMask = (1U << kBits) - 1;
  Tables tables{};
  for (std::uint32_t i = 0; i <= kMask; ++i) {
    std::uint32_t value = i;
    for (std::size_t bit = 0; bit < kBits; ++bit)
      value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0u);
    tables[0][i] = value;
  }
  for (std::size_t k = 1; k < kBytes; ++k) {
    for (std::size_t i = 0; i <= kMask; ++i)
      tables[k][i] = (tables[k - 1][i] >> kBits) ^ tables[0][tables[k - 1][i] & kMask];
  }
  return tables;
}
constexpr Tables kTables = make_tables();

#ifdef __linux__
std::uint32_t add_byte(std::uint32_t crc, std::byte byte) noexcept {
  return (crc >> 8) ^ kTables[0][(crc ^ static_cast<std::uint32_t>(byte)) & 255];
}
#else
[[gnu::always_inline]] inline std::uint32_t add_bits(std::uint32_t crc) noexcept {
  return (crc >> 8) ^ kTables[1][crc & 15] ^ kTables[0][crc >> 4 & 15];
}
std::uint32_t add_byte(std::uint32_t crc, std::byte byte) noexcept {
  return add_bits(crc ^ static_cast<std::uint32_t>(byte));
}
#endif

#if defined(__linux__) && defined(__x86_64__)
// The processor's own instruction, eight bytes at a time.
[[gnu::target("sse4.2")]] std::uint32_t crc32c_of_processor(std::span<const std::byte> bytes,
                                                            std::uint32_t crc) noexcept {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    crc = static_cast<std::uint32_t>(__builtin_ia32_crc32di(crc, word));
  }
  for (; left > 0; --left, ++at) crc = __builtin_ia32_crc32qi(crc, static_cast<unsigned char>(*at));
  return crc;
}
#endif

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed) noexcept {
  std::uint32_t crc = ~seed;
#if defined(__linux__) && defined(__x86_64__)
  if (best_isa() >= Isa::avx2) return ~crc32c_of_processor(bytes, crc);  // which includes it
#endif
  const std::byte *at = bytes.data(), *const end = at + bytes.size();
  if constexpr (std::endian::native == std::endian::little) {
    for (; at != end && reinterpret_cast<std::uintptr_t>(at) % 4 != 0; ++at) crc = add_byte(crc, *at);
    for (const std::byte* const last = at + (end - at) / 4 * 4; at != last; at += 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, __builtin_assume_aligned(at, 4), sizeof word);
      crc ^= word;
#ifdef __linux__
      crc = kTables[3][crc & 255] ^ kTables[2][crc >> 8 & 255] ^ kTables[1][crc >> 16 & 255] ^
            kTables[0][crc >> 24];
#else
      crc = add_bits(add_bits(add_bits(add_bits(crc))));
#endif
    }
  }
  for (; at != end; ++at) crc = add_byte(crc, *at);
  return ~crc;
}

}  // namespace runnel
