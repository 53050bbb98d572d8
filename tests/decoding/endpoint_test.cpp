#include "decoding/endpoint.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace runnel::decoding {
namespace {

// Frames as letters: "." silence, "w" a word; the frames with which utterances end.
std::string ends(std::string_view frames, const EndpointSettings& settings) {
  Endpoint endpoint(settings);
  std::string found;
  bool words = false;
  for (const char frame : frames) {
    words = words || frame == 'w';
    const bool end = endpoint.ends(frame == '.', words);
    found += end ? '!' : ' ';
    if (!end) continue;
    words = false;
    endpoint.restart();
  }
  return found;
}

TEST(Endpoint, LongSilenceBeforeAWordShorterSilenceAfterIt) {
  const EndpointSettings settings{.silence_before = 5, .silence_after = 2, .longest = 0};
  EXPECT_EQ(ends(".......", settings), "    !  ");
  EXPECT_EQ(ends("..ww.w..", settings), "       !");
  EXPECT_EQ(ends("w........", settings), "  !    ! ");
}

TEST(Endpoint, SoundBreaksASilence) {
  EXPECT_EQ(ends("....n....n", {.silence_before = 5, .silence_after = 2, .longest = 0}), "          ");
}

TEST(Endpoint, ZeroIsNever) {
  EXPECT_EQ(ends("..........", {.silence_before = 0, .silence_after = 2, .longest = 0}), "          ");
  EXPECT_EQ(ends("w.........", {.silence_before = 2, .silence_after = 0, .longest = 0}), "          ");
  EXPECT_EQ(ends("wwwwwwwwww", {.silence_before = 2, .silence_after = 2, .longest = 4}), "   !   !  ");
}

}  // namespace
}  // namespace runnel::decoding
