#include "library/node.h"

#include <span>
#include <string_view>
#include <utility>

#include "base/crc32c.h"
#include "base/host/sealed_state.h"
#include "base/limits.h"
#include "base/version.h"
#include "library/states.h"
#include "pipeline/nodes/host/graph_state.h"

using runnel::Code;
using runnel::DType;
using runnel::Status;

namespace {

// Counts up when a state changes its form within a version of the library.
constexpr std::uint32_t kForm = 1;

runnel::Seal seal_of(const runnel::library::Program& program) {
  const std::uint32_t parts[] = {kForm, program.identity()};
  return {"RNLSAVE2", runnel::crc32c(std::as_bytes(std::span(parts)),
                                     runnel::crc32c(std::as_bytes(std::span(runnel::kVersion))))};
}

}  // namespace

runnel::Result<std::unique_ptr<runnel_node>> runnel_node::make(
    const std::shared_ptr<const runnel::library::Program>& program, const runnel_options& options) {
  auto node = std::make_unique<runnel_node>();
  node->program = program;
  const runnel::library::Settings& settings = program->settings();
  node->outbox = std::make_unique<runnel::library::Outbox>(program->labels(), settings.source,
                                                           settings.events, settings.frames);
  RUNNEL_ASSIGN(node->graph, program->make_graph());
  node->source = &runnel::library::attach(*node->graph, *node->outbox);
  node->outbox->observe(options.on_frames, options.user);
  node->gate.reset();
  return node;
}

Status runnel_node::push(const void* samples, std::size_t frames, DType dtype) {
  if (ended) return Status(Code::invalid_argument, "samples after the end of the stream: reset first");
  if (frames == 0) return {};
  if (!gate.opens(samples, frames, static_cast<std::size_t>(source->channels), dtype)) {
    gated += frames;
    return lose(frames);
  }
  source->give(samples, frames, dtype);
  Status status;
  bool done = false;
  while (status.ok() && source->pending() > 0 && !done) status = graph->executor().step(done);
  // After a failure the rest is dropped: its memory is the caller's.
  source->give(nullptr, 0, dtype);
  return status;
}

Status runnel_node::lose(std::uint64_t frames) {
  if (ended) return Status(Code::invalid_argument, "lost samples after the end of the stream: reset first");
  const runnel::pipeline::Executor& executor = graph->executor();
  const std::int64_t room =
      runnel::limits::kRecordingFrames - executor.samples() - executor.lost() - source->lost();
  if (frames > static_cast<std::uint64_t>(room))
    return Status(Code::invalid_argument)
           << frames << " lost samples, expected at most " << room << ": a stream has at most "
           << runnel::limits::kRecordingFrames << " samples";
  source->lose(static_cast<std::int64_t>(frames));
  return {};
}

Status runnel_node::end() {
  ended = true;
  return graph->executor().end();
}

void runnel_node::reset() {
  graph->executor().restart();
  source->forget();
  outbox->forget();
  gate.reset();
  gated = 0;
  ended = false;
}

void runnel_node::state(runnel::StateArchive& archive) {
  archive.value(gated);
  archive.value(ended);
  gate.state(archive);
  runnel::pipeline::graph_state(*graph, runnel::library::own_states(), archive);
  outbox->state(archive);
}

std::size_t runnel_node::saved_bytes() const {
  if (!program->saveable().ok()) return 0;
  auto* const self = const_cast<runnel_node*>(this);  // measuring and saving leave it as it is
  return runnel::sealed_bytes([&](runnel::StateArchive& archive) { self->state(archive); });
}

Status runnel_node::save(std::span<std::byte> to) const {
  RUNNEL_TRY(program->saveable());
  auto* const self = const_cast<runnel_node*>(this);
  return runnel::save_sealed(to, seal_of(*program),
                             [&](runnel::StateArchive& archive) { self->state(archive); });
}

Status runnel_node::restore(std::span<const std::byte> from) {
  RUNNEL_TRY(program->saveable());
  bool changed = false;
  const Status status = runnel::restore_sealed(
      from, seal_of(*program), [&](runnel::StateArchive& archive) { state(archive); }, changed);
  if (!changed || status.ok()) return status;
  reset();
  return Status(status.code()) << "saved bytes that no node has written: " << status.text()
                               << "; the node was reset";
}

runnel_counters runnel_node::counters() const {
  const runnel::pipeline::Executor& executor = graph->executor();
  const auto gone = static_cast<std::uint64_t>(executor.lost() + source->lost());
  runnel_counters out = {};
  out.samples = static_cast<std::uint64_t>(executor.samples()) + gated;
  out.lost = gone > gated ? gone - gated : 0;
  out.gated = gated;
  out.gaps = static_cast<std::uint64_t>(executor.gaps());
  out.events = static_cast<std::uint64_t>(executor.events());
  out.dropped_events = outbox->dropped();
  out.memory_used = graph->memory_bytes();
  return out;
}
