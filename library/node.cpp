#include "library/node.h"

#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "base/crc32c.h"
#include "base/version.h"
#include "library/states.h"

using runnel::Code;
using runnel::DType;
using runnel::Status;

namespace {

// Counts up when a state changes its form within a version of the library.
constexpr std::uint32_t kForm = 1;

// What precedes the state.
struct Header {
  char magic[8] = {'R', 'N', 'L', 'S', 'A', 'V', 'E', '2'};
  std::uint32_t identity = 0;  // of the library's version and the program
  std::uint64_t bytes = 0;     // of the state
  std::uint32_t crc = 0;       // of all bytes but these
  static constexpr std::size_t kBytes = 24, kUnderChecksum = 20;

  void state(runnel::StateArchive& archive) noexcept {
    archive.values(std::span<char>(magic));
    archive.value(identity);
    archive.value(bytes);
    archive.value(crc);
  }
};

std::uint32_t checksum(std::span<const std::byte> all) noexcept {
  return runnel::crc32c(all.subspan(Header::kBytes), runnel::crc32c(all.first(Header::kUnderChecksum)));
}

std::uint32_t identity_of(const runnel::library::Program& program) {
  const std::uint32_t parts[] = {kForm, program.identity()};
  return runnel::crc32c(std::as_bytes(std::span(parts)),
                        runnel::crc32c(std::as_bytes(std::span(runnel::kVersion))));
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
  runnel::library::graph_state(*graph, archive);
  outbox->state(archive);
}

std::size_t runnel_node::saved_bytes() const {
  if (!program->saveable().ok()) return 0;
  runnel::StateArchive archive = runnel::StateArchive::measuring();
  const_cast<runnel_node*>(this)->state(archive);  // which measuring and saving leave as it is
  return Header::kBytes + archive.bytes();
}

Status runnel_node::save(std::span<std::byte> to) const {
  RUNNEL_TRY(program->saveable());
  const std::size_t size = saved_bytes();
  if (to.size() < size)
    return Status(Code::out_of_memory) << "room for " << to.size() << " saved bytes, expected at least "
                                       << size << ", as runnel_saved_bytes() said";
  to = to.first(size);
  runnel::StateArchive body = runnel::StateArchive::saving(to.subspan(Header::kBytes));
  const_cast<runnel_node*>(this)->state(body);
  if (!body.ok()) return body.status();
  Header header;
  header.identity = identity_of(*program);
  header.bytes = size - Header::kBytes;
  const auto write = [&] {
    runnel::StateArchive archive = runnel::StateArchive::saving(to.first(Header::kBytes));
    header.state(archive);
  };
  write();
  header.crc = checksum(to);
  write();
  return {};
}

Status runnel_node::restore(std::span<const std::byte> from) {
  RUNNEL_TRY(program->saveable());
  if (from.size() < Header::kBytes)
    return Status(Code::invalid_data) << from.size() << " saved bytes, expected at least " << Header::kBytes;
  Header saved;
  runnel::StateArchive head = runnel::StateArchive::restoring(from.first(Header::kBytes));
  saved.state(head);
  if (std::memcmp(saved.magic, Header().magic, sizeof saved.magic) != 0)
    return Status(Code::invalid_data, "bytes that runnel_save() of this version did not write");
  if (saved.identity != identity_of(*program))
    return Status(Code::mismatch, "saved with another program or another version of the library");
  if (saved.bytes != from.size() - Header::kBytes)
    return Status(Code::mismatch) << "saved bytes of another size: " << from.size() - Header::kBytes
                                  << " after the first " << Header::kBytes << ", expected " << saved.bytes;
  if (saved.crc != checksum(from))
    return Status(Code::invalid_data, "saved bytes are damaged: their checksum differs");
  runnel::StateArchive body = runnel::StateArchive::restoring(from.subspan(Header::kBytes));
  state(body);
  body.expect(body.left() == 0, "what follows its end");
  if (body.ok()) return {};
  reset();
  return Status(body.status().code())
         << "saved bytes that no node has written: " << body.status().text() << "; the node was reset";
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
