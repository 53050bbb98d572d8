// Files of tokens, words, commands and hotwords that are damaged: a sentence each, or tables that a search
// can use.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "base/host/heap_memory.h"
#include "decoding/host/search_tables.h"
#include "decoding/host/tokens_file.h"
#include "decoding/prefix_beam.h"

namespace runnel::decoding {
namespace {

const std::string kTokens = "<blk> 0\n▁ 1\n▁a 2\nb 3\nc 4\n▁ab 5\n<0x41> 6\n| 7\n";
const std::string kScores = "<blk>\t0\n▁\t-1.5\n▁a\t-2\nb\t-3.25\nc\t-4\n▁ab\t-3e1\n<unk>\t-9\n|\t-7\n";
const std::string kLexicon = "ab\nabc ▁a b c\nac  # both\nab ▁ab\n";
const std::string kGrammar = "<x> = a | ab [c] # rule\n<y> = (<x> | bc)+ b*\ncall <y>\n[ab] <x>\n";
const std::string kHotwords = "ab :1.5\nac ab\nabc :-2e0\n# end\n";

std::string mutated(std::string text, std::mt19937& random) {
  constexpr std::string_view kLetters = " \t\n\r()[]<>|*+=#:.-019ab\xE2\x96\x81\xFF";
  for (std::size_t count = 1 + random() % 4; count > 0 && !text.empty(); --count) {
    const std::size_t at = random() % text.size();
    switch (random() % 5) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text[at] = kLetters[random() % kLetters.size()];
        break;
      case 2:
        text.erase(at, 1 + random() % 8);
        break;
      case 3:
        text.insert(at, text.substr(random() % text.size(), random() % 12));
        break;
      default:
        text.insert(at, 1, kLetters[random() % kLetters.size()]);
    }
  }
  return text;
}

struct Counts {
  int good = 0, refused = 0;
};

void use(const Status& status, Counts& counts) {
  ++(status.ok() ? counts.good : counts.refused);
  if (!status.ok()) {
    EXPECT_FALSE(status.text().empty());
  }
}

// A short search with the tables, which finds every index that does not fit under a sanitizer.
void search(const Vocabulary& vocabulary, const WordGraph* graph, const Hotwords* hotwords,
            std::mt19937& random) {
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

int rounds() {
  const char* const wanted = std::getenv("RUNNEL_MUTATIONS");
  return wanted == nullptr ? 20000 : std::atoi(wanted);
}

TEST(Mutations, OfFilesGiveASentenceOrTables) {
  std::mt19937 random(11);
  Counts tokens, lexicons, grammars, hotwords;
  const auto sound = parse_tokens(kTokens, "tokens");
  ASSERT_TRUE(sound.ok());
  const std::vector<std::string_view> pieces(sound->pieces.begin(), sound->pieces.end());
  const Vocabulary vocabulary{pieces, 0, Units::pieces};
  const Speller speller(vocabulary);
  for (int i = 0, count = rounds(); i < count; ++i) {
    const auto list = parse_tokens(mutated(i % 2 == 0 ? kTokens : kScores, random), "tokens");
    use(list.status(), tokens);
    if (list.ok() && list->pieces.size() > 1) {
      const std::vector<std::string_view> views(list->pieces.begin(), list->pieces.end());
      const Vocabulary other{views, find_blank(views, ""), units_of(views)};
      const auto spelled = Speller(other, list->scores).spell("abc");
      if (spelled.ok()) {
        for (const std::int32_t token : *spelled) EXPECT_LT(token, other.size());
      }
      for (std::int32_t token = 0; token < other.size(); ++token) EXPECT_LE(other.text(token).size(), 255U);
    }
    const auto lexicon = parse_lexicon(mutated(kLexicon, random), "lexicon", speller);
    use(lexicon.status(), lexicons);
    const auto grammar = parse_grammar(mutated(kGrammar, random), "grammar");
    use(grammar.status(), grammars);
    const auto hot = parse_hotwords(mutated(kHotwords, random), "hotwords", 2, vocabulary, speller);
    use(hot.status(), hotwords);
    Hotwords automaton;
    if (hot.ok()) automaton = {hot->states, hot->arcs, hot->start, hot->whole_words};
    for (const bool with_grammar : {false, true}) {
      if (!(with_grammar ? grammar.ok() : lexicon.ok())) continue;
      const auto graph = make_word_graph(with_grammar ? *grammar : any_of(lexicon->words),
                                         lexicon.ok() ? &*lexicon : nullptr, speller);
      if (!graph.ok()) {
        EXPECT_FALSE(graph.status().text().empty());
        continue;
      }
      const std::vector<std::string_view> words(graph->words.begin(), graph->words.end());
      const WordGraph view{graph->nodes, graph->arcs, words, 0};
      search(vocabulary, &view, hot.ok() ? &automaton : nullptr, random);
      if (HasFatalFailure()) return;
    }
  }
  for (const Counts& counts : {tokens, lexicons, grammars, hotwords}) {
    EXPECT_GT(counts.good, 0);
    EXPECT_GT(counts.refused, 0);
  }
}

}  // namespace
}  // namespace runnel::decoding
