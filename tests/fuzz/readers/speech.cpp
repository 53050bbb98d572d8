// What a decoder of speech is told by files: tokens, words, commands, hotwords. What is taken is searched
// with, which finds every index that does not fit.
#include <random>

#include "base/host/heap_memory.h"
#include "decoding/host/search_tables.h"
#include "decoding/host/tokens_file.h"
#include "decoding/prefix_beam.h"
#include "tests/fuzz/readers/reader.h"

namespace runnel::fuzz {
namespace {

using namespace decoding;  // NOLINT(google-build-using-namespace)

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
  insist(beam.prepare(memory, settings).ok(), "a search that is not prepared");
  std::mt19937 random(1);
  std::vector<float> logits(static_cast<std::size_t>(vocabulary.size()));
  for (std::int32_t t = 0; t < 6; ++t) {
    for (float& value : logits) value = static_cast<float>(random() % 16);
    FrameScores scores;
    insist(scores.read(logits, FrameScores::Kind::logits), "scores that are not read");
    beam.step(scores, t);
  }
  std::vector<HeardToken> tokens(8);
  tokens.resize(beam.best(true, tokens));
  for (const HeardToken& token : tokens) {
    insist(token.token >= 0 && token.token < vocabulary.size(), "a token that there is not");
    insist(graph == nullptr || token.word < static_cast<std::int32_t>(graph->words.size()),
           "a word that there is not");
  }
}

// A vocabulary of many tokens is a matter of time, not of faults.
constexpr std::size_t kMostTokens = 2000;

Status feed_vocabulary(std::span<const std::byte> bytes) {
  RUNNEL_ASSIGN(const TokenList list, parse_tokens(text_of(bytes), "tokens"));
  if (list.pieces.size() < 2) return Status(Code::invalid_data, "tokens: fewer than two");
  insist(list.scores.empty() || list.scores.size() == list.pieces.size(), "scores of other tokens");
  const std::vector<std::string_view> pieces(list.pieces.begin(), list.pieces.end());
  const Vocabulary vocabulary = {pieces, find_blank(pieces, ""), units_of(pieces)};
  const auto spelled = Speller(vocabulary, list.scores).spell("abc");
  if (spelled.ok()) {
    for (const std::int32_t token : *spelled)
      insist(token >= 0 && token < vocabulary.size(), "spelled with a token that there is not");
  }
  for (std::int32_t token = 0; token < vocabulary.size(); ++token)
    insist(vocabulary.text(token).size() <= 255, "a token of more than 255 bytes");
  if (list.pieces.size() <= kMostTokens) search(vocabulary, nullptr, nullptr);
  return {};
}

// The tokens that the other files are spelled with.
struct Sound {
  TokenList list = *parse_tokens("<blk> 0\n▁ 1\n▁a 2\nb 3\nc 4\n▁ab 5\n<0x41> 6\n| 7\n", "tokens");
  std::vector<std::string_view> pieces{list.pieces.begin(), list.pieces.end()};
  Vocabulary vocabulary{pieces, 0, Units::pieces};
  Speller speller{vocabulary};
};
const Sound& sound() {
  static const Sound made;
  return made;
}

Status search_words(const Grammar& grammar, const Lexicon* lexicon) {
  RUNNEL_ASSIGN(const WordGraphText graph, make_word_graph(grammar, lexicon, sound().speller));
  const std::vector<std::string_view> words(graph.words.begin(), graph.words.end());
  const WordGraph view{graph.nodes, graph.arcs, words, 0};
  search(sound().vocabulary, &view, nullptr);
  return {};
}

Status feed_lexicon(std::span<const std::byte> bytes) {
  RUNNEL_ASSIGN(const Lexicon lexicon, parse_lexicon(text_of(bytes), "lexicon", sound().speller));
  return search_words(any_of(lexicon.words), &lexicon);
}

Status feed_grammar(std::span<const std::byte> bytes) {
  RUNNEL_ASSIGN(const Grammar grammar, parse_grammar(text_of(bytes), "grammar"));
  const auto count = static_cast<std::int32_t>(grammar.states.size());
  for (const Grammar::State& state : grammar.states) {
    for (const auto& [word, next] : state.next)
      insist(word >= 0 && static_cast<std::size_t>(word) < grammar.words.size() && next > 0 && next < count,
             "a grammar that leads out of itself");
  }
  return search_words(grammar, nullptr);
}

Status feed_hotwords(std::span<const std::byte> bytes) {
  RUNNEL_ASSIGN(const HotwordsText made,
                parse_hotwords(text_of(bytes), "hotwords", 2, sound().vocabulary, sound().speller));
  const Hotwords automaton{made.states, made.arcs, made.start, made.whole_words};
  search(sound().vocabulary, nullptr, &automaton);
  // Words and hotwords together: the search keeps both at once.
  static const WordGraphText graph = *make_word_graph(any_of({"ab", "abc", "b"}), nullptr, sound().speller);
  static const std::vector<std::string_view> words(graph.words.begin(), graph.words.end());
  const WordGraph view{graph.nodes, graph.arcs, words, 0};
  search(sound().vocabulary, &view, &automaton);
  return {};
}

}  // namespace

std::vector<Reader> speech_readers() {
  return {
      {"vocabulary",
       feed_vocabulary,
       {"<blk> 0\n▁ 1\n▁a 2\nb 3\nc 4\n▁ab 5\n<0x41> 6\n| 7\n",
        "<blk>\t0\n▁\t-1.5\n▁a\t-2\nb\t-3.25\nc\t-4\n▁ab\t-3e1\n<unk>\t-9\n|\t-7\n", "_\na\nb\r\nc\n"}},
      {"lexicon", feed_lexicon, {"ab\nabc ▁a b c\nac  # both\nab ▁ab\n"}},
      {"grammar",
       feed_grammar,
       {"<x> = a | ab [c] # rule\n<y> = (<x> | bc)+ c*\nabc <y>\n[ab] <x>\n", "a (b | c)* [a]\n"}},
      {"hotwords", feed_hotwords, {"ab :1.5\nac ab\nabc :-2e0\n# end\n"}},
  };
}

}  // namespace runnel::fuzz
