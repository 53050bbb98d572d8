// How words are spelled.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "decoding/host/speller.h"

namespace runnel::decoding {

struct Lexicon {
  std::vector<std::string> words;  // in the order of the text, each once
  // Of every word: one or several, without tokens between words.
  std::map<std::string, std::vector<std::vector<std::int32_t>>, std::less<>> spellings;
};

// A word a line, alone or followed by its tokens ("seven S EH V AH N"), several times for several spellings;
// "#" begins a comment. Words alone are spelled by `speller`. Errors: invalid_data that names the line and
// the word.
Result<Lexicon> parse_lexicon(std::string_view text, std::string_view name, const Speller& speller);

}  // namespace runnel::decoding
