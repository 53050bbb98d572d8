// A device that a board does not have: registers of an Ethos-U55, U65 or U85 in RAM, which play back what the
// simulator did on a host (recorded_run.h). Before a run is played, what the registers point to is compared
// with the recording: stream, constants, histories, inputs. A single wrong bit is a bus error, as are ports
// that the driver has not set up. The interrupt is real.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/crc32c.h"
#include "firmware/npu/recorded_run.h"
#include "firmware/startup/semihosting.h"
#include "npu/device.h"
#include "npu/port.h"

namespace runnel::firmware {

// The NPU's interrupt on boards like this one.
class NpuInterrupt {
 public:
  // The start-up table plus one more handler.
  static void use(void (*handler)()) noexcept {
    const auto* const now = reinterpret_cast<const std::uint32_t*>(at(kVectorTable));
    std::copy_n(now, 16, vectors_);
    vectors_[16 + kNumber] = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(handler));
    at(kVectorTable) = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(vectors_));
    at(kEnable + 4 * (kNumber / 32)) = kBit;
    __asm volatile("dsb\n isb" ::: "memory");
  }
  static void raise() noexcept {
    at(kSetPending + 4 * (kNumber / 32)) = kBit;
    __asm volatile("dsb\n isb" ::: "memory");
  }

 private:
  static constexpr std::uint32_t kNumber = 56, kVectors = 16 + kNumber + 1, kBit = 1u << kNumber % 32,
                                 kEnable = 0xE000E100, kSetPending = 0xE000E200, kVectorTable = 0xE000ED08;
  static volatile std::uint32_t& at(std::uint32_t address) noexcept {
    return *reinterpret_cast<volatile std::uint32_t*>(address);
  }
  alignas(512) static inline std::uint32_t vectors_[kVectors];
};

class PlayedDevice {
 public:
  // `runs` must outlive it, and be open. False when it does not begin as recordings do.
  bool open(HostFile& runs) noexcept {
    runs_ = &runs;
    if (runs.read(&about_, sizeof about_) != sizeof about_ || about_.magic != RecordedRuns::kMagic)
      return false;
    reset();
    return true;
  }

  std::uint32_t read(std::uint32_t offset) noexcept { return at(offset); }
  void write(std::uint32_t offset, std::uint32_t value) noexcept {
    namespace reg = npu::device_register;
    namespace bits = npu::device_status;
    switch (offset) {
      case reg::kId:
      case reg::kStatus:
      case reg::kConfig:
      case reg::kProtection:
      case reg::kQueueRead:
        return;
      case reg::kReset:
        reset();
        at(reg::kProtection) = value & 3;
        ++resets_;
        return;
      case reg::kCommand:
        if ((value & npu::device_command::kClearInterrupt) != 0) at(reg::kStatus) &= ~bits::kInterrupt;
        at(reg::kCommand) = value & (npu::device_command::kClockMayStop | npu::device_command::kPowerMayStop);
        if ((value & npu::device_command::kRun) != 0) play();
        return;
      case reg::kQueueBase:
      case reg::kQueueSize:
        at(reg::kStatus) &= ~bits::kEndReached;
        at(offset) = value;
        return;
      default:
        at(offset) = value;
    }
  }
  [[nodiscard]] int runs() const noexcept { return played_; }
  [[nodiscard]] int resets() const noexcept { return resets_; }

 private:
  [[nodiscard]] bool is_u85() const noexcept { return about_.config >> 28 == 2; }
  std::uint32_t& at(std::uint32_t offset) noexcept { return registers_[offset / 4 % kRegisters]; }
  void reset() noexcept {
    std::fill_n(registers_, kRegisters, 0);
    at(npu::device_register::kId) = about_.id;
    at(npu::device_register::kConfig) = about_.config;
  }
  std::span<std::byte> memory(std::uint32_t offset, std::uint32_t bytes) noexcept {
    return {reinterpret_cast<std::byte*>(at(offset)), bytes};
  }
  static std::uint32_t fault(std::uint32_t channel) noexcept {
    return std::uint32_t{npu::device_status::kBusError} | channel << npu::device_status::kFaultChannel;
  }
  void play() noexcept {
    namespace reg = npu::device_register;
    ++played_;
    RecordedRun run;
    const bool there = runs_->read(&run, sizeof run) == sizeof run && run.magic == RecordedRun::kMagic;
    const std::uint32_t end = there ? compare_and_write(run) : std::uint32_t{npu::device_status::kParseError};
    if (end == RecordedRun::kSilent) {
      at(reg::kStatus) |= npu::device_status::kRunning;
      return;
    }
    count(run);
    at(reg::kStatus) |= end | npu::device_status::kInterrupt;
    NpuInterrupt::raise();
  }
  void count(const RecordedRun& run) noexcept {
    namespace reg = npu::device_register;
    const std::uint32_t pmu = is_u85() ? reg::kU85Pmu : 0;
    if ((at(reg::kPmuControl + pmu) & 1) == 0) return;
    at(reg::kPmuCycles + pmu) = run.cycles;
    for (std::uint32_t i = 0; i < 4; ++i) at(reg::kPmuCounter + pmu + 4 * i) = run.events[i];
  }
  // Whether the driver has set up how the device shares its ports.
  bool has_ports() noexcept {
    namespace reg = npu::device_register;
    if (!is_u85()) return at(reg::kAxiLimit) != 0;
    return at(reg::kMemoryAttributes) != 0 && at(reg::kAxiSram) != 0 && at(reg::kAxiExternal) != 0;
  }
  // The status at the end.
  std::uint32_t compare_and_write(const RecordedRun& run) noexcept {
    namespace reg = npu::device_register;
    if (!has_ports()) return fault(15);
    if (at(reg::kQueueSize) != run.stream_bytes ||
        crc32c(memory(reg::kQueueBase, run.stream_bytes)) != run.stream_crc)
      return fault(0);
    for (std::uint32_t region = 0; region < RecordedRun::kRegions; ++region) {
      const std::uint32_t base = reg::kBase + 8 * region;
      if (run.bytes[region] == 0) {
        if (at(base) != 0) return fault(region + 1);
      } else if (const bool only_written = region >= npu::kFirstOwn && (run.written >> region & 1) != 0;
                 only_written) {
        if (at(base) % 16 != 0) return fault(region + 1);
      } else if (at(base) == 0 || at(base) % 16 != 0 ||
                 crc32c(memory(base, run.bytes[region])) != run.crc[region]) {
        return fault(region + 1);
      }
    }
    for (std::uint32_t region = 0; region < RecordedRun::kRegions; ++region) {
      if ((run.written >> region & 1) == 0) continue;
      const auto to = memory(reg::kBase + 8 * region, run.bytes[region]);
      if (runs_->read(to.data(), to.size()) != to.size()) return fault(region + 1);
    }
    at(reg::kQueueRead) = run.stream_bytes;
    return run.status;
  }

  static constexpr std::uint32_t kRegisters = 2048;
  std::uint32_t registers_[kRegisters] = {};
  HostFile* runs_ = nullptr;
  RecordedRuns about_;
  int played_ = 0, resets_ = 0;
};

}  // namespace runnel::firmware
