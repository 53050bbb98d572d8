#include "npu/host/cycles/u85/uncut_weights.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "npu/bounds.h"
#include "npu/host/cycles/u85/layer.h"
#include "npu/host/encoder/weight_encoder.h"
#include "npu/host/u85/weights.h"
#include "npu/port.h"
#include "npu/u85/configuration.h"

namespace runnel::npu::u85 {
namespace {

constexpr std::int64_t kMostWeights = std::int64_t{1} << 21;  // of a stream, filler included; a bound on time
constexpr std::size_t kFastHead = 32, kFastAlignment = 32;    // bytes
constexpr std::int64_t kDoubleBuffers = 16;  // copies to look back for the one that filled a buffer

using Stream = std::span<const std::byte>;

// Where streams in buffers were copied from.
class Sources {
 public:
  Sources(std::span<const Operation> operations, Stream constants) noexcept
      : operations_(operations), constants_(constants) {}

  // Empty when it is not known.
  [[nodiscard]] Stream find(std::uint32_t before, std::uint8_t region, const Bytes& bytes) const noexcept {
    if (region == kConstants) return part(bytes.base, bytes.length);
    std::int64_t seen = 0;
    for (std::size_t i = std::min<std::size_t>(before, operations_.size());
         i-- > 0 && seen < kDoubleBuffers;) {
      const Operation& op = operations_[i];
      if (op.kind != OperationKind::dma || op.dma.source.internal || op.dma.source.region != kConstants)
        continue;
      ++seen;
      const std::int64_t inside = bytes.base - op.dma.target.address;
      if (op.dma.target.internal || op.dma.target.region != region || inside < 0 ||
          inside > op.dma.length - bytes.length)
        continue;
      return part(op.dma.source.address + inside, bytes.length);
    }
    return {};
  }

 private:
  [[nodiscard]] Stream part(std::int64_t base, std::int64_t length) const noexcept {
    if (base < 0 || length < 1) return {};
    const auto offset = static_cast<std::uint64_t>(base), size = static_cast<std::uint64_t>(length);
    return range_inside(offset, size, constants_.size()) ? constants_.subspan(offset, size) : Stream{};
  }

  std::span<const Operation> operations_;
  Stream constants_;
};

// Bytes that our encoder needs.
std::size_t encoded_bytes(const WeightOrder& order, std::span<const std::int16_t> weights) {
  std::size_t bytes = 0;
  std::vector<std::int16_t> stream;
  for (std::int32_t decoder = 0; decoder < order.decoders; ++decoder) {
    stream.clear();
    order.walk(decoder, [&](std::int64_t index) {
      stream.push_back(index < 0 ? std::int16_t{0} : weights[static_cast<std::size_t>(index)]);
    });
    bytes += encode_weights(stream).size();
  }
  return bytes;
}
// Bits of each weight of a fast stream.
std::size_t fast_bits(Stream stream) noexcept {
  const auto head = std::to_integer<unsigned>(stream[0]);
  return (head & 1) != 0 ? 8 : (head & 2) != 0 ? 2 : 4;
}

// Filler included; an upper bound on what decoding writes.
std::int64_t slots(const WeightOrder& order) noexcept {
  const auto blocks = [](std::int32_t size, std::int32_t step) {
    return static_cast<double>(ceil_div(size, std::max(step, 1)));
  };
  // Dilated kernels have smaller parts.
  const double parts = blocks(order.height, 4) * blocks(order.width, 4),
               taps = static_cast<double>(order.height) * order.width +
                      parts * (order.rounding() + order.depthwise_filler);
  const double outs = blocks(order.outs, order.block_depth) *
                      (blocks(std::min(order.block_depth, order.outs), order.unit) * order.unit),
               ins = order.depthwise ? 1 : blocks(order.depth, order.input_depth) * order.input_depth;
  return static_cast<std::int64_t>(std::min(taps * outs * ins, 1e15));
}
// Blocks and micro-blocks of no channels end nowhere.
bool ends(const WeightOrder& order) noexcept {
  return order.unit > 0 && order.block_depth > 0 && order.outs > 0 && order.depth > 0;
}

class Uncut {
 public:
  Uncut(const Layer& layer, const Accelerator& accelerator, const Sources& sources) noexcept
      : layer_(layer), accelerator_(accelerator), sources_(sources) {}

  // 0 when it is not known.
  double bytes(std::int64_t& left) {
    const WeightOrder whole = weight_order(layer_.first, accelerator_);
    if (!ends(whole)) return 0;
    left -= slots(whole);
    if (left < 0) return 0;
    for (const Operation* slice : layer_.slices) {
      if (!add(*slice)) return 0;
    }
    const auto records = static_cast<double>(ceil_div(layer_.first.ofm.depth, records_) * records_);
    const double scales = std::ceil(records * static_cast<double>(kScaleRecord) / 16) * 16;
    if (layer_.first.u85.fast_weights) {
      const std::size_t body = whole.count() * static_cast<std::size_t>(whole.decoders) * bits_ / 8;
      return scales + static_cast<double>(align_up(kFastHead + body, kFastAlignment));
    }
    if (ours_ == 0) return 0;
    const double again = static_cast<double>(encoded_bytes(whole, weights_)) * static_cast<double>(stored_) /
                         static_cast<double>(ours_);
    return scales + std::round(again / 16) * 16;
  }

 private:
  bool add(const Operation& slice) {
    const WeightOrder order = weight_order(slice, accelerator_);
    records_ = std::max<std::int64_t>(ceil_div(order.unit, 16) * 16, 16);
    std::vector<Stream> streams;
    for (const Bytes& stream : slice.weights) {
      if (stream.length < 1) continue;
      streams.push_back(sources_.find(slice.index, slice.weight_region, stream));
      if (streams.back().empty()) return false;
      stored_ += streams.back().size();
    }
    const bool fast = slice.u85.fast_weights;
    if (streams.size() != static_cast<std::size_t>(fast ? 1 : order.decoders)) return false;
    if (fast) {
      bits_ = std::max(bits_, fast_bits(streams[0]));
      return true;
    }
    const auto weights = unpack_weights(order, false, streams);
    if (!weights.ok()) return false;
    ours_ += encoded_bytes(order, *weights);
    weights_.insert(weights_.end(), weights->begin(), weights->end());
    return true;
  }

  const Layer& layer_;
  const Accelerator& accelerator_;
  const Sources& sources_;
  std::vector<std::int16_t> weights_;
  std::size_t stored_ = 0, ours_ = 0, bits_ = 2;
  std::int64_t records_ = 16;  // of scales that are read together
};

}  // namespace

std::vector<UncutWeights> uncut_weights(std::span<const Operation> operations, const Accelerator& accelerator,
                                        std::span<const std::byte> constants) {
  std::vector<UncutWeights> out;
  if (constants.empty()) return out;
  const Sources sources(operations, constants);
  std::int64_t left = kMostWeights;
  LayerReader reader(operations);
  for (Layer layer; reader.next(layer);) {
    if (layer.slices.size() < 2) continue;
    const double bytes = Uncut(layer, accelerator, sources).bytes(left);
    if (left < 0) break;
    if (bytes > 0) out.push_back({layer.first.index, bytes});
  }
  return out;
}

}  // namespace runnel::npu::u85
