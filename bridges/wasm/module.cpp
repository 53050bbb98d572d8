// What runnel.js sees of a program: functions of numbers, and structs at fixed addresses. Nothing is
// imported, so the module runs wherever WebAssembly does. There is one node in an instance.
//
// Memory: constants, stack, the buffers of this file, then the memory of runnel_prepare(), which is all that
// is left. start() asks for more pages until the program fits; after that the memory never grows.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "embed/node.h"
#include RUNNEL_PROGRAM_HEADER

extern "C" unsigned char __heap_base;  // after the last byte that the linker has placed

// That of emscripten's library asks its host to end the process, which would be an import. What aborts, as
// the standard library does where an index is out of range, stops the module instead: an exception in
// JavaScript.
extern "C" void _Exit(int) { __builtin_trap(); }

namespace {

#define RUNNEL_EXPORT(name) extern "C" [[gnu::used]] __attribute__((export_name(name)))

constexpr std::size_t kPage = 65536, kMost = std::size_t{256} << 20;
constexpr std::size_t kRoomBytes = 32768, kFrameBytes = 65536;

runnel_node* node = nullptr;

// Samples of the next push.
alignas(16) unsigned char room[kRoomBytes];
// Frames of the last push, of features and of outputs.
struct Frames {
  std::uint32_t count, lost;  // frames; those beyond the room
  double first;               // index of frame 0
  std::uint32_t bytes;        // of a frame
  alignas(16) unsigned char data[kFrameBytes];
};
Frames seen[2];

// Layout as in runnel.js.
struct Event {
  std::uint32_t label;
  std::int32_t index;
  double score, begin, end, frame;
};
Event event;
struct Facts {
  std::uint32_t name, room, room_frames, sample_bytes;
  std::uint32_t sample_rate, channels, hop, labels, model_bytes;
  std::uint32_t event, counters, frames[2];
  struct Stage {
    std::uint32_t type;  // 0: there is none; 1 int8, 2 int16, 3 int32, 4 float32
    std::uint32_t values;
    std::int32_t exponent;
    std::uint32_t reserved;
    double hop, begin, span, denominator;  // pipeline/format.h
  };
  Stage stage[2];
};
Facts facts;
struct Counters {
  double samples, lost, gated, gaps, events, dropped_events, memory_used;
};
Counters counters;

std::uint32_t address(const void* of) noexcept {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(of));
}

void take_frames(void*, runnel_stage stage, const void* frames, std::size_t count, std::size_t frame_bytes,
                 std::int64_t first) {
  Frames& to = seen[stage];
  if (to.count == 0) {
    to.first = static_cast<double>(first);
    to.bytes = static_cast<std::uint32_t>(frame_bytes);
  }
  const std::size_t left = frame_bytes == 0 ? 0 : kFrameBytes / frame_bytes - to.count;
  const std::size_t taken = std::min(count, left);
  std::memcpy(to.data + to.count * frame_bytes, frames, taken * frame_bytes);
  to.count += static_cast<std::uint32_t>(taken);
  to.lost += static_cast<std::uint32_t>(count - taken);
}

std::uint32_t type_of(runnel::DType type) noexcept {
  switch (type) {
    case runnel::DType::int8:
      return 1;
    case runnel::DType::int16:
      return 2;
    case runnel::DType::int32:
      return 3;
    case runnel::DType::float32:
      return 4;
    default:
      return 0;
  }
}

void describe_stage(int stage, Facts::Stage& out) noexcept {
  if (stage < 0) return;
  const runnel::pipeline::Format& format = node->executor->format(1 + stage);  // the source is stage 0
  out = {type_of(format.dtype),
         static_cast<std::uint32_t>(format.channels),
         format.exponent,
         0,
         static_cast<double>(format.clock.hop),
         static_cast<double>(format.clock.begin),
         static_cast<double>(format.clock.span),
         static_cast<double>(format.clock.denominator)};
}

