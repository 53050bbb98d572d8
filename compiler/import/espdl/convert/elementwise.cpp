// Element by element: arithmetic, tables, activations, changes of scale; reductions and softmax.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "compiler/espdl/tables.h"
#include "compiler/import/espdl/builder.h"

namespace runnel::compiler::espdl_source {
namespace {

bool quantized(DType type) { return type == DType::int8 || type == DType::int16; }
int exponent_of(const Tensor& tensor) { return tensor.exponents.empty() ? 0 : tensor.exponents[0]; }

Status emit_table(Builder& builder, const Node& node, Tensor table) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  const DType from = builder.at(input).dtype;
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  const Tensor& y = builder.at(output);
  const auto entries =
      static_cast<std::uint32_t>(table.data->size() / std::max<std::size_t>(size_of(table.dtype), 1));
  if (!quantized(from) || table.dtype != y.dtype) {
    return Builder::fail(node, Code::unsupported)
           << "table of " << name_of(table.dtype) << " from " << name_of(from) << " to " << name_of(y.dtype)
           << ", expected int8 or int16 and the output's type";
  }
  const bool fits = from == DType::int8
                        ? entries == 256
                        : entries >= 2 && entries <= 65537 && std::has_single_bit(entries - 1);
  if (!fits) {
    return Builder::fail(node) << "table of " << entries << " entries for " << name_of(from) << ", expected "
                               << (from == DType::int8 ? "256" : "2^k + 1");
  }
  table.shape = {static_cast<std::int32_t>(entries)};
  table.exponents = y.exponents;
  const TensorId id = builder.add(std::move(table));
  // ESP-DL looks up the nearest entry.
  return builder.emit(node, OpCode::lut, {input, id}, {output}, LutOptions{false});
}

// The table of this node in the file, if any. Returns true when it was used.
Result<bool> convert_with_table(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const std::string name, node.text("lut", ""));
  if (name.empty()) return false;
  const Constant* found = builder.source().constant(name);
  if (found == nullptr) return Builder::fail(node) << "its table \"" << name << "\" does not exist";
  RUNNEL_ASSIGN(const Value* value, builder.value_of_output(node, 0));
  if (!found->exponents.empty() && found->exponents != value->exponents) {
    return Builder::fail(node) << "its table has exponent " << found->exponents[0]
                               << ", expected that of the output";
  }
  Tensor table;
  table.name = found->name;
  table.dtype = found->dtype;
  table.data = found->data;
  RUNNEL_TRY(emit_table(builder, node, std::move(table)));
  return true;
}

// A bound of Clip as a number; `fallback` when it is absent. HardTanh has them as attributes.
Result<float> real_bound_of(Builder& builder, const Node& node, std::size_t position, float fallback) {
  if (node.op == "HardTanh")
    return node.number(position == 1 ? "min_val" : "max_val", position == 1 ? -1.0f : 1.0f);
  RUNNEL_ASSIGN(const Constant* bound, builder.constant(node, position, false));
  if (bound == nullptr) return node.number(position == 1 ? "min" : "max", fallback);
  RUNNEL_ASSIGN(const std::vector<double> values, numbers_of(*bound));
  if (values.size() != 1)
    return Builder::fail(node) << "bound of " << values.size() << " elements, expected 1";
  return static_cast<float>(values[0]);
}

// A bound of Clip in integers of the output; the type's own bound when the operand is absent.
Result<int> bound_of(Builder& builder, const Node& node, std::size_t position, const Tensor& output,
                     std::int64_t fallback) {
  const std::int64_t least = output.dtype == DType::int8 ? -128 : -32768,
                     most = output.dtype == DType::int8 ? 127 : 32767;
  const float none =
      fallback < 0 ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  RUNNEL_ASSIGN(const float bound, real_bound_of(builder, node, position, none));
  if (bound == none) return static_cast<int>(fallback < 0 ? least : most);
  const float real = bound * kernels::power_of_two(-exponent_of(output));
  return static_cast<int>(std::clamp(kernels::round_float(real, builder.rounding()), least, most));
}

OpCode reduction_of(std::string_view op) {
  constexpr std::pair<std::string_view, OpCode> kReductions[] = {
      {"ReduceMean", OpCode::reduce_mean},
      {"ReduceSum", OpCode::reduce_sum},
      {"ReduceMax", OpCode::reduce_max},
      {"ReduceMin", OpCode::reduce_min},
      {"ReduceL1", OpCode::reduce_l1},
      {"ReduceL2", OpCode::reduce_l2},
      {"ReduceProd", OpCode::reduce_prod},
      {"ReduceLogSum", OpCode::reduce_log_sum},
      {"ReduceLogSumExp", OpCode::reduce_log_sum_exp},
      {"ReduceSumSquare", OpCode::reduce_sum_square}};
  const auto* found = std::find_if(std::begin(kReductions), std::end(kReductions),
                                   [&](const auto& entry) { return entry.first == op; });
  return found == std::end(kReductions) ? OpCode::none : found->second;
}

}  // namespace

Status convert_binary(Builder& builder, const Node& node) {
  if (node.inputs.size() != 2)
    return Builder::fail(node, Code::unsupported) << node.inputs.size() << " inputs, expected 2";
  RUNNEL_ASSIGN(const TensorId left, builder.operand(node, 0));
  RUNNEL_ASSIGN(const TensorId right, builder.operand(node, 1));
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  const OpCode code = node.op == "Add"   ? OpCode::add
                      : node.op == "Sub" ? OpCode::sub
                      : node.op == "Mul" ? OpCode::mul
                      : node.op == "Div" ? OpCode::div
                      : node.op == "Pow" ? OpCode::pow
                      : node.op == "Max" ? OpCode::max
                                         : OpCode::min;
  return builder.emit(node, code, {left, right}, {output}, BinaryOptions{});
}

