// Ed25519 signatures of model images, from libsodium. A build without libsodium (RUNNEL_SODIUM) has the same
// functions; each returns an error and never skips its work.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/host/key.h"
#include "base/status.h"

namespace runnel::crypto {

using Signature = std::array<std::uint8_t, 64>;
using PublicKey = std::array<std::uint8_t, 32>;

// Whether this build knows libsodium and this machine has it.
bool can_sign() noexcept;

// The seed of a key pair (RFC 8032), wiped by the destructor.
class SigningKey {
 public:
  static constexpr std::size_t kBytes = 32;

  explicit SigningKey(std::span<const std::uint8_t, kBytes> seed) noexcept;
  SigningKey(const SigningKey& other) noexcept = default;
  SigningKey& operator=(const SigningKey& other) noexcept = default;
  ~SigningKey() { wipe(std::as_writable_bytes(std::span(seed_))); }

  // A new one from the system's random numbers. Errors: unsupported without libsodium (not_found where this
  // machine lacks it).
  static Result<SigningKey> make();
  // From a file of 64 hexadecimal digits with optional white space after them. Errors: not_found, io_error,
  // invalid_data, naming the file, never its content.
  static Result<SigningKey> from_file(const std::filesystem::path& path);

  [[nodiscard]] std::span<const std::uint8_t, kBytes> seed() const noexcept { return seed_; }

 private:
  std::array<std::uint8_t, kBytes> seed_;
};

// From a file as that of a SigningKey. Errors: the same.
Result<PublicKey> read_public_key(const std::filesystem::path& path);
// 64 hexadecimal digits.
std::string hex(std::span<const std::uint8_t> bytes);

// Errors of these: unsupported without libsodium (not_found where this machine lacks it).
Result<PublicKey> public_key(const SigningKey& key);
Result<Signature> sign(const SigningKey& key, std::span<const std::byte> message);
// Also invalid_data for a signature of another key or message.
Status verify(const PublicKey& key, std::span<const std::byte> message, const Signature& signature);

}  // namespace runnel::crypto
