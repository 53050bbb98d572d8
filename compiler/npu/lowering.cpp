#include "compiler/npu/lowering.h"

#include "inference/host/operator_traits.h"

namespace runnel::compiler::ethos_u {

bool same_scale(const Tensor& a, const Tensor& b) {
  const auto zero = [](const Tensor& tensor) {
    return tensor.zero_points.empty() ? 0 : tensor.zero_points[0];
  };
  return a.dtype == b.dtype && a.exponents == b.exponents && a.scales == b.scales && zero(a) == zero(b);
}

const Place* Lowering::place_of(TensorId id) const {
  const auto found = places_.find(id);
  return found == places_.end() ? nullptr : &found->second;
}

Place& Lowering::placed(TensorId id) {
  const auto found = places_.find(id);
  if (found != places_.end()) return found->second;
  const Tensor& tensor = at(id);
  const Dims shape = shape_of(id);
  std::vector<std::int64_t> strides = dense_strides(shape, size_of(tensor.dtype));
  const std::size_t bytes = size_of(tensor.dtype) * element_count(shape);
  if (tensor.data) return places_[id] = {program_.constant(*tensor.data), 0, std::move(strides)};
  const std::int64_t history = history_of(id);
  if (history == 0) return places_[id] = {program_.buffer(bytes), 0, std::move(strides)};
  // Copies need multiples of 16 bytes. Before time there are only ones.
  const auto axis = static_cast<std::size_t>(form_->time_axis(id));
  constexpr std::int64_t kCopied = 16;
  const std::int64_t frame = (strides[axis] + kCopied - 1) / kCopied * kCopied;
  for (std::size_t i = 0; i <= axis; ++i) strides[i] = frame;
  const npu::BufferId buffer = program_.buffer(static_cast<std::size_t>((history + shape[axis]) * frame),
                                               npu::Program::Lifetime::always);
  kept_[id] = buffer;
  return places_[id] = {buffer, history * frame, std::move(strides)};
}

Operand Lowering::input(const Node& node, std::size_t position) {
  const TensorId id = node.inputs[position];
  Operand operand{&at(id), placed(id), shape_of(id)};
  if (form_ != nullptr && !at(id).data) form_->adapt_input(node, position, operand);
  return operand;
}
Operand Lowering::output(const Node& node, std::size_t position) {
  const TensorId id = node.outputs[position];
  return {&at(id), placed(id), shape_of(id)};
}

Status Lowering::mask(TensorId id, npu::BufferId mask) {
  const Operand x{&at(id), placed(id), shape_of(id)};
  const auto axis = static_cast<std::size_t>(form_->time_axis(id));
  Tensor bytes;
  bytes.dtype = DType::int8;
  Operand frames{&bytes, {mask, 0, {}}, Dims(x.shape.size(), 1)};
  frames.shape[axis] = x.shape[axis];
  frames.place.strides = dense_strides(frames.shape, 1);
  npu::Step step;
  npu::Operation& op = step.op;
  op.kind = npu::OperationKind::elementwise;
  op.mode = static_cast<std::uint8_t>(npu::ElementwiseMode::mul);
  op.has_ifm2 = true;
  op.rounding = npu::Rounding::natural;
  set_limits(op, x, Activation::none);
  std::vector<npu::FeatureMap> maps;
  RUNNEL_TRY(flatten({&x, &frames}, maps));
  op.ifm = op.ofm = maps[0];
  op.ifm2 = maps[1];
  const auto broadcast = [](std::int32_t own, std::int32_t full, int bit) {
    return own == 1 && full != 1 ? 1 << bit : 0;
  };
  op.broadcast = static_cast<std::uint8_t>(broadcast(maps[1].height, maps[0].height, 0) |
                                           broadcast(maps[1].width, maps[0].width, 1) |
                                           broadcast(maps[1].depth, maps[0].depth, 2));
  step.ifm = step.ofm = x.place.buffer;
  step.ifm2 = mask;
  program_.add(std::move(step));
  return {};
}

void Lowering::step_histories() {
  const auto copy_bytes = [&](npu::BufferId from, std::int64_t source, npu::BufferId to, std::int64_t target,
                              std::int64_t bytes) {
    npu::Step step;
    step.op.kind = npu::OperationKind::dma;
    step.op.dma.length = bytes;
    step.op.dma.source.address = source;
    step.op.dma.target.address = target;
    step.ifm = from;
    step.ofm = to;
    program_.add(std::move(step));
  };
  const auto step = [&](npu::BufferId buffer, std::int64_t frames, std::int64_t history, std::int64_t frame) {
    if (frames >= history) return copy_bytes(buffer, frames * frame, buffer, 0, history * frame);
    // A copy must not read what it has written.
    const npu::BufferId between = program_.buffer(static_cast<std::size_t>(history * frame));
    copy_bytes(buffer, frames * frame, between, 0, history * frame);
    copy_bytes(between, 0, buffer, 0, history * frame);
  };
  const auto frames_of = [&](TensorId id) {
    return std::int64_t{shape_of(id)[static_cast<std::size_t>(form_->time_axis(id))]};
  };
  for (const auto& [id, buffer] : kept_)
    step(buffer, frames_of(id), history_of(id),
         placed(id).strides[static_cast<std::size_t>(form_->time_axis(id))]);
  for (const Seen& one : seen_) {
    if (history_of(one.id) > 0) step(one.kept, frames_of(one.id), history_of(one.id), one.frame);
  }
}

Status Lowering::lower(const Node& node) {
  RUNNEL_TRY(lower_by_kind(node));
  return program_.status();
}

Status Lowering::lower_by_kind(const Node& node) {
  for (const TensorId id : node.inputs) {
    if (id >= 0 && !at(id).data && at(id).exponents.size() + at(id).scales.size() != 1)
      return refuse() << "values without one scale";
  }
  switch (node.code) {
    case OpCode::conv:
      return convolution(node);
    case OpCode::fully_connected:
      return fully_connected(node);
    case OpCode::average_pool:
    case OpCode::max_pool:
      return pool(node);
    case OpCode::reduce_mean:
    case OpCode::reduce_sum:
      return reduce(node);
    case OpCode::softmax:
      return softmax(node);
    case OpCode::layer_norm:
      return layer_norm(node);
    case OpCode::attention:
      if (newest()) return attention(node);
      break;
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
    case OpCode::min:
    case OpCode::max:
      return binary(node);
    case OpCode::requantize:
      return requantize(node);
    case OpCode::lut:
    case OpCode::relu:
    case OpCode::clip:
      return table(node);
    case OpCode::concat:
      return concat(node);
    case OpCode::split:
      return split(node);
    case OpCode::slice:
      return slice(node);
    case OpCode::reshape:
      return reshape(node);
    case OpCode::transpose:
      return transpose(node);
    case OpCode::pad:
      return pad(node);
    case OpCode::matmul:
      if (newest()) return matmul(node);
      break;
    case OpCode::arg_max:
      if (newest()) return arg_max(node);
      break;
    case OpCode::reduce_max:
    case OpCode::reduce_min:
      if (newest()) return extreme(node);
      break;
    case OpCode::resize:
      if (newest()) return resize(node);
      break;
    default:
      break;
  }
  if (is_function(node.code)) return table(node);
  return refuse() << "the compiler has no form of this operator for the NPU";
}

}  // namespace runnel::compiler::ethos_u
