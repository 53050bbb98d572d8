// CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected, as in RFC 3720): protects sections of model files
// and saved sessions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace runnel {

// Checksum of the bytes, continuing from `seed` (the result for the previous bytes; 0 at the start).
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed = 0) noexcept;

}  // namespace runnel
