// Runs command streams on an Ethos-U55 or U65: what Arm's core driver does, in the same steps. No heap, no
// waiting but in Device::wait.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "npu/accelerator.h"
#include "npu/device.h"

namespace runnel::npu {

class Driver;

// Called around each run, by the one who runs; `user` is what was given to the run. For counters, clocks,
// power.
class DriverObserver {
 public:
  virtual void begin(Driver& driver, void* user) noexcept = 0;
  // Also of a run that failed.
  virtual void end(Driver& driver, void* user, const Status& status) noexcept = 0;

 protected:
  ~DriverObserver() = default;
};

inline constexpr int kBaseAddresses = 8;

struct DriverOptions {
  bool secure = false, privileged = true;
  std::uint32_t reset_polls = 100000;
  // By which port of the device the queue (-1) and regions are reached, 2 bits each: 0, 1 the first one, 2, 3
  // the second; constants and streams by the second.
  std::uint8_t queue_port = 2;
  std::uint8_t region_ports[kBaseAddresses] = {3, 0, 1, 1, 1, 1, 1, 1};
};

// One device. Functions belong to one thread at a time, that which has reserved the driver; handle_interrupt
// is for an interrupt handler.
class Driver {
 public:
  // The device must live as long.
  explicit Driver(Device& device, const DriverOptions& options = {}) noexcept
      : device_(device), options_(options) {}
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Resets the device and finds out what it is. Errors: unsupported where that is not a U55 or U65;
  // invalid_data when the reset does not end or the security state cannot be had.
  Status init() noexcept;
  // What init has found; null before.
  [[nodiscard]] const Accelerator* accelerator() const noexcept { return accelerator_; }

  // Whether a payload is made for this device. Errors: mismatch; those of read_payload; invalid_argument
  // before init.
  Status fits(std::span<const std::byte> payload) noexcept;

  // For as long as somebody has it, nobody else gets it.
  [[nodiscard]] bool reserve() noexcept { return !reserved_.exchange(true, std::memory_order_acquire); }
  void release() noexcept { reserved_.store(false, std::memory_order_release); }

  // A driver payload (COP1) with the memories that its regions 0, 1, ... are: the device writes where the
  // stream says, whatever the spans' type. All must stay until the run has ended, the payload at a multiple
  // of 16 bytes. An empty memory is not told to the device. Errors: invalid_argument when a run is under way,
  // for too many memories, or an address that the device cannot have; mismatch when the payload is made for
  // another device; those of read_payload.
  Status start(std::span<const std::byte> payload, std::span<const std::span<const std::byte>> memories,
               void* user = nullptr) noexcept;
  // Waits for the run. Errors: invalid_argument when there is none; io_error when the device did not answer
  // in time; invalid_data saying what the device reports. After a failure the device has been reset.
  Status finish() noexcept;
  Status invoke(std::span<const std::byte> payload, std::span<const std::span<const std::byte>> memories,
                void* user = nullptr) noexcept {
    RUNNEL_TRY(start(payload, memories, user));
    return finish();
  }
  [[nodiscard]] bool running() const noexcept { return running_; }
  // Takes the interrupt back and keeps what the device reports.
  void handle_interrupt() noexcept;
  [[nodiscard]] bool interrupted() const noexcept { return interrupted_.load(std::memory_order_acquire); }

  void set_observer(DriverObserver* observer) noexcept { observer_ = observer; }

  // Counters, from 0 in each run: cycles, and four of what is chosen here. They can be read after a run.
  void count(int counter, PmuEvent event) noexcept { events_[counter] = event; }
  [[nodiscard]] std::uint64_t cycles() noexcept;
  [[nodiscard]] std::uint32_t counter(int counter) noexcept {
    return device_.read(device_register::kPmuCounter + 4 * static_cast<std::uint32_t>(counter));
  }

 private:
  friend void add_driver(Driver& driver) noexcept;
  friend Driver* reserve_driver() noexcept;

  Status reset() noexcept;
  Status fit(std::uint32_t config, std::uint32_t id) noexcept;
  void start_counters() noexcept;
  void set_address(std::uint32_t offset, const void* memory) noexcept;
  Status reaches(const void* memory) noexcept;

  Device& device_;
  DriverOptions options_;
  const Accelerator* accelerator_ = nullptr;
  DriverObserver* observer_ = nullptr;
  PmuEvent events_[kPmuCounters] = {};
  std::span<const std::byte> memories_[kBaseAddresses];
  void* user_ = nullptr;
  bool running_ = false;
  std::atomic<bool> reserved_{false}, interrupted_{false};
  std::uint32_t reported_ = 0;  // the status at the interrupt
  Driver* next_ = nullptr;
};

// The drivers of this program, which live as long as it does; added before anybody reserves one.
void add_driver(Driver& driver) noexcept;
// One that nobody has; null where there is none. It is given back with Driver::release.
Driver* reserve_driver() noexcept;

}  // namespace runnel::npu
