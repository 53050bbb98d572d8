#include "decoding/host/search_tables.h"

#include "base/crc32c.h"
#include "base/host/small_file.h"
#include "decoding/host/tokens_file.h"

namespace runnel::decoding {

Status OwnedSearchTables::set_units(std::string_view units) {
  Units& chosen = tables_.vocabulary.units;
  if (units == "auto") {
    chosen = units_of(piece_views_);
    return {};
  }
  for (const Units one : {Units::pieces, Units::characters, Units::words, Units::joined}) {
    if (name_of(one) != units) continue;
    chosen = one;
    return {};
  }
  return Status(Code::invalid_argument)
         << "units=" << units << ": expected auto, pieces, characters, words or joined";
}

Result<std::unique_ptr<const OwnedSearchTables>> OwnedSearchTables::read(const SearchFiles& files,
                                                                         std::int32_t classes,
                                                                         std::string_view input_label) {
  std::unique_ptr<OwnedSearchTables> self(new OwnedSearchTables());
  SearchTables& tables = self->tables_;
  std::vector<float> scores;
  std::string origin = "its model's labels";
  if (!files.tokens.empty()) {
    RUNNEL_ASSIGN(TokenList list, read_tokens(files.tokens));
    self->pieces_ = std::move(list.pieces);
    scores = std::move(list.scores);
    origin = files.tokens;
  } else {
    self->pieces_ = files.labels;
    if (self->pieces_.empty())
      return Status(Code::invalid_argument)
             << input_label << " gives no labels: expected tokens=FILE, a token a line";
  }
  if (self->pieces_.size() != static_cast<std::size_t>(classes))
    return Status(Code::mismatch) << origin << ": " << self->pieces_.size() << " tokens, but " << input_label
                                  << " gives " << classes << " classes";
  self->piece_views_.assign(self->pieces_.begin(), self->pieces_.end());
  tables.vocabulary.pieces = self->piece_views_;
  tables.vocabulary.blank = find_blank(tables.vocabulary.pieces, files.blank);
  if (tables.vocabulary.blank < 0) return no_such_blank(files.blank, self->pieces_.size());
  RUNNEL_TRY(self->set_units(files.units));
  const Speller speller(tables.vocabulary, std::move(scores));
  if (!files.lexicon.empty() || !files.grammar.empty()) {
    Lexicon lexicon;
    Grammar grammar;
    if (!files.lexicon.empty()) {
      RUNNEL_ASSIGN(const std::string text, read_small_file(files.lexicon));
      RUNNEL_ASSIGN(lexicon, parse_lexicon(text, files.lexicon, speller));
      grammar = any_of(lexicon.words);
    }
    if (!files.grammar.empty()) {
      RUNNEL_ASSIGN(const std::string text, read_small_file(files.grammar));
      RUNNEL_ASSIGN(grammar, parse_grammar(text, files.grammar));
    }
    auto graph = make_word_graph(grammar, &lexicon, speller);
    if (!graph.ok()) return graph.status().at(files.grammar.empty() ? files.lexicon : files.grammar);
    self->graph_ = std::move(graph).value();
    self->word_views_.assign(self->graph_.words.begin(), self->graph_.words.end());
    tables.graph = {self->graph_.nodes, self->graph_.arcs, self->word_views_, 0};
  }
  if (!files.hotwords.empty()) {
    RUNNEL_ASSIGN(const std::string text, read_small_file(files.hotwords));
    RUNNEL_ASSIGN(self->hotwords_,
                  parse_hotwords(text, files.hotwords, files.hotword_score, tables.vocabulary, speller));
    tables.hotwords = {self->hotwords_.states, self->hotwords_.arcs, self->hotwords_.start,
                       self->hotwords_.whole_words};
  }
  return std::unique_ptr<const OwnedSearchTables>(std::move(self));
}

namespace {

// Numbers and texts in order, texts with their lengths.
class Fingerprint {
 public:
  void add(std::int64_t number) noexcept { crc_ = crc32c(std::as_bytes(std::span(&number, 1)), crc_); }
  void add(std::span<const std::string_view> texts) noexcept {
    add(static_cast<std::int64_t>(texts.size()));
    for (const std::string_view text : texts) {
      add(static_cast<std::int64_t>(text.size()));
      crc_ = crc32c(std::as_bytes(std::span(text)), crc_);
    }
  }
  [[nodiscard]] std::uint32_t value() const noexcept { return crc_; }

 private:
  std::uint32_t crc_ = crc32c({});
};

}  // namespace

std::uint32_t fingerprint(const SearchTables& tables) noexcept {
  Fingerprint all;
  all.add(tables.vocabulary.pieces);
  all.add(tables.vocabulary.blank);
  all.add(static_cast<std::int64_t>(tables.vocabulary.units));
  all.add(static_cast<std::int64_t>(tables.graph.nodes.size()));
  for (const WordNode& node : tables.graph.nodes) {
    for (const std::int32_t number : {node.first_arc, node.arcs, node.word, node.after}) all.add(number);
    all.add(node.accepts ? 1 : 0);
  }
  for (const WordArc& arc : tables.graph.arcs) {
    all.add(arc.token);
    all.add(arc.node);
  }
  all.add(tables.graph.words);
  all.add(tables.graph.start);
  all.add(static_cast<std::int64_t>(tables.hotwords.states.size()));
  for (const HotwordState& state : tables.hotwords.states) {
    for (const std::int64_t number :
         {std::int64_t{state.first_arc}, std::int64_t{state.arcs}, std::int64_t{state.fail},
          static_cast<std::int64_t>(state.credit), static_cast<std::int64_t>(state.completed)})
      all.add(number);
  }
  for (const HotwordArc& arc : tables.hotwords.arcs) {
    all.add(arc.token);
    all.add(arc.state);
  }
  all.add(tables.hotwords.start);
  all.add(tables.hotwords.whole_words ? 1 : 0);
  return all.value();
}

}  // namespace runnel::decoding
