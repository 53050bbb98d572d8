#include "npu/host/u85/weights.h"

#include <algorithm>
#include <cstring>

#include "npu/u85/blocks.h"

namespace runnel::npu::u85 {
namespace {

constexpr std::size_t kHead = 32;                     // bytes of a fast stream's head
constexpr std::int32_t kNarrow = 256, kMiddle = 512;  // multiply-adds per cycle

// Bits [first, first + count) of the head.
std::uint32_t bits_of(std::span<const std::byte> head, std::size_t first, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bit = first + i;
    value |= (std::to_integer<std::uint32_t>(head[bit / 8]) >> bit % 8 & 1u) << i;
  }
  return value;
}

// Of four input channels in sequence, at most two may have weights.
Status check_sparse(const WeightOrder& order, std::span<const std::int16_t> weights) {
  const auto depth = static_cast<std::size_t>(order.depth);
  for (std::size_t row = 0; row < weights.size(); row += depth) {
    for (std::size_t channel = 0; channel < depth; channel += 4) {
      const auto group = weights.subspan(row + channel, std::min<std::size_t>(4, depth - channel));
      const auto used = static_cast<std::int64_t>(group.size()) - std::count(group.begin(), group.end(), 0);
      if (used > 2)
        return Status(Code::invalid_data)
               << "sparse weights: " << used << " of four at channel " << channel << ", expected at most 2";
    }
  }
  return {};
}

}  // namespace

std::size_t WeightOrder::count() const {
  std::size_t count = 0;
  walk(0, [&](std::int64_t) { ++count; });
  return count;
}

WeightOrder weight_order(const Operation& op, const Accelerator& accelerator) {
  WeightOrder order;
  order.depthwise = op.kind == OperationKind::depthwise;
  order.outs = op.ofm.depth;
  order.height = op.kernel.taps_y();
  order.width = op.kernel.taps_x();
  order.depth = order.depthwise ? 1 : op.ifm.depth;
  order.block_depth = op.block_depth;
  order.unit = microblock(accelerator, op.microblock).depth;
  order.stride_y = op.kernel.stride_y;
  order.stride_x = op.kernel.stride_x;
  order.dilation_y = op.kernel.dilation_y;
  order.dilation_x = op.kernel.dilation_x;
  order.decoders = blocks_of(accelerator).decoders;
  order.part_kernel = op.kernel.part_kernel && !order.depthwise;
  order.wide = op.ifm.element == 2;
  order.sparse = op.u85.sparse_weights;
  const bool narrow = accelerator.macs <= kNarrow;
  if (!order.depthwise) order.input_depth = input_depth(op, accelerator);
  if (order.depthwise)
    order.depthwise_filler = !order.wide && narrow ? 0 : accelerator.macs <= kMiddle ? 2 : 6;
  return order;
}

Result<std::vector<std::int16_t>> decode_fast_weights(std::span<const std::byte> stream) {
  if (stream.size() < kHead)
    return Status(Code::invalid_data)
           << "fast weight stream: " << stream.size() << " bytes, expected at least " << kHead;
  const auto head = stream.first(kHead), body = stream.subspan(kHead);
  std::vector<std::int16_t> weights;
  if (bits_of(head, 0, 1) != 0) {
    const auto zero = static_cast<std::int8_t>(bits_of(head, 104, 8));
    weights.reserve(body.size());
    for (const std::byte byte : body)
      weights.push_back(static_cast<std::int16_t>(static_cast<std::int8_t>(byte) - zero));
    return weights;
  }
  std::int16_t table[16];
  for (std::size_t i = 0; i < 16; ++i) {
    const std::uint32_t entry = bits_of(head, 112 + 9 * i, 9);
    const auto magnitude = static_cast<std::int16_t>(entry >> 1);
    table[i] = static_cast<std::int16_t>((entry & 1) != 0 ? -magnitude : magnitude);
  }
  const unsigned bits = bits_of(head, 1, 1) != 0 ? 2 : 4;
  weights.reserve(body.size() * (8 / bits));
  for (const std::byte byte : body) {
    for (unsigned at = 0; at < 8; at += bits)
      weights.push_back(table[std::to_integer<unsigned>(byte) >> at & ((1u << bits) - 1)]);
  }
  return weights;
}

Result<std::vector<std::int16_t>> unpack_weights(const WeightOrder& order, bool fast,
                                                 std::span<const std::span<const std::byte>> streams) {
  const std::size_t count = order.count(), turn = order.turn();
  const auto decoders = static_cast<std::size_t>(order.decoders);
  // Everything is decoded before memory for the positions is taken: short streams take none.
  std::vector<std::vector<std::int16_t>> weights(fast ? 1 : decoders);
  if (fast) {
    RUNNEL_ASSIGN(weights[0], decode_fast_weights(streams[0]));
    const std::vector<std::int16_t>& all = weights[0];
    if (all.size() < count * decoders ||
        std::any_of(all.begin() + static_cast<std::ptrdiff_t>(count * decoders), all.end(),
                    [](std::int16_t value) { return value != 0; }))
      return Status(Code::invalid_data) << "fast weight stream: " << all.size() << " weights, expected "
                                        << count * decoders << ", and zeros";
  }
  for (std::size_t decoder = 0; !fast && decoder < decoders; ++decoder) {
    RUNNEL_ASSIGN(weights[decoder], decode_weights(streams[decoder], count));
    if (weights[decoder].size() != count)
      return Status(Code::invalid_data) << "weight stream " << decoder << ": " << weights[decoder].size()
                                        << " weights, expected " << count;
  }
  std::vector<std::int16_t> out(
      static_cast<std::size_t>(order.outs) * static_cast<std::size_t>(order.height) *
      static_cast<std::size_t>(order.width) * static_cast<std::size_t>(order.depth));
  bool filled = false;
  for (std::size_t decoder = 0; decoder < decoders; ++decoder) {
    const std::vector<std::int16_t>& from = weights[fast ? 0 : decoder];
    std::size_t next = 0;
    order.walk(static_cast<std::int32_t>(decoder), [&](std::int64_t index) {
      // A fast stream holds the decoders in turn.
      const std::int16_t weight =
          from[!fast            ? next
               : order.in_turns ? (next / turn * decoders + decoder) * turn + next % turn
                                : decoder * count + next];
      ++next;
      if (index >= 0)
        out[static_cast<std::size_t>(index)] = weight;
      else
        filled = filled || weight != 0;
    });
  }
  if (filled) return Status(Code::invalid_data) << "weight stream: filler that is not zero";
  if (order.sparse) RUNNEL_TRY(check_sparse(order, out));
  return out;
}

ScaleRecord read_scale_record(const std::byte* bytes, bool wide) noexcept {
  ScaleRecord record;
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  record.bias = static_cast<std::int64_t>(word << (wide ? 16 : 32)) >> (wide ? 16 : 32);
  record.multiplier = static_cast<std::uint32_t>(wide ? word >> 48 & 0x7fff : word >> 32 & 0x7fffffff);
  record.shift = static_cast<std::uint8_t>(std::to_integer<unsigned>(bytes[8]) & 63);
  return record;
}

}  // namespace runnel::npu::u85
