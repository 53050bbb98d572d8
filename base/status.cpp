#include "base/status.h"

#include <cstring>

namespace runnel {

std::string_view name_of(Code code) noexcept {
  switch (code) {
    case Code::ok:
      return "ok";
    case Code::invalid_argument:
      return "invalid argument";
    case Code::invalid_data:
      return "invalid data";
    case Code::unsupported:
      return "unsupported";
    case Code::not_found:
      return "not found";
    case Code::out_of_memory:
      return "out of memory";
    case Code::io_error:
      return "input/output error";
    case Code::mismatch:
      return "mismatch";
  }
  return "unknown";
}

Text& Text::operator<<(std::string_view piece) noexcept {
  constexpr std::size_t room = sizeof(text_) - 1;
  const std::size_t count = piece.size() <= room - size_ ? piece.size() : room - size_;
  // Names come from files: their line breaks and terminal control sequences must not get into a sentence.
  for (std::size_t i = 0; i < count; ++i) {
    const auto letter = static_cast<unsigned char>(piece[i]);
    text_[size_ + i] = letter < 0x20 || letter == 0x7F ? '?' : piece[i];
  }
  size_ = static_cast<std::uint16_t>(size_ + count);
  if (count < piece.size()) std::memcpy(text_ + room - 3, "...", 3);
  text_[size_] = '\0';
  return *this;
}

Text& Text::number(std::uint64_t value) noexcept {
  char digits[20];
  std::size_t first = sizeof(digits);
  do {
    digits[--first] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  return *this << std::string_view(digits + first, sizeof(digits) - first);
}

Text& Text::number(std::int64_t value) noexcept {
  if (value >= 0) return number(static_cast<std::uint64_t>(value));
  *this << '-';
  return number(std::uint64_t{0} - static_cast<std::uint64_t>(value));
}

Status Status::at(std::string_view place) const noexcept { return Status(code_, place) << ": " << text(); }

}  // namespace runnel