Status convert_function(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const bool done, convert_with_table(builder, node));
  if (done) return {};
  if (!is_function(node.op)) return Builder::fail(node) << "it has no table";
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  RUNNEL_ASSIGN(const FunctionCode function, function_of(node));
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit(node, function.code, {input}, {output}, function.options);
}

Status convert_relu(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const bool done, convert_with_table(builder, node));
  if (done) return {};
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit(node, OpCode::relu, {input}, {output});
}

Status convert_clip(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const bool done, convert_with_table(builder, node));
  if (done) return {};
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  ClipOptions options;
  if (!quantized(builder.at(output).dtype)) {
    RUNNEL_ASSIGN(options.low_value,
                  real_bound_of(builder, node, 1, -std::numeric_limits<float>::infinity()));
    RUNNEL_ASSIGN(options.high_value,
                  real_bound_of(builder, node, 2, std::numeric_limits<float>::infinity()));
    if (!(options.low_value <= options.high_value))
      return Builder::fail(node) << "its bounds are the wrong way round";
    return builder.emit(node, OpCode::clip, {input}, {output}, options);
  }
  RUNNEL_ASSIGN(options.low, bound_of(builder, node, 1, builder.at(output), -1));
  RUNNEL_ASSIGN(options.high, bound_of(builder, node, 2, builder.at(output), 1));
  if (options.low > options.high)
    return Builder::fail(node) << "bounds " << options.low << " and " << options.high
                               << " are the wrong way round";
  return builder.emit(node, OpCode::clip, {input}, {output}, options);
}

Status convert_prelu(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const bool done, convert_with_table(builder, node));
  if (done) return {};
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  RUNNEL_ASSIGN(const Constant* slopes, builder.constant(node, 1, true));
  RUNNEL_ASSIGN(const TensorId alpha, builder.constant_tensor(*slopes));
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  // The file's slopes are [C, 1, ..] as in ONNX, whatever the layout of the values is.
  const auto& shape = builder.at(input).shape;
  const auto count = static_cast<std::int32_t>(slopes->count);
  if (count > 1 && shape.size() >= 2) {
    const bool fits_last = shape.back() == count, fits_first = shape[1] == count;
    if (!fits_last && !fits_first)
      return Builder::fail(node) << count << " slopes, expected one, or one per channel";
    if (fits_last && (builder.channels_last(input) || !fits_first)) {
      builder.at(alpha).shape = {count};
    } else {
      builder.at(alpha).shape.assign(shape.size() - 1, 1);
      builder.at(alpha).shape[0] = count;
    }
  }
  return builder.emit(node, OpCode::prelu, {input, alpha}, {output});
}

Status convert_quantize(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  const DType from = builder.at(input).dtype, to = builder.at(output).dtype;
  OpCode code = OpCode::requantize;
  if (from == DType::float32 && quantized(to))
    code = OpCode::quantize;
  else if (quantized(from) && to == DType::float32)
    code = OpCode::dequantize;
  else if (from == DType::float32 && to == DType::float32)
    code = OpCode::reshape;
  else if (!quantized(from) || !quantized(to))
    return Builder::fail(node, Code::unsupported) << "from " << name_of(from) << " to " << name_of(to);
  if (code == OpCode::reshape) builder.at(output).shape = builder.at(input).shape;
  return builder.emit(node, code, {input}, {output});
}

Status convert_softmax(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  RUNNEL_ASSIGN(const std::int64_t given, node.integer("axis", -1));
  RUNNEL_ASSIGN(const int axis, normalize_axis(node, given, builder.at(input).shape.size()));
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit(node, node.op == "Softmax" ? OpCode::softmax : OpCode::log_softmax, {input}, {output},
                      AxisOptions{axis});
}

Status convert_reduce(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  const std::vector<std::int32_t> shape = builder.at(input).shape;
  RUNNEL_ASSIGN(std::vector<std::int64_t> given, builder.integers(node, 1));
  if (given.empty()) {
    RUNNEL_ASSIGN(given, node.integers("axes", {}));
  }
  RUNNEL_ASSIGN(const std::int64_t keepdims, node.integer("keepdims", 1));
  RUNNEL_ASSIGN(const std::int64_t no_op, node.integer("noop_with_empty_axes", 0));
  if (given.empty() && no_op != 0)
    return Builder::fail(node, Code::unsupported) << "noop_with_empty_axes without axes";
  if (given.empty()) {
    for (std::size_t i = 0; i < shape.size(); ++i) given.push_back(static_cast<std::int64_t>(i));
  }
  ReduceOptions options;
  std::vector<bool> reduced(shape.size(), false);
  for (const std::int64_t entry : given) {
    RUNNEL_ASSIGN(const int axis, normalize_axis(node, entry, shape.size()));
    if (reduced[static_cast<std::size_t>(axis)])
      return Builder::fail(node) << "axis " << axis << " is named twice";
    reduced[static_cast<std::size_t>(axis)] = true;
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (reduced[i]) options.axes.push_back(static_cast<std::uint8_t>(i));
  }
  const OpCode code = reduction_of(node.op);
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  if (keepdims != 0) return builder.emit(node, code, {input}, {output}, options);
  const TensorId kept = builder.intermediate(output, node.name);
  RUNNEL_TRY(builder.emit(node, code, {input}, {kept}, options));
  std::vector<std::int32_t> rest;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!reduced[i]) rest.push_back(shape[i]);
  }
  if (rest.empty()) rest.push_back(1);
  builder.at(output).shape = rest;
  return builder.emit(node, OpCode::reshape, {kept}, {output});
}

}  // namespace runnel::compiler::espdl_source
