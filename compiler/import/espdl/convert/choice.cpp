// Remainders, comparisons, logic, Where, Cast, ArgMax and TopK.
#include <algorithm>
#include <iterator>

#include "compiler/import/espdl/builder.h"

namespace runnel::compiler::espdl_source {
namespace {

constexpr std::pair<std::string_view, OpCode> kComparisons[] = {{"Equal", OpCode::equal},
                                                                {"Greater", OpCode::greater},
                                                                {"GreaterOrEqual", OpCode::greater_or_equal},
                                                                {"Less", OpCode::less},
                                                                {"LessOrEqual", OpCode::less_or_equal},
                                                                {"And", OpCode::logical_and},
                                                                {"Or", OpCode::logical_or},
                                                                {"Xor", OpCode::logical_xor}};

// ESP-DL keeps truth in the type of the operands, as 0 and 1: the tensor that the operator computes is bool,
// the file's follows by a cast.
Status emit_bool(Builder& builder, const Node& node, OpCode code, std::vector<TensorId> inputs) {
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  if (builder.at(output).dtype == DType::boolean)
    return builder.emit(node, code, std::move(inputs), {output});
  const TensorId truth = builder.intermediate(output, node.name);
  builder.at(truth).dtype = DType::boolean;
  builder.at(truth).exponents.clear();
  RUNNEL_TRY(builder.emit(node, code, std::move(inputs), {truth}));
  return builder.emit(node, OpCode::cast, {truth}, {output});
}

// A condition as bool.
Result<TensorId> truth_of(Builder& builder, const Node& node, std::size_t position) {
  RUNNEL_ASSIGN(const TensorId given, builder.operand(node, position));
  if (builder.at(given).dtype == DType::boolean) return given;
  const TensorId truth = builder.intermediate(given, node.name);
  builder.at(truth).dtype = DType::boolean;
  builder.at(truth).exponents.clear();
  RUNNEL_TRY(builder.emit(node, OpCode::cast, {given}, {truth}));
  return truth;
}

}  // namespace

Status convert_mod(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const std::int64_t fmod, node.integer("fmod", 0));
  RUNNEL_ASSIGN(const TensorId left, builder.operand(node, 0));
  RUNNEL_ASSIGN(const TensorId right, builder.operand(node, 1));
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  RUNNEL_TRY(builder.emit(node, OpCode::mod, {left, right}, {output}, BinaryOptions{}));
  // fmod = 0: the sign of the divisor.
  if (fmod == 0) builder.graph.nodes.back().arithmetic = Arithmetic::floored;
  return {};
}

Status convert_comparison(Builder& builder, const Node& node) {
  const auto* const found = std::find_if(std::begin(kComparisons), std::end(kComparisons),
                                         [&](const auto& entry) { return entry.first == node.op; });
  if (found == std::end(kComparisons) || node.inputs.size() != 2)
    return Builder::fail(node) << node.inputs.size() << " inputs, expected 2";
  const bool logic = found->second == OpCode::logical_and || found->second == OpCode::logical_or ||
                     found->second == OpCode::logical_xor;
  RUNNEL_ASSIGN(const TensorId left, logic ? truth_of(builder, node, 0) : builder.operand(node, 0));
  RUNNEL_ASSIGN(const TensorId right, logic ? truth_of(builder, node, 1) : builder.operand(node, 1));
  return emit_bool(builder, node, found->second, {left, right});
}

Status convert_not(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, truth_of(builder, node, 0));
  return emit_bool(builder, node, OpCode::logical_not, {input});
}

Status convert_where(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId condition, truth_of(builder, node, 0));
  RUNNEL_ASSIGN(const TensorId left, builder.operand(node, 1));
  RUNNEL_ASSIGN(const TensorId right, builder.operand(node, 2));
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit(node, OpCode::where, {condition, left, right}, {output});
}

// Between quantized and plain numbers a cast is a change of scale.
Status convert_cast(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  RUNNEL_ASSIGN(const Value* value, builder.value_of_output(node, 0));
  if (!builder.at(input).exponents.empty() && value->dtype != DType::boolean)
    return convert_quantize(builder, node);
  if (!value->exponents.empty() && (value->dtype == DType::int8 || value->dtype == DType::int16))
    return convert_quantize(builder, node);
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit(node, OpCode::cast, {input}, {output});
}

Status convert_arg_max(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  const std::vector<std::int32_t> shape = builder.at(input).shape;
  RUNNEL_ASSIGN(const std::int64_t given, node.integer("axis", 0));
  RUNNEL_ASSIGN(const int axis, normalize_axis(node, given, shape.size()));
  RUNNEL_ASSIGN(const std::int64_t keepdims, node.integer("keepdims", 1));
  RUNNEL_ASSIGN(const std::int64_t last, node.integer("select_last_index", 0));
  if (last != 0) return Builder::fail(node, Code::unsupported) << "select_last_index 1, expected 0";
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  if (keepdims != 0) return builder.emit(node, OpCode::arg_max, {input}, {output}, AxisOptions{axis});
  const TensorId kept = builder.intermediate(output, node.name);
  RUNNEL_TRY(builder.emit(node, OpCode::arg_max, {input}, {kept}, AxisOptions{axis}));
  std::vector<std::int32_t> rest;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (static_cast<int>(i) != axis) rest.push_back(shape[i]);
  }
  if (rest.empty()) rest.push_back(1);
  return builder.emit_reshape(node, kept, output, std::move(rest));
}

Status convert_top_k(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  std::vector<std::int32_t> shape = builder.at(input).shape;
  RUNNEL_ASSIGN(const std::int64_t given, node.integer("axis", -1));
  TopKOptions options;
  RUNNEL_ASSIGN(options.axis, normalize_axis(node, given, shape.size()));
  RUNNEL_ASSIGN(const std::int64_t largest, node.integer("largest", 1));
  options.smallest = largest == 0;
  RUNNEL_ASSIGN(const std::vector<std::int64_t> k, builder.integers(node, 1));
  const std::int32_t most = shape[static_cast<std::size_t>(options.axis)];
  if (k.size() != 1 || k[0] < 1 || k[0] > most)
    return Builder::fail(node) << "k is " << (k.empty() ? 0 : k[0]) << ", expected 1 to " << most;
  shape[static_cast<std::size_t>(options.axis)] = static_cast<std::int32_t>(k[0]);
  RUNNEL_ASSIGN(const TensorId values, builder.output(node, 0));
  RUNNEL_ASSIGN(const TensorId indices, builder.output(node, 1));
  builder.at(values).shape = shape;
  return builder.emit(node, OpCode::top_k, {input}, {values, indices}, options);
}

}  // namespace runnel::compiler::espdl_source
