#include "embed/partition/image_header.h"

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"

namespace runnel::embed {
namespace {

constexpr std::size_t kName = 48, kDigest = 96, kSignature = 128, kCrc = 252;

std::uint32_t number(const std::byte* at, std::size_t bytes) noexcept {
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < bytes; ++i) out |= std::to_integer<std::uint32_t>(at[i]) << (8 * i);
  return out;
}
void put(std::byte* at, std::uint32_t value, std::size_t bytes) noexcept {
  for (std::size_t i = 0; i < bytes; ++i) at[i] = static_cast<std::byte>(value >> (8 * i));
}
bool all_are(std::span<const std::byte> bytes, std::byte value) noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [value](std::byte one) { return one == value; });
}

}  // namespace

Result<ImageHeader> read_image_header(std::span<const std::byte, kImageHeaderBytes> bytes) noexcept {
  const std::byte* const at = bytes.data();
  if (all_are(bytes, std::byte{0xFF}))
    return Status(Code::invalid_data) << "no model image: the memory is erased";
  if (std::memcmp(at, kImageMagic.data(), kImageMagic.size()) != 0)
    return Status(Code::invalid_data) << "no model image: it starts with " << number(at, 4) << ", expected "
                                      << number(reinterpret_cast<const std::byte*>(kImageMagic.data()), 4);
  ImageHeader out;
  out.crc = number(at + kCrc, 4);
  if (const std::uint32_t found = crc32c(bytes.first(kCrc)); found != out.crc)
    return Status(Code::invalid_data)
           << "header of the image: checksum " << found << ", expected " << out.crc;
  if (const std::uint32_t format = number(at + 4, 2); format != kImageFormat)
    return Status(Code::unsupported) << "image of format " << format << ", expected " << kImageFormat;
  const std::uint32_t flags = number(at + 6, 2);
  if (flags > 1 || !all_are(bytes.subspan(40, 8), {}) || !all_are(bytes.subspan(80, 16), {}) ||
      !all_are(bytes.subspan(192, 60), {}) || at[kName + 31] != std::byte{0})
    return Status(Code::invalid_data) << "header of the image: bytes that must be zero are not";
  out.is_signed = flags == 1;
  out.length = number(at + 8, 4);
  out.version = number(at + 12, 4);
  std::memcpy(out.profile.data(), at + 16, out.profile.size());
  out.memory_bytes = number(at + 32, 4);
  out.fast_bytes = number(at + 36, 4);
  std::memcpy(out.name.data(), at + kName, out.name.size());
  std::memcpy(out.digest.data(), at + kDigest, out.digest.size());
  std::memcpy(out.signature.data(), at + kSignature, out.signature.size());
  return out;
}

ImageHeaderBytes write_image_header(const ImageHeader& header) noexcept {
  ImageHeaderBytes out{};
  std::byte* const at = out.data();
  std::memcpy(at, kImageMagic.data(), kImageMagic.size());
  put(at + 4, kImageFormat, 2);
  put(at + 6, header.is_signed ? 1 : 0, 2);
  put(at + 8, header.length, 4);
  put(at + 12, header.version, 4);
  std::memcpy(at + 16, header.profile.data(), header.profile.size());
  put(at + 32, header.memory_bytes, 4);
  put(at + 36, header.fast_bytes, 4);
  std::memcpy(at + kName, header.name.data(), header.name.size() - 1);
  std::memcpy(at + kDigest, header.digest.data(), header.digest.size());
  if (header.is_signed) std::memcpy(at + kSignature, header.signature.data(), header.signature.size());
  put(at + kCrc, crc32c({at, kCrc}), 4);
  return out;
}

}  // namespace runnel::embed
