#include "services/arrays/collect.h"

#include <new>
#include <utility>

namespace runnel::arrays {

using pipeline::Kind;

const pipeline::NodeType Collect::type = {
    .name = "collect",
    .help = "Keeps frames, samples or events in memory for the program.",
    .input = {Kind::audio | Kind::frames | Kind::events, "any type"},
    .output = {},
    .parameters = {},
    .make = pipeline::make_node<Collect>,
};

Status Collect::prepare(pipeline::NodeContext& context) noexcept {
  format_ = context.input;
  records_ = pipeline::EventRecords({}, format_);
  return {};
}

Collected Collect::take() {
  const std::lock_guard lock(mutex_);
  next_ = -1;
  return std::exchange(collected_, {});
}

Status Collect::keep(const pipeline::Block& in) {
  const std::lock_guard lock(mutex_);
  if (format_.kind == Kind::events) {
    for (std::int64_t i = 0; i < in.count; ++i)
      collected_.records.push_back(records_.event(in.as<pipeline::Event>()[i]));
    return {};
  }
  if (in.count == 0) return {};
  if (in.first != next_) collected_.runs.push_back({static_cast<std::size_t>(collected_.frames), in.first});
  next_ = in.first + in.count;
  collected_.frames += in.count;
  const std::size_t bytes = static_cast<std::size_t>(in.count) * format_.frame_bytes();
  collected_.data.insert(collected_.data.end(), in.data, in.data + bytes);
  return {};
}

// Nodes do not throw: too little memory is a failure of the run.
Status Collect::process(const pipeline::Block& in, pipeline::Output&) noexcept {
  try {
    return keep(in);
  } catch (const std::bad_alloc&) {
    return pipeline::out_of_memory("what the graph gives");
  }
}

Status Collect::gap(const pipeline::Gap& gap) noexcept {
  if (format_.kind != Kind::events) return {};
  try {
    const std::lock_guard lock(mutex_);
    collected_.records.push_back(records_.gap(gap));
    return {};
  } catch (const std::bad_alloc&) {
    return pipeline::out_of_memory("what the graph gives");
  }
}

}  // namespace runnel::arrays
