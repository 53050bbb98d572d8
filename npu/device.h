// Device: an Ethos-U55 or U65 as software sees it: registers, an interrupt, and shared memory. The layer that
// a board or a test replaces.
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
}  // namespace device_register

// Bits of kStatus.
namespace device_status {
inline constexpr std::uint32_t kRunning = 1u << 0, kInterrupt = 1u << 1, kBusError = 1u << 2,
                               kResetting = 1u << 3, kParseError = 1u << 4, kEndReached = 1u << 5,
                               kWeightError = 1u << 7, kMemoryError = 1u << 8;
inline constexpr int kFaultInterface = 11, kFaultChannel = 12;  // of a bus error; channel: 4 bits
}  // namespace device_status

// Bits of kCommand.
namespace device_command {
inline constexpr std::uint32_t kRun = 1u << 0, kClearInterrupt = 1u << 1, kClockMayStop = 1u << 2,
                               kPowerMayStop = 1u << 3;
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
};
inline constexpr int kPmuCounters = 4;

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
