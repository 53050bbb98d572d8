#include "services/batch/piece_sink.h"

#include <algorithm>

namespace runnel::batch {

using pipeline::Kind;
using pipeline::Kinds;

const pipeline::NodeType PieceSink::type = {.name = "piece_sink",
                                            .help = "Keeps frames.",
                                            .input = {static_cast<Kinds>(Kind::frames), "any type"},
                                            .output = {},
                                            .parameters = {},
                                            .make = pipeline::make_node<PieceSink>};

Status PieceSink::prepare(pipeline::NodeContext& context) noexcept {
  format = context.input;
  return {};
}

Status PieceSink::process(const pipeline::Block& in, pipeline::Output&) noexcept {
  const std::int64_t dropped = std::min(drop, in.count);
  drop -= dropped;
  const std::size_t frame = format.frame_bytes();
  bytes.insert(bytes.end(), in.data + static_cast<std::size_t>(dropped) * frame,
               in.data + static_cast<std::size_t>(in.count) * frame);
  return {};
}

}  // namespace runnel::batch
