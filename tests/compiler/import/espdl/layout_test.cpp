// Weight layouts against an independent statement: the position of each element written down from the
// layout's name.
#include "compiler/espdl/layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace runnel::compiler {
namespace {

using Order = WeightLayout::Order;

// Elements are numbered in the order [N][taps][C]; the stored sequence lists those numbers in file order.
// Loops follow the layout's definition from the outside to the inside.
std::vector<std::int16_t> stored(const WeightLayout& layout, const WeightSize& size) {
  std::vector<std::int16_t> out;
  const auto put = [&](std::int64_t n, std::int64_t tap, std::int64_t c) {
    out.push_back(static_cast<std::int16_t>((n * size.taps + tap) * size.inputs + c));
  };
  std::int64_t first = 0;
  if (layout.order == Order::blocked) {
    for (; first + layout.block <= size.outputs; first += layout.block) {
      for (std::int64_t tap = 0; tap < size.taps; ++tap) {
        for (std::int64_t c = 0; c < size.inputs; ++c) {
          for (std::int64_t n = first; n < first + layout.block; ++n) put(n, tap, c);
        }
      }
    }
  }
  if (layout.order == Order::channels_innermost || (layout.order == Order::blocked && size.depthwise)) {
    for (std::int64_t tap = 0; tap < size.taps; ++tap) {
      for (std::int64_t c = 0; c < size.inputs; ++c) {
        for (std::int64_t n = first; n < size.outputs; ++n) put(n, tap, c);
      }
    }
  } else {
    for (std::int64_t n = first; n < size.outputs; ++n) {
      for (std::int64_t tap = 0; tap < size.taps; ++tap) {
        for (std::int64_t c = 0; c < size.inputs; ++c) put(n, tap, c);
      }
    }
  }
  return out;
}

template <class T>
void expect_unpacked(const WeightLayout& layout, const WeightSize& size) {
  const std::vector<std::int16_t> file = stored(layout, size);
  std::vector<std::byte> bytes(file.size() * sizeof(T));
  for (std::size_t i = 0; i < file.size(); ++i) {
    const T value = static_cast<T>(file[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  const std::vector<std::byte> unpacked = unpack_weights(bytes, sizeof(T), layout, size);
  ASSERT_EQ(unpacked.size(), bytes.size());
  for (std::size_t i = 0; i < file.size(); ++i) {
    T value;
    std::memcpy(&value, unpacked.data() + i * sizeof(T), sizeof(T));
    ASSERT_EQ(value, static_cast<T>(i)) << "N " << size.outputs << ", taps " << size.taps << ", C "
                                        << size.inputs << ", block " << layout.block;
  }
}

TEST(WeightLayout, UnpacksEveryOrderAndSize) {
  for (const WeightLayout layout : {WeightLayout{Order::plain, 1}, WeightLayout{Order::channels_innermost, 1},
                                    WeightLayout{Order::blocked, 8}, WeightLayout{Order::blocked, 16}}) {
    for (std::int64_t n = 1; n <= 40; ++n) {
      for (const std::int64_t taps : {1, 3, 15}) {  // pointwise, 1-D, 2-D of 5 x 3
        for (const std::int64_t c : {1, 4, 7}) {
          expect_unpacked<std::int16_t>(layout, {n, taps, c, false});
        }
        expect_unpacked<std::int8_t>(layout, {n, taps, 1, true});
        expect_unpacked<std::int16_t>(layout, {n, taps, 1, true});
      }
    }
  }
}

// A case small enough to check by eye: N = 3 in blocks of 2 would be [0 1 of block][2 left over]; here with
// the real block of 8.
TEST(WeightLayout, UnalignedTailsDifferBetweenDepthwiseAndDense) {
  const WeightLayout layout{Order::blocked, 8};
  const auto unpack = [&](bool depthwise) {
    std::vector<std::byte> file;
    for (int i = 0; i < 20; ++i) file.push_back(static_cast<std::byte>(i));
    return unpack_weights(file, 1, layout, {10, 2, 1, depthwise});  // 8 aligned channels, 2 left; 2 taps
  };
  const auto dense = unpack(false), depthwise = unpack(true);
  EXPECT_EQ(std::to_integer<int>(dense[0]), 0);        // channel 0, tap 0
  EXPECT_EQ(std::to_integer<int>(dense[1]), 8);        // channel 0, tap 1: a whole block further
  EXPECT_EQ(std::to_integer<int>(dense[17]), 17);      // channel 8, tap 1: rows of the tail are dense
  EXPECT_EQ(std::to_integer<int>(depthwise[17]), 18);  // channel 8, tap 1: the tail's channels are innermost
}

TEST(WeightLayout, NamesWithAndWithoutParentheses) {
  const auto parsed = [](std::string_view name) { return parse_weight_layout(name).value(); };
  EXPECT_EQ(parsed("NWC"), (WeightLayout{Order::plain, 1}));
  EXPECT_EQ(parsed("NHWC"), (WeightLayout{Order::plain, 1}));
  EXPECT_EQ(parsed("WCN"), (WeightLayout{Order::channels_innermost, 1}));
  EXPECT_EQ(parsed("HWCN"), (WeightLayout{Order::channels_innermost, 1}));
  for (const char* name : {"(N/16)HWC16", "(N/16)WC16", "N16HWC16", "N16HWC16_UNALIGNED",
                           "(N/16)HWC16_UNALIGNED", "(N/16)WC16_UNALIGNED"}) {
    EXPECT_EQ(parsed(name), (WeightLayout{Order::blocked, 16})) << name;
  }
  for (const char* name : {"(N/8)HWC8", "(N/8)WC8", "N8HWC8", "(N/8)HWC8_UNALIGNED", "(N/8)WC8_UNALIGNED"}) {
    EXPECT_EQ(parsed(name), (WeightLayout{Order::blocked, 8})) << name;
  }
  for (const char* name :
       {"", "UNK", "NCHW", "(N/16)HWC8", "(N/4)HWC4", "_UNALIGNED", "(N/16)HWC16_UNALIGNED_UNALIGNED"}) {
    const auto result = parse_weight_layout(name);
    ASSERT_FALSE(result.ok()) << name;
    EXPECT_EQ(result.status().code(), Code::unsupported);
  }
}

}  // namespace
}  // namespace runnel::compiler
