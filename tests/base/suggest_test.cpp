#include "base/suggest.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace runnel
