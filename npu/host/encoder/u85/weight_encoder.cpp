#include "npu/host/encoder/u85/weight_encoder.h"

#include <algorithm>
#include <cstdlib>

#include "base/checked.h"
#include "npu/bounds.h"
#include "npu/host/encoder/generation.h"
#include "npu/host/encoder/weight_encoder.h"
#include "npu/u85/blocks.h"

namespace runnel::npu::u85 {
namespace {

constexpr std::size_t kHead = 32, kPiece = 32;  // bytes of a fast stream's head; its length is a multiple
constexpr std::size_t kRawBit = 0, kSmallBit = 1, kZeroBit = 104, kTableBit = 112, kEntryBits = 9;
constexpr std::size_t kSmallTable = 4, kTable = 16;

void put(std::vector<std::byte>& to, std::size_t first, std::size_t count, std::uint32_t value) {
  for (std::size_t i = 0; i < count; ++i) {
    if ((value >> i & 1) != 0) to[(first + i) / 8] |= std::byte{1} << (first + i) % 8;
  }
}

// In the order of decoder `decoder`.
std::vector<std::int16_t> ordered(const WeightOrder& order, std::span<const std::int16_t> weights,
                                  std::int32_t decoder) {
  std::vector<std::int16_t> out;
  order.walk(decoder, [&](std::int64_t index) {
    out.push_back(index < 0 ? std::int16_t{0} : weights[static_cast<std::size_t>(index)]);
  });
  return out;
}

// All different weights, 0 first: what fills the last piece up are zeros.
std::vector<std::int16_t> different(std::span<const std::int16_t> weights) {
  std::vector<std::int16_t> table{0};
  for (const std::int16_t weight : weights) {
    if (std::find(table.begin(), table.end(), weight) != table.end()) continue;
    if (table.size() == kTable) return {};
    table.push_back(weight);
  }
  return table;
}

}  // namespace

bool fits_sparse(std::span<const std::int16_t> weights, std::int32_t depth) {
  constexpr std::int32_t kGroup = 4, kUsed = 2, kMost = 127;
  for (std::size_t row = 0; row < weights.size(); row += static_cast<std::size_t>(depth)) {
    for (std::int32_t channel = 0; channel < depth; channel += kGroup) {
      std::int32_t used = 0;
      for (std::int32_t c = channel; c < std::min(channel + kGroup, depth); ++c) {
        const std::int16_t weight = weights[row + static_cast<std::size_t>(c)];
        if (std::abs(weight) > kMost) return false;
        used += weight != 0 ? 1 : 0;
      }
      if (used > kUsed) return false;
    }
  }
  return true;
}

std::size_t PackedWeights::bytes() const {
  std::size_t sum = 0;
  for (const std::vector<std::byte>& stream : streams) sum += stream.size();
  return sum;
}

std::vector<std::byte> encode_fast_weights(std::span<const std::int16_t> weights, bool sparse) {
  std::vector<std::byte> out(kHead);
  const auto finish = [&](std::byte filler) {
    out.resize((out.size() + kPiece - 1) / kPiece * kPiece, filler);
    return std::move(out);
  };
  const std::vector<std::int16_t> table = sparse ? std::vector<std::int16_t>{} : different(weights);
  if (!table.empty()) {
    const bool small = table.size() <= kSmallTable;
    const std::size_t bits = small ? 2 : 4;
    put(out, kSmallBit, 1, small ? 1 : 0);
    for (std::size_t i = 0; i < table.size(); ++i)
      put(out, kTableBit + kEntryBits * i, kEntryBits,
          static_cast<std::uint32_t>(std::abs(table[i])) << 1 | (table[i] < 0 ? 1u : 0u));
    out.resize(kHead + (weights.size() * bits + 7) / 8);
    for (std::size_t i = 0; i < weights.size(); ++i)
      put(out, 8 * kHead + bits * i, bits,
          static_cast<std::uint32_t>(std::find(table.begin(), table.end(), weights[i]) - table.begin()));
    return finish(std::byte{0});
  }
  const auto [least, most] = std::minmax_element(weights.begin(), weights.end());
  const int low = std::min<int>(*least, 0), high = std::max<int>(*most, 0);
  if (high - low > 255) return {};
  // A weight is its byte without this.
  const int zero = high > 127 ? 127 - high : low < -128 ? -128 - low : 0;
  put(out, kRawBit, 1, 1);
  put(out, kZeroBit, 8, static_cast<std::uint32_t>(zero) & 0xff);
  for (const std::int16_t weight : weights) out.push_back(static_cast<std::byte>(weight + zero));
  return finish(static_cast<std::byte>(zero));
}

PackedWeights pack_plain_weights(const WeightOrder& order, std::span<const std::int16_t> weights) {
  PackedWeights plain;
  for (std::int32_t decoder = 0; decoder < order.decoders; ++decoder)
    plain.streams.push_back(encode_weights(ordered(order, weights, decoder)));
  return plain;
}

PackedWeights pack_fast_weights(const WeightOrder& order, std::span<const std::int16_t> weights) {
  PackedWeights fast{true, {}};
  if (order.depthwise) return fast;
  std::vector<std::vector<std::int16_t>> parts;
  for (std::int32_t decoder = 0; decoder < order.decoders; ++decoder)
    parts.push_back(ordered(order, weights, decoder));
  std::vector<std::int16_t> turns;
  const std::size_t turn = order.turn();
  turns.reserve(parts[0].size() * parts.size());
  for (std::size_t first = 0; first < parts[0].size(); first += turn) {
    for (const std::vector<std::int16_t>& part : parts)
      turns.insert(turns.end(), part.begin() + static_cast<std::ptrdiff_t>(first),
                   part.begin() + static_cast<std::ptrdiff_t>(std::min(first + turn, part.size())));
  }
  std::vector<std::byte> stream = encode_fast_weights(turns, order.sparse);
  if (!stream.empty()) fast.streams.push_back(std::move(stream));
  return fast;
}

PackedWeights pack_weights(const WeightOrder& order, std::span<const std::int16_t> weights) {
  PackedWeights plain = pack_plain_weights(order, weights), fast = pack_fast_weights(order, weights);
  return !fast.streams.empty() && fast.bytes() <= plain.bytes() ? fast : plain;
}

void append_scale_record(const ScaleRecord& record, bool wide, std::vector<std::byte>& to) {
  const int bias = wide ? 6 : 4, multiplier = wide ? 2 : 4;
  for (int i = 0; i < bias; ++i) to.push_back(static_cast<std::byte>(record.bias >> 8 * i & 0xff));
  for (int i = 0; i < multiplier; ++i)
    to.push_back(static_cast<std::byte>(record.multiplier >> 8 * i & 0xff));
  to.push_back(static_cast<std::byte>(record.shift & 63));
  to.push_back(std::byte{0});
}

std::int64_t scale_bytes(const Operation& op, const Accelerator& accelerator) noexcept {
  // Before its micro-block is chosen there is none.
  const std::int32_t micro = std::max(microblock(accelerator, op.microblock).depth, kBrick);
  const std::int64_t together = ceil_div(micro, kBrick) * kBrick;
  return static_cast<std::int64_t>(
      align_stream(static_cast<std::size_t>(ceil_div(op.ofm.depth, together) * together * kScaleRecord)));
}

std::int64_t streamed_weights(const Operation& op, const Accelerator& accelerator) noexcept {
  constexpr std::int32_t kSub = 8;
  const WeightOrder order = weight_order(op, accelerator);
  const std::int32_t sub_height = kSub / order.dilation_y, sub_width = kSub / order.dilation_x;
  std::int64_t taps = 0;
  for (std::int32_t y = 0; y < order.height; y += sub_height) {
    for (std::int32_t x = 0; x < order.width; x += sub_width) {
      const std::int32_t here = std::min(sub_height, order.height - y) * std::min(sub_width, order.width - x);
      const std::int64_t groups = ceil_div(here, order.rounding());
      taps += groups * (order.rounding() + (order.depthwise ? order.depthwise_filler : 0));
    }
  }
  const std::int64_t outs = ceil_div(order.outs, order.unit) * order.unit,
                     step = order.part_kernel ? order.input_unit() : order.input_depth;
  return outs * taps * (order.depthwise ? 1 : ceil_div(order.depth, step) * step);
}

}  // namespace runnel::npu::u85
