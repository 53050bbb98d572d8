#include "compiler/npu/lowering.h"

#include "compiler/operator_kinds.h"

namespace runnel::compiler::ethos_u {

bool same_scale(const Tensor& a, const Tensor& b) {
  const auto zero = [](const Tensor& tensor) { return tensor.zero_points.empty() ? 0 : tensor.zero_points[0]; };
  return a.dtype == b.dtype && a.exponents == b.exponents && a.scales == b.scales && zero(a) == zero(b);
}

const Place* Lowering::place_of(TensorId id) const {
  const auto found = places_.find(id);
  return found == places_.end() ? nullptr : &found->second;
}

Place& Lowering::placed(TensorId id, const Dims& shape) {
  const auto found = places_.find(id);
  if (found != places_.end()) return found->second;
  const Tensor& tensor = at(id);
  std::int64_t bytes = static_cast<std::int64_t>(size_of(tensor.dtype));
  for (const std::int32_t size : shape) bytes *= size;
  const npu::BufferId buffer = tensor.data ? program_.constant(*tensor.data) : program_.buffer(static_cast<std::size_t>(bytes));
  return places_[id] = {buffer, 0, dense_strides(shape, size_of(tensor.dtype))};
}

Operand Lowering::input(const Node& node, std::size_t position) {
  const TensorId id = node.inputs[position];
  Operand operand{&at(id), placed(id, at(id).shape), at(id).shape};
  if (form_ != nullptr) form_->adapt_input(node, position, operand);
  return operand;
}
Operand Lowering::output(const Node& node, std::size_t position) {
  const TensorId id = node.outputs[position];
  Operand operand{&at(id), placed(id, at(id).shape), at(id).shape};
  if (form_ != nullptr) form_->adapt_output(node, operand);
  return operand;
}

Status Lowering::lower(const Node& node) {
  for (const TensorId id : node.inputs) {
    if (id >= 0 && !at(id).data && at(id).exponents.size() + at(id).scales.size() != 1) return refuse() << "values without one scale";
  }
  switch (node.code) {
    case fb::OpCode::conv: return convolution(node);
    case fb::OpCode::fully_connected: return fully_connected(node);
    case fb::OpCode::average_pool:
    case fb::OpCode::max_pool: return pool(node);
    case fb::OpCode::reduce_mean: return mean(node);
    case fb::OpCode::add:
    case fb::OpCode::sub:
    case fb::OpCode::mul:
    case fb::OpCode::min:
    case fb::OpCode::max: return binary(node);
    case fb::OpCode::requantize: return requantize(node);
    case fb::OpCode::lut:
    case fb::OpCode::relu:
    case fb::OpCode::clip: return table(node);
    case fb::OpCode::concat: return concat(node);
    case fb::OpCode::split: return split(node);
    case fb::OpCode::slice: return slice(node);
    case fb::OpCode::reshape: return reshape(node);
    default: break;
  }
  if (is_function(node.code)) return table(node);
  return refuse() << "the compiler has no form of this operator for the NPU";
}

}  // namespace runnel::compiler::ethos_u
