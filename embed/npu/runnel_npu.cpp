#include "embed/npu/runnel_npu.h"

#include <algorithm>
#include <new>

#include "embed/node.h"
#include "embed/npu/npu_link.h"
#include "npu/delegate.h"
#include "npu/driver.h"

namespace runnel::embed {
namespace {

constexpr std::uint32_t kPolls = 100'000'000;

// A device behind the functions of a port.
class PortDevice final : public npu::Device {
 public:
  explicit PortDevice(const runnel_npu_port& port) noexcept : port_(port) {}
  void set_driver(npu::Driver& driver) noexcept { driver_ = &driver; }
  [[nodiscard]] const runnel_npu_port& port() const noexcept { return port_; }

  std::uint32_t read(std::uint32_t offset) noexcept override {
    return port_.read != nullptr ? port_.read(port_.user, offset) : port_.registers[offset / 4];
  }
  void write(std::uint32_t offset, std::uint32_t value) noexcept override {
    if (port_.write != nullptr)
      port_.write(port_.user, offset, value);
    else
      port_.registers[offset / 4] = value;
  }
  bool wait() noexcept override {
    if (port_.wait != nullptr) return port_.wait(port_.user) != 0;
    for (std::uint32_t left = port_.polls != 0 ? port_.polls : kPolls; left > 0; --left) {
      if (driver_->interrupted() ||
          (read(npu::device_register::kStatus) & npu::device_status::kInterrupt) != 0)
        return true;
    }
    return false;
  }
  std::uint64_t address_of(const void* memory) noexcept override {
    return port_.address != nullptr ? port_.address(port_.user, memory) : Device::address_of(memory);
  }
  void flush(std::span<const std::byte> memory) noexcept override {
    if (port_.flush != nullptr) port_.flush(port_.user, memory.data(), memory.size());
  }
  void invalidate(std::span<const std::byte> memory) noexcept override {
    if (port_.invalidate != nullptr) port_.invalidate(port_.user, memory.data(), memory.size());
  }
  void power(bool on) noexcept override {
    if (port_.power != nullptr) port_.power(port_.user, on ? 1 : 0);
  }

 private:
  runnel_npu_port port_;
  npu::Driver* driver_ = nullptr;
};

// What runnel_npu holds.
struct Npu {
  Npu(const runnel_npu_port& port, const npu::DriverOptions& options) noexcept
      : device(port), driver(device, options) {
    device.set_driver(driver);
  }
  PortDevice device;
  npu::Driver driver;
};
static_assert(sizeof(Npu) <= sizeof(runnel_npu) - sizeof(std::uint64_t) &&
              alignof(Npu) <= alignof(runnel_npu));

// The last word of a runnel_npu: whether there is one in it.
constexpr std::uint64_t kThere = 0x7570636f68746572;
std::uint64_t& mark(runnel_npu& npu) noexcept { return npu.words[RUNNEL_NPU_WORDS - 1]; }
Npu* held(const runnel_npu* npu) noexcept {
  if (npu == nullptr || npu->words[RUNNEL_NPU_WORDS - 1] != kThere) return nullptr;
  return std::launder(reinterpret_cast<Npu*>(const_cast<runnel_npu*>(npu)));
}

void count(runnel_counters& out) noexcept {
  const npu::DriverTotals totals = npu::driver_totals();
  out.npu_runs = totals.runs;
  out.npu_failures = totals.failures;
  out.npu_cycles = totals.cycles;
  out.npu_near_read_beats = totals.near_read;
  out.npu_near_written_beats = totals.near_written;
  out.npu_far_read_beats = totals.far_read;
  out.npu_far_written_beats = totals.far_written;
}

}  // namespace

constinit const NpuLink ethos_u_link{count, npu::take_failure};

}  // namespace runnel::embed

using namespace runnel;
using namespace runnel::embed;

runnel_code runnel_npu_add(runnel_npu* npu, const runnel_npu_port* port) {
  if (npu == nullptr || port == nullptr ||
      (port->registers == nullptr && (port->read == nullptr || port->write == nullptr)))
    return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of the device, its port or its registers");
  if (held(npu) != nullptr) return fail(RUNNEL_INVALID_ARGUMENT, "a device that was added before");
  npu::DriverOptions options;
  options.secure = port->secure != 0;
  options.privileged = port->unprivileged == 0;
  options.sleeps = port->sleeps != 0;
  options.mac_ramp = static_cast<std::uint8_t>(std::clamp(port->mac_ramp, 0, 63));
  if (port->region_ports != nullptr) {
    for (int i = 0; i < runnel::npu::kBaseAddresses; ++i) options.region_ports[i] = port->region_ports[i] & 3;
  }
  auto* const made = new (npu) Npu(*port, options);
  if (const Status status = made->driver.init(); !status.ok()) return fail(status);
  mark(*npu) = kThere;
  npu::add_driver(made->driver);
  return RUNNEL_OK;
}

void runnel_npu_interrupt(runnel_npu* npu) {
  if (Npu* const made = held(npu); made != nullptr) made->driver.handle_interrupt();
}

const char* runnel_npu_name(const runnel_npu* npu) {
  const Npu* const made = held(npu);
  return made == nullptr || made->driver.accelerator() == nullptr ? nullptr
                                                                  : made->driver.accelerator()->name.data();
}
