#include "compiler/import/tflite/builder.h"

#include <algorithm>
#include <cmath>

#include "base/limits.h"
#include "compiler/ir/shapes.h"
#include "compiler/passes/non_negative.h"

namespace runnel::compiler::tflite_source {
namespace {

constexpr std::int64_t kMaxValues = limits::kComputedElements;  // of one computed tensor

Status check_count(const std::string& name, const std::vector<std::int32_t>& shape) {
  std::int64_t count = 1;
  for (const std::int32_t dim : shape) {
    count = std::min(count * dim, kMaxValues + 1);
    if (dim < 1)
      return Status(Code::unsupported)
             << "tensor \"" << name << "\": a dimension of " << dim << ", expected 1 or more";
  }
  if (count > kMaxValues)
    return Status(Code::unsupported) << "tensor \"" << name << "\": more than " << kMaxValues << " elements";
  return {};
}

}  // namespace

Status Builder::fail(const Operator& op, Code code) {
  return Status(code) << "operator " << op.name << " (" << name_of(op.code) << "): ";
}

Result<const Tensor*> Builder::input(const Operator& op, std::size_t position) const {
  if (!has(op, position)) return fail(op) << "input " << position << " is absent";
  return &source_.tensors[static_cast<std::size_t>(op.inputs[position])];
}

Result<const Tensor*> Builder::output(const Operator& op, std::size_t position) const {
  if (position >= op.outputs.size()) return fail(op) << "output " << position << " is absent";
  return &source_.tensors[static_cast<std::size_t>(op.outputs[position])];
}

Result<std::vector<std::int64_t>> Builder::integers(const Operator& op, std::size_t position) const {
  RUNNEL_ASSIGN(const Tensor* tensor, input(op, position));
  auto numbers = integers_of(*tensor);
  if (!numbers.ok())
    return fail(op, numbers.status().code()) << "input " << position << ": " << numbers.status().text();
  return numbers;
}

TensorId Builder::add(compiler::Tensor tensor) {
  graph.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(graph.tensors.size() - 1);
}

bool is_shifted(const Tensor& tensor) { return tensor.dtype == DType::uint8 && !tensor.scales.empty(); }

Result<compiler::Tensor> Builder::tensor_of(const Tensor& from) const {
  compiler::Tensor to;
  to.name = from.name;
  to.dtype = from.dtype;
  if (from.dtype == DType::none)
    return Status(Code::unsupported) << "tensor \"" << from.name << "\": a type that is not supported";
  const bool integers =
      from.dtype != DType::float32 && from.dtype != DType::float64 && from.dtype != DType::boolean;
  if (integers && !from.scales.empty()) {
    to.scales = from.scales;
    to.zero_points = from.zero_points;
    if (to.zero_points.empty()) to.zero_points = {0};
    if (from.scales.size() > 1) to.channel_axis = from.channel_axis;
  }
  if (is_shifted(from)) {
    to.dtype = DType::int8;
    for (std::int32_t& zero : to.zero_points) zero -= 128;
  }
  return to;
}

Result<TensorId> Builder::operand(const Operator& op, std::size_t position) {
  RUNNEL_ASSIGN(const Tensor* from, input(op, position));
  TensorId& id = ids_[static_cast<std::size_t>(op.inputs[position])];
  if (id != kAbsent) return id;
  if (!from->data)
    return fail(op, Code::unsupported) << "input " << position << " (\"" << from->name
                                       << "\") is neither a constant nor computed by an operator in front";
  auto tensor = tensor_of(*from);
  if (!tensor.ok()) return fail(op, tensor.status().code()) << tensor.status().text();
  tensor->shape = from->shape.empty() ? std::vector<std::int32_t>{1} : from->shape;
  RUNNEL_TRY(check_count(from->name, tensor->shape));
  tensor->data = std::vector<std::byte>(from->data->begin(), from->data->end());
  if (is_shifted(*from)) {
    for (std::byte& value : *tensor->data) value ^= std::byte{0x80};
  }
  id = add(std::move(tensor).value());
  return id;
}

Status Builder::add_input(std::int32_t tensor) {
  const Tensor& from = source_.tensors[static_cast<std::size_t>(tensor)];
  RUNNEL_ASSIGN(compiler::Tensor to, tensor_of(from));
  to.shape = from.shape;
  if (to.shape.empty()) to.shape = {1};
  RUNNEL_TRY(check_count(from.name, to.shape));
  if (find(tensor) != kAbsent || from.data)
    return Status(Code::invalid_data) << "input \"" << from.name << "\" is there twice or a constant";
  const TensorId id = add(std::move(to));
  ids_[static_cast<std::size_t>(tensor)] = id;
  graph.inputs.push_back(id);
  return is_shifted(from) ? emit_int8(tensor) : Status();
}

// The tensor as the file has it becomes uint8, and its int8 form what everything reads.
Status Builder::emit_int8(std::int32_t tensor) {
  const TensorId id = find(tensor), twin = add(at(id));
  at(twin).name += ".int8";
  as_uint8(id);
  ids_[static_cast<std::size_t>(tensor)] = twin;
  return emit(shift_of(source_.tensors[static_cast<std::size_t>(tensor)]), OpCode::requantize, {id}, {twin},
              {}, Arithmetic::tflite);
}

Result<TensorId> Builder::uint8_form(std::int32_t tensor) {
  const TensorId twin = find(tensor);
  for (const Node& node : graph.nodes) {
    if (node.code == OpCode::requantize && node.outputs[0] == twin &&
        at(node.inputs[0]).dtype == DType::uint8)
      return node.inputs[0];
  }
  return emit_uint8(tensor);
}

Result<TensorId> Builder::emit_uint8(std::int32_t tensor) {
  const Tensor& from = source_.tensors[static_cast<std::size_t>(tensor)];
  const TensorId twin = find(tensor), id = add(at(twin));
  at(id).data.reset();
  at(twin).name += ".int8";
  as_uint8(id);
  RUNNEL_TRY(emit(shift_of(from), OpCode::requantize, {twin}, {id}, {}, Arithmetic::tflite));
  return id;
}

void Builder::as_uint8(TensorId id) {
  at(id).dtype = DType::uint8;
  for (std::int32_t& zero : at(id).zero_points) zero += 128;
}

Operator Builder::shift_of(const Tensor& tensor) {
  Operator op;
  op.code = Builtin::QUANTIZE;
  op.name = tensor.name;
  return op;
}

Result<TensorId> Builder::result(const Operator& op, std::size_t position) {
  RUNNEL_ASSIGN(const Tensor* from, output(op, position));
  TensorId& id = ids_[static_cast<std::size_t>(op.outputs[position])];
  if (id != kAbsent || from->data)
    return fail(op) << "output " << position << " (\"" << from->name << "\") is there already";
  auto tensor = tensor_of(*from);
  if (!tensor.ok()) return fail(op, tensor.status().code()) << tensor.status().text();
  id = add(std::move(tensor).value());
  return id;
}

TensorId Builder::intermediate(TensorId like, const Operator& op, std::vector<std::int32_t> shape) {
  compiler::Tensor tensor;
  tensor.name = name_of(op.code) + " " + op.name + "/" + std::to_string(graph.tensors.size());
  tensor.dtype = at(like).dtype;
  tensor.scales = at(like).scales;
  tensor.zero_points = at(like).zero_points;
  tensor.shape = std::move(shape);
  return add(std::move(tensor));
}

TensorId Builder::constant(const Operator& op, DType dtype, std::vector<std::int32_t> shape,
                           std::vector<std::byte> data) {
  compiler::Tensor tensor;
  tensor.name = name_of(op.code) + " " + op.name + "/" + std::to_string(graph.tensors.size());
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensor.data = std::move(data);
  return add(std::move(tensor));
}

Status Builder::emit(const Operator& op, OpCode code, std::vector<TensorId> inputs,
                     std::vector<TensorId> outputs, Options options, Arithmetic arithmetic,
                     kernels::Rounding rounding) {
  Node node;
  node.name = name_of(op.code) + " " + op.name;
  node.code = code;
  node.arithmetic = arithmetic;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.options = std::move(options);
  node.rounding = rounding;
  RUNNEL_TRY(infer_node_shapes(graph, node));
  for (const TensorId id : node.outputs) RUNNEL_TRY(check_count(at(id).name, at(id).shape));
  mark_non_negative(graph, node);
  graph.nodes.push_back(std::move(node));
  return {};
}

Status Builder::emit_reshape(const Operator& op, TensorId input, TensorId output,
                             std::vector<std::int32_t> shape) {
  at(output).shape = std::move(shape);
  return emit(op, OpCode::reshape, {input}, {output});
}

Result<TensorId> Builder::reshaped(const Operator& op, TensorId input,
                                   const std::vector<std::int32_t>& shape) {
  if (at(input).shape == shape) return input;
  const TensorId to = intermediate(input, op);
  RUNNEL_TRY(emit_reshape(op, input, to, shape));
  return to;
}

Result<Activated> activated(Builder& builder, const Operator& op, std::int8_t fused, TensorId y) {
  Activated how{Activation::none, y, false};
  switch (static_cast<FusedActivation>(fused)) {
    case FusedActivation::none:
      return how;
    case FusedActivation::relu:
      how.activation = Activation::relu;
      return how;
    case FusedActivation::relu6:
      how.activation = Activation::relu6;
      break;
    case FusedActivation::relu_n1_to_1:
      how.activation = Activation::relu_n1_to_1;
      break;
    default:
      return Builder::fail(op, Code::unsupported) << "fused activation " << static_cast<int>(fused);
  }
  if (!builder.is_float(y)) return how;
  how.to = builder.intermediate(y, op);
  how.clipped = true;
  return how;
}

Status finish_activated(Builder& builder, const Operator& op, const Activated& how, TensorId y) {
  return how.clipped ? emit_float_clip(builder, op, how.activation, how.to, y) : Status();
}

Status emit_float_clip(Builder& builder, const Operator& op, Activation activation, TensorId x, TensorId y) {
  ClipOptions limits;
  limits.low_value = activation == Activation::relu_n1_to_1 ? -1.0f : 0.0f;
  limits.high_value = activation == Activation::relu6 ? 6.0f : 1.0f;
  return builder.emit(op, OpCode::clip, {x}, {y}, limits);
}

Result<int> normalize_axis(const Operator& op, std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count)
    return Builder::fail(op) << "axis " << axis << " of a tensor of rank " << count;
  return static_cast<int>(axis < 0 ? axis + count : axis);
}

}  // namespace runnel::compiler::tflite_source
