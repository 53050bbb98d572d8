// Programs that `runnel embed` wrote, on a board with an NPU that it does not have
// (firmware/npu/played_device.h): one whose model the NPU computes, and the same model for the CPU. Command
// line:
//     PROGRAM RECORDING OUTPUT RUNS [cpu|tell]
// RECORDING: raw samples of 16 bits. OUTPUT: the model's output. RUNS: of firmware/npu/recorded_run.h. With
// `cpu` there is no device, and the program for the CPU takes the place of the other. Prints each failed
// push, and counters; with `tell` the lines of runnel_tell(), too.
#include <string_view>

#include "cpudigits.h"
#include "firmware/feature_runner.h"
#include "firmware/npu/played_device.h"
#include "firmware/print_line.h"
#include "firmware/startup/clock.h"
#include "firmware/startup/image.h"
#include "firmware/startup/stack.h"
#include "npudigits.h"

extern "C" void npu_interrupt_handler();

namespace {

using namespace runnel::firmware;

constexpr std::size_t kMemory = RUNNEL_CPUDIGITS_MEMORY_BYTES > RUNNEL_NPUDIGITS_MEMORY_BYTES
                                    ? RUNNEL_CPUDIGITS_MEMORY_BYTES
                                    : RUNNEL_NPUDIGITS_MEMORY_BYTES;
alignas(RUNNEL_ALIGNMENT) unsigned char memory[kMemory + RUNNEL_OBSERVE_BYTES];
alignas(16) std::int16_t samples[RUNNEL_NPUDIGITS_HOP];

// The board: registers, and an interrupt that ends a wait.
PlayedDevice device;
runnel_npu npu;
volatile std::uint32_t interrupts = 0;

std::uint32_t read_register(void*, std::uint32_t offset) { return device.read(offset); }
void write_register(void*, std::uint32_t offset, std::uint32_t value) { device.write(offset, value); }
int wait_for_interrupt(void*) {
  const std::uint32_t before = interrupts;
  for (int i = 0; i < 10000 && interrupts == before; ++i) __asm volatile("yield");
  return interrupts != before ? 1 : 0;
}

runnel_code add_npu() {
  runnel_npu_port port = {};
  port.read = read_register;
  port.write = write_register;
  port.wait = wait_for_interrupt;
  NpuInterrupt::use(npu_interrupt_handler);
  return runnel_npu_add(&npu, &port);
}

void keep(void* file, runnel_stage stage, const void* frames, std::size_t count, std::size_t frame_bytes,
          std::int64_t) {
  if (stage == RUNNEL_OUTPUT) static_cast<HostFile*>(file)->write(frames, count * frame_bytes);
}

std::uint32_t cycles(void*) { return static_cast<std::uint32_t>(instructions()); }
std::size_t stack(void*) { return stack_used(); }
void say(void*, const char* line) {
  print(line);
  print("\n");
}

int failed(const char* what) noexcept {
  print_line(what, ": ", runnel_last_failure());
  return 1;
}

}  // namespace

void npu_interrupt_handler() {
  interrupts = interrupts + 1;
  runnel_npu_interrupt(&npu);
}

int runnel::firmware::image_main() noexcept {
  paint_stack();
  static Arguments arguments;
  arguments.count = command_line(arguments.text, arguments.words);
  if (arguments.count < 4) return fail("expected RECORDING OUTPUT RUNS [cpu|tell]");
  static HostFile in, out, runs;
  if (!in.open_to_read(arguments.words[1]) || !out.open_to_write(arguments.words[2]) ||
      !runs.open_to_read(arguments.words[3]) || !device.open(runs))
    return fail("cannot open a file");
  const bool cpu = arguments.count > 4 && std::string_view(arguments.words[4]) == "cpu";
  if (!cpu && add_npu() != RUNNEL_OK) return failed("adding the NPU");
  const runnel_options options = {memory, sizeof memory, nullptr, 0, keep, &out};
  runnel_node* node = nullptr;
  if (const runnel_code code = runnel_prepare(&runnel_npudigits, &options, &node); code != RUNNEL_OK) {
    if (code != RUNNEL_NOT_FOUND) return failed("preparing");
    print_line("without an NPU: ", runnel_last_failure());
    if (runnel_prepare(&runnel_cpudigits, &options, &node) != RUNNEL_OK)
      return failed("preparing for the CPU");
  }
  const bool tells = arguments.count > 4 && std::string_view(arguments.words[4]) == "tell";
  constexpr std::uint32_t kInstructionsPerSecond = 15'625'000;  // -icount shift=6
  const runnel_board board = {cycles, kInstructionsPerSecond, stack, nullptr};
  if (tells) start_clock();
  if (tells && runnel_measure(node, &board) != RUNNEL_OK) return failed("measuring");
  int pushes = 0;
  for (std::size_t got = 0; (got = in.read(samples, sizeof samples)) >= sizeof samples[0]; ++pushes) {
    if (runnel_push_int16(node, samples, got / sizeof samples[0]) != RUNNEL_OK)
      print_line("push ", pushes, ": ", runnel_last_failure());
  }
  if (runnel_end(node) != RUNNEL_OK) print_line("end: ", runnel_last_failure());
  const runnel_counters counters = runnel_counters_of(node);
  print_line("pushes ", pushes, " npu_runs ", counters.npu_runs, " npu_failures ", counters.npu_failures,
             " npu_cycles ", counters.npu_cycles);
  print_line("interrupts ", std::uint32_t{interrupts}, " resets ", device.resets());
  print_line("memory_used ", counters.memory_used, " of ",
             cpu ? RUNNEL_CPUDIGITS_MEMORY_BYTES : RUNNEL_NPUDIGITS_MEMORY_BYTES, " stack ", stack_used());
  if (tells && runnel_tell(node, say, nullptr) != RUNNEL_OK) return failed("reporting");
  return 0;
}
