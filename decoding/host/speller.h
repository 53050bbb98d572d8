// From text to tokens.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "decoding/vocabulary.h"

namespace runnel::decoding {

// Spells words with the tokens of a recogniser: by the unigram model whose scores the tokens have (Kudo,
// 2018), else with the fewest tokens, of these the longest first. Bytes ("<0xE2>") are taken where nothing
// else fits.
class Speller {
 public:
  // `vocabulary` outlives this. `scores`: by token, or empty.
  explicit Speller(const Vocabulary& vocabulary, std::vector<float> scores = {});

  // The tokens of one word. If it cannot be spelled as it is written, capitals or small letters (ASCII) are
  // tried. Error: invalid_data that names the word and what has no token.
  [[nodiscard]] Result<std::vector<std::int32_t>> spell(std::string_view word) const;
  // The token between words; -1: the units have none.
  [[nodiscard]] std::int32_t separator() const noexcept { return separator_; }
  [[nodiscard]] std::int32_t blank() const noexcept { return vocabulary_.blank; }
  // -1: no token is written so.
  [[nodiscard]] std::int32_t token(std::string_view piece) const;

 private:
  [[nodiscard]] std::vector<std::int32_t> cut(std::string_view text, std::size_t& failed_at) const;

  const Vocabulary& vocabulary_;
  std::vector<float> scores_;
  std::map<std::string_view, std::int32_t> tokens_;    // all
  std::map<std::string_view, std::int32_t> spelling_;  // those that words are spelled with
  std::vector<std::int32_t> bytes_;                    // by byte; empty: there are none
  std::size_t longest_ = 0;
  std::int32_t separator_ = -1;
};

}  // namespace runnel::decoding
