// Keys of signatures, with and without libsodium.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/host/signature.h"

namespace runnel::crypto {
namespace {

struct Close {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

int digit_value(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

// 32 bytes as hexadecimal digits.
Status read_key(const std::filesystem::path& path, std::span<std::uint8_t, 32> out) {
  const auto failed = [&](Code code) { return Status(code) << "key file " << path.string() << ": "; };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr)
    return failed(errno == ENOENT ? Code::not_found : Code::io_error) << std::strerror(errno);
  std::setvbuf(file.get(), nullptr, _IONBF, 0);  // unbuffered: no copy of the key in memory that nobody wipes
  std::array<char, 80> text{};
  std::size_t size = std::fread(text.data(), 1, text.size(), file.get());
  const bool unread = std::ferror(file.get()) != 0;
  while (size > 64 && std::string_view(" \t\r\n").find(text[size - 1]) != std::string_view::npos) --size;
  bool good = size == 64;
  for (std::size_t i = 0; good && i < out.size(); ++i) {
    const int high = digit_value(text[2 * i]), low = digit_value(text[2 * i + 1]);
    good = high >= 0 && low >= 0;
    if (good) out[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  wipe(std::as_writable_bytes(std::span(text)));
  if (unread) return failed(Code::io_error) << "cannot be read";
  return good ? Status() : failed(Code::invalid_data) << "expected 64 hexadecimal digits";
}

}  // namespace

SigningKey::SigningKey(std::span<const std::uint8_t, kBytes> seed) noexcept {
  std::copy(seed.begin(), seed.end(), seed_.begin());
}

Result<SigningKey> SigningKey::from_file(const std::filesystem::path& path) {
  std::array<std::uint8_t, kBytes> seed{};
  const Status status = read_key(path, seed);
  Result<SigningKey> out = status.ok() ? Result<SigningKey>(SigningKey(seed)) : Result<SigningKey>(status);
  wipe(std::as_writable_bytes(std::span(seed)));
  return out;
}

Result<PublicKey> read_public_key(const std::filesystem::path& path) {
  PublicKey out{};
  RUNNEL_TRY(read_key(path, out));
  return out;
}

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string out;
  for (const std::uint8_t byte : bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

}  // namespace runnel::crypto
