// The functions of runnel.h, on the pipeline's executor.
#include "embed/runnel.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/crc32c.h"
#include "base/limits.h"
#include "embed/codes.h"
#include "embed/gate.h"
#include "embed/node.h"
#include "embed/program.h"
#include "embed/sample_source.h"
#include "embed/sinks.h"

using namespace runnel;
using namespace runnel::embed;

namespace {

constexpr std::size_t kMaxFailure = 160;
char last_failure[kMaxFailure] = "";

}  // namespace

namespace runnel::embed {

runnel_code fail(runnel_code code, std::string_view text) noexcept {
  const std::size_t size = std::min(text.size(), kMaxFailure - 1);
  std::copy_n(text.data(), size, last_failure);
  last_failure[size] = '\0';
  return code;
}

runnel_code fail(const Status& status) noexcept {
  return status.ok() ? RUNNEL_OK : fail(c_code(status.code()), status.text());
}

Target this_target() noexcept {
#if defined(RUNNEL_TARGET_CORTEX_M55)
  return Target::cortex_m55;
#elif defined(__ARM_ARCH_7EM__) && defined(__ARM_FP) && (__ARM_FP & 8)
  return Target::cortex_m7;
#elif defined(__ARM_ARCH_7EM__)
  return Target::cortex_m4;
#elif defined(__ARM_ARCH_8_1M_MAIN__) || (defined(__ARM_ARCH_PROFILE) && defined(__ARM_FEATURE_LOB))
  return Target::cortex_m55;
#elif defined(__riscv) && __riscv_xlen == 64 && defined(__riscv_flen)
  return Target::rv64gc;
#elif defined(__riscv) && __riscv_xlen == 32 && defined(__riscv_flen)
  return Target::rv32imafc;
#elif defined(__riscv) && __riscv_xlen == 32
  return Target::rv32imac;
#else
  return Target::any;
#endif
}

const char* name_of(Target target) noexcept {
  switch (target) {
    case Target::any:
      return "generic";
    case Target::cortex_m4:
      return "cortex-m4";
    case Target::cortex_m7:
      return "cortex-m7";
    case Target::cortex_m55:
      return "cortex-m55";
    case Target::rv32imac:
      return "rv32imac";
    case Target::rv32imafc:
      return "rv32imafc";
    case Target::rv64gc:
      return "rv64gc";
  }
  return "unknown";
}

// An M7 runs programs for an M4, and a RISC-V with floating point those for one without.
bool runs_on(Target program, Target library) noexcept {
  return program == Target::any || program == library ||
         (program == Target::cortex_m4 && library == Target::cortex_m7) ||
         (program == Target::rv32imac && library == Target::rv32imafc);
}

runnel_code check(const runnel_program* program, const runnel_options* options) noexcept {
  if (program == nullptr || options == nullptr || options->memory == nullptr)
    return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of program, options or memory");
  if (program->version != kProgramVersion) {
    const Status status = Status(Code::unsupported)
                          << "program of version " << program->version << ", expected " << kProgramVersion
                          << ": run runnel embed again";
    return fail(RUNNEL_WRONG_VERSION, status.text());
  }
  if (!runs_on(program->target, this_target())) {
    const Status status = Status(Code::unsupported) << "program for " << name_of(program->target)
                                                    << ", this library is for " << name_of(this_target());
    return fail(RUNNEL_WRONG_TARGET, status.text());
  }
  for (const void* start :
       {static_cast<const void*>(options->memory), static_cast<const void*>(options->fast)}) {
    if (reinterpret_cast<std::uintptr_t>(start) % RUNNEL_ALIGNMENT == 0) continue;
    const Status status = Status(Code::invalid_argument)
                          << "memory starts " << reinterpret_cast<std::uintptr_t>(start) % RUNNEL_ALIGNMENT
                          << " bytes after a multiple of " << RUNNEL_ALIGNMENT;
    return fail(RUNNEL_MISALIGNED, status.text());
  }
  return RUNNEL_OK;
}

}  // namespace runnel::embed

