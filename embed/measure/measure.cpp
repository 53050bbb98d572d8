// The functions of runnel_measure.h, without its lines.
#include <new>

#include "embed/measure/measures.h"
#include "embed/measure/operator_times.h"
#include "embed/measure/runnel_measure.h"
#include "embed/measure/timed_node.h"
#include "embed/node.h"

namespace runnel::embed {
namespace {

// The core's own counter, started; null where there is none.
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
volatile std::uint32_t& word_at(std::uintptr_t address) noexcept {
  return *reinterpret_cast<volatile std::uint32_t*>(address);
}
std::uint32_t core_cycles(void*) { return word_at(0xE0001004); }  // DWT_CYCCNT
auto core_counter() noexcept -> std::uint32_t (*)(void*) {
  word_at(0xE000EDFC) = word_at(0xE000EDFC) | 1U << 24;  // DEMCR.TRCENA: the DWT has power
  word_at(0xE0001000) = word_at(0xE0001000) | 1U;        // DWT_CTRL.CYCCNTENA
  return core_cycles;
}
#elif defined(__riscv) && !defined(__linux__)
std::uint32_t core_cycles(void*) {
  std::uintptr_t cycles = 0;
  __asm volatile("csrr %0, mcycle" : "=r"(cycles));
  return static_cast<std::uint32_t>(cycles);
}
auto core_counter() noexcept -> std::uint32_t (*)(void*) { return core_cycles; }
#else
auto core_counter() noexcept -> std::uint32_t (*)(void*) { return nullptr; }
#endif

runnel_code choose_counter(runnel_board& board) noexcept {
  if (board.cycles != nullptr) return RUNNEL_OK;
  board.cycles = core_counter();
  if (board.cycles == nullptr)
    return fail(RUNNEL_UNSUPPORTED, "no counter of cycles, and this core has none of its own: pass one in");
  const std::uint32_t before = board.cycles(nullptr);
  for (int i = 0; i < 64; ++i) __asm volatile("");
  if (board.cycles(nullptr) == before)
    return fail(RUNNEL_UNSUPPORTED, "the core's counter of cycles stands still: pass one in");
  return RUNNEL_OK;
}

// Stages that are measured: without those that only observe.
int stages_of(const runnel_program& program) noexcept {
  return 1 + program.stages + (program.events ? 1 : 0);
}

// Null: the program has no counters.
OperatorTimes* times_of(const runnel_node& node) noexcept {
  const InferLink* const link = node.program->infer;
  if (link == nullptr || link->times == nullptr || node.program->output_stage < 0) return nullptr;
  return &link->times(*node.executor->schedule().stage(1 + node.program->output_stage).node);
}

const Measures* measures_in(const runnel_node* node) noexcept {
  const OperatorTimes* const times = node == nullptr ? nullptr : times_of(*node);
  return times == nullptr ? nullptr : times->measures();
}

}  // namespace

Measures* Measures::make(Memory& memory, int stages) noexcept {
  const auto count = static_cast<std::size_t>(stages);
  void* const at = memory.allocate(sizeof(Measures), alignof(Measures));
  auto* const times = memory.array<Time>(count);
  auto* const rooms = static_cast<std::byte*>(memory.allocate(count * sizeof(TimedNode), alignof(TimedNode)));
  if (at == nullptr || times == nullptr || rooms == nullptr) return nullptr;
  auto* const made = new (at) Measures();
  made->stages_ = {times, count};
  made->rooms_ = rooms;
  return made;
}

void Measures::start(const runnel_board& board, std::int64_t sample_rate) noexcept {
  board_ = board;
  rate_ = sample_rate;
  for (Time& one : stages_) one = {};
  steps_ = {};
  samples_ = 0;
  spent_ = 0;
  begun_ = false;
  // The least of a few tries: an interrupt may come in between.
  cost_ = ~std::uint32_t{0};
  for (int i = 0; i < 8; ++i) {
    const std::uint32_t first = now(), spent = now() - first;
    if (spent < cost_) cost_ = spent;
  }
}

void Measures::begin_step() noexcept {
  end_step(steps_);
  samples_ = 0;
  spent_ = 0;
  begun_ = true;
}

void Measures::end_step(Steps& steps) const noexcept {
  if (!begun_) return;
  ++steps.count;
  steps.cycles += spent_;
  if (spent_ > steps.most) steps.most = spent_;
  if (board_.hz == 0 || rate_ <= 0) return;
  const std::uint64_t lasts =
      static_cast<std::uint64_t>(samples_) * board_.hz / static_cast<std::uint64_t>(rate_);
  if (spent_ > lasts) ++steps.late;
  const std::uint64_t all = steps.behind + spent_;
  steps.behind = all > lasts ? all - lasts : 0;
  if (steps.behind > steps.most_behind) steps.most_behind = steps.behind;
}

runnel_measures Measures::totals() const noexcept {
  Steps steps = steps_;
  end_step(steps);
  runnel_measures out = {};
  out.steps = steps.count;
  out.cycles = steps.cycles;
  out.most = steps.most;
  out.late = steps.late;
  out.behind = steps.most_behind;
  return out;
}

}  // namespace runnel::embed

