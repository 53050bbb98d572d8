// A program that `runnel embed --cores 2` wrote, on a board with two cores. Command line:
//     PROGRAM RECORDING OUTPUT CORES
// RECORDING: raw samples of 16 bits. OUTPUT: the model's output. CORES: 1, or 2, which share heavy operators.
#include RUNNEL_PROGRAM_HEADER
#include "firmware/feature_runner.h"
#include "firmware/startup/image.h"
#include "firmware/startup/second_core.h"
#include "firmware/startup/stack.h"

namespace {

using namespace runnel::firmware;

alignas(RUNNEL_ALIGNMENT) unsigned char memory[RUNNEL_PROGRAM_MEMORY + RUNNEL_OBSERVE_BYTES];
alignas(16) unsigned char samples[RUNNEL_PROGRAM_HOP * RUNNEL_PROGRAM_SAMPLE_BYTES * RUNNEL_PROGRAM_CHANNELS];
constexpr std::size_t kSampleBytes = RUNNEL_PROGRAM_SAMPLE_BYTES * RUNNEL_PROGRAM_CHANNELS;

void keep(void* file, runnel_stage stage, const void* frames, std::size_t count, std::size_t frame_bytes,
          std::int64_t) {
  if (stage == RUNNEL_OUTPUT) static_cast<HostFile*>(file)->write(frames, count * frame_bytes);
}

runnel_code push(runnel_node* node, std::size_t frames) noexcept {
  if constexpr (RUNNEL_PROGRAM_SAMPLE_BYTES == 2)
    return runnel_push_int16(node, reinterpret_cast<const std::int16_t*>(samples), frames);
  else
    return runnel_push_float(node, reinterpret_cast<const float*>(samples), frames);
}

int failed(runnel_code code) noexcept {
  print_line(runnel_code_text(code), ": ", runnel_last_failure());
  return static_cast<int>(code);
}

// A QEMU plugin counts between these two (firmware/host/count_cores.c).
extern "C" {
[[gnu::noipa]] void push_begins() { __asm volatile(""); }
[[gnu::noipa]] void push_ends() { __asm volatile(""); }
}

}  // namespace

int runnel::firmware::image_main() noexcept {
  paint_stack();
  static Arguments arguments;
  arguments.count = command_line(arguments.text, arguments.words);
  if (arguments.count < 4) return fail("expected RECORDING OUTPUT CORES");
  static HostFile in, out;
  if (!in.open_to_read(arguments.words[1]) || !out.open_to_write(arguments.words[2]))
    return fail("cannot open a file");
  const runnel_options options = {memory, sizeof memory, nullptr, 0, keep, &out};
  runnel_node* node = nullptr;
  if (const runnel_code code = runnel_prepare(&RUNNEL_PROGRAM, &options, &node); code != RUNNEL_OK)
    return failed(code);
  if (arguments.words[3][0] == '2') {
    start_second_core();
    const runnel_cores cores = two_cores();
    if (const runnel_code code = runnel_use_cores(node, &cores); code != RUNNEL_OK) return failed(code);
  }
  std::uint32_t pushes = 0;
  for (std::size_t got = 0; (got = in.read(samples, sizeof samples)) >= kSampleBytes; ++pushes) {
    push_begins();
    const runnel_code code = push(node, got / kSampleBytes);
    push_ends();
    if (code != RUNNEL_OK) return failed(code);
  }
  if (const runnel_code code = runnel_end(node); code != RUNNEL_OK) return failed(code);
  print_line("pushes ", pushes, " memory_used ", runnel_counters_of(node).memory_used, " stack ",
             stack_used());
  return 0;
}
