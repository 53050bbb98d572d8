#include "base/from_chars.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include "base/read_floating.h"

namespace runnel {
namespace {

#ifdef __cpp_lib_to_chars
// What both read of a text, from its start to its end: the value's bits, the place, the error.
template <class T>
void expect_same(const std::string& text) {
  T here = T(77), there = T(77);
  const char *const first = text.data(), *const last = first + text.size();
  const auto found = detail::read_floating(first, last, here);
  const auto expected = std::from_chars(first, last, there);
  EXPECT_EQ(found.ec, expected.ec) << text;
  if (expected.ec == std::errc()) {
    EXPECT_EQ(found.ptr - first, expected.ptr - first) << text;
    // Not a number has many forms.
    if (!std::isnan(there)) {
      EXPECT_EQ(std::memcmp(&here, &there, sizeof here), 0) << text << ": " << here << ", " << there;
    }
    EXPECT_EQ(std::isnan(here), std::isnan(there)) << text;
  } else {
    EXPECT_EQ(here, T(77)) << text;
  }
}
void expect_same_in_both(const std::string& text) {
  expect_same<double>(text);
  expect_same<float>(text);
}

TEST(FromChars, WithoutTheLibraryReadsTheSameTexts) {
  for (const char* const text : {"",
                                 "-",
                                 "+1",
                                 " 1",
                                 "0",
                                 "-0",
                                 "1",
                                 "-1.5",
                                 ".5",
                                 "5.",
                                 ".",
                                 "-.",
                                 "1e",
                                 "1e+",
                                 "1e5",
                                 "1E-5",
                                 "1e5x",
                                 "0.1",
                                 "3.4e38",
                                 "3.5e38",
                                 "1e-45",
                                 "1e-46",
                                 "1e-320",
                                 "1e-400",
                                 "1e400",
                                 "-1e400",
                                 "0e999",
                                 "inf",
                                 "-INF",
                                 "infinity",
                                 "infin",
                                 "nan",
                                 "-NaN",
                                 "nanx",
                                 "0x10",
                                 "1.2.3",
                                 "1,5",
                                 "12345678901234567890",
                                 "0.000000000000000000000000000001234567890123456789",
                                 "1 2",
                                 "e5",
                                 "--1",
                                 "9007199254740993"})
    expect_same_in_both(text);
}

TEST(FromChars, WithoutTheLibraryReadsRandomTextsTheSame) {
  std::mt19937 random(7);
  const char letters[] = "0123456789.-+eE";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (auto length = random() % 12; length > 0; --length) text += letters[random() % (sizeof letters - 1)];
    expect_same_in_both(text);
  }
}
#endif

TEST(FromChars, LeavesAloneWhatComesBehind) {
  double value = 0;
  const std::string text = "2.5;7";
  const auto read = from_chars(text.data(), text.data() + text.size(), value);
  EXPECT_EQ(read.ec, std::errc());
  EXPECT_EQ(*read.ptr, ';');
  EXPECT_EQ(value, 2.5);
  std::int32_t whole = 0;
  EXPECT_EQ(from_chars(text.data(), text.data() + 1, whole).ec, std::errc());
  EXPECT_EQ(whole, 2);
}

}  // namespace
}  // namespace runnel
