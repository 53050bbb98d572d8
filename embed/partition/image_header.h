// The header of a model image (docs/model-slots.md): what a partition of flash starts with, 256 bytes before
// the model file. Numbers are little-endian:
//
//   0    RNLI
//   4    u16 format: 1
//   6    u16 flags: 1: signed
//   8    u32 length of the model file
//   12   u32 version of the model
//   16   id of the profile, 16 bytes
//   32   u32 memory, u32 fast memory that preparing takes at most
//   48   name, 31 letters and a zero
//   96   SHA-256 of the model file
//   128  Ed25519 signature of bytes 0 to 127; zeros without
//   252  u32 CRC-32C of bytes 0 to 251
//
// All other bytes are zero.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/sha256.h"
#include "base/status.h"

namespace runnel::embed {

inline constexpr std::string_view kImageMagic = "RNLI";
inline constexpr std::uint16_t kImageFormat = 1;
inline constexpr std::uint32_t kImageHeaderBytes = 256;
// The bytes that a signature covers, from the start.
inline constexpr std::size_t kSignedBytes = 128;

using ImageHeaderBytes = std::array<std::byte, kImageHeaderBytes>;
using ProfileId = std::array<std::uint8_t, 16>;

struct ImageHeader {
  bool is_signed = false;
  std::uint32_t length = 0;  // of the model file
  std::uint32_t version = 0;
  ProfileId profile{};
  std::uint32_t memory_bytes = 0, fast_bytes = 0;
  std::array<char, 32> name{};  // ends with a zero
  Sha256Digest digest{};
  std::array<std::uint8_t, 64> signature{};
  std::uint32_t crc = 0;  // of the header as it was read
};

// Errors: invalid_data for erased memory, bytes that are no image, a wrong checksum, bytes that must be zero;
// unsupported for a newer format.
Result<ImageHeader> read_image_header(std::span<const std::byte, kImageHeaderBytes> bytes) noexcept;
// The header as bytes, with its checksum.
ImageHeaderBytes write_image_header(const ImageHeader& header) noexcept;

}  // namespace runnel::embed
