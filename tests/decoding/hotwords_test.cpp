#include "decoding/hotwords.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "decoding/host/search_tables.h"

namespace runnel::decoding {
namespace {

constexpr std::string_view kPieces[] = {"<blk>", "▁a", "▁b", "▁ab", "a", "b"};
const Vocabulary kVocabulary{kPieces, 0, Units::pieces};

// The text of tokens, with a space before every word.
std::string text_of(const std::vector<std::int32_t>& tokens) {
  std::string text;
  for (const std::int32_t token : tokens) {
    if (kVocabulary.begins_word(token)) text += ' ';
    text += kVocabulary.text(token);
  }
  return text + ' ';
}

TEST(Hotwords, AddExactlyTheScoresOfThePhrasesThatOccurAsWholeWords) {
  const Speller speller(kVocabulary);
  const std::pair<std::string, double> phrases[] = {{"a", 0.5},  {"ab", 1.25},  {"a b", 2},
                                                    {"b b", -1}, {"a b ab", 4}, {"bab", 3}};
  std::string file;
  for (const auto& [phrase, score] : phrases) file += phrase + " :" + std::to_string(score) + "\n";
  const auto made = parse_hotwords(file, "hot", 1, kVocabulary, speller);
  ASSERT_TRUE(made.ok()) << made.status().text();
  const Hotwords hotwords{made->states, made->arcs, made->start, made->whole_words};
  std::mt19937 random(1);
  int found = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::int32_t> tokens(1 + random() % 8);
    for (std::int32_t& token : tokens) token = 1 + static_cast<std::int32_t>(random() % 5);
    if (!kVocabulary.begins_word(tokens[0])) tokens[0] = 1;
    // Phrases count where they are written with the tokens of their spelling.
    double expected = 0;
    for (const auto& [phrase, score] : phrases) {
      std::vector<std::int32_t> spelled;
      std::string rest = phrase + ' ';
      for (std::size_t at; (at = rest.find(' ')) != std::string::npos; rest.erase(0, at + 1)) {
        const auto word = speller.spell(rest.substr(0, at));
        spelled.insert(spelled.end(), word->begin(), word->end());
      }
      for (std::size_t at = 0; at + spelled.size() <= tokens.size(); ++at) {
        const std::size_t end = at + spelled.size();
        if (std::equal(spelled.begin(), spelled.end(), tokens.begin() + static_cast<std::ptrdiff_t>(at)) &&
            (end == tokens.size() || kVocabulary.begins_word(tokens[end]))) {
          expected += score;
          ++found;
          EXPECT_NE(text_of(tokens).find(' ' + phrase + ' '), std::string::npos);
        }
      }
    }
    HotwordScore score{.state = hotwords.start};
    for (const std::int32_t token : tokens)
      score = advance(hotwords, score, token, kVocabulary.begins_word(token));
    ASSERT_EQ(score.settled(), static_cast<LogProbability>(expected * kLogOne)) << text_of(tokens);
  }
  EXPECT_GT(found, 10000);
}

TEST(Hotwords, OfCharactersBeginAndEndAtSeparators) {
  const std::string_view pieces[] = {"_", "|", "a", "b"};
  const Vocabulary vocabulary{pieces, 0, Units::characters};
  const Speller speller(vocabulary);
  const auto made = parse_hotwords("ab :2\nb", "hot", 1, vocabulary, speller);
  ASSERT_TRUE(made.ok()) << made.status().text();
  const Hotwords hotwords{made->states, made->arcs, made->start, made->whole_words};
  const auto score_of = [&](std::string_view text) {
    HotwordScore score{.state = hotwords.start};
    for (const char letter : text) {
      const std::int32_t token = letter == '|' ? 1 : letter - 'a' + 2;
      score = advance(hotwords, score, token, vocabulary.begins_word(token));
    }
    return static_cast<double>(score.settled()) / kLogOne;
  };
  EXPECT_EQ(score_of("ab"), 2);
  EXPECT_EQ(score_of("ab|"), 2);
  EXPECT_EQ(score_of("aba"), 0);
  EXPECT_EQ(score_of("aab"), 0);
  EXPECT_EQ(score_of("b|ab|b|ba"), 4);
}

TEST(Hotwords, WhatIsLentComesBack) {
  const Speller speller(kVocabulary);
  const auto made = parse_hotwords("a b ab :6", "hot", 1, kVocabulary, speller);
  ASSERT_TRUE(made.ok());
  const Hotwords hotwords{made->states, made->arcs, made->start, made->whole_words};
  HotwordScore score;
  score = advance(hotwords, score, 1, true);
  EXPECT_EQ(score.total(), 2 * kLogOne) << "a third of the phrase";
  score = advance(hotwords, score, 2, true);
  EXPECT_EQ(score.total(), 4 * kLogOne);
  EXPECT_EQ(score.settled(), 0);
  score = advance(hotwords, score, 2, true);
  EXPECT_EQ(score.total(), 0);
}

TEST(Hotwords, RefusesWhatItCannotUse) {
  const Speller speller(kVocabulary);
  const auto refusal = [&](std::string_view text) {
    const auto made = parse_hotwords(text, "hot.txt", 1, kVocabulary, speller);
    return made.ok() ? std::string() : std::string(made.status().text());
  };
  EXPECT_EQ(refusal("a\nab cab"), "hot.txt, line 2: \"cab\" cannot be spelled: no token fits at \"c\"");
  EXPECT_EQ(refusal("a :200"), "hot.txt, line 1: expected words and at most :SCORE from -100 to 100");
  EXPECT_EQ(refusal("a :nan"), "hot.txt, line 1: expected words and at most :SCORE from -100 to 100");
  EXPECT_EQ(refusal(":3"), "hot.txt, line 1: expected words and at most :SCORE from -100 to 100");
  EXPECT_EQ(refusal("a :x"), "hot.txt, line 1: expected words and at most :SCORE from -100 to 100");
  EXPECT_EQ(refusal("a\nb\na :3"), "hot.txt, line 3: this phrase is listed a second time");
  EXPECT_EQ(refusal("# nothing\n"), "hot.txt: has no phrases");
}

}  // namespace
}  // namespace runnel::decoding
