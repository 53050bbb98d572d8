// Device: an Ethos-U55, U65 or U85 as software sees it: registers, an interrupt, and shared memory. The layer
// that a board or a test replaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace runnel::npu {

// Offsets of registers, in bytes.
namespace device_register {
inline constexpr std::uint32_t kId = 0x00, kStatus = 0x04, kCommand = 0x08, kReset = 0x0c, kQueueBase = 0x10,
                               kQueueBaseHigh = 0x14, kQueueRead = 0x18, kQueueConfig = 0x1c,
                               kQueueSize = 0x20, kProtection = 0x24, kConfig = 0x28, kRegionConfig = 0x3c,
                               kAxiLimit = 0x40, kBase = 0x80, kPmuControl = 0x180, kPmuEnable = 0x184,
                               kPmuDisable = 0x188, kPmuCycles = 0x1a0, kPmuCyclesHigh = 0x1a4,
                               kPmuCycleEvents = 0x1a8, kPmuCounter = 0x300, kPmuEvent = 0x380;
// What the U85 has instead of kAxiLimit: attributes of memory, of which each region chooses one
// (kRegionConfig), limits of its two kinds of ports, and how slowly the multipliers are switched on and off.
// Its registers of counters are kU85Pmu further on, and there are twice as many counters.
inline constexpr std::uint32_t kPowerControl = 0x38, kMemoryAttributes = 0x40, kAxiSram = 0x50,
                               kAxiExternal = 0x54, kU85Pmu = 0x1000;
}  // namespace device_register

// Bits of kStatus.
namespace device_status {
inline constexpr std::uint32_t kRunning = 1u << 0, kInterrupt = 1u << 1, kBusError = 1u << 2,
                               kResetting = 1u << 3, kParseError = 1u << 4, kEndReached = 1u << 5,
                               kPmuInterrupt = 1u << 6, kWeightError = 1u << 7, kMemoryError = 1u << 8,
                               kBranchError = 1u << 9;  // U85: a jump to nowhere
inline constexpr int kHistory = 16;                     // U85: which interrupts of the stream there were
inline constexpr int kFaultInterface = 11, kFaultChannel = 12;  // of a bus error; channel: 4 bits
}  // namespace device_status

// Bits of kCommand.
namespace device_command {
inline constexpr std::uint32_t kRun = 1u << 0, kClearInterrupt = 1u << 1, kClockMayStop = 1u << 2,
                               kPowerMayStop = 1u << 3;
inline constexpr int kClearHistory = 16;  // U85
}  // namespace device_command

// Events for counters (kPmuEvent); the device has more of them.
enum class PmuEvent : std::uint16_t {
  none = 0,
  cycles = 17,
  idle = 32,
  active = 35,
  mac_active = 48,
  weight_decoder_active = 80,
  axi0_read_beats = 130,
  axi0_write_beats = 135,
  axi1_read_beats = 386,
  axi1_write_beats = 391,
};                                      // U85: ports to SRAM instead of axi0, to other memory instead of axi1
inline constexpr int kPmuCounters = 4;  // that all of them have

// Not thread-safe; calls come from the driver only.
class Device {
 public:
  virtual std::uint32_t read(std::uint32_t offset) noexcept = 0;
  virtual void write(std::uint32_t offset, std::uint32_t value) noexcept = 0;
  // Waits until the interrupt is raised; false when that takes longer than the board allows. A board
  // with an interrupt handler sleeps until the handler has called Driver::handle_interrupt; one without
  // polls the status.
  virtual bool wait() noexcept = 0;
  // The device's address for an address of this program.
  virtual std::uint64_t address_of(const void* memory) noexcept {
    return reinterpret_cast<std::uintptr_t>(memory);
  }
  // Clock and power, before the device is used and afterwards; where they are always on, nothing.
  virtual void power(bool on) noexcept { static_cast<void>(on); }
  // Caches: flush() writes this program's data to memory; after invalidate() it reads from memory.
  virtual void flush(std::span<const std::byte> memory) noexcept { static_cast<void>(memory); }
  virtual void invalidate(std::span<const std::byte> memory) noexcept { static_cast<void>(memory); }

 protected:
  ~Device() = default;
};

// Memory-mapped registers, the interrupt by polling the status, no caches.
class MappedDevice final : public Device {
 public:
  // `polls`: how often wait() reads the status.
  MappedDevice(volatile std::uint32_t* registers, std::uint32_t polls) noexcept
      : registers_(registers), polls_(polls) {}
  std::uint32_t read(std::uint32_t offset) noexcept override { return registers_[offset / 4]; }
  void write(std::uint32_t offset, std::uint32_t value) noexcept override { registers_[offset / 4] = value; }
  bool wait() noexcept override {
    for (std::uint32_t i = 0; i < polls_; ++i) {
      if ((read(device_register::kStatus) & device_status::kInterrupt) != 0) return true;
    }
    return false;
  }

 private:
  volatile std::uint32_t* registers_;
  std::uint32_t polls_;
};

}  // namespace runnel::npu
