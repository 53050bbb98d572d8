#include "base/suggest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace runnel {
namespace {

TEST(EditDistance, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("fbank", "fbnak"), 1u) << "neighbours swapped";
  EXPECT_EQ(edit_distance("FBANK", "fbank"), 0u);
  EXPECT_EQ(edit_distance(std::string(500, 'a'), std::string(500, 'b')), 64u) << "long names are cut";
}

TEST(Suggest, FindsTheNearestNameOrNone) {
  constexpr std::string_view kNames[] = {"wav", "fbank", "mfcc", "resample", "infer"};
  EXPECT_EQ(suggest("fbnk", kNames), "fbank");
  EXPECT_EQ(suggest("resampler", kNames), "resample");
  EXPECT_EQ(suggest("resam", kNames), "resample");
  EXPECT_EQ(suggest("Wave", kNames), "wav");
  EXPECT_EQ(suggest("zz", kNames), "");
  EXPECT_EQ(suggest("", kNames), "");
}

// The quick test rejects only what the distance would reject.
TEST(Suggest, DecidesByTheDistance) {
  std::mt19937 random(7);
  const auto name = [&] {
    std::string text(random() % 9, 'a');
    for (char& letter : text) letter = "abcAB_1q"[random() % 8];
    return text;
  };
  int near = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string given = name(), known = name();
    const std::size_t distance = edit_distance(given, known);
    const bool expected = distance <= std::max<std::size_t>(2, given.size() / 3) &&
                          distance < std::max(given.size(), known.size());
    Suggestion suggestion(given);
    suggestion.consider(known);
    // Prefixes of one another are near at any distance.
    EXPECT_TRUE(!expected || suggestion.best() == known) << given << " " << known;
    near += expected ? 1 : 0;
    if (!expected && !suggestion.best().empty()) {
      EXPECT_GE(std::min(given.size(), known.size()), 3u);
      EXPECT_EQ(edit_distance(given.substr(0, std::min(given.size(), known.size())),
                              known.substr(0, std::min(given.size(), known.size()))),
                0u)
          << given << " " << known;
    }
  }
  EXPECT_GT(near, 1000);
}

}  // namespace
}  // namespace runnel
