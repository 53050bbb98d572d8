// The driver of an NPU on a board that has none: a model with segments for an Ethos-U is stepped by Session,
// and the device is a block of registers in RAM that plays back what the simulator did. Command line:
//     PROGRAM MODEL INPUT OUTPUT RUNS
// RUNS: records of firmware/npu/recorded_run.h. Before playback the device compares the memory that its
// registers point to: stream, constants, histories, inputs. A single wrong bit is a bus error. The interrupt
// is real. Prints each failed run, and resources used.
#include <algorithm>
#include <cstring>

#include "base/crc32c.h"
#include "firmware/feature_runner.h"
#include "firmware/npu/recorded_run.h"
#include "firmware/print_line.h"
#include "firmware/startup/image.h"
#include "firmware/startup/stack.h"
#include "inference/ops/definitions.h"
#include "inference/session.h"
#include "npu/delegate.h"
#include "npu/port.h"

extern "C" void npu_interrupt_handler();

namespace {

using namespace runnel;
using namespace runnel::firmware;
namespace reg = npu::device_register;
namespace status_bit = npu::device_status;

// The NPU's interrupt on boards like this one.
constexpr std::uint32_t kNpuInterrupt = 56, kVectors = 16 + kNpuInterrupt + 1;
alignas(512) std::uint32_t vectors[kVectors];
volatile std::uint32_t& system_register(std::uint32_t address) noexcept {
  return *reinterpret_cast<volatile std::uint32_t*>(address);
}
volatile std::uint32_t& of_interrupt(std::uint32_t base) noexcept {
  return system_register(base + 4 * (kNpuInterrupt / 32));
}
constexpr std::uint32_t kInterruptBit = 1u << kNpuInterrupt % 32, kEnable = 0xE000E100,
                        kSetPending = 0xE000E200, kVectorTable = 0xE000ED08;

// The start-up table plus one more handler.
void catch_interrupt() noexcept {
  const auto* const now = reinterpret_cast<const std::uint32_t*>(system_register(kVectorTable));
  std::copy_n(now, 16, vectors);
  vectors[16 + kNpuInterrupt] =
      static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(&npu_interrupt_handler));
  system_register(kVectorTable) = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(vectors));
  of_interrupt(kEnable) = kInterruptBit;
  __asm volatile("dsb\n isb" ::: "memory");
}

class PlayedDevice final : public npu::Device {
 public:
  explicit PlayedDevice(HostFile& runs) noexcept : runs_(runs) { reset(); }

  std::uint32_t read(std::uint32_t offset) noexcept override { return at(offset); }
  void write(std::uint32_t offset, std::uint32_t value) noexcept override {
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
        if ((value & npu::device_command::kClearInterrupt) != 0) at(reg::kStatus) &= ~status_bit::kInterrupt;
        if ((value & npu::device_command::kRun) != 0) play();
        return;
      case reg::kQueueBase:
      case reg::kQueueSize:
        at(reg::kStatus) &= ~status_bit::kEndReached;
        at(offset) = value;
        return;
      default:
        at(offset) = value;
    }
  }
  bool wait() noexcept override;
  [[nodiscard]] int runs() const noexcept { return played_; }
  [[nodiscard]] int resets() const noexcept { return resets_; }

 private:
  std::uint32_t& at(std::uint32_t offset) noexcept { return registers_[offset / 4 % kRegisters]; }
  void reset() noexcept {
    std::fill_n(registers_, kRegisters, 0);
    at(reg::kId) = 0x10060000;  // architecture 1.0.6
    at(reg::kConfig) = 0x1807;  // a U55-128
  }
  std::span<std::byte> memory(std::uint32_t offset, std::uint32_t bytes) noexcept {
    return {reinterpret_cast<std::byte*>(at(offset)), bytes};
  }
  void play() noexcept {
    ++played_;
    RecordedRun run;
    const bool there = runs_.read(&run, sizeof run) == sizeof run && run.magic == RecordedRun::kMagic;
    const std::uint32_t end = there ? compare_and_write(run) : std::uint32_t{status_bit::kParseError};
    if (end == RecordedRun::kSilent) {
      at(reg::kStatus) |= status_bit::kRunning;
      return;
    }
    at(reg::kStatus) |= end | status_bit::kInterrupt;
    of_interrupt(kSetPending) = kInterruptBit;
    __asm volatile("dsb\n isb" ::: "memory");
  }
  // The status at the end.
  std::uint32_t compare_and_write(const RecordedRun& run) noexcept {
    const auto fault = [](std::uint32_t channel) {
      return std::uint32_t{status_bit::kBusError} | channel << status_bit::kFaultChannel;
    };
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
      if (runs_.read(to.data(), to.size()) != to.size()) return fault(region + 1);
    }
    at(reg::kQueueRead) = run.stream_bytes;
    return run.status;
  }

  static constexpr std::uint32_t kRegisters = 1024;
  std::uint32_t registers_[kRegisters] = {};
  HostFile& runs_;
  int played_ = 0, resets_ = 0;
};

