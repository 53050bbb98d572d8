#include "compiler/import/espdl/builder.h"

#include <algorithm>

#include "compiler/ir/shapes.h"
#include "compiler/passes/non_negative.h"
#include "inference/host/operator_traits.h"

namespace runnel::compiler::espdl_source {
namespace {

Result<std::vector<std::int32_t>> shape_of(const std::string& name, const std::vector<std::int64_t>& dims) {
  std::vector<std::int32_t> shape;
  for (const std::int64_t dim : dims) {
    if (dim <= 0 || dim > kMaxElements) {
      return Status(Code::invalid_data) << "tensor \"" << name << "\": dimension " << shape.size() << " is "
                                        << dim << ", expected 1 to " << kMaxElements;
    }
    shape.push_back(static_cast<std::int32_t>(dim));
  }
  return shape;
}

// Integers of the network carry exactly one exponent; numbers without scale (float32, shapes) carry none.
Status check_scale(const std::string& name, const Value& value) {
  if ((value.dtype == DType::int8 || value.dtype == DType::int16) && value.exponents.size() != 1) {
    return Status(Code::invalid_data)
           << "value \"" << name << "\": " << value.exponents.size() << " exponents, expected 1";
  }
  return {};
}

bool keeps_layout(OpCode code) {
  if (is_function(code) || is_pair(code)) return true;
  switch (code) {
    case OpCode::lut:
    case OpCode::relu:
    case OpCode::clip:
    case OpCode::prelu:
    case OpCode::requantize:
    case OpCode::quantize:
    case OpCode::dequantize:
    case OpCode::concat:
    case OpCode::split:
    case OpCode::custom:  // as far as anyone knows
    case OpCode::streaming_cache:
    case OpCode::where:
    case OpCode::cast:
      return true;
    default:
      return false;
  }
}

}  // namespace

Builder::Builder(const Model& model, EspdlTarget target, CacheForm caches)
    : model_(model),
      target_(target),
      rounding_(target == EspdlTarget::esp32p4 ? kernels::Rounding::half_even : kernels::Rounding::half_up),
      cache_form_(caches) {}

Status Builder::fail(const Node& node, Code code) {
  return Status(code) << "node \"" << node.name << "\" (" << node.op << "): ";
}

TensorId Builder::add(Tensor tensor) {
  graph.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(graph.tensors.size() - 1);
}

TensorId Builder::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? kAbsent : found->second;
}

const Cache* Builder::cache_behind(std::string_view name) const {
  const auto found = caches_.find(name);
  return found == caches_.end() ? nullptr : &found->second;
}

Result<TensorId> Builder::operand(const Node& node, std::size_t position) {
  if (position >= node.inputs.size() || node.inputs[position].empty())
    return fail(node) << "input " << position << " is absent";
  const std::string& name = node.inputs[position];
  if (const TensorId id = find(name); id != kAbsent) return id;
  if (const Constant* known = model_.constant(name)) {
    RUNNEL_ASSIGN(const TensorId id, constant_tensor(*known));
    tensors_.insert_or_assign(name, id);
    return id;
  }
  if (const Cache* cache = cache_behind(name)) {
    return fail(node, Code::unsupported) << "reads the StreamingCache \"" << cache->node
                                         << "\"; only Conv, AveragePool and MaxPool can be read after one";
  }
  return fail(node) << "input \"" << name << "\" does not exist";
}

Result<TensorId> Builder::window_operand(const Node& node, const Cache*& cache) {
  cache = node.inputs.empty() ? nullptr : cache_behind(node.inputs[0]);
  if (cache == nullptr) return operand(node, 0);
  return find(cache->source);
}

Result<const Constant*> Builder::constant(const Node& node, std::size_t position, bool required) const {
  const bool named = position < node.inputs.size() && !node.inputs[position].empty();
  const Constant* found = named ? model_.constant(node.inputs[position]) : nullptr;
  if (found == nullptr && (required || named)) {
    if (named)
      return fail(node, Code::unsupported) << "input " << position << " (\"" << node.inputs[position]
                                           << "\") is computed at run time, expected a constant";
    return fail(node) << "input " << position << " is absent, expected a constant";
  }
  return found;
}

Result<std::vector<std::int64_t>> Builder::integers(const Node& node, std::size_t position) const {
  RUNNEL_ASSIGN(const Constant* found, constant(node, position, false));
  if (found == nullptr) return std::vector<std::int64_t>();
  return integers_of(*found);
}

Result<const Value*> Builder::value_of_output(const Node& node, std::size_t position) const {
  const auto found =
      position < node.outputs.size() ? model_.values.find(node.outputs[position]) : model_.values.end();
  if (found == model_.values.end()) return fail(node) << "output " << position << " is absent";
  return &found->second;
}

