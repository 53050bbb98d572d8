// The tables of a search, made from text: what a decoder reads in its node, and what firmware has in flash.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "decoding/host/grammar.h"
#include "decoding/host/lexicon.h"
#include "decoding/host/speller.h"
#include "decoding/search_tables.h"

namespace runnel::decoding {

// Words and tokens as a graph: the words that may follow each state of the grammar are a trie. Words of the
// grammar that the lexicon (may be null) does not have are spelled here. Errors: invalid_data that names a
// word, or where the graph would have more than a million nodes.
struct WordGraphText {
  std::vector<WordNode> nodes;
  std::vector<WordArc> arcs;
  std::vector<std::string> words;
};
Result<WordGraphText> make_word_graph(const Grammar& grammar, const Lexicon* lexicon, const Speller& speller);

// A phrase a line, which may end in ":SCORE" (natural logarithm, -100 to 100); others have `score`. "#"
// begins a comment. Errors: invalid_data that names the line and the word.
struct HotwordsText {
  std::vector<HotwordState> states;
  std::vector<HotwordArc> arcs;
  std::int32_t start = 0;
  bool whole_words = false;
};
Result<HotwordsText> parse_hotwords(std::string_view text, std::string_view name, double score,
                                    const Vocabulary& vocabulary, const Speller& speller);

// What the user gives: paths of files, empty where there is none.
struct SearchFiles {
  std::string tokens;
  std::vector<std::string> labels;  // the tokens, where there is no file
  std::string units = "auto";       // or a name_of(Units)
  std::string blank;                // as find_blank() reads it
  std::string lexicon, grammar, hotwords;
  double hotword_score = 2;
};

// Owns all that its tables refer to.
class OwnedSearchTables {
 public:
  // `classes`: of the frames. Errors: those of the files; mismatch when the tokens are not as many as the
  // classes.
  static Result<std::unique_ptr<const OwnedSearchTables>> read(const SearchFiles& files, std::int32_t classes,
                                                               std::string_view input_label);
  OwnedSearchTables(const OwnedSearchTables&) = delete;
  OwnedSearchTables& operator=(const OwnedSearchTables&) = delete;

  [[nodiscard]] const SearchTables& tables() const noexcept { return tables_; }

 private:
  OwnedSearchTables() = default;
  Status set_units(std::string_view units);

  std::vector<std::string> pieces_;
  std::vector<std::string_view> piece_views_, word_views_;
  WordGraphText graph_;
  HotwordsText hotwords_;
  SearchTables tables_;
};

// Of all that a search with these tables depends on.
std::uint32_t fingerprint(const SearchTables& tables) noexcept;

}  // namespace runnel::decoding
