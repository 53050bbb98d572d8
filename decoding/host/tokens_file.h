// The tokens of a recogniser, as files list them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace runnel::decoding {

struct TokenList {
  std::vector<std::string> pieces;  // by token
  std::vector<float> scores;  // log-probabilities of a unigram model, by token; empty: the file has none
};

// One of three forms, a token a line:
//     PIECE NUMBER      tokens.txt of icefall and sherpa: numbers from 0 on, each once, in any order
//     PIECE<tab>SCORE   the .vocab of sentencepiece: the number is that of the line
//     PIECE             the same, without a score
// The first line tells which, except that scores are only read where one of the second column is negative or
// a fraction. `name`: of the file, for messages. Errors: invalid_data that names the line.
Result<TokenList> parse_tokens(std::string_view text, std::string_view name);
Result<TokenList> read_tokens(const std::string& path);

// The lines of a text, without their ends; the empty ones at the end are left out.
std::vector<std::string_view> lines_of(std::string_view text);
// The words of a line, separated by spaces and tabs.
std::vector<std::string_view> words_of(std::string_view line);

}  // namespace runnel::decoding
