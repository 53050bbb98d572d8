#include "decoding/host/tokens_file.h"

#include <gtest/gtest.h>

namespace runnel::decoding {
namespace {

std::string refusal(std::string_view text) {
  const auto list = parse_tokens(text, "tokens.txt");
  return list.ok() ? std::string() : std::string(list.status().text());
}

TEST(TokensFile, ReadsTokensWithNumbers) {
  const auto list = parse_tokens("<blk> 0\n▁the 2\r\n  3\nx 1\n", "t");
  ASSERT_TRUE(list.ok()) << list.status().text();
  EXPECT_EQ(list->pieces, (std::vector<std::string>{"<blk>", "x", "▁the", " "}));
  EXPECT_TRUE(list->scores.empty());
}

TEST(TokensFile, ReadsSentencepieceVocabularies) {
  const auto list = parse_tokens("<unk>\t0\n<s>\t0\n▁the\t-3.25\n5\t-7", "t");
  ASSERT_TRUE(list.ok()) << list.status().text();
  EXPECT_EQ(list->pieces, (std::vector<std::string>{"<unk>", "<s>", "▁the", "5"}));
  EXPECT_EQ(list->scores, (std::vector<float>{0, 0, -3.25F, -7}));
}

TEST(TokensFile, ReadsPlainLists) {
  const auto list = parse_tokens("silence\nturn on\n", "t");
  ASSERT_TRUE(list.ok()) << list.status().text();
  EXPECT_EQ(list->pieces, (std::vector<std::string>{"silence", "turn on"}));
}

TEST(TokensFile, NamesTheLineOfAMistake) {
  EXPECT_EQ(refusal(""), "tokens.txt: has no tokens");
  EXPECT_EQ(refusal("a 0\nb 2\n"), "tokens.txt, line 2: number 2, expected 0 to 1 in a file of 2 tokens");
  EXPECT_EQ(refusal("a 0\nb -1\n"), "tokens.txt, line 2: number -1, expected 0 to 1 in a file of 2 tokens");
  EXPECT_EQ(refusal("a 0\nb 0\n"), "tokens.txt, line 2: number 0 again, it is \"a\"");
  EXPECT_EQ(refusal("a 0\nb\n"),
            "tokens.txt, line 2: \"b\", expected a token and its number, as in the first line");
  EXPECT_EQ(refusal("a\n\nb\n"), "tokens.txt, line 2: is empty, expected a token");
  EXPECT_EQ(refusal("a\n" + std::string(300, 'x')),
            "tokens.txt, line 2: a token of 300 bytes, expected at most 255");
  EXPECT_EQ(refusal("a\nb\x01"), "tokens.txt, line 2: a token with control characters, expected text");
}

}  // namespace
}  // namespace runnel::decoding
