// Fake device: an Ethos-U55, U65 or U85 at register level, for testing drivers on a host. The simulator runs
// its commands in the memory it is given, and its counters show the figures of the cycle model.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "npu/device.h"
#include "npu/host/cycles/estimate.h"

namespace runnel::npu {

struct FakeDeviceOptions {
  std::uint32_t config = 0x1807;  // configuration word; 0x1807: a U55-128
  std::uint32_t id = 0x10060000;  // architecture 1.0.6
  int reset_reads = 2;            // reads of the status until a reset ends; negative: never
  bool keeps_protection = false;  // a reset does not change it
  bool learns_memory = false;     // reaches flushed memory even without add_memory
  bool silent = false;            // runs, but never raises its interrupt
  std::uint32_t fault = 0;        // status bits that a run ends with instead of completion
};

// Not thread-safe. Registers act as the device's public headers describe; timing is not modelled: a run
// completes when it is started.
class FakeDevice final : public Device {
 public:
  explicit FakeDevice(const FakeDeviceOptions& options = {});

  // Adds memory that the device reaches and that must outlive it. Other addresses are bus errors.
  void add_memory(std::span<const std::byte> memory);
  // Called when the interrupt is raised, like a handler.
  void on_interrupt(std::function<void()> handler) { handler_ = std::move(handler); }
  [[nodiscard]] FakeDeviceOptions& options() noexcept { return options_; }
  [[nodiscard]] int runs() const noexcept { return runs_; }
  [[nodiscard]] int resets() const noexcept { return resets_; }
  // Bytes passed to flush and invalidate.
  [[nodiscard]] std::size_t flushed() const noexcept { return flushed_; }
  [[nodiscard]] std::size_t invalidated() const noexcept { return invalidated_; }

  std::uint32_t read(std::uint32_t offset) noexcept override;
  void write(std::uint32_t offset, std::uint32_t value) noexcept override;
  bool wait() noexcept override;
  // The device has its own addresses, 32 bits wide.
  std::uint64_t address_of(const void* memory) noexcept override;
  void flush(std::span<const std::byte> memory) noexcept override;
  void invalidate(std::span<const std::byte> memory) noexcept override { invalidated_ += memory.size(); }

 private:
  struct Memory {
    std::uint64_t address = 0;
    std::span<const std::byte> bytes;
  };
  [[nodiscard]] std::uint32_t& at(std::uint32_t offset) noexcept { return registers_[offset / 4]; }
  // A register of the counters, which the U85 has elsewhere.
  [[nodiscard]] std::uint32_t& counting(std::uint32_t offset) noexcept { return at(offset + pmu_); }
  [[nodiscard]] std::span<const std::byte> from(std::uint64_t address) const noexcept;
  void reset() noexcept;
  void count_as_told(std::uint32_t offset, std::uint32_t value) noexcept;
  void run() noexcept;
  // Bits of the status at the end.
  std::uint32_t execute();
  void count(const Estimate& estimate);

  FakeDeviceOptions options_;
  std::vector<Memory> memories_;
  std::array<std::uint32_t, 2048> registers_{};
  std::function<void()> handler_;
  std::uint32_t pmu_ = 0;
  int resetting_ = 0, runs_ = 0, resets_ = 0;
  std::size_t flushed_ = 0, invalidated_ = 0;
};

}  // namespace runnel::npu
