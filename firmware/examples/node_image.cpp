// Sensor node for a folder written by `runnel embed` (RUNNEL_EMBEDDED of the build): samples from a file of
// the host, decisions to the terminal and to a file. Command line:
//     PROGRAM RECORDING OUTPUT [KEY=VALUE]...
// Only the observed image has keys; the other one is as it would be flashed.
// RECORDING: a .wav file of 16-bit samples, a .npy file of float32 [samples, channels], or raw samples in the
// program's type. OUTPUT.jsonl: decisions. OUTPUT.features, OUTPUT.output: with observe=1, the frames before
// and after the model. Of a program without decisions, as a noise filter is, OUTPUT.output has its samples,
// in both images. piece=N: samples per push (default: the hop). burst=N: N hops per push, at most 64. late=1:
// from an interrupt's double buffer that is sometimes served late. save=N: after N pushes, saves, spoils and
// restores the node. gate=N: activity gate. memory=N, shift=N: N bytes less memory, or an address N bytes
// off. test=1: only the self-test. Prints resources used; ends with the code of the call that failed.
#include <cstring>

#include RUNNEL_PROGRAM_HEADER
#include "firmware/examples/json_line.h"
#include "firmware/feature_runner.h"
#include "firmware/startup/image.h"
#include "firmware/startup/stack.h"

