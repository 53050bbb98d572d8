#include "decoding/vocabulary.h"

#include <array>

namespace runnel::decoding {
namespace {

constexpr auto kBytes = [] {
  std::array<char, 256> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i);
  return bytes;
}();

std::int32_t digit(char letter) noexcept {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  return -1;
}

bool is_separator(std::string_view piece) noexcept {
  return piece == " " || piece == "|" || piece == "<space>" || piece == kWordMark;
}

// One character of UTF-8 at most.
bool is_character(std::string_view piece) noexcept {
  std::size_t count = 0;
  for (const char letter : piece) count += (static_cast<unsigned char>(letter) & 0xC0u) != 0x80u ? 1 : 0;
  return count <= 1;
}

}  // namespace

std::string_view name_of(Units units) noexcept {
  constexpr std::string_view kNames[] = {"pieces", "characters", "words", "joined"};
  return kNames[static_cast<std::size_t>(units)];
}

std::int32_t byte_of(std::string_view piece) noexcept {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return -1;
  const std::int32_t high = digit(piece[3]), low = digit(piece[4]);
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

bool is_control(std::string_view piece) noexcept {
  return piece.size() > 2 && piece.front() == '<' && piece.back() == '>' && piece != "<unk>" &&
         piece != "<space>" && byte_of(piece) < 0;
}

bool Vocabulary::separates(std::int32_t token) const noexcept {
  return (units == Units::characters || units == Units::pieces) &&
         is_separator(pieces[static_cast<std::size_t>(token)]);
}

bool Vocabulary::begins_word(std::int32_t token) const noexcept {
  switch (units) {
    case Units::pieces:
      return pieces[static_cast<std::size_t>(token)].starts_with(kWordMark);
    case Units::characters:
      return separates(token);
    case Units::words:
      return true;
    case Units::joined:
      break;
  }
  return false;
}

std::string_view Vocabulary::text(std::int32_t token) const noexcept {
  std::string_view piece = pieces[static_cast<std::size_t>(token)];
  if (token == blank || is_control(piece) || separates(token)) return {};
  if (const std::int32_t byte = byte_of(piece); byte >= 0)
    return {&kBytes[static_cast<std::size_t>(byte)], 1};
  if (units == Units::pieces && piece.starts_with(kWordMark)) piece.remove_prefix(kWordMark.size());
  return piece;
}

std::int32_t find_blank(std::span<const std::string_view> pieces, std::string_view text) noexcept {
  const auto token_of = [&](std::string_view name) noexcept {
    for (std::size_t i = 0; i < pieces.size(); ++i)
      if (pieces[i] == name) return static_cast<std::int32_t>(i);
    return std::int32_t{-1};
  };
  if (text.empty()) {
    for (const std::string_view usual : {"<blk>", "<blank>", "<pad>", "<eps>", "[PAD]", "_"})
      if (const std::int32_t token = token_of(usual); token >= 0) return token;
    return pieces.empty() ? -1 : 0;
  }
  if (const std::int32_t token = token_of(text); token >= 0) return token;
  std::size_t number = 0;
  for (const char letter : text) {
    if (letter < '0' || letter > '9') return -1;
    number = 10 * number + static_cast<std::size_t>(letter - '0');
    if (number >= pieces.size()) return -1;
  }
  return static_cast<std::int32_t>(number);
}

Status no_such_blank(std::string_view text, std::size_t tokens) noexcept {
  return Status(Code::invalid_argument)
         << "blank=" << text << ": expected a token, or a number from 0 to " << tokens - 1;
}

Units units_of(std::span<const std::string_view> pieces) noexcept {
  bool separators = false, characters = true;
  for (const std::string_view piece : pieces) {
    if (piece.starts_with(kWordMark) && piece.size() > kWordMark.size()) return Units::pieces;
    if (is_separator(piece)) separators = true;
    if (!is_control(piece) && !is_separator(piece) && piece != "<unk>" && !is_character(piece))
      characters = false;
  }
  if (separators) return Units::characters;
  return characters ? Units::joined : Units::words;
}

}  // namespace runnel::decoding
