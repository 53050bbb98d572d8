#include <gtest/gtest.h>

#include <string>

#include "base/host/json/nesting.h"

namespace runnel {
namespace {

TEST(JsonNesting, CountsBracketsAndBraces) {
  EXPECT_FALSE(nests_deeper("", 0));
  EXPECT_FALSE(nests_deeper("17", 0));
  EXPECT_TRUE(nests_deeper("[]", 0));
  EXPECT_FALSE(nests_deeper(R"([{"a":[]},[{}],[[]]])", 3));
  EXPECT_TRUE(nests_deeper(R"([{"a":[]},[{}],[[]]])", 2));
  EXPECT_FALSE(nests_deeper(std::string(64, '[') + std::string(64, ']')));
  EXPECT_TRUE(nests_deeper(std::string(65, '{')));
}

TEST(JsonNesting, LeavesOutWhatIsInTexts) {
  EXPECT_FALSE(nests_deeper(R"(["[[[{{{", "\"[[[", "\\"])", 1));
  EXPECT_TRUE(nests_deeper(R"(["\\",[]])", 1));
}

}  // namespace
}  // namespace runnel
