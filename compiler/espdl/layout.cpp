#include "compiler/espdl/layout.h"

#include <cstring>
#include <string>

namespace runnel::compiler {

Result<WeightLayout> parse_weight_layout(std::string_view name) {
  using Order = WeightLayout::Order;
  if (name == "NWC" || name == "NHWC") return WeightLayout{Order::plain, 1};
  if (name == "WCN" || name == "HWCN") return WeightLayout{Order::channels_innermost, 1};
  constexpr std::string_view tail = "_UNALIGNED";
  std::string_view core = name;
  if (core.ends_with(tail)) core.remove_suffix(tail.size());
  for (const int block : {8, 16}) {
    const std::string a = std::to_string(block);
    for (const std::string& axes : {std::string("HWC"), std::string("WC")}) {
      if (core == "(N/" + a + ")" + axes + a || core == "N/" + a + axes + a || core == "N" + a + axes + a)
        return WeightLayout{Order::blocked, block};
    }
  }
  return Status(Code::unsupported) << "weight layout \"" << name << "\" is not known";
}

namespace {

// Calls move(stored, plain) for every element: its index in the file's order and in [N][taps][C].
template <class Move>
void each_weight(const WeightLayout& layout, const WeightSize& size, const Move& move) {
  const std::int64_t outputs = size.outputs, taps = size.taps, inputs = size.inputs, block = layout.block;
  const std::int64_t aligned = layout.order == WeightLayout::Order::blocked ? outputs / block * block : 0;
  const std::int64_t left = outputs - aligned;
  const bool tail_innermost = layout.order == WeightLayout::Order::channels_innermost ||
                              (layout.order == WeightLayout::Order::blocked && size.depthwise);
  const auto plain = [&](std::int64_t n, std::int64_t tap, std::int64_t c) {
    return (n * taps + tap) * inputs + c;
  };
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    for (std::int64_t c = 0; c < inputs; ++c) {
      for (std::int64_t n = 0; n < aligned; ++n)
        move(((n / block * taps + tap) * inputs + c) * block + n % block, plain(n, tap, c));
      // Plain and channels-innermost layouts are all tail.
      for (std::int64_t n = 0; n < left; ++n) {
        const std::int64_t within =
            tail_innermost ? (tap * inputs + c) * left + n : (n * taps + tap) * inputs + c;
        move(aligned * taps * inputs + within, plain(aligned + n, tap, c));
      }
    }
  }
}

void copy_element(std::span<const std::byte> from, std::int64_t at, std::vector<std::byte>& to,
                  std::int64_t place, std::size_t element_size) {
  std::memcpy(to.data() + static_cast<std::size_t>(place) * element_size,
              from.data() + static_cast<std::size_t>(at) * element_size, element_size);
}

}  // namespace

std::vector<std::byte> unpack_weights(std::span<const std::byte> stored, std::size_t element_size,
                                      const WeightLayout& layout, const WeightSize& size) {
  std::vector<std::byte> unpacked(stored.size());
  each_weight(layout, size, [&](std::int64_t place, std::int64_t plain) {
    copy_element(stored, place, unpacked, plain, element_size);
  });
  return unpacked;
}

std::vector<std::byte> pack_weights(std::span<const std::byte> plain, std::size_t element_size,
                                    const WeightLayout& layout, const WeightSize& size) {
  std::vector<std::byte> packed(plain.size());
  each_weight(layout, size, [&](std::int64_t place, std::int64_t at) {
    copy_element(plain, at, packed, place, element_size);
  });
  return packed;
}

std::string layout_name(const WeightLayout& layout, const WeightSize& size, int axes) {
  const std::string spatial = axes == 1 ? "W" : "HW";
  if (layout.order == WeightLayout::Order::plain) return "N" + spatial + "C";
  if (layout.order == WeightLayout::Order::channels_innermost) return spatial + "CN";
  const std::string block = std::to_string(layout.block);
  return "(N/" + block + ")" + spatial + "C" + block + (size.outputs % layout.block != 0 ? "_UNALIGNED" : "");
}

}  // namespace runnel::compiler