npu::Driver* the_driver = nullptr;
volatile std::uint32_t interrupts = 0;

// Sleeps until the handler has run; a device that is silent for this long is broken.
bool PlayedDevice::wait() noexcept {
  for (int i = 0; i < 10000; ++i) {
    if (the_driver->interrupted()) return true;
    __asm volatile("yield");
  }
  return false;
}

constexpr const OperatorDefinition* kOperators[] = {
    &npu::ethos_u_v1,
    &ops::kQuantize,
    &ops::kQuantizeTflite,
    &ops::kDequantize,
    &ops::kDequantizeTflite,
    &ops::kRequantize,
    &ops::kRequantizeTflite,
    &ops::kReshape,
    &ops::kTranspose,
    &ops::kSlice,
    &ops::kConcat,
    &ops::kSoftmax,
    &ops::kSoftmaxTflite,
    &ops::kLut,
    &ops::kConv,
    &ops::kConvHybrid,
    &ops::kAveragePool,
    &ops::kRelu,
    &ops::kReluTflite,
    &ops::kAdd,
    &ops::kAddTflite,
    &ops::kPad,
};

alignas(64) std::byte file[160 * 1024];
alignas(64) std::byte storage[160 * 1024];

Status run_model(const Arguments& arguments) noexcept {
  HostFile model_file, in, out;
  static HostFile runs;
  if (!model_file.open_to_read(arguments.words[1])) return Status(Code::not_found) << "cannot read the model";
  const std::size_t size = model_file.read(file, sizeof file);
  if (size == sizeof file)
    return Status(Code::out_of_memory) << "a model of " << sizeof file << " bytes or more";
  if (!in.open_to_read(arguments.words[2]) || !out.open_to_write(arguments.words[3]) ||
      !runs.open_to_read(arguments.words[4]))
    return Status(Code::not_found) << "cannot open a file";
  static PlayedDevice device(runs);
  static npu::Driver driver(device);
  the_driver = &driver;
  catch_interrupt();
  RUNNEL_TRY(driver.init());
  npu::add_driver(driver);

  FixedMemory memory(storage);
  RUNNEL_ASSIGN(const Model model, Model::open({file, size}));
  PrepareOptions options;
  options.mode = RunMode::stream;
  options.slack = false;
  RUNNEL_ASSIGN(const Prepared* const prepared, Prepared::make(model, kOperators, options, memory));
  RUNNEL_ASSIGN(Workspace* const workspace, Workspace::make(*prepared, memory));
  const std::span<std::byte> state(static_cast<std::byte*>(memory.allocate(prepared->state_bytes(), 16)),
                                   prepared->state_bytes());
  if (state.data() == nullptr)
    return Status(Code::out_of_memory) << "no memory for a state of " << prepared->state_bytes() << " bytes";
  RUNNEL_ASSIGN(Session session, Session::make(*prepared, *workspace, state));
  int calls = 0;
  for (bool ended = false; !ended || session.flush_calls_left() > 0; ++calls) {
    const std::span<std::byte> block = session.input(0);
    if (!ended) ended = in.read(block.data(), block.size()) < block.size();
    session.run(ended ? 0 : prepared->block());
    if (!npu::last_run().ok()) print_line("call ", calls, ": ", npu::last_run().text());
    const OutputFrames frames = session.output(0);
    const std::size_t frame_bytes = prepared->placement(model.outputs()[0]).frame_bytes;
    if (frames.count > 0 && !out.write(frames.data, static_cast<std::size_t>(frames.count) * frame_bytes))
      return Status(Code::io_error) << "cannot write the output";
  }
  print_line("calls ", calls, " runs ", device.runs(), " interrupts ", std::uint32_t{interrupts}, " resets ",
             device.resets());
  print_line("bytes memory ", memory.used(), " state ", prepared->state_bytes());
  return {};
}

}  // namespace

void npu_interrupt_handler() {
  interrupts = interrupts + 1;
  the_driver->handle_interrupt();
}

int runnel::firmware::image_main() noexcept {
  paint_stack();
  static Arguments arguments;
  arguments.count = command_line(arguments.text, arguments.words);
  if (arguments.count != 5) return fail("expected MODEL INPUT OUTPUT RUNS");
  if (const Status status = run_model(arguments); !status.ok()) return fail(status.text());
  print_line("stack ", stack_used());
  return 0;
}
