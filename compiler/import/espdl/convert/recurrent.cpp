// GRU and LSTM.
#include <algorithm>

#include "compiler/import/espdl/builder.h"

namespace runnel::compiler::espdl_source {
namespace {

bool is_read(const Model& model, const std::string& name) {
  if (std::find(model.outputs.begin(), model.outputs.end(), name) != model.outputs.end()) return true;
  return std::any_of(model.nodes.begin(), model.nodes.end(), [&](const Node& node) {
    return std::find(node.inputs.begin(), node.inputs.end(), name) != node.inputs.end();
  });
}

bool has(const Node& node, std::size_t position) {
  return position < node.inputs.size() && !node.inputs[position].empty();
}

Status check_attributes(const Node& node) {
  for (const char* refused : {"clip", "activations"}) {
    if (node.attributes.contains(refused))
      return Builder::fail(node, Code::unsupported)
             << "attribute \"" << refused
             << "\", expected the operator's own sigmoid and tanh without limits";
  }
  RUNNEL_ASSIGN(const std::int64_t layout, node.integer("layout", 0));
  if (layout != 0)
    return Builder::fail(node, Code::unsupported) << "layout " << layout << ", expected 0 (time first)";
  RUNNEL_ASSIGN(const std::int64_t reset_last, node.integer("linear_before_reset", 0));
  if (node.op == "GRU" && reset_last != 1) {
    return Builder::fail(node, Code::unsupported)
           << "linear_before_reset " << reset_last
           << ", expected 1: the reset gate after the product with the state";
  }
  if (has(node, 4))
    return Builder::fail(node, Code::unsupported) << "lengths of sequences (input 4), expected none";
  return {};
}

}  // namespace

Status convert_recurrent(Builder& builder, const Node& node) {
  RUNNEL_TRY(check_attributes(node));
  RecurrentOptions options;
  RUNNEL_ASSIGN(const std::string direction, node.text("direction", "forward"));
  if (direction == "reverse")
    options.direction = Direction::reverse;
  else if (direction == "bidirectional")
    options.direction = Direction::bidirectional;
  else if (direction != "forward")
    return Builder::fail(node) << "direction \"" << direction
                               << "\", expected forward, reverse or bidirectional";
  RUNNEL_ASSIGN(const std::int64_t gates, node.integer("gate_exponent", 0));
  if (gates < -100 || gates > 100)
    return Builder::fail(node) << "gate_exponent " << gates << ", expected -13 to -1";
  options.gate_exponent = static_cast<int>(gates);

  // x, W, R, B, (lengths), initial h, initial c.
  std::vector<TensorId> inputs;
  const bool lstm = node.op == "LSTM";
  for (const std::size_t position : {0u, 1u, 2u, 3u, 5u, 6u}) {
    if (position == 6 && !lstm) continue;
    TensorId id = kAbsent;
    if (position < 3 || has(node, position)) {
      RUNNEL_ASSIGN(id, builder.operand(node, position));
    }
    inputs.push_back(id);
  }

  // Only what something reads: the last state has no time axis.
  std::vector<TensorId> outputs;
  options.outputs = 0;
  const auto add = [&](std::size_t position) -> Status {
    RUNNEL_ASSIGN(const TensorId id, builder.output(node, position));
    options.outputs |= 1 << position;
    outputs.push_back(id);
    return {};
  };
  for (std::size_t position = 0; position < std::min<std::size_t>(node.outputs.size(), lstm ? 3 : 2);
       ++position) {
    if (!node.outputs[position].empty() && is_read(builder.source(), node.outputs[position]))
      RUNNEL_TRY(add(position));
  }
  if ((options.outputs & 3) == 0)
    return Builder::fail(node, Code::unsupported) << "nothing reads its frames or its last state";
  return builder.emit(node, lstm ? OpCode::lstm : OpCode::gru, std::move(inputs), std::move(outputs),
                      options);
}

}  // namespace runnel::compiler::espdl_source