namespace {

using namespace runnel;
using namespace runnel::firmware;

constexpr bool kSound = RUNNEL_PROGRAM_LABELS == 0;  // no decisions: what comes out is sound
#ifdef RUNNEL_PROGRAM_OBSERVED
constexpr std::size_t kMore = RUNNEL_OBSERVE_BYTES;
#else
constexpr std::size_t kMore = kSound ? RUNNEL_OBSERVE_BYTES : 0;
#endif
alignas(RUNNEL_ALIGNMENT) unsigned char memory[RUNNEL_PROGRAM_MEMORY + kMore];
#ifdef RUNNEL_PROGRAM_FAST
alignas(RUNNEL_ALIGNMENT) unsigned char fast[RUNNEL_PROGRAM_FAST];
#endif
constexpr std::size_t kPiece = RUNNEL_PROGRAM_HOP,
                      kSampleBytes = RUNNEL_PROGRAM_SAMPLE_BYTES * RUNNEL_PROGRAM_CHANNELS;
#ifdef RUNNEL_PROGRAM_OBSERVED
constexpr std::size_t kMaxHops = 64;  // of a burst
#else
constexpr std::size_t kMaxHops = 2;  // two halves
#endif
alignas(16) unsigned char samples[kMaxHops * kPiece * kSampleBytes];

struct Outputs {
  HostFile events, features, output;
};
Outputs* outputs = nullptr;

std::uint64_t number([[maybe_unused]] const Arguments& arguments, [[maybe_unused]] std::string_view key,
                     std::uint64_t otherwise) noexcept {
#ifdef RUNNEL_PROGRAM_OBSERVED
  for (std::size_t i = 3; i < arguments.count; ++i) {
    const std::string_view word(arguments.words[i]);
    if (word.size() <= key.size() || word.substr(0, key.size()) != key || word[key.size()] != '=') continue;
    std::uint64_t value = 0;
    for (const char digit : word.substr(key.size() + 1))
      value = value * 10 + static_cast<std::uint64_t>(digit - '0');
    return value;
  }
#endif
  return otherwise;
}

// Functions that print are not inlined: their text would deepen the stack of the node.
[[gnu::noinline]] int failed(runnel_code code) noexcept {
  Text line;
  line << runnel_code_text(code) << ": " << runnel_last_failure();
  print(line.view());
  print("\n");
  return static_cast<int>(code);
}

// Opens the recording and skips its header if it is a known one.
bool open_recording(HostFile& file, const char* path) noexcept {
  if (!file.open_to_read(path)) return false;
  const std::string_view name(path);
  unsigned char head[12];
  if (name.ends_with(".npy")) {
    if (file.read(head, 10) != 10) return false;
    for (int left = head[8] | head[9] << 8; left > 0; --left) {
      if (file.read(head, 1) != 1) return false;
    }
  } else if (name.ends_with(".wav")) {
    if (file.read(head, 12) != 12) return false;
    for (;;) {
      if (file.read(head, 8) != 8) return false;
      if (std::memcmp(head, "data", 4) == 0) break;
      for (std::uint32_t left =
               head[4] | head[5] << 8 | head[6] << 16 | static_cast<std::uint32_t>(head[7]) << 24;
           left > 0; --left) {
        if (file.read(head, 1) != 1) return false;
      }
    }
  }
  return true;
}

void on_frames(void*, runnel_stage stage, const void* frames, std::size_t count, std::size_t frame_bytes,
               std::int64_t) noexcept {
  (stage == RUNNEL_FEATURES ? outputs->features : outputs->output).write(frames, count * frame_bytes);
}
[[maybe_unused]] void on_sound(void*, runnel_stage stage, const void* frames, std::size_t count,
                               std::size_t frame_bytes, std::int64_t) noexcept {
  if (stage == RUNNEL_OUTPUT) outputs->output.write(frames, count * frame_bytes);
}

[[gnu::noinline]] void tell(runnel_node* node) noexcept {
  for (runnel_event event; runnel_poll(node, &event) == 1;) {
    Text line;
    append_event(line, event, RUNNEL_PROGRAM_RATE);
    print(line.view());
    print("\n");
    outputs->events.write(line.view().data(), line.view().size());
    outputs->events.write("\n", 1);
  }
}

runnel_code push(runnel_node* node, const void* from, std::size_t frames) noexcept {
  if constexpr (RUNNEL_PROGRAM_SAMPLE_BYTES == 2)
    return runnel_push_int16(node, static_cast<const std::int16_t*>(from), frames);
  else
    return runnel_push_float(node, static_cast<const float*>(from), frames);
}

// These two enclose the work on one push; a QEMU plugin counts instructions between them (firmware/host).
extern "C" {
[[gnu::noipa]] void push_begins() { __asm volatile(""); }
[[gnu::noipa]] void push_ends() { __asm volatile(""); }
}

constexpr std::size_t kFirst = 4;  // pushes whose end is printed

[[gnu::noinline]] void report(runnel_node* node, std::uint64_t prepared, std::uint64_t per_push,
                              const std::uint64_t (&until)[kFirst]) noexcept {
  const runnel_counters counters = runnel_counters_of(node);
  Text line;
  line << "samples " << counters.samples << " lost " << counters.lost << " gated " << counters.gated
       << " overruns " << counters.overruns << " events " << counters.events;
  print(line.view());
  Text more;
  more << " instructions_to_prepare " << prepared << " instructions_per_push " << per_push << " memory_used "
       << counters.memory_used << " fast_used " << counters.fast_used << " stack_used " << stack_used();
  print(more.view());
  print(" instructions_until_push");
  for (const std::uint64_t count : until) {
    Text one;
    one << ' ' << count;
    print(one.view());
  }
  print("\n");
}

#ifdef RUNNEL_PROGRAM_OBSERVED
// Saves the node, makes it unusable, and restores it.
runnel_code save_and_restore(runnel_node* node) noexcept {
  static unsigned char saved[RUNNEL_PROGRAM_MEMORY + kMore + 256];
  const std::size_t bytes = runnel_saved_bytes(node);
  if (const runnel_code code = runnel_save(node, saved, sizeof saved); code != RUNNEL_OK) return code;
  if (const runnel_code code = push(node, samples, kPiece); code != RUNNEL_OK) return code;
  if (const runnel_code code = runnel_reset(node); code != RUNNEL_OK) return code;
  saved[bytes - 1] ^= 1;
  if (runnel_restore(node, saved, bytes) != RUNNEL_INVALID_DATA) return RUNNEL_STOPPED;
  saved[bytes - 1] ^= 1;
  return runnel_restore(node, saved, bytes);
}

// Acts as an interrupt, with a main loop that checks the buffer only every few halves.
runnel_code serve_late(runnel_node* node, HostFile& in) noexcept {
  runnel_double_buffer buffer = {samples, kPiece, 0, 0};
  bool overrun = false;
  for (std::uint32_t half = 0;; ++half) {
    if (in.read(samples + half % 2 * kPiece * kSampleBytes, kPiece * kSampleBytes) != kPiece * kSampleBytes)
      break;
    runnel_half_filled(&buffer);
    if (half % 50 > 45) continue;  // busy with something else
    const runnel_code code = runnel_take(node, &buffer);
    overrun = overrun || code == RUNNEL_OVERRUN;
    if (code != RUNNEL_OK && code != RUNNEL_OVERRUN) return code;
    tell(node);
  }
  return overrun ? RUNNEL_OVERRUN : RUNNEL_OK;
}
#endif

}  // namespace

