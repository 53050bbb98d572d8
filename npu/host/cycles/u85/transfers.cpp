#include "npu/host/cycles/u85/transfers.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"

namespace runnel::npu::u85 {
namespace {

constexpr std::int64_t kBrickDepth = 16, kLongestWrite = 64;  // channels; bytes
// Share of the ports, and of the time, that requests use.
constexpr double kUse = 0.8;

}  // namespace

double elements(const Block& block) noexcept {
  return static_cast<double>(block.height) * block.width * block.depth;
}
Block smaller(const Block& a, const Block& b) noexcept {
  return {std::min(a.height, b.height), std::min(a.width, b.width), std::min(a.depth, b.depth)};
}
double stored(const Block& shape, Layout layout) noexcept {
  return static_cast<double>(shape.height) * shape.width *
         (layout == Layout::nhcwb16 ? static_cast<double>(ceil_div(shape.depth, kBrickDepth) * kBrickDepth)
                                    : static_cast<double>(shape.depth));
}

double Transfers::bytes(const TransferMap& map, const Block& block, bool read, double count) const noexcept {
  const std::int64_t element = map.element, row = element * block.width * block.depth;
  std::int64_t burst = 0;
  if (map.layout == Layout::nhcwb16) {
    burst =
        kBrickDepth * element * map.shape.width == block.depth ? row : kBrickDepth * element * block.width;
  } else if (element * map.shape.depth == block.depth && (read || block.depth <= kBrickDepth)) {
    burst = row;
  } else {
    burst = element * block.depth;
    if (!read) burst = std::min({kLongestWrite, kBrickDepth * element, burst});
  }
  const std::int64_t full = memories_.timing(map.memory).burst;
  burst = std::clamp<std::int64_t>(burst, 1, full);
  return std::floor(count * static_cast<double>(element) * static_cast<double>(full) /
                    static_cast<double>(burst));
}

double Transfers::first_block(const TransferMap& map, const Block& block, bool read) const noexcept {
  const MemoryTiming& memory = memories_.timing(map.memory);
  const double moved = bytes(map, block, read, elements(smaller(map.shape, block)));
  return (read ? memory.read_latency : memory.write_latency) +
         std::trunc(static_cast<double>(static_cast<float>(moved) / rate(map.memory)));
}

float Transfers::rate(MemoryArea area) const noexcept {
  // Tables: a byte per cycle.
  if (area == MemoryArea::internal) return 1;
  return static_cast<float>(memories_.bytes_per_cycle(area));
}

float Transfers::rate(MemoryArea area, Channel channel) const noexcept {
  if (area == MemoryArea::internal) return rate(area);
  const MemoryTiming& memory = memories_.timing(area);
  const bool write = channel == Channel::write;
  // A stream that writes into read-only memory is not for this system; count it as if it could.
  const int outstanding = std::max(write && memory.writes > 0 ? memory.writes : memory.reads, 1);
  const int latency = std::max(write ? memory.write_latency : memory.read_latency, 1);
  auto requests = static_cast<float>(outstanding * memory.ports * kUse);
  if (!write) {
    const int words = std::max(memory.burst / 16, 1);
    requests = std::min(
        static_cast<float>(performance_->buffers[static_cast<int>(channel)]) / static_cast<float>(words),
        requests);
  }
  const auto limit = static_cast<float>(
      static_cast<double>(static_cast<float>(memory.burst) * requests / static_cast<float>(latency)) * kUse);
  return std::min(rate(area), limit);
}

double Transfers::copy(MemoryArea from, MemoryArea to, double bytes) const noexcept {
  const auto cycles = [&](MemoryArea area, Channel channel) {
    return std::trunc(static_cast<double>(static_cast<float>(bytes) / rate(area, channel)));
  };
  return std::max(
      cycles(from, Channel::copy) + (from == MemoryArea::internal ? 0 : memories_.timing(from).read_latency),
      cycles(to, Channel::write) + (to == MemoryArea::internal ? 0 : memories_.timing(to).write_latency));
}

}  // namespace runnel::npu::u85
