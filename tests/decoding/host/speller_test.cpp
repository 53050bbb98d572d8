#include "decoding/host/speller.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace runnel::decoding {
namespace {

using Tokens = std::vector<std::int32_t>;

TEST(Speller, TakesTheFewestTokensTheLongestFirst) {
  const std::string_view pieces[] = {"<blk>", "▁", "▁he", "h", "e", "l", "o", "ll", "▁hel", "lo"};
  const Vocabulary vocabulary{pieces, 0, Units::pieces};
  const Speller speller(vocabulary);
  EXPECT_EQ(*speller.spell("hello"), (Tokens{8, 9}));
  EXPECT_EQ(*speller.spell("HELL"), (Tokens{8, 5}))
      << "in small letters; \"▁he ll\" is as short, but its first token shorter";
  EXPECT_EQ(*speller.spell("o"), (Tokens{1, 6}));
}

TEST(Speller, TakesTheBestOfAUnigramModel) {
  const std::string_view pieces[] = {"<blk>", "▁", "a", "b", "ab", "▁a"};
  const Vocabulary vocabulary{pieces, 0, Units::pieces};
  const std::vector<float> scores = {0, -1, -2, -2, -6, -9};
  const Speller speller(vocabulary, scores);
  EXPECT_EQ(*speller.spell("ab"), (Tokens{1, 2, 3})) << "-1-2-2 is better than -1-6 and -9-2";
  // Against all segmentations.
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string word;
    for (std::size_t k = 0; k < 1 + random() % 6; ++k) word += static_cast<char>('a' + random() % 2);
    const std::string text = "▁" + word;
    double best = -1e9;
    const std::function<void(std::size_t, double)> all = [&](std::size_t at, double sum) {
      if (at == text.size()) best = std::max(best, sum);
      for (std::size_t p = 1; p < std::size(pieces); ++p)
        if (text.compare(at, pieces[p].size(), pieces[p]) == 0)
          all(at + pieces[p].size(), sum + static_cast<double>(scores[p]));
    };
    all(0, 0);
    double sum = 0;
    std::string joined;
    const auto spelled = speller.spell(word);
    ASSERT_TRUE(spelled.ok());
    for (const std::int32_t token : *spelled) {
      sum += static_cast<double>(scores[static_cast<std::size_t>(token)]);
      joined += pieces[static_cast<std::size_t>(token)];
    }
    EXPECT_EQ(joined, text);
    EXPECT_EQ(sum, best);
  }
}

TEST(Speller, NamesWordAndCharacterWithoutAToken) {
  const std::string_view pieces[] = {"<blk>", "▁", "a", "b"};
  const Vocabulary vocabulary{pieces, 0, Units::pieces};
  const Speller speller(vocabulary);
  EXPECT_EQ(speller.spell("abüa").status().text(), "\"abüa\" cannot be spelled: no token fits at \"ü\"");
  EXPECT_EQ(speller.spell("").status().text(), "an empty word cannot be spelled");
  const Vocabulary words{pieces, 0, Units::words};
  EXPECT_EQ(Speller(words).spell("on").status().text(),
            "\"on\" cannot be spelled: every token is a word, and none is this one");
  EXPECT_EQ(*Speller(words).spell("b"), Tokens{3});
}

TEST(Speller, TakesBytesWhereNothingElseFits) {
  std::vector<std::string> all = {"<blk>", "▁", "a"};
  for (int byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", byte);
    all.emplace_back(text);
  }
  const std::vector<std::string_view> pieces(all.begin(), all.end());
  const Vocabulary vocabulary{pieces, 0, Units::pieces};
  EXPECT_EQ(*Speller(vocabulary).spell("aü"), (Tokens{1, 2, 3 + 0xC3, 3 + 0xBC}));
}

TEST(Speller, NeverUsesBlankControlOrSeparator) {
  const std::string_view pieces[] = {"a", "|", "<s>", "s", "<", ">", "b"};
  const Vocabulary vocabulary{pieces, 0, Units::characters};
  const Speller speller(vocabulary);
  EXPECT_EQ(speller.separator(), 1);
  EXPECT_FALSE(speller.spell("a").ok()) << "the blank";
  EXPECT_FALSE(speller.spell("b|").ok());
  EXPECT_EQ(*speller.spell("<s>"), (Tokens{4, 3, 5}));
}

}  // namespace
}  // namespace runnel::decoding
