#include "decoding/vocabulary.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace runnel::decoding {
namespace {

using Pieces = std::vector<std::string_view>;

TEST(Vocabulary, TokensShowTheirUnits) {
  EXPECT_EQ(units_of(Pieces{"<blk>", "▁the", "y"}), Units::pieces);
  EXPECT_EQ(units_of(Pieces{"<pad>", "|", "A", "B"}), Units::characters);
  EXPECT_EQ(units_of(Pieces{"<blk>", "▁", "a", "b"}), Units::characters) << "the mark alone is a space";
  EXPECT_EQ(units_of(Pieces{"_", "zero", "one"}), Units::words);
  EXPECT_EQ(units_of(Pieces{"<blk>", "a", "ü"}), Units::joined);
}

TEST(Vocabulary, TextIsWhatATokenAddsToItsWord) {
  const Pieces pieces = {"<blk>", "▁the", "y", "▁", "<unk>", "<s>", "<0x41>", "<0xe2>"};
  const Vocabulary vocabulary{pieces, 0, Units::pieces};
  EXPECT_EQ(vocabulary.text(1), "the");
  EXPECT_EQ(vocabulary.text(2), "y");
  EXPECT_EQ(vocabulary.text(3), "");
  EXPECT_EQ(vocabulary.text(4), "<unk>");
  EXPECT_EQ(vocabulary.text(5), "");
  EXPECT_EQ(vocabulary.text(6), "A");
  EXPECT_EQ(vocabulary.text(7), "\xE2");
  EXPECT_TRUE(vocabulary.begins_word(1));
  EXPECT_TRUE(vocabulary.begins_word(3));
  EXPECT_FALSE(vocabulary.begins_word(2));
}

TEST(Vocabulary, FindsTheBlank) {
  const Pieces pieces = {"a", "<blk>", "5"};
  EXPECT_EQ(find_blank(pieces, ""), 1);
  EXPECT_EQ(find_blank(pieces, "a"), 0);
  EXPECT_EQ(find_blank(pieces, "2"), 2);
  EXPECT_EQ(find_blank(pieces, "5"), 2) << "a token before a number";
  EXPECT_EQ(find_blank(pieces, "3"), -1);
  EXPECT_EQ(find_blank(pieces, "-1"), -1);
  EXPECT_EQ(find_blank(pieces, "99999999999999999999999"), -1);
  EXPECT_EQ(find_blank(Pieces{"a", "b"}, ""), 0);
  EXPECT_EQ(no_such_blank("7", 3).text(), "blank=7: expected a token, or a number from 0 to 2");
}

}  // namespace
}  // namespace runnel::decoding