namespace {

// Not inlined: its messages would be on the stack while nodes prepare.
[[gnu::noinline]] Status add_stages(runnel_node& node, const runnel_options& options, pipeline::Stage* stages,
                                    int& count) noexcept {
  const runnel_program& program = *node.program;
  if (program.stages < 1 || program.stages > kMaxStages || program.make_nodes == nullptr)
    return Status(Code::invalid_data)
           << "a program of " << program.stages << " nodes, expected 1 to " << kMaxStages;
  node.source = place<SampleSource>(node.memory);
  if (node.source == nullptr) return pipeline::out_of_memory("the source");
  node.source->format = program.input;
  node.source->given = program.samples;
  stages[0] = {node.source, &SampleSource::type, "source", -1};
  if (!program.make_nodes(node.memory, {stages + 1, static_cast<std::size_t>(program.stages)}))
    return pipeline::out_of_memory("the nodes");
  count = 1 + program.stages;
  if (program.events) {
    node.queue = place<EventQueue>(node.memory);
    if (node.queue == nullptr) return pipeline::out_of_memory("the sink");
    node.queue->labels = program.labels;
    node.queue->room = program.event_room;
    stages[count] = {node.queue, &EventQueue::type, "events", count - 1};
    ++count;
  }
  if (options.on_frames == nullptr) return {};
  for (const runnel_stage stage : {RUNNEL_FEATURES, RUNNEL_OUTPUT}) {
    const int watched = stage == RUNNEL_FEATURES ? program.features_stage
                        : program.events         ? program.output_stage
                                                 : program.stages - 1;
    if (watched < 0) continue;
    auto* tap = place<FrameTap>(node.memory);
    if (tap == nullptr) return pipeline::out_of_memory("the sink");
    tap->function = options.on_frames;
    tap->user = options.user;
    tap->stage = stage;
    stages[count++] = {tap, &FrameTap::type, "frames", 1 + watched};
  }
  return {};
}

Status prepare(runnel_node& node, const runnel_options& options) noexcept {
  if (node.program->make_loader != nullptr) {
    node.loader = node.program->make_loader(node.memory, *node.program);
    if (node.loader == nullptr) return pipeline::out_of_memory("the model");
  }
  // Plus source, sink and two observers; in this memory, because the stack is deepest after this.
  const int most = std::clamp(node.program->stages, 0, kMaxStages) + 4;
  auto* const stages = node.memory.array<pipeline::Stage>(static_cast<std::size_t>(most));
  if (stages == nullptr) return pipeline::out_of_memory("the nodes");
  int count = 0;
  RUNNEL_TRY(add_stages(node, options, stages, count));
  pipeline::ExecutorOptions settings;
  settings.tick = node.program->hop;
  settings.models = node.loader;
  settings.operators = node.program->operators;
  settings.slack = false;
  if (node.program->plain_kernels) settings.isa = Isa::reference;
  if (options.fast != nullptr && options.fast_bytes > 0) settings.fast = {&node.fast, options.fast_bytes};
  RUNNEL_ASSIGN(node.executor,
                pipeline::Executor::make({stages, static_cast<std::size_t>(count)}, settings, node.memory));
  return {};
}

}  // namespace

const char* runnel_code_text(runnel_code code) { return text_of(code); }

const char* runnel_last_failure(void) { return last_failure; }

runnel_code runnel_prepare(const runnel_program* program, const runnel_options* options, runnel_node** node) {
  if (node == nullptr) return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of the node");
  *node = nullptr;
  if (const runnel_code code = check(program, options); code != RUNNEL_OK) return code;
  FixedMemory memory({static_cast<std::byte*>(options->memory), options->bytes});
  void* place = memory.allocate(sizeof(runnel_node), alignof(runnel_node));
  if (place == nullptr) return fail(RUNNEL_OUT_OF_MEMORY, "no room for the node itself");
  auto* made = new (place)
      runnel_node(*program, memory, {static_cast<std::byte*>(options->fast), options->fast_bytes});
  if (const Status status = prepare(*made, *options); !status.ok()) return fail(status);
  made->gate.reset();
  *node = made;
  return RUNNEL_OK;
}