Result<TensorId> Builder::output(const Node& node, std::size_t position) {
  RUNNEL_ASSIGN(const Value* value, value_of_output(node, position));
  const std::string& name = node.outputs[position];
  RUNNEL_TRY(check_scale(name, *value));
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = value->dtype;
  tensor.exponents = value->exponents;
  const TensorId id = add(std::move(tensor));
  tensors_.insert_or_assign(name, id);
  return id;
}

TensorId Builder::intermediate(TensorId like, std::string_view name_of_node,
                               std::vector<std::int32_t> shape) {
  Tensor tensor;
  tensor.name = std::string(name_of_node) + "/" + std::to_string(++intermediates_[std::string(name_of_node)]);
  tensor.dtype = at(like).dtype;
  tensor.exponents = at(like).exponents;
  tensor.shape = std::move(shape);
  return add(std::move(tensor));
}

Result<TensorId> Builder::constant_tensor(const Constant& constant) {
  Tensor tensor;
  tensor.name = constant.name;
  RUNNEL_ASSIGN(tensor.shape, shape_of(constant.name, constant.dims));
  if (tensor.shape.empty()) tensor.shape = {1};
  tensor.dtype = constant.dtype;
  const bool quantized = constant.dtype == DType::int8 || constant.dtype == DType::int16;
  if (quantized && constant.exponents.size() != 1) {
    return Status(Code::invalid_data) << "constant \"" << constant.name << "\": " << constant.exponents.size()
                                      << " exponents, expected 1";
  }
  if (quantized) tensor.exponents = constant.exponents;
  tensor.data = constant.data;
  return add(std::move(tensor));
}

Status Builder::emit(const Node& from, OpCode code, std::vector<TensorId> inputs,
                     std::vector<TensorId> outputs, Options options, Arithmetic arithmetic) {
  compiler::Node node;
  node.name = from.name;
  node.code = code;
  node.arithmetic = arithmetic;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.options = std::move(options);
  node.rounding = rounding_;
  RUNNEL_TRY(infer_node_shapes(graph, node));
  // Keeps every product of dimensions within 32 bits from here on.
  for (const TensorId id : node.outputs) {
    std::int64_t count = 1;
    for (const std::int32_t dim : at(id).shape) count = std::min(count * dim, kMaxValues + 1);
    if (count > kMaxValues)
      return fail(from, Code::unsupported) << "its output has more than " << kMaxValues << " elements";
  }
  mark_non_negative(graph, node);
  channels_last_.resize(graph.tensors.size(), false);
  const bool window = code == OpCode::conv || code == OpCode::average_pool || code == OpCode::max_pool ||
                      code == OpCode::resize || code == OpCode::insert_zeros ||
                      code == OpCode::depth_to_space || code == OpCode::space_to_depth;
  const bool last = window || (keeps_layout(code) && !node.inputs.empty() && channels_last(node.inputs[0]));
  for (const TensorId id : node.outputs) channels_last_[static_cast<std::size_t>(id)] = last;
  graph.nodes.push_back(std::move(node));
  return {};
}

Status Builder::emit_reshape(const Node& from, TensorId input, TensorId output,
                             std::vector<std::int32_t> shape) {
  at(output).shape = std::move(shape);
  return emit(from, OpCode::reshape, {input}, {output});
}

Result<TensorId> Builder::reshaped(const Node& from, TensorId input, std::vector<std::int32_t> shape) {
  const TensorId to = intermediate(input, from.name);
  RUNNEL_TRY(emit_reshape(from, input, to, std::move(shape)));
  return to;
}

Status Builder::add_input(const std::string& name) {
  const auto value = model_.values.find(name);  // the reader made sure that it is there
  if (!value->second.shape)
    return Status(Code::invalid_data) << "input \"" << name << "\": its shape is not known";
  RUNNEL_TRY(check_scale(name, value->second));
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = value->second.dtype;
  tensor.exponents = value->second.exponents;
  RUNNEL_ASSIGN(tensor.shape, shape_of(name, *value->second.shape));
  std::int64_t count = 1;
  for (const std::int32_t dim : tensor.shape) count = std::min(count * dim, kMaxValues + 1);
  if (tensor.shape.empty() || count > kMaxValues)
    return Status(Code::invalid_data)
           << "input \"" << name << "\": expected 1 to " << kMaxValues << " elements in 1 or more dimensions";
  const TensorId id = add(std::move(tensor));
  graph.inputs.push_back(id);
  rename(name, id);
  return {};
}

Result<int> normalize_axis(const Node& node, std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count)
    return Builder::fail(node) << "axis " << axis << " of a tensor of rank " << count;
  return static_cast<int>(axis < 0 ? axis + count : axis);
}

}  // namespace runnel::compiler::espdl_source
