// The lines of runnel_measure.h (docs/firmware.md has their format).
#include <cstddef>
#include <string_view>

#include "base/crc32c.h"
#include "embed/measure/measures.h"
#include "embed/measure/operator_times.h"
#include "embed/measure/runnel_measure.h"
#include "embed/node.h"

namespace runnel::embed {
namespace {

// One line: "@runnel 1 KIND KEY=VALUE ... #CHECKSUM". What does not fit is cut, and the reader says so.
class Line {
 public:
  explicit Line(std::string_view kind) noexcept {
    add("@runnel 1 ");
    add(kind);
  }
  Line& text(std::string_view key, std::string_view value) noexcept {
    begin(key);
    add(value);
    return *this;
  }
  Line& number(std::string_view key, std::uint64_t value) noexcept {
    begin(key);
    char digits[20];
    std::size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value > 0);
    while (count > 0) add(digits[--count]);
    return *this;
  }
  Line& hex(std::string_view key, std::uint32_t value) noexcept {
    begin(key);
    digits(value);
    return *this;
  }
  // Appends the checksum and passes the line on.
  void tell(runnel_line_function line, void* user) noexcept {
    const std::uint32_t sum = crc32c(std::as_bytes(std::span(text_, size_)));
    add(" #");
    digits(sum);
    text_[size_] = '\0';
    line(user, text_);
  }

 private:
  static constexpr std::size_t kChecksum = 10;

  void begin(std::string_view key) noexcept {
    add(' ');
    add(key);
    add('=');
  }
  void digits(std::uint32_t value) noexcept {
    for (int shift = 28; shift >= 0; shift -= 4) text_[size_++] = "0123456789abcdef"[value >> shift & 15];
  }
  void add(std::string_view piece) noexcept {
    for (const char letter : piece) add(letter);
  }
  void add(char letter) noexcept {
    if (size_ + kChecksum + 8 >= sizeof text_) return;
    text_[size_++] = letter >= ' ' && letter <= '~' ? letter : '?';
  }

  char text_[RUNNEL_LINE_BYTES] = {};
  std::size_t size_ = 0;
};

// Passes lines on and counts them.
struct Teller {
  runnel_line_function line;
  void* user;
  std::uint32_t lines = 0;

  void operator()(Line& one) noexcept {
    ++lines;
    one.tell(line, user);
  }
};

void tell_head(const runnel_node& node, Teller& tell) noexcept {
  const runnel_program& program = *node.program;
  const OperatorTimes& times =
      program.infer->times(*node.executor->schedule().stage(1 + program.output_stage).node);
  Line line("begin");
  line.text("program", program.name)
      .hex("model", program.infer->model_sum)
      .text("target", name_of(this_target()))
      .number("hz", times.measures()->board().hz)
      .number("rate", static_cast<std::uint64_t>(program.input.clock.sample_rate))
      .number("hop", static_cast<std::uint64_t>(program.hop))
      .number("block", static_cast<std::uint64_t>(times.prepared().block()));
  tell(line);
}

void tell_times(const runnel_node& node, Teller& tell) noexcept {
  runnel_stage_time stage;
  for (std::uint32_t i = 0; runnel_stage_time_of(&node, i, &stage) == 1; ++i) {
    Line line("stage");
    line.number("index", i)
        .text("name", stage.name)
        .number("calls", stage.calls)
        .number("cycles", stage.cycles)
        .number("most", stage.most);
    tell(line);
  }
  runnel_operator_time step;
  for (std::uint32_t i = 0; runnel_operator_time_of(&node, i, &step) == 1; ++i) {
    Line line("operator");
    line.number("first", step.first)
        .number("count", step.count)
        .number("runs", step.runs)
        .number("cycles", step.cycles)
        .number("most", step.most);
    tell(line);
  }
}

void tell_totals(const runnel_node& node, Teller& tell) noexcept {
  const runnel_measures all = runnel_measures_of(&node);
  Line time("time");
  time.number("steps", all.steps)
      .number("cycles", all.cycles)
      .number("most", all.most)
      .number("late", all.late)
      .number("behind", all.behind);
  tell(time);
  Line memory("memory");
  memory.number("used", all.memory_used)
      .number("planned", all.memory_planned)
      .number("fast", all.fast_used)
      .number("fast_planned", all.fast_planned)
      .number("arena", all.arena)
      .number("scratch", all.scratch)
      .number("state", all.state);
  tell(memory);
  if (all.stack_used == 0) return;
  Line stack("stack");
  stack.number("used", all.stack_used);
  tell(stack);
}

void tell_counters(const runnel_node& node, Teller& tell) noexcept {
  const runnel_counters counters = runnel_counters_of(&node);
  Line stream("stream");
  stream.number("samples", counters.samples)
      .number("lost", counters.lost)
      .number("gated", counters.gated)
      .number("gaps", counters.gaps)
      .number("events", counters.events)
      .number("dropped", counters.dropped_events)
      .number("overruns", counters.overruns);
  tell(stream);
  if (node.program->npu == nullptr) return;
  Line npu("npu");
  npu.number("runs", counters.npu_runs)
      .number("failures", counters.npu_failures)
      .number("cycles", counters.npu_cycles)
      .number("near_read", counters.npu_near_read_beats)
      .number("near_written", counters.npu_near_written_beats)
      .number("far_read", counters.npu_far_read_beats)
      .number("far_written", counters.npu_far_written_beats);
  tell(npu);
}

}  // namespace
}  // namespace runnel::embed

using namespace runnel::embed;

runnel_code runnel_tell(const runnel_node* node, runnel_line_function line, void* user) {
  if (node == nullptr || line == nullptr)
    return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of the node or the function for lines");
  runnel_stage_time first;
  if (runnel_stage_time_of(node, 0, &first) == 0)
    return fail(RUNNEL_NOT_FOUND, "the node is not measured: call runnel_measure() first");
  Teller tell{line, user};
  tell_head(*node, tell);
  tell_times(*node, tell);
  tell_totals(*node, tell);
  tell_counters(*node, tell);
  Line end("end");
  end.number("lines", tell.lines + 1);
  tell(end);
  return RUNNEL_OK;
}

runnel_code runnel_tell_self_test(const runnel_program* program, const runnel_options* options,
                                  runnel_line_function line, void* user) {
  if (line == nullptr)
    return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of the function for lines");
  const runnel_code code = runnel_self_test(program, options);
  Line test("test");
  test.text("program", program == nullptr ? "" : program->name)
      .number("code", code)
      .text("said", code == RUNNEL_OK ? runnel_code_text(code) : runnel_last_failure());
  test.tell(line, user);
  return code;
}
