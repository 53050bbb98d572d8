#include "base/host/key.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace runnel::crypto {
namespace {

int digit_value(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

bool is_space(char letter) noexcept {
  return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n';
}

struct Close {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

}  // namespace

void wipe(std::span<std::byte> secret) noexcept {
  for (std::byte& byte : secret) *const_cast<volatile std::byte*>(&byte) = std::byte{0};
}

Key::Key(std::span<const std::byte, kBytes> bytes) noexcept {
  std::copy(bytes.begin(), bytes.end(), bytes_.begin());
}

Result<Key> Key::from_hex(std::string_view digits) {
  std::array<std::byte, kBytes> bytes{};
  bool good = digits.size() == 2 * kBytes;
  for (std::size_t i = 0; good && i < kBytes; ++i) {
    const int high = digit_value(digits[2 * i]), low = digit_value(digits[2 * i + 1]);
    good = high >= 0 && low >= 0;
    if (good) bytes[i] = static_cast<std::byte>(high * 16 + low);
  }
  Result<Key> result =
      good ? Result<Key>(Key(bytes))
           : Result<Key>(Status(Code::invalid_data)
                         << "a key of " << digits.size() << " characters, expected 32 hexadecimal digits");
  wipe(bytes);
  return result;
}

Result<Key> Key::from_file(const std::filesystem::path& path) {
  const auto fail = [&](Code code) { return Status(code) << "key file " << path.string() << ": "; };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr)
    return fail(errno == ENOENT ? Code::not_found : Code::io_error) << std::strerror(errno);
  std::setvbuf(file.get(), nullptr, _IONBF, 0);  // unbuffered: no copy of the key in memory that nobody wipes
  std::array<char, 64> text{};
  const std::size_t size = std::fread(text.data(), 1, text.size(), file.get());
  const bool failed = std::ferror(file.get()) != 0;
  Result<Key> result = fail(Code::io_error) << "cannot be read";
  if (!failed) {
    std::string_view digits(text.data(), size);
    while (digits.size() > kBytes && is_space(digits.back())) digits.remove_suffix(1);
    if (size == kBytes) {
      result = Key(std::as_bytes(std::span(text)).first<kBytes>());
    } else if (result = from_hex(digits); !result.ok()) {
      result = fail(Code::invalid_data) << "expected 16 bytes, or 32 hexadecimal digits";
    }
  }
  wipe(std::as_writable_bytes(std::span(text)));
  return result;
}

Result<std::optional<Key>> Key::from_environment(const char* name) {
  const char* const digits = std::getenv(name);
  if (digits == nullptr || *digits == '\0') return std::optional<Key>();
  const Result<Key> key = from_hex(digits);
  if (!key.ok()) return key.status().at(name);
  return std::optional<Key>(*key);
}

}  // namespace runnel::crypto
