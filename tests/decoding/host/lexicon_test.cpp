#include "decoding/host/lexicon.h"

#include <gtest/gtest.h>

#include "decoding/host/search_tables.h"

namespace runnel::decoding {
namespace {

constexpr std::string_view kPieces[] = {"_", "f", "o", "r", "t", "y", "|"};
const Vocabulary kVocabulary{kPieces, 0, Units::characters};

TEST(Lexicon, SpellsWordsOrTakesTheirTokens) {
  const Speller speller(kVocabulary);
  const auto lexicon =
      parse_lexicon("for\n# a comment\nfor f o r r\nforty  # another\nfor\n", "words.txt", speller);
  ASSERT_TRUE(lexicon.ok()) << lexicon.status().text();
  EXPECT_EQ(lexicon->words, (std::vector<std::string>{"for", "forty"}));
  EXPECT_EQ(lexicon->spellings.at("for"), (std::vector<std::vector<std::int32_t>>{{1, 2, 3}, {1, 2, 3, 3}}));
}

TEST(Lexicon, NamesTheWordThatCannotBeSpelled) {
  const Speller speller(kVocabulary);
  const auto refusal = [&](std::string_view text) {
    return std::string(parse_lexicon(text, "words.txt", speller).status().text());
  };
  EXPECT_EQ(refusal("for\nfive"), "words.txt, line 2: \"five\" cannot be spelled: no token fits at \"i\"");
  EXPECT_EQ(refusal("for f AO r"), "words.txt, line 1: \"for\" cannot be spelled: there is no token \"AO\"");
  EXPECT_EQ(refusal("for f _ r"), "words.txt, line 1: \"for\" is spelled with the blank, \"_\"");
  EXPECT_EQ(refusal("# nothing"), "words.txt: has no words");
}

TEST(WordGraph, SharesTheStartsOfWordsAndSeparatesThem) {
  const Speller speller(kVocabulary);
  const auto lexicon = parse_lexicon("for\nforty\n", "words.txt", speller);
  const auto graph = make_word_graph(any_of(lexicon->words), &*lexicon, speller);
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  // Two roots; f o r t y once, and once after a separator.
  EXPECT_EQ(graph->nodes.size(), 2U + 5 + 6);
  EXPECT_EQ(graph->nodes[0].arcs, 1);
  EXPECT_EQ(graph->arcs[static_cast<std::size_t>(graph->nodes[1].first_arc)].token, 6);
}

TEST(WordGraph, WordsThatAreSpelledTheSameHaveNodesOfTheirOwn) {
  const Speller speller(kVocabulary);
  const auto lexicon = parse_lexicon("to t o\ntwo t o\ntoo t o\n", "words.txt", speller);
  const auto graph = make_word_graph(any_of(lexicon->words), &*lexicon, speller);
  ASSERT_TRUE(graph.ok());
  int ends = 0;
  for (const WordNode& node : graph->nodes) ends += node.word >= 0 ? 1 : 0;
  EXPECT_EQ(ends, 2 * 3);
}

TEST(WordGraph, WordsOfTheGrammarNeedNoLexicon) {
  const Speller speller(kVocabulary);
  EXPECT_TRUE(make_word_graph(*parse_grammar("for (forty | try)", "g"), nullptr, speller).ok());
  EXPECT_EQ(make_word_graph(*parse_grammar("for us", "g"), nullptr, speller).status().text(),
            "\"us\" cannot be spelled: no token fits at \"u\"");
}

}  // namespace
}  // namespace runnel::decoding