using namespace runnel;
using namespace runnel::embed;

runnel_code runnel_measure(runnel_node* node, const runnel_board* board) {
  if (node == nullptr || board == nullptr)
    return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of node or board");
  OperatorTimes* const times = times_of(*node);
  if (times == nullptr)
    return fail(RUNNEL_NOT_FOUND, "the program has no counters: run runnel embed with --counters");
  runnel_board chosen = *board;
  if (const runnel_code code = choose_counter(chosen); code != RUNNEL_OK) return code;
  const int stages = stages_of(*node->program);
  Measures* measures = times->measures();
  if (measures == nullptr) measures = Measures::make(node->memory, stages);
  if (measures == nullptr) return fail(RUNNEL_OUT_OF_MEMORY, "no memory for the figures of the nodes");
  measures->start(chosen, node->program->input.clock.sample_rate);
  const int infer = 1 + node->program->output_stage;
  times->start(*measures, infer);
  if (measures->attached) return RUNNEL_OK;
  measures->attached = true;
  pipeline::Schedule& schedule = node->executor->schedule();
  for (int i = 0; i < stages; ++i) {
    if (i == infer) continue;  // measures itself
    void* const room = measures->rooms() + static_cast<std::size_t>(i) * sizeof(TimedNode);
    schedule.exchange(i, *new (room) TimedNode(*schedule.stage(i).node, *measures, i));
  }
  return RUNNEL_OK;
}

int runnel_stage_time_of(const runnel_node* node, uint32_t index, runnel_stage_time* out) {
  const Measures* const measures = measures_in(node);
  if (measures == nullptr || out == nullptr || index >= measures->stages().size()) return 0;
  const Measures::Time& time = measures->stages()[index];
  *out = {node->executor->schedule().stage(static_cast<int>(index)).label.data(), time.calls, time.cycles,
          time.most};
  return 1;
}

int runnel_operator_time_of(const runnel_node* node, uint32_t index, runnel_operator_time* out) {
  if (measures_in(node) == nullptr || out == nullptr) return 0;
  const OperatorTimes& times = *times_of(*node);
  if (index >= times.times().size()) return 0;
  const Measures::Time& time = times.times()[index];
  const Prepared::StepInfo step = times.prepared().step(static_cast<int>(index));
  *out = {static_cast<std::uint32_t>(step.first), static_cast<std::uint32_t>(step.operators), time.calls,
          time.cycles, time.most};
  return 1;
}

runnel_measures runnel_measures_of(const runnel_node* node) {
  const Measures* const measures = measures_in(node);
  if (measures == nullptr) return {};
  runnel_measures out = measures->totals();
  const Prepared& prepared = times_of(*node)->prepared();
  out.memory_used = node->memory.used();
  out.memory_planned = node->program->memory_bytes;
  out.fast_used = node->fast.used();
  out.fast_planned = node->program->fast_bytes;
  out.arena = prepared.arena_bytes();
  out.scratch = prepared.scratch_bytes();
  out.state = prepared.state_bytes();
  const runnel_board& board = measures->board();
  out.stack_used = board.stack_used == nullptr ? 0 : board.stack_used(board.user);
  return out;
}
