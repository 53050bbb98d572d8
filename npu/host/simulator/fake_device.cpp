#include "npu/host/simulator/fake_device.h"

#include <algorithm>
#include <cmath>

#include "npu/bounds.h"
#include "npu/decoder.h"
#include "npu/host/simulator/simulator.h"

namespace runnel::npu {
namespace {

using namespace device_register;

constexpr std::uint64_t kFirstAddress = 0x10000000, kGap = 0x10000;
// The channels that bus errors distinguish: commands, and data of operations.
constexpr std::uint32_t kCommandChannel = 0, kInputChannel = 1;

constexpr std::uint32_t bus_error(std::uint32_t channel) {
  return device_status::kBusError | channel << device_status::kFaultChannel;
}

}  // namespace

FakeDevice::FakeDevice(const FakeDeviceOptions& options) : options_(options) { reset(); }

void FakeDevice::add_memory(std::span<const std::byte> memory) {
  const std::uint64_t next =
      memories_.empty() ? kFirstAddress
                        : (memories_.back().address + memories_.back().bytes.size() + 2 * kGap) / kGap * kGap;
  // Keeps the alignment that memory has in this program.
  memories_.push_back({next + reinterpret_cast<std::uintptr_t>(memory.data()) % 4096, memory});
}

std::uint64_t FakeDevice::address_of(const void* memory) noexcept {
  const auto* const byte = static_cast<const std::byte*>(memory);
  for (const Memory& known : memories_) {
    if (byte >= known.bytes.data() && byte < known.bytes.data() + known.bytes.size())
      return known.address + static_cast<std::uint64_t>(byte - known.bytes.data());
  }
  return 0xdead0000;
}
void FakeDevice::flush(std::span<const std::byte> memory) noexcept {
  flushed_ += memory.size();
  if (!options_.learns_memory) return;
  const auto same = [&](const Memory& known) {
    return known.bytes.data() == memory.data() && known.bytes.size() == memory.size();
  };
  if (std::any_of(memories_.begin(), memories_.end(), same)) return;
  // Memory known there before is dropped.
  const auto overlaps = [&](const Memory& known) {
    return known.bytes.data() < memory.data() + memory.size() &&
           memory.data() < known.bytes.data() + known.bytes.size();
  };
  memories_.erase(std::remove_if(memories_.begin(), memories_.end(), overlaps), memories_.end());
  add_memory(memory);
}
// The rest of the memory from an address on.
std::span<const std::byte> FakeDevice::from(std::uint64_t address) const noexcept {
  for (const Memory& known : memories_) {
    if (address >= known.address && address < known.address + known.bytes.size())
      return known.bytes.subspan(address - known.address);
  }
  return {};
}

void FakeDevice::reset() noexcept {
  const std::uint32_t protection = at(kProtection);
  registers_.fill(0);
  at(kId) = options_.id;
  at(kConfig) = options_.config;
  at(kProtection) = protection;
  pmu_ = options_.config >> 28 == static_cast<std::uint32_t>(Product::u85) ? kU85Pmu : 0;
}

std::uint32_t FakeDevice::read(std::uint32_t offset) noexcept {
  if (offset / 4 >= registers_.size()) return 0;
  if (resetting_ != 0) {
    if (offset != kStatus) return 0;
    if (resetting_ > 0) --resetting_;
    return device_status::kResetting;
  }
  return at(offset);
}

void FakeDevice::write(std::uint32_t offset, std::uint32_t value) noexcept {
  if (offset / 4 >= registers_.size()) return;
  if (offset == kReset) {
    ++resets_;
    reset();
    if (!options_.keeps_protection) at(kProtection) = value & 3;
    resetting_ = options_.reset_reads;
    return;
  }
  if (resetting_ != 0) return;
  if (offset >= kPmuControl + pmu_ && offset <= kPmuCycleEvents + pmu_) {
    count_as_told(offset - pmu_, value);
    return;
  }
  switch (offset) {
    case kId:
    case kStatus:
    case kConfig:
    case kProtection:
    case kQueueRead:
      return;  // read-only
    case kQueueBase:
    case kQueueSize:
      at(kStatus) &= ~device_status::kEndReached;
      break;
    case kCommand:
      if ((value & device_command::kClearInterrupt) != 0) at(kStatus) &= ~device_status::kInterrupt;
      at(kCommand) = value & (device_command::kClockMayStop | device_command::kPowerMayStop);
      if ((value & device_command::kRun) != 0) run();
      return;
    default:
      break;
  }
  at(offset) = value;
}

void FakeDevice::count_as_told(std::uint32_t offset, std::uint32_t value) noexcept {
  if (offset == kPmuControl && (value & 2) != 0) std::fill_n(&counting(kPmuCounter), kPmuCounters, 0u);
  if (offset == kPmuControl && (value & 4) != 0) counting(kPmuCycles) = counting(kPmuCyclesHigh) = 0;
  if (offset == kPmuEnable)
    counting(kPmuEnable) |= value;
  else if (offset == kPmuDisable)
    counting(kPmuEnable) &= ~value;
  else
    counting(offset) = value;
}

bool FakeDevice::wait() noexcept { return (at(kStatus) & device_status::kInterrupt) != 0; }

void FakeDevice::run() noexcept {
  constexpr std::uint32_t kFaults = device_status::kBusError | device_status::kParseError |
                                    device_status::kWeightError | device_status::kMemoryError |
                                    device_status::kBranchError;
  // After a fault only a reset is accepted.
  if ((at(kStatus) & (device_status::kRunning | kFaults)) != 0) return;
  ++runs_;
  const std::uint32_t end = execute();
  at(kStatus) |= options_.fault != 0 ? options_.fault : end;
  if (options_.silent) {
    at(kStatus) |= device_status::kRunning;
    return;
  }
  at(kStatus) |= device_status::kInterrupt;
  if (handler_) handler_();
}

std::uint32_t FakeDevice::execute() {
  const auto address = [&](std::uint32_t offset) { return std::uint64_t{at(offset + 4)} << 32 | at(offset); };
  const auto stream = from(address(kQueueBase));
  const std::size_t size = at(kQueueSize);
  if (stream.size() < size || size % 4 != 0) return bus_error(kCommandChannel);
  const auto accelerator = find_accelerator(options_.config);
  if (!accelerator.ok()) return device_status::kParseError;

  std::array<std::span<const std::byte>, kRegions> memory;
  std::array<std::uint64_t, kRegions> sizes{};
  for (std::size_t i = 0; i < kRegions; ++i) {
    memory[i] = from(address(kBase + 8 * static_cast<std::uint32_t>(i)));
    sizes[i] = memory[i].size();
  }
  std::vector<Operation> operations;
  Decoder decoder(Words(stream.first(size)), **accelerator);
  for (Operation op;;) {
    const auto more = decoder.next(op);
    at(kQueueRead) = 4 * op.word;
    if (!more.ok()) return device_status::kParseError;
    if (!*more) break;
    if (!check_bounds(op, **accelerator, sizes).ok()) return bus_error(kInputChannel);
    operations.push_back(op);
  }
  Segment segment;
  segment.accelerator = *accelerator;
  segment.payload.config = options_.config;
  segment.payload.commands = Words(stream.first(size));
  segment.constants = memory[kConstants];
  segment.scratch = memory[kScratch].size();
  segment.fast_scratch = memory[kFastScratch].size();
  for (std::uint8_t region = kFirstOwn; region < kRegions; ++region) {
    if (!memory[region].empty()) segment.outputs.push_back({"", 0, memory[region].size(), 0, false, region});
  }
  const auto simulator = Simulator::make(segment);
  if (!simulator.ok()) return bus_error(kInputChannel);
  for (std::uint8_t region = kScratch; region < kRegions; ++region) {
    // Writable memories.
    if (!memory[region].empty())
      (*simulator)->bind(region, {const_cast<std::byte*>(memory[region].data()), memory[region].size()});
  }
  if (!(*simulator)->run().ok()) return device_status::kWeightError;
  at(kQueueRead) = static_cast<std::uint32_t>(size);
  const auto estimate = estimate_stream(operations, **accelerator, default_system((*accelerator)->product),
                                        default_memory_mode((*accelerator)->product));
  if (estimate.ok()) count(*estimate);
  return device_status::kEndReached;
}

void FakeDevice::count(const Estimate& estimate) {
  if ((counting(kPmuControl) & 1) == 0) return;
  const auto cycles = static_cast<std::uint64_t>(std::llround(estimate.total));
  const auto enabled = counting(kPmuEnable);
  if (enabled >> 31 != 0) {
    counting(kPmuCycles) = static_cast<std::uint32_t>(cycles);
    counting(kPmuCyclesHigh) = static_cast<std::uint32_t>(cycles >> 32);
  }
  double outside = 0, outside_written = 0;
  for (std::size_t i = 1; i < estimate.traffic.size(); ++i) {
    outside += estimate.traffic[i].read;
    outside_written += estimate.traffic[i].written;
  }
  const double beat = 8;
  for (std::uint32_t i = 0; i < kPmuCounters; ++i) {
    double value = 0;
    switch (static_cast<PmuEvent>(counting(kPmuEvent + 4 * i))) {
      case PmuEvent::cycles:
      case PmuEvent::active:
        value = static_cast<double>(cycles);
        break;
      case PmuEvent::mac_active:
        value = estimate.npu;
        break;
      case PmuEvent::axi0_read_beats:
        value = estimate.traffic[0].read / beat;
        break;
      case PmuEvent::axi0_write_beats:
        value = estimate.traffic[0].written / beat;
        break;
      case PmuEvent::axi1_read_beats:
        value = outside / beat;
        break;
      case PmuEvent::axi1_write_beats:
        value = outside_written / beat;
        break;
      default:
        break;
    }
    if ((enabled >> i & 1) != 0)
      counting(kPmuCounter + 4 * i) = static_cast<std::uint32_t>(std::min(value, 4294967295.0));
  }
}

}  // namespace runnel::npu
