// Places of a map's elements: strides with gaps, bricks apart, four tiles of different heights.
#include <gtest/gtest.h>

#include "npu/host/simulator/feature_map.h"

namespace runnel::test {
namespace {

using npu::FeatureMap;
using npu::Layout;

// 3 x 2 positions of 20 channels of 2 bytes.
FeatureMap map_with(Layout layout) {
  FeatureMap map;
  map.height = map.height0 = map.height1 = 3;
  map.width = map.width0 = 2;
  map.depth = 20;
  map.element = 2;
  map.is_signed = true;
  map.layout = layout;
  return map;
}
// Memory that identifies each byte: 16-bit words that count up.
std::vector<std::byte> counted(std::size_t words) {
  std::vector<std::byte> memory;
  for (std::size_t i = 0; i < words; ++i) {
    memory.push_back(static_cast<std::byte>(i & 0xff));
    memory.push_back(static_cast<std::byte>(i >> 8));
  }
  return memory;
}
// The element at (y, x, c) of a map in such memory: the word it was read from.
std::int32_t word_at(const FeatureMap& map, int y, int x, int c) {
  std::vector<std::int32_t> values;
  npu::read_map(map, counted(4096), values);
  return values[static_cast<std::size_t>((y * map.width + x) * map.depth + c)];
}

TEST(Strides, MayLeaveGapsBetweenColumnsAndRows) {
  FeatureMap map = map_with(Layout::nhwc);
  map.base[0] = 10;
  map.stride_x = 50;
  map.stride_y = 200;
  EXPECT_EQ(word_at(map, 0, 0, 0), 5);
  EXPECT_EQ(word_at(map, 0, 1, 3), 5 + 25 + 3);
  EXPECT_EQ(word_at(map, 2, 1, 19), 5 + 200 + 25 + 19);
}

TEST(Strides, MayPutBricksApart) {
  FeatureMap map = map_with(Layout::nhcwb16);
  map.stride_c = 1024;
  map.stride_y = 96;
  EXPECT_EQ(word_at(map, 1, 1, 15), 48 + 16 + 15);
  EXPECT_EQ(word_at(map, 1, 1, 17), 48 + 512 + 16 + 1);
}

TEST(Strides, WriteWhatTheyRead) {
  FeatureMap map = map_with(Layout::nhwc);
  map.stride_x = 50;
  map.stride_y = 200;
  std::vector<std::int32_t> values;
  npu::read_map(map, counted(4096), values);
  std::vector<std::byte> memory(1024, std::byte{0x55});
  npu::write_map(map, memory, values);
  std::vector<std::int32_t> again;
  npu::read_map(map, memory, again);
  EXPECT_EQ(again, values);
  EXPECT_EQ(memory[40], std::byte{0x55}) << "a gap";
}

TEST(Tiles, OfDifferentHeights) {
  FeatureMap map = map_with(Layout::nhwc);
  map.depth = 1;
  map.width0 = 1;
  map.height0 = 1;
  map.height1 = 2;
  map.stride_x = 2;
  map.stride_y = 4;
  map.base[0] = 0;
  map.base[1] = 200;
  map.base[2] = 400;
  map.base[3] = 600;
  EXPECT_EQ(word_at(map, 0, 0, 0), 0);
  EXPECT_EQ(word_at(map, 1, 0, 0), 200) << "below the left tile";
  EXPECT_EQ(word_at(map, 2, 0, 0), 202);
  EXPECT_EQ(word_at(map, 1, 1, 0), 102) << "the right one has two rows";
  EXPECT_EQ(word_at(map, 2, 1, 0), 300);
}

}  // namespace
}  // namespace runnel::test
