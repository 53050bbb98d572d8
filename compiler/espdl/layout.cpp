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
      if (core == "(N/" + a + ")" + axes + a || core == "N/" + a + axes + a || core == "N" + a + axes + a) return WeightLayout{Order::blocked, block};
    }
  }
  return Status(Code::unsupported) << "weight layout \"" << name << "\" is not known";
}

std::vector<std::byte> unpack_weights(std::span<const std::byte> stored, std::size_t element_size, const WeightLayout& layout,
                                      const WeightSize& size) {
  std::vector<std::byte> unpacked(stored.size());
  const auto move = [&](std::int64_t from, std::int64_t n, std::int64_t tap, std::int64_t c) {
    const std::int64_t to = (n * size.taps + tap) * size.inputs + c;
    std::memcpy(unpacked.data() + static_cast<std::size_t>(to) * element_size,
                stored.data() + static_cast<std::size_t>(from) * element_size, element_size);
  };
  const std::int64_t outputs = size.outputs, taps = size.taps, inputs = size.inputs, block = layout.block;
  const std::int64_t aligned = layout.order == WeightLayout::Order::blocked ? outputs / block * block : 0;
  const std::int64_t left = outputs - aligned;
  const bool tail_innermost = layout.order == WeightLayout::Order::channels_innermost ||
                              (layout.order == WeightLayout::Order::blocked && size.depthwise);
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    for (std::int64_t c = 0; c < inputs; ++c) {
      for (std::int64_t n = 0; n < aligned; ++n) move(((n / block * taps + tap) * inputs + c) * block + n % block, n, tap, c);
      // Plain and channels-innermost layouts are all tail.
      for (std::int64_t n = 0; n < left; ++n) {
        const std::int64_t within = tail_innermost ? (tap * inputs + c) * left + n : (n * taps + tap) * inputs + c;
        move(aligned * taps * inputs + within, aligned + n, tap, c);
      }
    }
  }
  return unpacked;
}

}  // namespace runnel::compiler
