// SHA-256 (FIPS 180-4), for devices: what a signature of a model image covers. Hosts have that of mbedTLS as
// well (base/host/crypto.h), which is optional there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace runnel {

using Sha256Digest = std::array<std::uint8_t, 32>;

// The digest of bytes that come in pieces: at most 2^61 of them.
class Sha256 {
 public:
  Sha256() noexcept;
  void add(std::span<const std::byte> bytes) noexcept;
  // Of everything added; the object is used up.
  [[nodiscard]] Sha256Digest finish() noexcept;

 private:
  void block(const std::byte* at) noexcept;

  std::array<std::uint32_t, 8> state_;
  std::array<std::byte, 64> waiting_;
  std::uint64_t count_ = 0;
};

[[nodiscard]] Sha256Digest sha256(std::span<const std::byte> bytes) noexcept;

}  // namespace runnel
