#include "pipeline/host/promise.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    parameter<&Promise::sample_rate>("sample_rate", "Hz", 1, 768000, "of the sound")};

}  // namespace

const NodeType Promise::type = {
    .name = "sound",
    .help = "Sound to come.",
    .input = {},
    .output = {static_cast<Kinds>(Kind::audio), "float32"},
    .parameters = kParameters,
    .make = make_node<Promise>,
};

Status Promise::prepare(NodeContext& context) noexcept {
  context.output.kind = Kind::audio;
  context.output.dtype = DType::float32;
  context.output.channels = 1;
  context.output.clock.sample_rate = sample_rate;
  context.max_output = context.max_input;
  return {};
}

Status Promise::process(const Block&, Output& out) noexcept {
  out.end = true;
  return {};
}

std::vector<const NodeType*> with_nodes(NodeTable nodes, std::initializer_list<const NodeType*> more) {
  std::vector<const NodeType*> all(nodes.begin(), nodes.end());
  all.insert(all.end(), more);
  return all;
}

}  // namespace runnel::pipeline
