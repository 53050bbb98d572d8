// Normalization, and operators that read or write by index: Gather, ScatterND, ReverseSequence, Expand.
#include <algorithm>

#include "compiler/import/espdl/builder.h"

namespace runnel::compiler::espdl_source {

Status convert_norm(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  RUNNEL_ASSIGN(const std::int64_t given, node.integer("axis", -1));
  NormOptions options;
  RUNNEL_ASSIGN(options.axis, normalize_axis(node, given, builder.at(input).shape.size()));
  std::vector<TensorId> inputs = {input};
  OpCode code = OpCode::lp_norm;
  if (node.op == "LpNormalization") {
    RUNNEL_ASSIGN(const std::int64_t p, node.integer("p", 2));
    if (p != 1 && p != 2) return Builder::fail(node, Code::unsupported) << "p = " << p << ", expected 1 or 2";
    options.p = static_cast<int>(p);
  } else {
    code = node.op == "LayerNormalization" ? OpCode::layer_norm : OpCode::rms_norm;
    RUNNEL_ASSIGN(options.epsilon, node.number("epsilon", 1e-5f));
    for (std::size_t position = 1; position < node.inputs.size(); ++position) {
      if (node.inputs[position].empty()) continue;
      RUNNEL_ASSIGN(const TensorId factor, builder.operand(node, position));
      inputs.push_back(factor);
    }
  }
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit(node, code, std::move(inputs), {output}, options);
}

Status convert_gather(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  RUNNEL_ASSIGN(const TensorId indices, builder.operand(node, 1));
  RUNNEL_ASSIGN(const std::int64_t given, node.integer("axis", 0));
  RUNNEL_ASSIGN(const int axis, normalize_axis(node, given, builder.at(input).shape.size()));
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  const Constant* known = builder.source().constant(node.inputs[1]);
  if (known == nullptr || !known->dims.empty())
    return builder.emit(node, OpCode::gather, {input, indices}, {output}, AxisOptions{axis});
  // A single index takes the axis away.
  const TensorId kept = builder.intermediate(output, node.name);
  RUNNEL_TRY(builder.emit(node, OpCode::gather, {input, indices}, {kept}, AxisOptions{axis}));
  std::vector<std::int32_t> shape = builder.at(kept).shape;
  shape.erase(shape.begin() + axis);
  if (shape.empty()) shape.push_back(1);
  return builder.emit_reshape(node, kept, output, std::move(shape));
}

Status convert_scatter(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  RUNNEL_ASSIGN(const TensorId indices, builder.operand(node, 1));
  RUNNEL_ASSIGN(const TensorId updates, builder.operand(node, 2));
  RUNNEL_ASSIGN(const std::string reduction, node.text("reduction", "none"));
  ScatterOptions options;
  int found = 0;
  while (found < kScatterReductions && name_of(static_cast<ScatterReduction>(found)) != reduction) ++found;
  if (found == kScatterReductions)
    return Builder::fail(node, Code::unsupported)
           << "reduction \"" << reduction << "\", expected none, add, mul, max or min";
  options.reduction = static_cast<ScatterReduction>(found);
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit(node, OpCode::scatter_nd, {input, indices, updates}, {output}, options);
}

Status convert_reverse(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  RUNNEL_ASSIGN(const TensorId lengths, builder.operand(node, 1));
  const std::size_t rank = builder.at(input).shape.size();
  RUNNEL_ASSIGN(const std::int64_t time, node.integer("time_axis", 0));
  RUNNEL_ASSIGN(const std::int64_t batch, node.integer("batch_axis", 1));
  ReverseOptions options;
  RUNNEL_ASSIGN(options.time_axis, normalize_axis(node, time, rank));
  RUNNEL_ASSIGN(options.batch_axis, normalize_axis(node, batch, rank));
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit(node, OpCode::reverse_sequence, {input, lengths}, {output}, options);
}

Status convert_expand(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  RUNNEL_ASSIGN(std::vector<std::int64_t> target, builder.integers(node, 1));
  const std::vector<std::int32_t> x = builder.at(input).shape;
  while (target.size() < x.size()) target.insert(target.begin(), 1);
  std::vector<std::int32_t> shape;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const std::size_t more = target.size() - x.size();
    const std::int64_t from = i < more ? 1 : x[i - more];
    if (target[i] < 1 || target[i] > kMaxElements || (from != 1 && target[i] != 1 && target[i] != from)) {
      return Builder::fail(node) << "expands " << from << " elements of axis " << i << " to " << target[i];
    }
    shape.push_back(static_cast<std::int32_t>(std::max(from, target[i])));
  }
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  builder.at(output).shape = std::move(shape);
  return builder.emit(node, OpCode::expand, {input}, {output});
}

}  // namespace runnel::compiler::espdl_source
