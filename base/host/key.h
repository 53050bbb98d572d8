// A secret of 128 bits and where it may come from: a file or the environment, never a command line, which
// other users can read.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include "base/status.h"

namespace runnel::crypto {

// Overwrites with zeros in a way that the compiler does not leave out.
void wipe(std::span<std::byte> secret) noexcept;

// 16 bytes that are wiped when the object goes. Copies are keys of their own.
class Key {
 public:
  static constexpr std::size_t kBytes = 16;

  explicit Key(std::span<const std::byte, kBytes> bytes) noexcept;
  Key(const Key& other) noexcept = default;
  Key& operator=(const Key& other) noexcept = default;
  ~Key() { wipe(bytes_); }

  // 32 hexadecimal digits. Errors: invalid_data, which never repeat what was given.
  static Result<Key> from_hex(std::string_view digits);
  // A file of 16 raw bytes, or of 32 hexadecimal digits and perhaps white space after them. Errors:
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
