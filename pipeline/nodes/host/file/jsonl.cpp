#include "pipeline/nodes/host/file/jsonl.h"

#include <cerrno>
#include <cstring>

#include "base/host/output_name.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Jsonl::path>("path", "", "file to write; empty: standard output"),
    text_parameter<&Jsonl::source>("source", "",
                                   "name in the records; empty: that of the recording or device"),
};

}  // namespace

const NodeType Jsonl::type = {
    .name = "jsonl",
    .help = "Writes events as JSON, one object per line.",
    .input = {static_cast<Kinds>(Kind::events), "events"},
    .output = {},
    .parameters = kParameters,
    .make = make_node<Jsonl>,
};

Status Jsonl::prepare(NodeContext& context) noexcept {
  records_ = EventRecords(source, context.input);
  if (path.empty()) return {};
  RUNNEL_TRY(check_output_name(path, {".jsonl", ".ndjson"}));
  RUNNEL_ASSIGN(file_, OutputFile::create(path));
  return {};
}

void Jsonl::name_source(std::string_view name) { records_.name_source(name); }

Status Jsonl::write(std::string line) {
  if (sink && path.empty()) {
    sink(line);
    return {};
  }
  line += '\n';
  if (!path.empty()) return file_.write(line);
  // Flushed, because a reader of a live stream needs each line at once.
  if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size() || std::fflush(stdout) != 0) {
    return Status(Code::io_error) << "cannot write to standard output: " << std::strerror(errno);
  }
  return {};
}

Status Jsonl::process(const Block& in, Output&) noexcept {
  for (std::int64_t i = 0; i < in.count; ++i) RUNNEL_TRY(write(records_.event(in.as<Event>()[i])));
  return {};
}

Status Jsonl::gap(const Gap& gap) noexcept { return write(records_.gap(gap)); }

Status Jsonl::finish() noexcept { return path.empty() ? Status() : file_.commit(); }

}  // namespace runnel::pipeline
