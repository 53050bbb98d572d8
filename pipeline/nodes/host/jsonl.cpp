#include "pipeline/nodes/host/jsonl.h"

#include <cerrno>
#include <cstring>

#include "pipeline/host/json.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Jsonl::path>("path", "", "file to write; empty: standard output"),
    text_parameter<&Jsonl::source>("source", "", "name in the records; empty: that of the recording or device"),
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

Status Jsonl::prepare(PrepareContext& context) noexcept {
  source_ = json_string(source.empty() ? context.input.source : source);
  sample_rate_ = context.input.clock.sample_rate;
  if (path.empty()) return {};
  RUNNEL_ASSIGN(file_, OutputFile::create(path));
  return {};
}

void Jsonl::name_source(std::string_view name) { source_ = json_string(name); }

Status Jsonl::write(const std::string& line) {
  if (!path.empty()) return file_.write(line);
  if (sink) {
    sink(std::string_view(line).substr(0, line.size() - 1));
    return {};
  }
  // A reader of a live stream wants each line at once.
  if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size() || std::fflush(stdout) != 0) {
    return Status(Code::io_error) << "cannot write to standard output: " << std::strerror(errno);
  }
  return {};
}

Status Jsonl::process(const Block& in, Output&) noexcept {
  const Event* events = in.as<Event>();
  for (std::int64_t i = 0; i < in.count; ++i) {
    const Event& event = events[i];
    RUNNEL_TRY(write("{\"type\":\"event\",\"source\":" + source_ + ",\"label\":" + json_string(event.label) + ",\"score\":" +
                     json_number(static_cast<double>(event.score), 4) + ",\"start\":" + json_seconds(event.begin, sample_rate_) +
                     ",\"end\":" + json_seconds(event.end, sample_rate_) + ",\"frame\":" + std::to_string(event.frame) + "}\n"));
  }
  return {};
}

Status Jsonl::gap(const Gap& gap) noexcept {
  return write("{\"type\":\"gap\",\"source\":" + source_ + ",\"start\":" + json_seconds(gap.start, sample_rate_) +
               ",\"end\":" + json_seconds(gap.end, sample_rate_) + ",\"lost_samples\":" + std::to_string(gap.lost) + "}\n");
}

Status Jsonl::finish() noexcept { return path.empty() ? Status() : file_.commit(); }

}  // namespace runnel::pipeline
