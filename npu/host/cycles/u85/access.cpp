#include "npu/host/cycles/u85/access.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "npu/port.h"

namespace runnel::npu::u85 {
namespace {

// What the compiler adds up by itself before it compares.
enum Group : std::uint8_t { kMaps, kWeights, kScales, kGroups };

class Counter {
 public:
  Counter(const Transfers& transfers, const Block& input, const Block& output) noexcept
      : transfers_(transfers), input_(input), output_(output) {}

  void read(const TransferMap& map, Channel channel, double count) noexcept {
    add(map.memory, channel, kMaps, transfers_.bytes(map, input_, true, count));
    traffic(map.memory).read += count * map.element;
  }
  void write(const TransferMap& map, double count) noexcept {
    add(map.memory, Channel::write, kMaps, transfers_.bytes(map, output_, false, count));
    traffic(map.memory).written += count * map.element;
  }
  void add(MemoryArea area, Channel channel, Group group, double bytes) noexcept {
    bytes_[static_cast<std::size_t>(area)][static_cast<std::size_t>(channel)][group] += bytes;
  }
  Traffic& traffic(MemoryArea area) noexcept { return out_.traffic[static_cast<std::size_t>(area)]; }

  // A memory is busy as long as its slowest channel, or as all of them together.
  MemoryAccess close() noexcept {
    for (std::size_t area = 0; area < kMemoryAreas; ++area) {
      double all = 0, slowest = 0;
      for (std::size_t channel = 0; channel < kChannels; ++channel) {
        double cycles = 0;
        for (const double bytes : bytes_[area][channel]) {
          all += bytes;
          if (bytes > 0)
            cycles +=
                whole(bytes, transfers_.rate(static_cast<MemoryArea>(area), static_cast<Channel>(channel)));
        }
        slowest = std::max(slowest, cycles);
      }
      if (all > 0)
        out_.cycles[area] = std::max(whole(all, transfers_.rate(static_cast<MemoryArea>(area))), slowest);
    }
    return out_;
  }

 private:
  static double whole(double bytes, float rate) noexcept {
    return std::trunc(static_cast<double>(static_cast<float>(bytes) / rate));
  }

  const Transfers& transfers_;
  Block input_, output_;
  double bytes_[kMemoryAreas][kChannels][kGroups] = {};
  MemoryAccess out_;
};

bool single(const TransferMap& map) noexcept { return elements(map.shape) <= 1; }

Channel channel_of(Unit unit, bool second) noexcept {
  return unit == Unit::elementwise || unit == Unit::resize || (unit == Unit::product && second)
             ? Channel::ifm_stream
             : Channel::ifm;
}

struct OutputBlocks {
  double across = 1, all = 1;
};
OutputBlocks output_blocks(const Operation& op, const TransferMap& ofm, Unit unit) noexcept {
  const Block block = smaller(ofm.shape, output_block(op));
  const double across = static_cast<double>(ceil_div(ofm.shape.height, block.height)) *
                        static_cast<double>(ceil_div(ofm.shape.width, block.width));
  return {across,
          across * (depth_by_depth(unit) ? 1 : static_cast<double>(ceil_div(ofm.shape.depth, block.depth)))};
}

// Every output block reads its input again.
double window_reads(const Operation& op, const TransferMap& ifm, const Block& input, double blocks,
                    Unit unit) noexcept {
  const Block block = smaller(ifm.shape, input);
  const std::int32_t side = unit == Unit::product ? 1 : kMaxSubKernel;
  const double parts = static_cast<double>(ceil_div(op.kernel.taps_y(), side)) *
                       static_cast<double>(ceil_div(op.kernel.taps_x(), side));
  return stored({block.height, block.width, ifm.shape.depth}, ifm.layout) * parts * blocks;
}

void first_inputs(const Operation& op, const Accelerator& accelerator, const Memories& memories,
                  Counter& counter) noexcept {
  const Unit unit = unit_of(op);
  const TransferMap ifm = first_input(op, memories);
  const Channel channel = channel_of(unit, false);
  if (unit == Unit::elementwise) {
    // Only one operand can be a number among the registers; both have the first one's padding.
    const bool number = single(ifm);
    if (!number) counter.read(ifm, channel, stored(ifm.shape, ifm.layout));
    if (!has_second_input(op)) return;
    const TransferMap second = second_input(op, memories);
    if (!single(second) || number) counter.read(second, channel, stored(second.shape, ifm.layout));
    return;
  }
  if (unit == Unit::resize) return counter.read(ifm, channel, stored(ifm.shape, ifm.layout));
  const OutputBlocks blocks = output_blocks(op, output(op, memories), unit);
  counter.read(ifm, channel, window_reads(op, ifm, input_block_shape(op, accelerator), blocks.all, unit));
}

// The first map outside the chain.
void chained_map(const Operation& op, const Memories& memories, Counter& counter) noexcept {
  for (const bool second : {false, true}) {
    if (second && !op.has_ifm2) break;
    if ((second ? op.ifm2 : op.ifm).storage == Storage::chained) continue;
    const TransferMap map = second ? second_input(op, memories) : first_input(op, memories);
    if (!single(map)) counter.read(map, channel_of(unit_of(op), second), stored(map.shape, map.layout));
    // A function fused with the operation writes as an operation of its own.
    if (op.u85.function == Function::none) return;
    break;
  }
  if (op.ofm.storage == Storage::chained || op.ofm.storage == Storage::none) return;
  const TransferMap ofm = output(op, memories);
  counter.write(ofm, stored(ofm.shape, ofm.layout));
}

}  // namespace

MemoryAccess memory_access(const Layer& layer, const EncodedWeights& weights, const Accelerator& accelerator,
                           const Transfers& transfers) noexcept {
  const Memories& memories = transfers.memories();
  const Operation& op = layer.first;
  Counter counter(transfers, input_block_shape(op, accelerator), output_block(op));
  first_inputs(op, accelerator, memories, counter);
  const TransferMap ofm = output(op, memories);
  if (op.ofm.storage != Storage::chained && op.ofm.storage != Storage::none)
    counter.write(ofm, stored(ofm.shape, ofm.layout));
  for (const Operation* chained : layer.chained) chained_map(*chained, memories, counter);

  if (weights.weights + weights.scales <= 0) return counter.close();
  const double repeats = output_blocks(op, ofm, unit_of(op)).across;
  const MemoryArea constants = memories.area_of(kConstants);
  if (weights.buffered) {
    const MemoryArea buffer = memories.area_of(op.weight_region);
    const double later = std::max(weights.weights - weights.ahead, 0.0);
    counter.add(constants, Channel::copy, kWeights, later);
    counter.add(buffer, Channel::write, kWeights, later);
    counter.add(buffer, op.u85.fast_weights ? Channel::fast_weights : Channel::weights, kWeights,
                weights.weights * repeats);
    counter.traffic(constants).read += weights.weights + weights.scales;
    counter.traffic(buffer).written += weights.weights + weights.scales;
    counter.traffic(buffer).read += (weights.weights + weights.scales) * repeats;
  } else {
    counter.add(constants, Channel::weights, kWeights, weights.weights * repeats);
    counter.traffic(constants).read += (weights.weights + weights.scales) * repeats;
  }
  counter.add(constants, Channel::scales, kScales, weights.scales * repeats);
  return counter.close();
}

}  // namespace runnel::npu::u85
