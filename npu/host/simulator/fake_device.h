// An Ethos-U55 or U65 on the desk, register by register, for drivers to be tried on: what it is told to run
// the simulator computes, in the memory that it is given, and its counters have the figures of the cycle
// model.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "npu/device.h"
#include "npu/host/cycles/cycles.h"

namespace runnel::npu {

struct FakeDeviceOptions {
  std::uint32_t config = 0x1807;  // configuration word; 0x1807: a U55-128
  std::uint32_t id = 0x10060000;  // architecture 1.0.6
  int reset_reads = 2;            // of the status, until a reset has ended; negative: it never does
  bool keeps_protection = false;  // a reset does not change it
  bool learns_memory = false;     // what is flushed is memory that it reaches, without add_memory
  bool silent = false;            // runs, but never raises its interrupt
  std::uint32_t fault = 0;        // bits of the status that a run ends with instead of its end
};

// Not thread-safe. Registers have the effects that the public headers of the device describe; the order of
// things in time is not modelled: a run takes place when it is asked for.
class FakeDevice final : public Device {
 public:
  explicit FakeDevice(const FakeDeviceOptions& options = {});

  // Memory that the device reaches; it must live as long. Anything else is a bus error.
  void add_memory(std::span<const std::byte> memory);
  // Called when the interrupt is raised, like a handler.
  void on_interrupt(std::function<void()> handler) { handler_ = std::move(handler); }
  [[nodiscard]] FakeDeviceOptions& options() noexcept { return options_; }
  [[nodiscard]] int runs() const noexcept { return runs_; }
  [[nodiscard]] int resets() const noexcept { return resets_; }
  // Bytes that were handed to flush and invalidate.
  [[nodiscard]] std::size_t flushed() const noexcept { return flushed_; }
  [[nodiscard]] std::size_t invalidated() const noexcept { return invalidated_; }

  std::uint32_t read(std::uint32_t offset) noexcept override;
  void write(std::uint32_t offset, std::uint32_t value) noexcept override;
  bool wait() noexcept override;
  // The device has addresses of its own, 32 bits wide.
  std::uint64_t address_of(const void* memory) noexcept override;
  void flush(std::span<const std::byte> memory) noexcept override;
  void invalidate(std::span<const std::byte> memory) noexcept override { invalidated_ += memory.size(); }

 private:
  struct Memory {
    std::uint64_t address = 0;
    std::span<const std::byte> bytes;
  };
  [[nodiscard]] std::uint32_t& at(std::uint32_t offset) noexcept { return registers_[offset / 4]; }
  [[nodiscard]] std::span<const std::byte> from(std::uint64_t address) const noexcept;
  void reset() noexcept;
  void run() noexcept;
  // Bits of the status at the end.
  std::uint32_t execute();
  void count(const Estimate& estimate);

  FakeDeviceOptions options_;
  std::vector<Memory> memories_;
  std::array<std::uint32_t, 1024> registers_{};
  std::function<void()> handler_;
  int resetting_ = 0, runs_ = 0, resets_ = 0;
  std::size_t flushed_ = 0, invalidated_ = 0;
};

}  // namespace runnel::npu