namespace {

// Runs of an NPU do not stop the executor: what failed is told afterwards.
runnel_code after_npu(const runnel_node& node) noexcept {
  return node.program->npu == nullptr ? RUNNEL_OK : fail(node.program->npu->take_failure());
}

// Steps the executor until the source has nothing left.
runnel_code drain(runnel_node& node) noexcept {
  bool done = false;
  while (node.source->pending() > 0 && !done) {
    if (const Status status = node.executor->step(done); !status.ok()) return fail(status);
  }
  if (const runnel_code code = after_npu(node); code != RUNNEL_OK) return code;
  if (done) return fail(RUNNEL_INVALID_ARGUMENT, "samples after the end of the stream: reset first");
  return RUNNEL_OK;
}

// Whether the gate skips this block; counts it then.
bool gated(runnel_node& node, const void* samples, std::size_t frames) noexcept {
  const auto& input = node.program->input;
  if (node.gate.opens(samples, frames, static_cast<std::size_t>(input.channels), node.program->samples))
    return false;
  node.gated += frames;
  node.source->lose(static_cast<std::int64_t>(frames));
  return true;
}

runnel_code push(runnel_node* node, const void* samples, std::size_t frames, DType type) noexcept {
  if (node == nullptr || (samples == nullptr && frames > 0))
    return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of node or samples");
  if (type != node->program->samples)
    return fail(RUNNEL_MISMATCH, type == DType::int16 ? "16-bit samples, the program takes floats"
                                                      : "floats, the program takes 16-bit samples");
  if (node->ended) return fail(RUNNEL_INVALID_ARGUMENT, "samples after the end of the stream: reset first");
  if (frames == 0 || gated(*node, samples, frames)) return RUNNEL_OK;
  node->source->give(samples, frames);
  return drain(*node);
}

}  // namespace

runnel_code runnel_push_int16(runnel_node* node, const int16_t* samples, size_t frames) {
  return push(node, samples, frames, DType::int16);
}
runnel_code runnel_push_float(runnel_node* node, const float* samples, size_t frames) {
  return push(node, samples, frames, DType::float32);
}

runnel_code runnel_lost(runnel_node* node, uint64_t frames) {
  // The stream's length has a limit; what is pushed after it is refused by the executor.
  const auto room = [&] {
    return limits::kRecordingFrames - node->executor->samples() - node->executor->lost() -
           node->source->lost();
  };
  if (node == nullptr || frames > static_cast<std::uint64_t>(room()))
    return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer, or more lost samples than there can be");
  node->source->lose(static_cast<std::int64_t>(frames));
  return RUNNEL_OK;
}

runnel_code runnel_end(runnel_node* node) {
  if (node == nullptr) return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of the node");
  node->ended = true;
  if (const runnel_code code = fail(node->executor->end()); code != RUNNEL_OK) return code;
  return after_npu(*node);
}

int runnel_poll(runnel_node* node, runnel_event* event) {
  return node != nullptr && event != nullptr && node->queue != nullptr && node->queue->fetch(*event) ? 1 : 0;
}

runnel_code runnel_reset(runnel_node* node) {
  if (node == nullptr) return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of the node");
  node->executor->restart();
  node->source->forget();
  if (node->queue != nullptr) node->queue->forget();
  node->gate.reset();
  node->gated = node->overruns = 0;
  node->ended = false;
  return RUNNEL_OK;
}

runnel_facts runnel_facts_of(const runnel_program* program) {
  if (program == nullptr) return {};
  std::size_t models = program->model.count;
  for (const NamedModel& one : program->models) models += one.file.count;
  return {program->name,
          static_cast<std::uint32_t>(program->input.clock.sample_rate),
          static_cast<std::uint32_t>(program->input.channels),
          static_cast<std::uint32_t>(program->hop),
          static_cast<std::uint32_t>(program->labels.size()),
          models,
          program->memory_bytes,
          program->fast_bytes};
}

