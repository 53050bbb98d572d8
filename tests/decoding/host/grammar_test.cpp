#include "decoding/host/grammar.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>
#include <sstream>

namespace runnel::decoding {
namespace {

bool accepts(const Grammar& grammar, const std::string& text) {
  std::istringstream words(text);
  std::size_t state = 0;
  for (std::string word; words >> word;) {
    const auto number = std::find(grammar.words.begin(), grammar.words.end(), word) - grammar.words.begin();
    const auto next = grammar.states[state].next.find(static_cast<std::int32_t>(number));
    if (next == grammar.states[state].next.end()) return false;
    state = static_cast<std::size_t>(next->second);
  }
  return grammar.states[state].accepts;
}

std::string refusal(std::string_view text) {
  const auto grammar = parse_grammar(text, "g.txt");
  return grammar.ok() ? std::string() : std::string(grammar.status().text());
}

TEST(Grammar, AcceptsItsCommands) {
  const auto grammar = parse_grammar(
      "# numbers\n<number> = one | two | three  # up to three\n\ncall <number>+\nturn (on | off) [the] "
      "light\n",
      "g");
  ASSERT_TRUE(grammar.ok()) << grammar.status().text();
  for (const char* yes : {"call one", "call two three one", "turn on light", "turn off the light"})
    EXPECT_TRUE(accepts(*grammar, yes)) << yes;
  for (const char* no :
       {"", "call", "turn light", "turn on the", "call one turn on light", "one", "turn on off light"})
    EXPECT_FALSE(accepts(*grammar, no)) << no;
}

// The ends of everything that an expression can be from one place of a text, found by trying.
using Ends = std::set<std::size_t>;
using Matcher = std::function<Ends(const std::string& text, std::size_t from)>;
struct Expression {
  std::string text;
  Matcher match;
};

Matcher repeated(const Matcher& once, bool at_least_one) {
  return [once, at_least_one](const std::string& text, std::size_t from) {
    Ends found, fresh = at_least_one ? once(text, from) : Ends{from};
    while (!fresh.empty()) {
      Ends next;
      found.insert(fresh.begin(), fresh.end());
      for (const std::size_t at : fresh)
        for (const std::size_t end : once(text, at))
          if (!found.contains(end)) next.insert(end);
      fresh = next;
    }
    return found;
  };
}

Expression random_expression(std::mt19937& random, int depth) {
  const auto pick = random() % (depth > 3 ? 3 : 8);
  if (pick < 3) {
    const char letter = static_cast<char>('a' + pick);
    return {std::string(1, letter), [letter](const std::string& text, std::size_t from) {
              return from < text.size() && text[from] == letter ? Ends{from + 1} : Ends{};
            }};
  }
  const Expression x = random_expression(random, depth + 1), y = random_expression(random, depth + 1);
  if (pick < 5)
    return {x.text + " " + y.text, [x, y](const std::string& text, std::size_t from) {
              Ends ends;
              for (const std::size_t at : x.match(text, from)) ends.merge(y.match(text, at));
              return ends;
            }};
  if (pick == 5)
    return {"(" + x.text + " | " + y.text + ")", [x, y](const std::string& text, std::size_t from) {
              Ends ends = x.match(text, from);
              ends.merge(y.match(text, from));
              return ends;
            }};
  if (pick == 6)
    return {"[" + x.text + "]", [x](const std::string& text, std::size_t from) {
              Ends ends = x.match(text, from);
              ends.insert(from);
              return ends;
            }};
  const bool star = random() % 2 == 0;
  return {"(" + x.text + (star ? ")*" : ")+"), repeated(x.match, !star)};
}

TEST(Grammar, EqualsBruteForceForRandomExpressions) {
  std::mt19937 random(1);
  int accepted = 0;
  for (int i = 0; i < 300; ++i) {
    const Expression expression = random_expression(random, 0);
    const auto grammar = parse_grammar(expression.text, "g");
    ASSERT_TRUE(grammar.ok()) << expression.text << ": " << grammar.status().text();
    for (int k = 0; k < 100; ++k) {
      std::string letters, words;
      for (std::size_t n = random() % 6; n > 0; --n) letters += static_cast<char>('a' + random() % 3);
      for (const char letter : letters) words += std::string(1, letter) + " ";
      const bool expected = expression.match(letters, 0).contains(letters.size());
      accepted += expected ? 1 : 0;
      ASSERT_EQ(accepts(*grammar, words), expected) << expression.text << " with " << words;
    }
  }
  EXPECT_GT(accepted, 1000);
}

TEST(Grammar, RefusesLoopsThatNeedMemoryWithoutBound) {
  const std::string_view advice =
      " leads back to itself, which needs memory without bound; write loops with * or +";
  EXPECT_EQ(refusal("<a> = ( <a> ) b | c\n<a>"), "g.txt, line 1: the rule <a>" + std::string(advice));
  EXPECT_EQ(refusal("go <a>\n<a> = x <b>\n<b> = y [<a>]\n"),
            "g.txt, line 3: the rule <a>" + std::string(advice));
}

TEST(Grammar, RefusesWhatWouldBeTooLarge) {
  std::string text = "<r0> = a b\n";
  for (int i = 1; i < 30; ++i)
    text +=
        "<r" + std::to_string(i) + "> = <r" + std::to_string(i - 1) + "> <r" + std::to_string(i - 1) + ">\n";
  EXPECT_EQ(refusal(text + "<r29>").substr(0, 34), "g.txt: the grammar is too large: w");
  // The subsets of a word n places before the end.
  std::string subsets = "(a | b)* a";
  for (int i = 0; i < 30; ++i) subsets += " (a | b)";
  EXPECT_EQ(refusal(subsets).substr(0, 35), "g.txt: the grammar is too large: it");
  EXPECT_EQ(refusal(std::string(1000, '(') + "a" + std::string(1000, ')')),
            "g.txt, line 1: brackets and rules within each other deeper than 100");
}

TEST(Grammar, NamesTheLineOfAMistake) {
  EXPECT_EQ(refusal(""), "g.txt: has no commands, only rules");
  EXPECT_EQ(refusal("go\nturn (on | off"), "g.txt, line 2: expected ) after (");
  EXPECT_EQ(refusal("turn on)"), "g.txt, line 1: \")\" without its beginning");
  EXPECT_EQ(refusal("turn ()"), "g.txt, line 1: expected a word before )");
  EXPECT_EQ(refusal("on | "), "g.txt, line 1: ends where a word is expected");
  EXPECT_EQ(refusal("* on"), "g.txt, line 1: expected a word before *");
  EXPECT_EQ(refusal("call <name>"), "g.txt, line 1: there is no rule <name>");
  EXPECT_EQ(refusal("call <name"), "g.txt, line 1: expected > after <");
  EXPECT_EQ(refusal("<a> = x\n<a> = y\n<a>"), "g.txt, line 2: the rule <a> is defined a second time");
  EXPECT_EQ(refusal("a b = c"), "g.txt, line 1: expected <name> before the =");
  EXPECT_EQ(refusal("<unused> = (\ngo"), "g.txt, line 1: ends where a word is expected");
}

}  // namespace
}  // namespace runnel::decoding
