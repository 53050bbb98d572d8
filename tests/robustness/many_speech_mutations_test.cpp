// A great many damaged files of tokens, words, commands and hotwords (many_mutations.h): each is refused with
// a sentence, or a search with its tables stays within them.
#include <gtest/gtest.h>

#include <random>

#include "base/host/heap_memory.h"
#include "decoding/host/search_tables.h"
#include "decoding/host/tokens_file.h"
#include "decoding/prefix_beam.h"
#include "tests/robustness/many_mutations.h"

namespace runnel::test {
namespace {

using namespace decoding;  // NOLINT(google-build-using-namespace)
using Bytes = std::vector<std::byte>;

// Originals. Longer than what they say needs, because damage hits a few places of a file.
const std::string kTokens = "<blk> 0\n▁ 1\n▁a 2\nb 3\nc 4\n▁ab 5\n<0x41> 6\n| 7\n";
const std::string kScores = "<blk>\t0\n▁\t-1.5\n▁a\t-2\nb\t-3.25\nc\t-4\n▁ab\t-3e1\n<unk>\t-9\n|\t-7\n";
const std::string kLexicon = "ab\nabc ▁a b c\nac  # both\nab ▁ab\n";
const std::string kGrammar = "<x> = a | ab [c] # rule\n<y> = (<x> | bc)+ b*\ncall <y>\n[ab] <x>\n";
const std::string kHotwords = "ab :1.5\nac ab\nabc :-2e0\n# end\n";

Bytes bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A short search with the tables, which finds every index that does not fit under a sanitizer.
void search(const Vocabulary& vocabulary, const WordGraph* graph, const Hotwords* hotwords) {
  HeapMemory memory;
  PrefixBeam beam;
  BeamSettings settings;
  settings.classes = vocabulary.size();
  settings.blank = vocabulary.blank;
  settings.beam = 4;
  settings.max_tokens = 8;
  settings.graph = graph;
  settings.hotwords = hotwords;
  ASSERT_TRUE(beam.prepare(memory, settings).ok());
  std::mt19937 random(1);
  std::vector<float> logits(static_cast<std::size_t>(vocabulary.size()));
  for (std::int32_t t = 0; t < 6; ++t) {
    for (float& value : logits) value = static_cast<float>(random() % 16);
    FrameScores scores;
    ASSERT_TRUE(scores.read(logits, FrameScores::Kind::logits));
    beam.step(scores, t);
  }
  std::vector<HeardToken> tokens(8);
  tokens.resize(beam.best(true, tokens));
  for (const HeardToken& token : tokens) {
    EXPECT_LT(token.token, vocabulary.size());
    if (graph != nullptr) {
      EXPECT_LT(token.word, static_cast<std::int32_t>(graph->words.size()));
    }
  }
}

Vocabulary vocabulary_of(const std::vector<std::string_view>& pieces) {
  return {pieces, find_blank(pieces, ""), units_of(pieces)};
}

Status search_words(const Grammar& grammar, const Lexicon* lexicon, const Vocabulary& vocabulary,
                    const Speller& speller) {
  RUNNEL_ASSIGN(const WordGraphText graph, make_word_graph(grammar, lexicon, speller));
  const std::vector<std::string_view> words(graph.words.begin(), graph.words.end());
  const WordGraph view{graph.nodes, graph.arcs, words, 0};
  search(vocabulary, &view, nullptr);
  return {};
}

Status feed_tokens(const Bytes& file) {
  const std::string text = text_of(file);
  RUNNEL_ASSIGN(const TokenList list, parse_tokens(text, "tokens"));
  if (list.pieces.size() < 2) return Status(Code::invalid_data, "tokens: fewer than two");
  const std::vector<std::string_view> views(list.pieces.begin(), list.pieces.end());
  const Vocabulary vocabulary = vocabulary_of(views);
  const auto spelled = Speller(vocabulary, list.scores).spell("abc");
  if (spelled.ok()) {
    for (const std::int32_t token : *spelled) EXPECT_LT(token, vocabulary.size());
  }
  for (std::int32_t token = 0; token < vocabulary.size(); ++token)
    EXPECT_LE(vocabulary.text(token).size(), 255U);
  search(vocabulary, nullptr, nullptr);
  return {};
}

// The tokens that the other files are spelled with.
struct Sound {
  TokenList list = *parse_tokens(kTokens, "tokens");
  std::vector<std::string_view> pieces{list.pieces.begin(), list.pieces.end()};
  Vocabulary vocabulary{pieces, 0, Units::pieces};
  Speller speller{vocabulary};
};
const Sound& sound() {
  static const Sound made;
  return made;
}

Status feed_lexicon(const Bytes& file) {
  RUNNEL_ASSIGN(const Lexicon lexicon, parse_lexicon(text_of(file), "lexicon", sound().speller));
  return search_words(any_of(lexicon.words), &lexicon, sound().vocabulary, sound().speller);
}

Status feed_grammar(const Bytes& file) {
  RUNNEL_ASSIGN(const Grammar grammar, parse_grammar(text_of(file), "grammar"));
  return search_words(grammar, nullptr, sound().vocabulary, sound().speller);
}

Status feed_hotwords(const Bytes& file) {
  RUNNEL_ASSIGN(const HotwordsText made,
                parse_hotwords(text_of(file), "hotwords", 2, sound().vocabulary, sound().speller));
  const Hotwords automaton{made.states, made.arcs, made.start, made.whole_words};
  search(sound().vocabulary, nullptr, &automaton);
  return {};
}

TEST(ManySpeechMutations, EveryOneIsUsedOrRefused) {
  mutate_many({{"tokens.txt", bytes_of(kTokens), feed_tokens},
               {"tokens.vocab", bytes_of(kScores), feed_tokens},
               {"lexicon.txt", bytes_of(kLexicon), feed_lexicon},
               {"grammar.txt", bytes_of(kGrammar), feed_grammar},
               {"hotwords.txt", bytes_of(kHotwords), feed_hotwords}});
}

}  // namespace
}  // namespace runnel::test