const char* runnel_label(const runnel_program* program, uint32_t index) {
  return program != nullptr && index < program->labels.size() ? program->labels[index] : nullptr;
}

runnel_counters runnel_counters_of(const runnel_node* node) {
  if (node == nullptr) return {};
  const pipeline::Executor& executor = *node->executor;
  const auto gone = static_cast<std::uint64_t>(executor.lost() + node->source->lost());
  runnel_counters out = {};
  out.samples = static_cast<std::uint64_t>(executor.samples()) + node->gated;
  out.lost = gone > node->gated ? gone - node->gated : 0;
  out.gated = node->gated;
  out.gaps = static_cast<std::uint64_t>(executor.gaps());
  out.events = static_cast<std::uint64_t>(executor.events());
  out.dropped_events = node->queue == nullptr ? 0 : node->queue->dropped();
  out.overruns = node->overruns + node->source->torn();
  out.memory_used = node->memory.used();
  out.fast_used = node->fast.used();
  if (node->program->npu != nullptr) node->program->npu->count(out);
  return out;
}

runnel_code runnel_set_gate(runnel_node* node, runnel_gate gate) {
  if (node == nullptr || !(gate.threshold >= 0))
    return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of the node, or a threshold below 0");
  node->gate.set(gate);
  node->gate.reset();
  return RUNNEL_OK;
}

runnel_code runnel_take(runnel_node* node, runnel_double_buffer* buffer) {
  if (node == nullptr || buffer == nullptr || buffer->samples == nullptr || buffer->frames == 0)
    return fail(RUNNEL_INVALID_ARGUMENT,
                "a null pointer instead of node or buffer, or halves without samples");
  if (node->ended) return fail(RUNNEL_INVALID_ARGUMENT, "samples after the end of the stream: reset first");
  const std::size_t half_bytes = buffer->frames * static_cast<std::size_t>(node->program->input.channels) *
                                 size_of(node->program->samples);
  const std::uint64_t before = node->overruns + node->source->torn();
  while (buffer->taken != buffer->filled) {
    // Only the last complete half is still intact.
    if (const std::uint32_t waiting = buffer->filled - buffer->taken; waiting > 1) {
      node->source->lose(static_cast<std::int64_t>(waiting - 1) * buffer->frames);
      node->overruns += waiting - 1;
      buffer->taken += waiting - 1;
    }
    const auto* half = static_cast<const std::byte*>(buffer->samples) + (buffer->taken % 2) * half_bytes;
    if (!gated(*node, half, buffer->frames)) {
      node->source->give(half, buffer->frames, *buffer, buffer->taken);
      if (const runnel_code code = drain(*node); code != RUNNEL_OK) return code;
    }
    ++buffer->taken;
  }
  return node->overruns + node->source->torn() == before
             ? RUNNEL_OK
             : fail(RUNNEL_OVERRUN, "samples came faster than they were taken");
}

runnel_code runnel_loop(runnel_node* node, runnel_double_buffer* buffer, const runnel_hooks* hooks) {
  if (hooks == nullptr || hooks->event == nullptr)
    return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of the hooks or the one for events");
  const auto tell = [&] {
    for (runnel_event event; runnel_poll(node, &event) == 1;) hooks->event(hooks->user, &event);
  };
  for (;;) {
    if (const runnel_code code = runnel_take(node, buffer); code != RUNNEL_OK && code != RUNNEL_OVERRUN)
      return code;
    tell();
    if (hooks->stop != nullptr && hooks->stop(hooks->user) != 0) break;
    if (buffer->taken == buffer->filled && hooks->wait != nullptr) hooks->wait(hooks->user);
  }
  const runnel_code code = runnel_end(node);
  tell();
  return code;
}
