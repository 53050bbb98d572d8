// Word and character errors of a run of speech recognition.
//
// The text of a recording (its results in their order) and that of the truth are aligned with the fewest
// errors, and among these alignments with the fewest insertions. Errors are substitutions, deletions and
// insertions; their rate is that of the words of the truth.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "services/score/score.h"

namespace runnel::pipeline {

struct ErrorCounts {
  std::int64_t units = 0;  // words or characters of the truth
  std::int64_t substitutions = 0, deletions = 0, insertions = 0;

  [[nodiscard]] std::int64_t errors() const noexcept { return substitutions + deletions + insertions; }
  ErrorCounts& operator+=(const ErrorCounts& more) noexcept;
  friend bool operator==(const ErrorCounts&, const ErrorCounts&) = default;
};

// The errors between two sequences. Memory of one of them, time of their product.
ErrorCounts count_errors(const std::vector<std::string>& truth, const std::vector<std::string>& found);

// What is left out of the comparison:
//   none    words are what white space separates
//   basic   capitals become small letters (ASCII, Latin-1, Greek, Cyrillic); punctuation of ASCII and U+2010
//   to U+2027 is white space, but for
//           apostrophes within words (U+2019 becomes ')
enum class Normalisation : std::uint8_t { none, basic };
bool parse_normalisation(std::string_view name, Normalisation& normalisation);
std::string_view name_of(Normalisation normalisation);

std::vector<std::string> words_in(std::string_view text, Normalisation normalisation);
// The characters (code points) of its words, with a space between two words.
std::vector<std::string> characters_in(std::string_view text, Normalisation normalisation);

struct WordErrorOptions {
  bool characters = false;
  Normalisation normalisation = Normalisation::basic;
  std::int64_t samples = 1000;  // of the bootstrap; 0: no interval
  std::uint64_t seed = 1;
};

struct WordErrors {
  struct File {
    std::string recording;
    ErrorCounts counts;
  };
  std::vector<File> files;  // in the order of the truth
  ErrorCounts total;
  std::int64_t unlabelled = 0;  // results of recordings that the truth does not name
  std::int64_t failures = 0;    // recordings that could not be read; all of their words are deletions
  // 95 %: the rate lies between them in as many of `samples` sets of recordings, drawn with replacement
  // (Bisani and Ney, 2004). NaN with less than two recordings.
  double low = 0, high = 0;
  WordErrorOptions options;

  [[nodiscard]] double rate() const;  // NaN without words
};

// Names as in score_run(). A recording without results has an empty text. Errors: invalid_data when the truth
// names a recording twice, mismatch as in score_run().
Result<WordErrors> count_word_errors(const RunRecords& run, const Truth& truth,
                                     const WordErrorOptions& options);

// One line of JSON, without newline; lines of a table.
std::string to_json(const WordErrors& errors);
std::string word_error_table(const WordErrors& errors);

}  // namespace runnel::pipeline
