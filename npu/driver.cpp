#include "npu/driver.h"

#include "npu/payload.h"

namespace runnel::npu {
namespace {

using namespace device_register;

constexpr std::uint32_t kKeptCommands = device_command::kClockMayStop | device_command::kPowerMayStop;
// Outstanding reads and writes of each port, less one.
constexpr std::uint32_t kAxiLimits = 31u << 16 | 15u << 24, kU85AxiLimits = 63u | 31u << 8;
constexpr std::uint32_t kMacRamp = 63;  // bits of kPowerControl
// kPmuControl: count, and reset both kinds of counters. kPmuEnable: all four, and the cycle counter.
constexpr std::uint32_t kPmuFromZero = 7, kPmuAll = 15u | 1u << 31;

Driver* the_drivers = nullptr;

constexpr std::uint32_t field(std::uint32_t word, int low, int bits) noexcept {
  return word >> low & ((1u << bits) - 1);
}

}  // namespace

void add_driver(Driver& driver) noexcept {
  driver.next_ = the_drivers;
  the_drivers = &driver;
}
Driver* reserve_driver() noexcept {
  for (Driver* driver = the_drivers; driver != nullptr; driver = driver->next_) {
    if (driver->reserve()) return driver;
  }
  return nullptr;
}

Result<Driver*> reserve_driver_for(std::span<const std::byte> payload) noexcept {
  Status why(Code::not_found);
  why << "no NPU is free";
  for (Driver* driver = the_drivers; driver != nullptr; driver = driver->next_) {
    if (driver->accelerator() == nullptr || !driver->reserve()) continue;
    const Status fits = driver->fits(payload);
    if (fits.ok()) return driver;
    driver->release();
    why = fits;
  }
  return why;
}

DriverTotals driver_totals() noexcept {
  DriverTotals all;
  for (const Driver* driver = the_drivers; driver != nullptr; driver = driver->next_) {
    const DriverTotals& one = driver->totals_;
    all.runs += one.runs;
    all.failures += one.failures;
    all.cycles += one.cycles;
    all.near_read += one.near_read;
    all.near_written += one.near_written;
    all.far_read += one.far_read;
    all.far_written += one.far_written;
  }
  return all;
}

// How the device shares its ports with others.
void Driver::set_ports() noexcept {
  if (!is_u85()) {
    for (std::uint32_t limit = 0; limit < 4; ++limit) device_.write(kAxiLimit + 4 * limit, kAxiLimits);
    return;
  }
  for (std::uint32_t i = 0; i < 4; ++i)
    device_.write(kMemoryAttributes + 4 * i, options_.memory_attributes[i]);
  device_.write(kAxiSram, kU85AxiLimits);
  device_.write(kAxiExternal, kU85AxiLimits);
  device_.write(kPowerControl, options_.mac_ramp & kMacRamp);
}

// The clock may always stop; power only between runs.
void Driver::set_power(bool on) noexcept {
  device_.write(kCommand, device_command::kClockMayStop | (on ? 0 : device_command::kPowerMayStop));
  if (!on) device_.power(false);
}

Status Driver::reset() noexcept {
  device_.power(true);
  const std::uint32_t level = (options_.privileged ? 1u : 0u) | (options_.secure ? 0u : 2u);
  device_.write(kReset, level);
  std::uint32_t polls = 0;
  while ((device_.read(kStatus) & device_status::kResetting) != 0) {
    if (++polls == options_.reset_polls)
      return Status(Code::invalid_data) << "the device does not come out of its reset";
  }
  if (const std::uint32_t found = device_.read(kProtection) & 3; found != level) {
    return Status(Code::invalid_data) << "the device's protection is " << found << ", expected " << level;
  }
  set_ports();
  set_power(true);
  return {};
}

Status Driver::init() noexcept {
  accelerator_ = nullptr;
  running_ = false;
  device_.power(true);
  RUNNEL_ASSIGN(const Accelerator* const found, find_accelerator(device_.read(kConfig)));
  product_ = found->product;
  RUNNEL_TRY(reset());
  accelerator_ = found;
  id_ = device_.read(kId);
  if (options_.sleeps) set_power(false);
  return {};
}

// Checks for the same product and an architecture as new as the stream's.
Status Driver::fit(std::uint32_t config, std::uint32_t id) noexcept {
  RUNNEL_ASSIGN(const Accelerator* const wanted, find_accelerator(config));
  if (wanted != accelerator_)
    return Status(Code::mismatch) << "it is made for " << wanted->name << ", and the device is "
                                  << accelerator_->name;
  const std::uint32_t own = id_;
  if (field(id, 28, 4) != field(own, 28, 4) || field(id, 20, 8) > field(own, 20, 8)) {
    return Status(Code::mismatch) << "it needs architecture " << field(id, 28, 4) << '.' << field(id, 20, 8)
                                  << ", and the device has " << field(own, 28, 4) << '.' << field(own, 20, 8);
  }
  return {};
}

Status Driver::fits(std::span<const std::byte> payload) noexcept {
  if (accelerator_ == nullptr)
    return Status(Code::invalid_argument) << "the driver has no device: init comes first";
  RUNNEL_ASSIGN(const Payload read, read_payload(payload));
  return fit(read.config, read.id);
}

void Driver::set_address(std::uint32_t offset, const void* memory) noexcept {
  const std::uint64_t address = device_.address_of(memory);
  device_.write(offset, static_cast<std::uint32_t>(address));
  if (accelerator_->product != Product::u55)
    device_.write(offset + 4, static_cast<std::uint32_t>(address >> 32));
}
Status Driver::reaches(const void* memory) noexcept {
  const std::uint64_t address = device_.address_of(memory);
  if (address >> (accelerator_->product == Product::u55 ? 32 : 40) == 0) return {};
  return Status(Code::invalid_argument)
         << "memory at " << address << ", which " << accelerator_->name << " cannot address";
}

void Driver::start_counters() noexcept {
  // Registers of counters take values only while counting is on.
  device_.write(pmu(kPmuControl), 1);
  device_.write(pmu(kPmuDisable), kPmuAll);
  device_.write(pmu(kPmuCycleEvents), 0);
  for (std::uint32_t i = 0; i < kPmuCounters; ++i)
    device_.write(pmu(kPmuEvent) + 4 * i, static_cast<std::uint32_t>(events_[i]));
  device_.write(pmu(kPmuControl), kPmuFromZero);
  device_.write(pmu(kPmuEnable), kPmuAll);
}

void Driver::add_totals(const Status& status) noexcept {
  ++totals_.runs;
  totals_.failures += status.ok() ? 0 : 1;
  totals_.cycles += cycles();
  if (own_events_) return;
  totals_.near_read += counter(0);
  totals_.near_written += counter(1);
  totals_.far_read += counter(2);
  totals_.far_written += counter(3);
}

Status Driver::start(std::span<const std::byte> payload, std::span<const std::span<const std::byte>> memories,
                     void* user) noexcept {
  if (accelerator_ == nullptr)
    return Status(Code::invalid_argument) << "the driver has no device: init comes first";
  if (running_) return Status(Code::invalid_argument) << "a run is under way";
  if (memories.size() > kBaseAddresses)
    return Status(Code::invalid_argument)
           << memories.size() << " memories, expected at most " << kBaseAddresses;
  RUNNEL_ASSIGN(const Payload read, read_payload(payload));
  RUNNEL_TRY(fit(read.config, read.id));
  const std::span<const std::byte> commands =
      payload.subspan(4 * read.first_command, 4 * read.commands.size());
  device_.flush(payload);
  for (const std::span<const std::byte>& memory : memories) {
    if (!memory.empty()) device_.flush(memory);
  }
  if (device_.address_of(commands.data()) % 16 != 0)
    return Status(Code::invalid_argument) << "the command stream does not begin at a multiple of 16 bytes";
  RUNNEL_TRY(reaches(commands.data()));
  for (const std::span<const std::byte>& memory : memories) {
    if (!memory.empty()) RUNNEL_TRY(reaches(memory.data()));
  }
  if (options_.sleeps) RUNNEL_TRY(reset());
  user_ = user;
  if (observer_ != nullptr) observer_->begin(*this, user);
  start_counters();
  std::uint32_t ports = 0;
  for (std::size_t i = 0; i < kBaseAddresses; ++i) {
    memories_[i] = i < memories.size() ? memories[i] : std::span<const std::byte>();
    if (memories_[i].empty()) continue;
    set_address(kBase + 8 * static_cast<std::uint32_t>(i), memories_[i].data());
    ports |= std::uint32_t{options_.region_ports[i]} << 2 * i;
  }
  set_address(kQueueBase, commands.data());
  if (is_u85()) device_.write(kQueueSize, 0);
  device_.write(kQueueSize, static_cast<std::uint32_t>(commands.size()));
  device_.write(kQueueConfig, options_.queue_port);
  device_.write(kRegionConfig, ports);
  interrupted_.store(0, std::memory_order_release);
  running_ = true;
  device_.write(kCommand, (device_.read(kCommand) & kKeptCommands) | device_command::kRun);
  return {};
}

void Driver::handle_interrupt() noexcept {
  reported_ = device_.read(kStatus);
  const std::uint32_t history =
      is_u85() ? reported_ >> device_status::kHistory << device_command::kClearHistory : 0;
  device_.write(kCommand,
                (device_.read(kCommand) & kKeptCommands) | device_command::kClearInterrupt | history);
  interrupted_.store(1, std::memory_order_release);
}

Status Driver::finish() noexcept {
  if (!running_) return Status(Code::invalid_argument) << "no run is under way";
  Status status;
  if (!interrupted() && !device_.wait()) {
    status = Status(Code::io_error) << "the device did not answer in time; it stands at byte "
                                    << device_.read(kQueueRead) << " of the command stream";
  } else {
    if (!interrupted()) handle_interrupt();
    const auto fail = [&](std::string_view what) {
      return Status(Code::invalid_data) << "the device reports " << what << " at byte "
                                        << device_.read(kQueueRead) << " of the command stream";
    };
    if ((reported_ & device_status::kBusError) != 0) {
      status = fail("a bus error") << ", port " << field(reported_, device_status::kFaultInterface, 1)
                                   << ", channel " << field(reported_, device_status::kFaultChannel, 4);
    } else if ((reported_ & device_status::kParseError) != 0) {
      status = fail("a command that it does not know");
    } else if ((reported_ & device_status::kWeightError) != 0) {
      status = fail("weights that it cannot decode");
    } else if ((reported_ & device_status::kMemoryError) != 0) {
      status = fail("a fault of its own memory");
    } else if (is_u85() && (reported_ & device_status::kBranchError) != 0) {
      status = fail("a jump to nowhere");
    } else if ((reported_ & device_status::kEndReached) == 0) {
      status = fail("an interrupt before the end");
    }
  }
  add_totals(status);
  device_.write(pmu(kPmuControl), 0);
  for (const std::span<const std::byte>& memory : memories_) {
    if (!memory.empty()) device_.invalidate(memory);
  }
  running_ = false;
  if (observer_ != nullptr) observer_->end(*this, user_, status);
  // The first failure is returned, even when the reset fails too.
  if (!status.ok() && !reset().ok()) accelerator_ = nullptr;
  if (options_.sleeps) set_power(false);
  return status;
}

std::uint64_t Driver::cycles() noexcept {
  return std::uint64_t{device_.read(pmu(kPmuCyclesHigh))} << 32 | device_.read(pmu(kPmuCycles));
}

}  // namespace runnel::npu
