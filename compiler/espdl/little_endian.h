// Numbers in the headers of .espdl files and packages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace runnel::compiler {

// The 32-bit number at `offset`; the caller has made sure that it is there.
inline std::uint32_t read_u32(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= std::to_integer<std::uint32_t>(bytes[offset + i]) << (8 * i);
  return value;
}

inline void write_u32(std::span<std::byte> bytes, std::size_t offset, std::size_t value) {
  for (std::size_t i = 0; i < 4; ++i) bytes[offset + i] = static_cast<std::byte>(value >> (8 * i));
}

}  // namespace runnel::compiler
