// The tokens of a recogniser, and how they make words.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"

namespace runnel::decoding {

// What tells where words begin.
enum class Units : std::uint8_t {
  pieces,      // sentencepiece's mark (U+2581) at the start of a token
  characters,  // a token of its own between words: a space, "|", "<space>"
  words,       // every token is a word
  joined,      // nothing: all tokens make one word
};
std::string_view name_of(Units units) noexcept;

inline constexpr std::string_view kWordMark = "\xE2\x96\x81";  // U+2581

// Refers to text of others, which outlives it. In ROM or memory.
struct Vocabulary {
  std::span<const std::string_view> pieces;  // by token
  std::int32_t blank = 0;
  Units units = Units::pieces;

  [[nodiscard]] std::int32_t size() const noexcept { return static_cast<std::int32_t>(pieces.size()); }
  // Whether a new word begins with this token, or after it if it is a separator.
  [[nodiscard]] bool begins_word(std::int32_t token) const noexcept;
  // A token between words, without text of its own.
  [[nodiscard]] bool separates(std::int32_t token) const noexcept;
  // What it adds to its word: without the mark. Empty for separators and control tokens such as <s>; bytes
  // ("<0xE2>") give themselves, from a table.
  [[nodiscard]] std::string_view text(std::int32_t token) const noexcept;
};

// The units that the tokens show: marks, else separators, else joined if every token is one character, else
// words. Control tokens do not count.
Units units_of(std::span<const std::string_view> pieces) noexcept;

// The token that `text` names, or whose number it is; without a text <blk>, <blank>, <pad>, <eps>, [PAD] or
// _, or else the first one. -1: there is no such token.
std::int32_t find_blank(std::span<const std::string_view> pieces, std::string_view text) noexcept;

// The sentence when there is none.
Status no_such_blank(std::string_view text, std::size_t tokens) noexcept;

// <blk>, <s>, </s>, <sos/eos>, <pad>, ...: names in angle brackets, but not <unk>, bytes or <space>.
bool is_control(std::string_view piece) noexcept;
// "<0xE2>": the byte, else -1.
std::int32_t byte_of(std::string_view piece) noexcept;

}  // namespace runnel::decoding
