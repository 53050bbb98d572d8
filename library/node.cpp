#include "library/node.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/cpu.h"
#include "base/crc32c.h"
#include "base/host/late_library.h"
#include "decoding/host/search_tables.h"

using runnel::Code;
using runnel::DType;
using runnel::Status;

namespace {

constexpr char kMagic[8] = {'R', 'N', 'L', 'S', 'A', 'V', 'E', '1'};

}  // namespace

struct runnel_node::Header {
  char magic[8] = {};
  std::uint32_t identity = 0;  // of library, program, processor and layout
  std::uint32_t crc = 0;       // of all bytes, with 0 in its place
  std::uint64_t graph_bytes = 0, decision_bytes = 0;
  std::uint64_t gated = 0, ended = 0;
  runnel::embed::EnergyGate gate;
};

std::uint32_t runnel_node::checksum(const Header& header, std::span<const std::byte> body) {
  static_assert(sizeof(Header) == 64, "no padding, which would have any value");
  return runnel::crc32c(body, runnel::crc32c(std::as_bytes(std::span(&header, 1))));
}

runnel::Result<std::unique_ptr<runnel_node>> runnel_node::make(
    const std::shared_ptr<const runnel::library::Program>& program, const runnel_options& options) {
  auto node = std::make_unique<runnel_node>();
  node->program = program;
  const runnel::library::Settings& settings = program->settings();
  node->outbox = std::make_unique<runnel::library::Outbox>(program->labels(), settings.source,
                                                           settings.events, settings.frames);
  RUNNEL_ASSIGN(node->graph, program->make_graph());
  node->source = &runnel::library::attach(*node->graph, *node->outbox);
  node->origin = runnel::library::origin_of(*node->graph);
  for (int i = 0; i < node->graph->size(); ++i) {
    const auto& stage = node->graph->stage(i);
    const auto* const decoder = runnel::library::decoder_of(*stage.type, *stage.node);
    if (decoder == nullptr || decoder->tables == nullptr) continue;
    const std::uint32_t one = runnel::decoding::fingerprint(*decoder->tables);
    node->tables = runnel::crc32c(std::as_bytes(std::span(&one, 1)), node->tables);
  }
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

runnel_node::Header runnel_node::header() const {
  Header header;
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  const auto& map = *program->state_map();
  const auto build = runnel::module_build();
  std::uint32_t identity = runnel::crc32c(std::as_bytes(std::span(build)));
  identity = runnel::crc32c(std::as_bytes(std::span(program->text())), identity);
  for (const runnel::Model* const model : program->models().loaded())
    identity = runnel::crc32c(model->bytes(), identity);
  const std::uint32_t layout[] = {map.fingerprint(), static_cast<std::uint32_t>(runnel::best_isa()), tables};
  header.identity = runnel::crc32c(std::as_bytes(std::span(layout)), identity);
  header.graph_bytes = map.bytes();
  header.decision_bytes = outbox->saved_bytes();
  header.gated = gated;
  header.ended = ended ? 1 : 0;
  header.gate = gate;
  return header;
}

std::size_t runnel_node::saved_bytes() const {
  const auto& map = program->state_map();
  return map.ok() ? sizeof(Header) + map->bytes() + outbox->saved_bytes() : 0;
}

Status runnel_node::save(std::span<std::byte> to) const {
  if (const auto& map = program->state_map(); !map.ok()) return map.status();
  if (to.size() < saved_bytes())
    return Status(Code::out_of_memory) << "room for " << to.size() << " saved bytes, expected at least "
                                       << saved_bytes() << ", as runnel_saved_bytes() said";
  to = to.first(saved_bytes());
  Header header = this->header();
  const std::span<std::byte> body = to.subspan(sizeof header);
  RUNNEL_TRY(
      program->state_map()->save(*graph, origin, body.first(static_cast<std::size_t>(header.graph_bytes))));
  outbox->save(body.data() + header.graph_bytes);
  header.crc = checksum(header, body);
  std::memcpy(to.data(), &header, sizeof header);
  return {};
}

Status runnel_node::restore(std::span<const std::byte> from) {
  if (const auto& map = program->state_map(); !map.ok()) return map.status();
  Header saved;
  if (from.size() < sizeof saved)
    return Status(Code::invalid_data) << from.size() << " saved bytes, expected at least " << sizeof saved;
  std::memcpy(static_cast<void*>(&saved), from.data(), sizeof saved);
  if (std::memcmp(saved.magic, kMagic, sizeof kMagic) != 0)
    return Status(Code::invalid_data, "bytes that runnel_save() did not write");
  const Header expected = header();
  if (saved.identity != expected.identity || saved.graph_bytes != expected.graph_bytes)
    return Status(Code::mismatch, "saved with another program, library or processor");
  const std::span<const std::byte> body = from.subspan(sizeof saved);
  if (saved.decision_bytes != body.size() - std::min<std::uint64_t>(body.size(), saved.graph_bytes) ||
      body.size() < saved.graph_bytes)
    return Status(Code::mismatch) << "saved bytes of another size: " << from.size() << ", expected "
                                  << sizeof saved + saved.graph_bytes + saved.decision_bytes;
  const std::uint32_t crc = std::exchange(saved.crc, 0);
  if (checksum(saved, body) != crc)
    return Status(Code::invalid_data, "saved bytes are damaged: their checksum differs");
  const auto size = static_cast<std::size_t>(saved.graph_bytes);
  // Decisions first: what they refuse leaves the node unchanged, as the graph's bytes then do.
  runnel::library::Outbox probe(program->labels(), {}, program->settings().events, 0);
  RUNNEL_TRY(probe.restore(body.subspan(size)));
  RUNNEL_TRY(program->state_map()->restore(*graph, origin, body.first(size)));
  RUNNEL_TRY(outbox->restore(body.subspan(size)));
  gated = saved.gated;
  ended = saved.ended != 0;
  gate = saved.gate;
  return {};
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