int runnel::firmware::image_main() noexcept {
  paint_stack();
  static Arguments arguments;
  arguments.count = command_line(arguments.text, arguments.words);
  if (arguments.count < 3) return fail("expected RECORDING OUTPUT [KEY=VALUE]...");
  runnel_options options = {memory + number(arguments, "shift", 0),
                            static_cast<std::size_t>(number(arguments, "memory", sizeof memory)),
                            nullptr,
                            0,
                            nullptr,
                            nullptr};
#ifdef RUNNEL_PROGRAM_FAST
  options.fast = fast;
  options.fast_bytes = sizeof fast;
#endif
#ifdef RUNNEL_PROGRAM_OBSERVED
  if (number(arguments, "test", 0) == 1) {
    const runnel_code code = runnel_self_test(&RUNNEL_PROGRAM, &options);
    return code == RUNNEL_OK ? 0 : failed(code);
  }
#endif
  Outputs files;
  outputs = &files;
  static char path[300];
  const auto open = [&](HostFile& file, std::string_view ending) {
    const std::string_view base(arguments.words[2]);
    if (base.size() + ending.size() >= sizeof path) return false;
    std::memcpy(path, base.data(), base.size());
    std::memcpy(path + base.size(), ending.data(), ending.size());
    path[base.size() + ending.size()] = '\0';
    return file.open_to_write(path);
  };
  if (!open(files.events, ".jsonl")) return fail("cannot write OUTPUT.jsonl");
  if (number(arguments, "observe", 0) == 1) {
    if (!open(files.features, ".features") || !open(files.output, ".output"))
      return fail("cannot write OUTPUT.features or OUTPUT.output");
    options.on_frames = on_frames;
  }
#ifndef RUNNEL_PROGRAM_OBSERVED
  if (kSound) {
    if (!open(files.output, ".output")) return fail("cannot write OUTPUT.output");
    options.on_frames = on_sound;
  }
#endif
  start_clock();
  runnel_node* node = nullptr;
  if (const runnel_code code = runnel_prepare(&RUNNEL_PROGRAM, &options, &node); code != RUNNEL_OK)
    return failed(code);
  const std::uint64_t prepared = instructions();
#ifdef RUNNEL_PROGRAM_OBSERVED
  if (const std::uint64_t threshold = number(arguments, "gate", 0); threshold > 0)
    runnel_set_gate(node, {static_cast<float>(threshold), RUNNEL_PROGRAM_RATE / 2});
#endif
  HostFile in;
  if (!open_recording(in, arguments.words[1])) return fail("cannot read the recording");
  std::uint64_t spent = 0, pushes = 0, until[kFirst] = {};  // instructions until the end of push i
  runnel_code code = RUNNEL_OK;
#ifdef RUNNEL_PROGRAM_OBSERVED
  if (number(arguments, "late", 0) == 1) {
    code = serve_late(node, in);
    if (code != RUNNEL_OK && code != RUNNEL_OVERRUN) return failed(code);
  }
  const std::uint64_t save_at = number(arguments, "save", 0);
#endif
  std::size_t piece = static_cast<std::size_t>(number(arguments, "piece", kPiece));
  if (piece == 0 || piece > kPiece) piece = kPiece;
#ifdef RUNNEL_PROGRAM_OBSERVED
  if (const std::uint64_t hops = number(arguments, "burst", 0); hops > 0)
    piece = kPiece * static_cast<std::size_t>(hops < kMaxHops ? hops : kMaxHops);
#endif
  for (std::size_t got = 0; (got = in.read(samples, piece * kSampleBytes)) >= kSampleBytes;) {
    const std::uint64_t start = instructions();
    push_begins();
    const runnel_code pushed = push(node, samples, got / kSampleBytes);
    push_ends();
    if (pushed != RUNNEL_OK) return failed(pushed);
    spent += instructions() - start;
    if (pushes < kFirst) until[pushes] = prepared + spent;
    tell(node);
    ++pushes;
#ifdef RUNNEL_PROGRAM_OBSERVED
    if (pushes == save_at) {
      if (const runnel_code saved = save_and_restore(node); saved != RUNNEL_OK) return failed(saved);
    }
#endif
  }
  if (const runnel_code ended = runnel_end(node); ended != RUNNEL_OK) return failed(ended);
  tell(node);
  report(node, prepared, pushes > 0 ? spent / pushes : 0, until);
  return code == RUNNEL_OVERRUN ? static_cast<int>(code) : 0;
}
