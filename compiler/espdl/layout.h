// How .espdl files order the bytes of weights, and the order that models use here: [N][kernel...][C].
//
//   name                 bytes, outer to inner                          used by
//   NWC, NHWC            [N][taps][C]                                   target c
//   WCN, HWCN            [taps][C = 1][N]                               target c, depthwise
//   (N/A)WC<A>, HWC<A>   [N/A][taps][C][A], A = 16 (int8) or 8 (int16)  targets esp32s3 and esp32p4
//   ..._UNALIGNED        aligned blocks, then the last N mod A channels  the same
//                        as [n][taps][C] (depthwise: [taps][n])
//
// "taps" are the kernel positions, height before width. Older files write N16HWC16 for (N/16)HWC16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace runnel::compiler {

struct WeightLayout {
  enum class Order : std::uint8_t { plain, channels_innermost, blocked };  // NHWC; HWCN; (N/A)HWC<A>
  Order order = Order::plain;
  int block = 1;  // A

  friend bool operator==(const WeightLayout&, const WeightLayout&) = default;
};

// Errors: unsupported, naming the text.
Result<WeightLayout> parse_weight_layout(std::string_view name);

struct WeightSize {
  std::int64_t outputs = 0;  // N
  std::int64_t taps = 0;
  std::int64_t inputs = 0;  // C; 1 when depthwise
  bool depthwise = false;   // decides the order of the unaligned tail
};

// `stored` holds outputs*taps*inputs elements (the caller has checked it). Returns them as [N][taps][C].
std::vector<std::byte> unpack_weights(std::span<const std::byte> stored, std::size_t element_size,
                                      const WeightLayout& layout, const WeightSize& size);
// The other way round: `plain` is [N][taps][C].
std::vector<std::byte> pack_weights(std::span<const std::byte> plain, std::size_t element_size,
                                    const WeightLayout& layout, const WeightSize& size);
// "(N/16)HWC16_UNALIGNED"; `axes`: 1 (W) or 2 (HW).
std::string layout_name(const WeightLayout& layout, const WeightSize& size, int axes);

}  // namespace runnel::compiler
