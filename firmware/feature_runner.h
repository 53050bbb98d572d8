// Runs a front end over a file, for the feature images. Command line:
//     PROGRAM INPUT OUTPUT [preset=NAME] [OPTION=VALUE]...
//     PROGRAM INPUT OUTPUT tables=constant
// The second form uses one set of options with compile-time tables. INPUT: raw samples; OUTPUT: frames.
// Pushes 10 ms (at 16 kHz) at a time. Prints resources used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/memory.h"
#include "base/status.h"
#include "firmware/print_line.h"
#include "firmware/startup/clock.h"
#include "firmware/startup/semihosting.h"
#include "firmware/startup/traps.h"

namespace runnel::firmware {

struct Arguments {
  const char* words[80] = {};
  std::size_t count = 0;
  char text[4000] = {};
};

inline int fail(std::string_view what) noexcept {
  print(what);
  print("\n");
  return 1;
}

// Options by name, after `preset=NAME`, which comes first if at all.
template <class Options, class Preset>
Status read_options(const Arguments& arguments, Options& options, Preset preset_named) noexcept {
  // The C++ library reads numbers in text with unaligned words.
  struct WithoutTrap {
    WithoutTrap() { trap_unaligned(false); }
    ~WithoutTrap() { trap_unaligned(true); }
  } without_trap;
  for (std::size_t i = 3; i < arguments.count; ++i) {
    const std::string_view word(arguments.words[i]);
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos)
      return Status(Code::invalid_argument) << word << ": expected OPTION=VALUE";
    const std::string_view name = word.substr(0, equals), value = word.substr(equals + 1);
    if (name == "preset") {
      RUNNEL_ASSIGN(options, preset_named(value));
    } else {
      RUNNEL_TRY(set(options, name, value));
    }
  }
  return {};
}

// `flush(frames)` writes the frames at the end of the recording and returns their number.
template <class Sample, class Value, class FrontEnd, class Flush>
int run_front_end(const Arguments& arguments, FrontEnd& front_end, std::uint64_t prepared, std::size_t memory,
                  Flush flush) noexcept {
  constexpr std::size_t kPiece = 160, kRoom = 16 * 1024;
  static Sample samples[kPiece];
  static Value frames[kRoom];
  HostFile in, out;
  if (!in.open_to_read(arguments.words[1])) return fail("cannot read the input");
  if (!out.open_to_write(arguments.words[2])) return fail("cannot write the output");
  std::uint64_t spent = 0;
  std::size_t count = 0;
  const auto timed = [&](auto work) {
    const std::uint64_t start = instructions();
    const std::size_t made = work();
    spent += instructions() - start;
    count += made;
    return out.write(frames, made * front_end.dims() * sizeof(Value));
  };
  for (;;) {
    const std::size_t size = in.read(samples, sizeof samples) / sizeof(Sample);
    if (size == 0) break;
    if (!timed([&] { return front_end.push(std::span<const Sample>(samples, size), frames).frames; }))
      return fail("cannot write the frames");
  }
  if (!timed([&] { return flush(std::span<Value>(frames)); })) return fail("cannot write the frames");
  print_line("frames ", count, " instructions_per_frame ", count > 0 ? spent / count : 0,
             " instructions_to_prepare ", prepared, " bytes ", memory);
  return 0;
}

// The whole image. preset(name): options; make(options, memory) and make_constant(memory): a front end or an
// error; flush as above.
template <class Sample, class Value, class Options, class Preset, class Make, class MakeConstant, class Flush>
int feature_image(std::span<std::byte> storage, Preset preset, Make make, MakeConstant make_constant,
                  Flush flush) noexcept {
  static Arguments arguments;
  arguments.count = command_line(arguments.text, arguments.words);
  if (arguments.count < 3) return fail("expected INPUT OUTPUT [preset=NAME] [OPTION=VALUE]...");
  const bool constant = arguments.count == 4 && std::string_view(arguments.words[3]) == "tables=constant";
  Options options;
  if (!constant) {
    if (const Status status = read_options(arguments, options, preset); !status.ok())
      return fail(status.text());
  }
  FixedMemory memory(storage);
  start_clock();
  auto made = constant ? make_constant(memory) : make(options, memory);
  const std::uint64_t prepared = instructions();
  if (!made.ok()) return fail(made.status().text());
  return run_front_end<Sample, Value>(arguments, *made, prepared, memory.used(),
                                      [&](std::span<Value> frames) { return flush(*made, frames); });
}

}  // namespace runnel::firmware
