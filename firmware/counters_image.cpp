// A program that `runnel embed --counters` wrote, measured: prints the lines of runnel_tell(), which
// `runnel profile --from-device` reads. Command line:
//     PROGRAM RECORDING [KEY=VALUE]...
// RECORDING: raw samples of 16 bits. start=N: what the counter shows at the start, which may be near its end.
// hz=N: its rate (default: instructions of QEMU). core=1: the core's own counter. lost=N: that many samples
// are lost after the first second. test=1: the self-test first. Ends with the code of the call that failed.
#include <string_view>

#include RUNNEL_PROGRAM_HEADER
#include "firmware/feature_runner.h"
#include "firmware/startup/image.h"
#include "firmware/startup/stack.h"

namespace {

using namespace runnel::firmware;

alignas(RUNNEL_ALIGNMENT) unsigned char memory[RUNNEL_PROGRAM_MEMORY];
alignas(16) std::int16_t samples[RUNNEL_PROGRAM_HOP];
Arguments arguments;
std::uint32_t at_start = 0;

#if defined(__riscv)
constexpr std::uint32_t kInstructionsPerSecond = 1'000'000'000;  // -icount shift=0
#else
constexpr std::uint32_t kInstructionsPerSecond = 15'625'000;  // -icount shift=6
#endif

std::uint32_t number(std::string_view key, std::uint32_t otherwise) noexcept {
  for (std::size_t i = 2; i < arguments.count; ++i) {
    const std::string_view word(arguments.words[i]);
    if (word.size() <= key.size() || word.substr(0, key.size()) != key || word[key.size()] != '=') continue;
    std::uint32_t value = 0;
    for (const char digit : word.substr(key.size() + 1))
      value = value * 10 + static_cast<std::uint32_t>(digit - '0');
    return value;
  }
  return otherwise;
}

std::uint32_t cycles(void*) { return at_start + static_cast<std::uint32_t>(instructions()); }
std::size_t stack(void*) { return stack_used(); }
void say(void*, const char* line) {
  print(line);
  print("\n");
}

int failed(runnel_code code) noexcept {
  print_line(runnel_code_text(code), ": ", runnel_last_failure());
  return static_cast<int>(code);
}

}  // namespace

int runnel::firmware::image_main() noexcept {
  paint_stack();
  arguments.count = command_line(arguments.text, arguments.words);
  if (arguments.count < 2) return fail("expected RECORDING [KEY=VALUE]...");
  const runnel_options options = {memory, sizeof memory, nullptr, 0, nullptr, nullptr};
  if (number("test", 0) == 1) {
    const runnel_code code = runnel_tell_self_test(&RUNNEL_PROGRAM, &options, say, nullptr);
    if (code != RUNNEL_OK) return static_cast<int>(code);
  }
  runnel_node* node = nullptr;
  if (const runnel_code code = runnel_prepare(&RUNNEL_PROGRAM, &options, &node); code != RUNNEL_OK)
    return failed(code);
  start_clock();
  at_start = number("start", 0);
  runnel_board board = {cycles, number("hz", kInstructionsPerSecond), stack, nullptr};
  if (number("core", 0) == 1) board.cycles = nullptr;
  if (const runnel_code code = runnel_measure(node, &board); code != RUNNEL_OK) return failed(code);
  HostFile in;
  if (!in.open_to_read(arguments.words[1])) return fail("cannot read the recording");
  const std::uint32_t lost = number("lost", 0);
  std::uint32_t hops = 0;
  for (std::size_t got = 0; (got = in.read(samples, sizeof samples)) >= sizeof samples[0]; ++hops) {
    if (lost > 0 && hops == RUNNEL_PROGRAM_RATE / RUNNEL_PROGRAM_HOP) runnel_lost(node, lost);
    if (const runnel_code code = runnel_push_int16(node, samples, got / sizeof samples[0]); code != RUNNEL_OK)
      return failed(code);
    for (runnel_event event; runnel_poll(node, &event) == 1;) print_line(event.label);
  }
  if (const runnel_code code = runnel_end(node); code != RUNNEL_OK) return failed(code);
  const runnel_code code = runnel_tell(node, say, nullptr);
  return code == RUNNEL_OK ? 0 : failed(code);
}
