// Data movement, written: Reshape, Transpose, Slice, Concat, Split, Pad, and operators that read or write by
// index.
#include <algorithm>

#include "compiler/write/espdl/lowering.h"

namespace runnel::compiler::espdl_source {

void lower_reshape(Lowering& to, const compiler::Node& node) {
  const std::vector<std::int64_t> shape = wide(to.output(node).shape);
  to.add(node, "Reshape", {to.operand(node, 0), to.integers(node, "shape", shape)}).attributes["allowzero"] =
      std::int64_t{0};
}

void lower_transpose(Lowering& to, const compiler::Node& node) {
  const auto& perm = std::get<TransposeOptions>(node.options).perm;
  to.add(node, "Transpose", {to.operand(node, 0)}).attributes["perm"] =
      std::vector<std::int64_t>(perm.begin(), perm.end());
}

void lower_slice(Lowering& to, const compiler::Node& node) {
  const auto& o = std::get<SliceOptions>(node.options);
  const auto &x = to.input(node, 0).shape, &y = to.output(node).shape;
  std::vector<std::int64_t> starts, ends, axes, steps;
  const auto add = [&](std::size_t i) {
    const std::int64_t first = o.begin[i], step = o.step[i], last = first + (y[i] - 1) * step;
    starts.push_back(first);
    // One after the last; before 0 there is only "further than all".
    const std::int64_t end = last + (step > 0 ? 1 : -1);
    ends.push_back(end < 0 ? -static_cast<std::int64_t>(x[i]) - 1 : end);
    axes.push_back(static_cast<std::int64_t>(i));
    steps.push_back(step);
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (o.begin[i] != 0 || o.step[i] != 1 || y[i] != x[i]) add(i);
  }
  if (axes.empty()) add(0);
  to.add(node, "Slice",
         {to.operand(node, 0), to.integers(node, "starts", starts), to.integers(node, "ends", ends),
          to.integers(node, "axes", axes), to.integers(node, "steps", steps)});
}

void lower_concat(Lowering& to, const compiler::Node& node) {
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(to.operand(node, i));
  to.add(node, "Concat", std::move(inputs)).attributes["axis"] =
      static_cast<std::int64_t>(std::get<AxisOptions>(node.options).axis);
}

void lower_split(Lowering& to, const compiler::Node& node) {
  const int axis = std::get<AxisOptions>(node.options).axis;
  std::vector<std::int64_t> sizes;
  for (const TensorId id : node.outputs) sizes.push_back(to.at(id).shape[static_cast<std::size_t>(axis)]);
  to.add(node, "Split", {to.operand(node, 0), to.integers(node, "split", sizes)}).attributes["axis"] =
      static_cast<std::int64_t>(axis);
}

void lower_pad(Lowering& to, const compiler::Node& node) {
  const auto& o = std::get<PadOptions>(node.options);
  const Tensor& y = to.output(node);
  std::vector<std::int64_t> pads = wide(o.before);
  pads.insert(pads.end(), o.after.begin(), o.after.end());
  std::vector<std::string> inputs = {to.operand(node, 0), to.integers(node, "pads", pads)};
  const bool constant = o.mode == PadMode::zero;
  if (constant && is_quantized(y.dtype)) {
    inputs.push_back(to.constant(quantized_value(node.name + "/value", y, o.value)));
  } else if (constant && (o.value != 0 || o.real_value != 0)) {
    to.refuse(node, "padding of " + std::string(runnel::name_of(y.dtype)) + " with other values than 0");
    return;
  }
  to.add(node, "Pad", std::move(inputs)).attributes["mode"] =
      std::string(constant                     ? "constant"
                  : o.mode == PadMode::reflect ? "reflect"
                                               : "edge");
}

void lower_gather(Lowering& to, const compiler::Node& node) {
  const int axis = std::get<AxisOptions>(node.options).axis;
  const Tensor& indices = to.input(node, 1);
  std::string list = to.operand(node, 1);
  // A single index takes the axis away: the reshape after it.
  const compiler::Node* last = nullptr;
  if (indices.data && indices.shape == std::vector<std::int32_t>{1}) {
    const compiler::Node* const next = to.tail(node, OpCode::reshape);
    std::vector<std::int32_t> rest = to.output(node).shape;
    rest.erase(rest.begin() + axis);
    if (rest.empty()) rest.push_back(1);
    if (next != nullptr && to.output(*next).shape == rest) {
      Constant scalar = to.constant_of(indices);
      scalar.dims.clear();
      scalar.exponents.clear();
      list = to.constant(std::move(scalar));
      last = next;
      to.skip(*next);
    }
  }
  to.add(node, "Gather", {to.operand(node, 0), list}, last).attributes["axis"] =
      static_cast<std::int64_t>(axis);
}

void lower_scatter(Lowering& to, const compiler::Node& node) {
  const auto reduction = std::get<ScatterOptions>(node.options).reduction;
  to.add(node, "ScatterND", {to.operand(node, 0), to.operand(node, 1), to.operand(node, 2)})
      .attributes["reduction"] = std::string(name_of(reduction));
}

void lower_reverse(Lowering& to, const compiler::Node& node) {
  const auto& o = std::get<ReverseOptions>(node.options);
  Node& out = to.add(node, "ReverseSequence", {to.operand(node, 0), to.operand(node, 1)});
  out.attributes["batch_axis"] = static_cast<std::int64_t>(o.batch_axis);
  out.attributes["time_axis"] = static_cast<std::int64_t>(o.time_axis);
}

void lower_expand(Lowering& to, const compiler::Node& node) {
  to.add(node, "Expand", {to.operand(node, 0), to.integers(node, "shape", wide(to.output(node).shape))});
}

// x, W, R, B, lengths of sequences (never), initial h and c.
void lower_recurrent(Lowering& to, const compiler::Node& node) {
  const auto& o = std::get<RecurrentOptions>(node.options);
  const bool lstm = node.code == OpCode::lstm;
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (i == 4) inputs.emplace_back();
    inputs.push_back(to.operand(node, i));
  }
  Node& out = to.add(node, lstm ? "LSTM" : "GRU", std::move(inputs));
  std::vector<std::string> outputs;
  auto next = out.outputs.begin();
  for (int i = 0; i < (lstm ? 3 : 2); ++i)
    outputs.push_back((o.outputs & (1 << i)) != 0 ? *next++ : std::string());
  while (outputs.back().empty()) outputs.pop_back();
  out.outputs = std::move(outputs);
  out.attributes["direction"] = std::string(name_of(o.direction));
  out.attributes["gate_exponent"] = static_cast<std::int64_t>(o.gate_exponent);
  out.attributes["hidden_size"] = static_cast<std::int64_t>(to.input(node, 2).shape.back());
  if (!lstm) out.attributes["linear_before_reset"] = std::int64_t{1};
}

void lower_norm(Lowering& to, const compiler::Node& node) {
  const auto& o = std::get<NormOptions>(node.options);
  if (node.code == OpCode::lp_norm) {
    Node& out = to.add(node, "LpNormalization", {to.operand(node, 0)});
    out.attributes["axis"] = static_cast<std::int64_t>(o.axis);
    out.attributes["p"] = static_cast<std::int64_t>(o.p);
    return;
  }
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(to.operand(node, i));
  Node& out = to.add(node, node.code == OpCode::layer_norm ? "LayerNormalization" : "RMSNormalization",
                     std::move(inputs));
  out.attributes["axis"] = static_cast<std::int64_t>(o.axis);
  out.attributes["epsilon"] = o.epsilon;
}

}  // namespace runnel::compiler::espdl_source
