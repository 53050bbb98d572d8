// Driver: runs command streams on an Ethos-U55, U65 or U85 in the steps of Arm's core driver. No heap; it
// waits only in Device::wait.
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

// Called before and after each run, by the thread that runs; `user` is the argument of the run. For
// counters, clocks, power.
class DriverObserver {
 public:
  virtual void begin(Driver& driver, void* user) noexcept = 0;
  // Also after a failed run.
  virtual void end(Driver& driver, void* user, const Status& status) noexcept = 0;

 protected:
  ~DriverObserver() = default;
};

inline constexpr int kBaseAddresses = 8;

struct DriverOptions {
  bool secure = false, privileged = true;
  std::uint32_t reset_polls = 100000;
  // Port of the device for the queue and for each region, 2 bits each: 0, 1 the first one, 2, 3 the second;
  // constants and streams use the second.
  std::uint8_t queue_port = 2;
  std::uint8_t region_ports[kBaseAddresses] = {3, 0, 1, 1, 1, 1, 1, 1};
  // U85: these are attributes of memory 0 to 3, of one byte each: domain in bits 0 and 1, port in bit 2 (1:
  // not to SRAM), kind in bits 4 to 7. `mac_ramp`: steps in which the multipliers come on, 0: at once.
  std::uint8_t memory_attributes[4] = {0xb3, 0xb3, 0xb7, 0xb7};
  std::uint8_t mac_ramp = 0;
  // Between runs clock and power may be off; each run begins with a reset then.
  bool sleeps = false;
};

// Of all runs since the start of the program.
struct DriverTotals {
  std::uint64_t runs = 0, failures = 0, cycles = 0;
  // Beats on the ports: to SRAM (or the first one), and to other memory (or the second).
  std::uint64_t near_read = 0, near_written = 0, far_read = 0, far_written = 0;
};

// The driver of one device. Only the thread that reserved it calls its functions; handle_interrupt is for
// an interrupt handler.
class Driver {
 public:
  // The device must outlive the driver.
  explicit Driver(Device& device, const DriverOptions& options = {}) noexcept
      : device_(device), options_(options) {}
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Identifies the device and resets it. Errors: unsupported for an unknown product; invalid_data when the
  // reset does not end or the security state is refused.
  Status init() noexcept;
  // The device that init found; null before.
  [[nodiscard]] const Accelerator* accelerator() const noexcept { return accelerator_; }

  // Checks that a payload is made for this device. Errors: mismatch; those of read_payload;
  // invalid_argument before init.
  Status fits(std::span<const std::byte> payload) noexcept;

  // Exclusive until release(); false while another holds it.
  [[nodiscard]] bool reserve() noexcept { return reserved_.exchange(1, std::memory_order_acquire) == 0; }
  void release() noexcept { reserved_.store(0, std::memory_order_release); }

  // Starts a driver payload (COP1) with the memories of its regions 0, 1, ...; the device writes where the
  // stream says, whatever the spans' type. All must stay valid until the run ends; the payload is at a
  // multiple of 16 bytes. Empty memories are not passed to the device. Errors: invalid_argument during a run,
  // for too many memories, or for an address that the device cannot reach; mismatch for a payload made for
  // another device; those of read_payload.
  Status start(std::span<const std::byte> payload, std::span<const std::span<const std::byte>> memories,
               void* user = nullptr) noexcept;
  // Waits for the run. Errors: invalid_argument without a run; io_error when the device does not answer in
  // time; invalid_data with the device's report. A failure resets the device.
  Status finish() noexcept;
  Status invoke(std::span<const std::byte> payload, std::span<const std::span<const std::byte>> memories,
                void* user = nullptr) noexcept {
    RUNNEL_TRY(start(payload, memories, user));
    return finish();
  }
  [[nodiscard]] bool running() const noexcept { return running_; }
  // Clears the interrupt and keeps the device's report.
  void handle_interrupt() noexcept;
  [[nodiscard]] bool interrupted() const noexcept {
    return interrupted_.load(std::memory_order_acquire) != 0;
  }

  // Of this driver's runs, while the counters count what they count from the start (count()).
  [[nodiscard]] const DriverTotals& totals() const noexcept { return totals_; }

  void set_observer(DriverObserver* observer) noexcept { observer_ = observer; }

  // Counters, reset at each run: cycles, and four events, beats on the ports unless others are chosen here.
  // Read them after a run.
  void count(int counter, PmuEvent event) noexcept {
    events_[counter] = event;
    own_events_ = true;
  }
  [[nodiscard]] std::uint64_t cycles() noexcept;
  [[nodiscard]] std::uint32_t counter(int counter) noexcept {
    return device_.read(pmu(device_register::kPmuCounter) + 4 * static_cast<std::uint32_t>(counter));
  }

 private:
  friend void add_driver(Driver& driver) noexcept;
  friend Driver* reserve_driver() noexcept;
  friend Result<Driver*> reserve_driver_for(std::span<const std::byte> payload) noexcept;
  friend DriverTotals driver_totals() noexcept;

  Status reset() noexcept;
  void set_ports() noexcept;
  void set_power(bool on) noexcept;
  void add_totals(const Status& status) noexcept;
  [[nodiscard]] bool is_u85() const noexcept { return product_ == Product::u85; }
  [[nodiscard]] std::uint32_t pmu(std::uint32_t offset) const noexcept {
    return offset + (is_u85() ? device_register::kU85Pmu : 0);
  }
  Status fit(std::uint32_t config, std::uint32_t id) noexcept;
  void start_counters() noexcept;
  void set_address(std::uint32_t offset, const void* memory) noexcept;
  Status reaches(const void* memory) noexcept;

  Device& device_;
  DriverOptions options_;
  const Accelerator* accelerator_ = nullptr;
  DriverObserver* observer_ = nullptr;
  Product product_ = Product::u55;
  std::uint32_t id_ = 0;  // the device's
  PmuEvent events_[kPmuCounters] = {PmuEvent::axi0_read_beats, PmuEvent::axi0_write_beats,
                                    PmuEvent::axi1_read_beats, PmuEvent::axi1_write_beats};
  bool own_events_ = false;
  DriverTotals totals_;
  std::span<const std::byte> memories_[kBaseAddresses];
  void* user_ = nullptr;
  bool running_ = false;
  // Words of 0 or 1: RISC-V swaps no bytes, and a function for that is in no library of a board.
  std::atomic<std::uint32_t> reserved_{0}, interrupted_{0};
  std::uint32_t reported_ = 0;  // the status at the interrupt
  Driver* next_ = nullptr;
};

// Adds a driver to this program's drivers, which live as long as it does; before the first is reserved.
void add_driver(Driver& driver) noexcept;
// Reserves a free driver; null when there is none. Return it with Driver::release.
Driver* reserve_driver() noexcept;
// The same for a device that a payload is made for. Errors: not_found when none is free; mismatch for other
// devices; those of read_payload.
Result<Driver*> reserve_driver_for(std::span<const std::byte> payload) noexcept;
// Of all added drivers.
DriverTotals driver_totals() noexcept;

}  // namespace runnel::npu
