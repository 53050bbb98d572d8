// The framer against the offline definition: pad the whole recording, then cut it.
#include "features/frames/framer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"

namespace runnel::features {
namespace {

// Sample `at` of the padded recording, by reflecting step by step.
float padded_sample(const std::vector<float>& x, std::int64_t at, Padding padding) {
  const auto n = static_cast<std::int64_t>(x.size());
  while (at < 0 || at >= n) {
    if (padding == Padding::zero) return 0;
    const std::int64_t edge = padding == Padding::mirror ? 1 : 0;
    if (n == 1)
      at = 0;
    else if (at < 0)
      at = -at - edge;
    else
      at = 2 * n - 2 + edge - at;
  }
  return x[static_cast<std::size_t>(at)];
}

std::vector<float> streamed(Framer& framer, const std::vector<float>& x, std::size_t piece) {
  std::vector<float> out;
  const auto take = [&] {
    while (const float* frame = framer.frame()) {
      out.insert(out.end(), frame, frame + framer.grid().length);
      framer.advance();
    }
  };
  for (std::size_t at = 0; at < x.size();) {
    take();
    const std::span<float> room = framer.room();
    EXPECT_FALSE(room.empty());
    const std::size_t count = std::min({piece, room.size(), x.size() - at});
    std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(at), count, room.begin());
    framer.written(count);
    at += count;
  }
  take();
  framer.finish();
  take();
  return out;
}

TEST(Framer, CutsThePaddedRecordingForEveryPlacementPaddingAndPartition) {
  std::vector<FrameGrid> grids;
  for (const auto& [length, shift, size] :
       {std::tuple(8, 3, 0), std::tuple(7, 2, 0), std::tuple(8, 8, 16), std::tuple(5, 9, 0),
        std::tuple(5, 2, 8), std::tuple(6, 1, 9), std::tuple(1, 1, 0)}) {
    for (const FramePlacement placement :
         {FramePlacement::inside, FramePlacement::shifts, FramePlacement::centred}) {
      for (const Padding padding : {Padding::mirror, Padding::reflect, Padding::zero}) {
        for (const bool drop : {false, true}) {
          if (placement != FramePlacement::centred && drop) continue;
          grids.push_back(
              {length, shift, placement, padding, placement == FramePlacement::centred ? size : 0, drop});
        }
      }
    }
  }
  for (const FrameGrid& grid : grids) {
    for (std::size_t n = 0; n < 40; ++n) {
      std::vector<float> x(n), expected;
      for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i + 1);
      const std::int64_t frames = grid.frames_of(static_cast<std::int64_t>(n));
      for (std::int64_t f = 0; f < frames; ++f) {
        for (std::int64_t i = 0; i < grid.length; ++i)
          expected.push_back(padded_sample(x, grid.start_of(f) + i, grid.padding));
      }
      for (const std::size_t piece : {1, 2, 3, 7, 100}) {
        HeapMemory memory(Framer::memory_bytes(grid));
        Framer framer;
        ASSERT_TRUE(framer.init(grid, memory).ok());
        ASSERT_EQ(streamed(framer, x, piece), expected)
            << "length " << grid.length << " shift " << grid.shift << " size " << grid.size << " placement "
            << static_cast<int>(grid.placement) << " padding " << static_cast<int>(grid.padding)
            << " samples " << n << " piece " << piece;
      }
    }
  }
}

// The counts of torch.stft and librosa: 1 + n / hop with centre, Whisper one less.
TEST(Framer, CountsFramesAsTheOthersDo) {
  FrameGrid grid{400, 160, FramePlacement::centred, Padding::reflect, 0, false};
  EXPECT_EQ(grid.start_of(0), -200);
  EXPECT_EQ(grid.frames_of(16000), 101);
  grid.drop_last = true;
  EXPECT_EQ(grid.frames_of(480000), 3000);
  grid = {400, 160, FramePlacement::centred, Padding::reflect, 512, false};
  EXPECT_EQ(grid.start_of(0), -200);
  grid = {400, 160, FramePlacement::shifts, Padding::mirror, 0, false};
  EXPECT_EQ(grid.start_of(0), -120);
  EXPECT_EQ(grid.frames_of(160000), 1000);
}

TEST(Framer, RefusesWhatItCannotCut) {
  HeapMemory memory;
  Framer framer;
  EXPECT_EQ(framer.init({.length = 0}, memory).code(), Code::invalid_argument);
  EXPECT_EQ(framer.init({.shift = 0}, memory).code(), Code::invalid_argument);
  EXPECT_EQ(framer.init({.length = 400, .size = 399}, memory).code(), Code::invalid_argument);
  HeapMemory none(8);
  EXPECT_EQ(framer.init({}, none).code(), Code::out_of_memory);
}

}  // namespace
}  // namespace runnel::features