void describe() noexcept {
  const runnel_facts of = runnel_facts_of(&RUNNEL_PROGRAM);
  const auto sample_bytes = static_cast<std::uint32_t>(runnel::size_of(RUNNEL_PROGRAM.samples)) * of.channels;
  facts = {};
  facts.name = address(of.name);
  facts.room = address(room);
  facts.room_frames = static_cast<std::uint32_t>(kRoomBytes) / sample_bytes;
  facts.sample_bytes = static_cast<std::uint32_t>(runnel::size_of(RUNNEL_PROGRAM.samples));
  facts.sample_rate = of.sample_rate;
  facts.channels = of.channels;
  facts.hop = of.hop;
  facts.labels = of.labels;
  facts.model_bytes = static_cast<std::uint32_t>(of.model_bytes);
  facts.event = address(&event);
  facts.counters = address(&counters);
  for (int stage = 0; stage < 2; ++stage) facts.frames[stage] = address(&seen[stage]);
  describe_stage(RUNNEL_PROGRAM.features_stage, facts.stage[0]);
  describe_stage(RUNNEL_PROGRAM.output_stage, facts.stage[1]);
}

void forget_frames() noexcept {
  for (Frames& one : seen) one.count = one.lost = 0;
}

}  // namespace

// Prepares the program in all of the memory; with `observed` != 0, frames are kept for runnel.js. Once for
// each instance.
RUNNEL_EXPORT("start") std::int32_t start(std::int32_t observed) {
  constexpr std::size_t kAlignment = RUNNEL_ALIGNMENT;
  unsigned char* const first =
      reinterpret_cast<unsigned char*>((address(&__heap_base) + kAlignment - 1) / kAlignment * kAlignment);
  for (;;) {
    const std::size_t end = __builtin_wasm_memory_size(0) * kPage;
    runnel_options options = {};
    options.memory = first;
    options.bytes = end - address(first);
    if (observed != 0) options.on_frames = take_frames;
    const runnel_code code = runnel_prepare(&RUNNEL_PROGRAM, &options, &node);
    if (code == RUNNEL_OK) describe();
    if (code != RUNNEL_OUT_OF_MEMORY || end >= kMost) return code;
    // An eighth more: what is left over stays unused.
    if (__builtin_wasm_memory_grow(0, std::max<std::size_t>(end / kPage / 8, 1)) == SIZE_MAX) return code;
  }
}
// Facts; valid after start().
RUNNEL_EXPORT("facts") std::uint32_t facts_of() { return address(&facts); }
RUNNEL_EXPORT("label") std::uint32_t label(std::uint32_t index) {
  return address(runnel_label(&RUNNEL_PROGRAM, index));
}
// Sentence and meaning of the last failure, as text that ends with a zero.
RUNNEL_EXPORT("failure") std::uint32_t failure() { return address(runnel_last_failure()); }
RUNNEL_EXPORT("code_text") std::uint32_t code_text(std::int32_t code) {
  return address(runnel_code_text(static_cast<runnel_code>(code)));
}
// Of what lies in the room.
RUNNEL_EXPORT("push") std::int32_t push(std::uint32_t frames) {
  forget_frames();
  if constexpr (RUNNEL_PROGRAM_SAMPLE_BYTES == 2)
    return runnel_push_int16(node, reinterpret_cast<const std::int16_t*>(room), frames);
  else
    return runnel_push_float(node, reinterpret_cast<const float*>(room), frames);
}
RUNNEL_EXPORT("lost") std::int32_t lost(double frames) {
  forget_frames();
  return runnel_lost(node, static_cast<std::uint64_t>(frames));
}
RUNNEL_EXPORT("end") std::int32_t end() {
  forget_frames();
  return runnel_end(node);
}
RUNNEL_EXPORT("reset") std::int32_t reset() {
  forget_frames();
  return runnel_reset(node);
}
// 1 with a decision in `event`, else 0.
RUNNEL_EXPORT("poll") std::int32_t poll() {
  runnel_event one;
  if (runnel_poll(node, &one) == 0) return 0;
  event = {address(one.label),
           one.label_index,
           static_cast<double>(one.score),
           static_cast<double>(one.begin),
           static_cast<double>(one.end),
           static_cast<double>(one.frame)};
  return 1;
}
RUNNEL_EXPORT("count") void count() {
  const runnel_counters of = runnel_counters_of(node);
  counters = {static_cast<double>(of.samples),    static_cast<double>(of.lost),
              static_cast<double>(of.gated),      static_cast<double>(of.gaps),
              static_cast<double>(of.events),     static_cast<double>(of.dropped_events),
              static_cast<double>(of.memory_used)};
}
RUNNEL_EXPORT("set_gate") std::int32_t set_gate(float threshold, std::uint32_t hold) {
  return runnel_set_gate(node, {threshold, hold});
}
