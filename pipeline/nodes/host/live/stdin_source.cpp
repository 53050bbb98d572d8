#include "pipeline/nodes/host/live/stdin_source.h"

namespace runnel::pipeline {

const NodeType StdinSource::type = {
    .name = "stdin",
    .help = "Reads bare samples from the standard input, as they arrive.",
    .input = {},
    .output = {static_cast<Kinds>(Kind::audio), "float32; integers in [-1, 1)"},
    .parameters = kPcmParameters,
    .make = make_node<StdinSource>,
};

Status StdinSource::open(NodeContext& context) noexcept {
  context.output.source = "stdin";
  return input_.open("-");
}

}  // namespace runnel::pipeline
