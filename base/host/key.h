// A secret of 128 bits, read from a file or the environment, never from a command line, which other
// users can read.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include "base/status.h"

namespace runnel::crypto {

// Overwrites with zeros; the compiler cannot remove it.
void wipe(std::span<std::byte> secret) noexcept;

// 16 bytes, wiped by the destructor. Copies are independent keys.
class Key {
 public:
  static constexpr std::size_t kBytes = 16;

  explicit Key(std::span<const std::byte, kBytes> bytes) noexcept;
  Key(const Key& other) noexcept = default;
  Key& operator=(const Key& other) noexcept = default;
  ~Key() { wipe(bytes_); }

  // From 32 hexadecimal digits. Errors: invalid_data, which never repeats the input.
  static Result<Key> from_hex(std::string_view digits);
  // From a file of 16 raw bytes, or of 32 hexadecimal digits with optional white space after them. Errors:
  // not_found, io_error, invalid_data, naming the file.
  static Result<Key> from_file(const std::filesystem::path& path);
  // The environment variable `name` as 32 hexadecimal digits; no key when it is not set or empty. Errors: as
  // from_hex, naming it.
  static Result<std::optional<Key>> from_environment(const char* name);

  [[nodiscard]] std::span<const std::byte, kBytes> bytes() const noexcept { return bytes_; }

 private:
  std::array<std::byte, kBytes> bytes_;
};

}  // namespace runnel::crypto
