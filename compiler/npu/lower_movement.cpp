// What only moves elements is done by addresses: parts are places inside of wholes.
#include <algorithm>

#include "compiler/npu/lowering.h"

namespace runnel::compiler::ethos_u {
namespace {

std::size_t axis_of(const Node& node, std::size_t rank) {
  const int axis = std::get<AxisOptions>(node.options).axis;
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<int>(rank) : axis);
}

bool is_dense(const Operand& operand) {
  const std::vector<std::int64_t> dense = dense_strides(operand.shape, size_of(operand.tensor->dtype));
  for (std::size_t axis = 0; axis < dense.size(); ++axis) {
    if (operand.shape[axis] != 1 && operand.place.strides[axis] != dense[axis]) return false;
  }
  return true;
}

}  // namespace

void Lowering::plan_concatenations(const std::vector<const Node*>& nodes, const std::function<bool(TensorId)>& taken) {
  // The last one first: its parts may be concatenations, too.
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const Node& node = **it;
    if (node.code == fb::OpCode::reshape) {
      // What is reshaped into a place that is known already is computed there.
      const TensorId x = node.inputs[0];
      const Place* const to = place_of(node.outputs[0]);
      const Tensor& y = at(node.outputs[0]);
      const bool free = to != nullptr && places_.count(x) == 0 && !at(x).data && !taken(x) && history_of(x) == 0 && same_scale(at(x), y);
      if (free && is_dense({&y, *to, shape_of(node.outputs[0])})) places_[x] = {to->buffer, to->offset, dense_strides(shape_of(x), size_of(y.dtype))};
      continue;
    }
    if (node.code != fb::OpCode::concat) continue;
    const Tensor& y = at(node.outputs[0]);
    const Place whole = placed(node.outputs[0]);
    const std::size_t axis = axis_of(node, y.shape.size());
    std::int64_t at_byte = whole.offset;
    for (const TensorId id : node.inputs) {
      const Tensor& part = at(id);
      const bool free = places_.count(id) == 0 && !part.data && !taken(id) && history_of(id) == 0 && same_scale(part, y);
      if (free) places_[id] = {whole.buffer, at_byte, whole.strides};
      at_byte += shape_of(id)[axis] * whole.strides[axis];
    }
  }
}

Status Lowering::concat(const Node& node) {
  const Operand y = output(node);
  const std::size_t axis = axis_of(node, y.shape.size());
  std::int64_t first = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Operand x = input(node, i);
    Operand part = y;
    part.shape = x.shape;
    part.place.offset += first * y.place.strides[axis];
    first += x.shape[axis];
    if (!same_scale(*x.tensor, *y.tensor)) return refuse() << "parts of different scales";
    const bool there = x.place.buffer == part.place.buffer && x.place.offset == part.place.offset && x.place.strides == part.place.strides;
    if (!there) RUNNEL_TRY(copy(x, part));
  }
  return {};
}

// A view becomes the tensor's place, or what is in it is copied to the place that the tensor has.
Status Lowering::take_view(TensorId id, const Operand& view) {
  if (place_of(id) == nullptr && history_of(id) == 0) {
    set_place(id, view.place);
    return {};
  }
  const Place& known = placed(id);
  if (known.buffer == view.place.buffer && known.offset == view.place.offset) return {};
  return copy(view, {&at(id), known, view.shape});
}

Status Lowering::split(const Node& node) {
  const Operand x = input(node, 0);
  const std::size_t axis = axis_of(node, x.shape.size());
  std::int64_t first = 0;
  for (const TensorId id : node.outputs) {
    if (id < 0) continue;
    if (!same_scale(at(id), *x.tensor)) return refuse() << "parts of different scales";
    Operand part{&at(id), x.place, shape_of(id)};
    part.place.offset += first * x.place.strides[axis];
    first += part.shape[axis];
    RUNNEL_TRY(take_view(id, part));
  }
  return {};
}

Status Lowering::slice(const Node& node) {
  const Operand x = input(node, 0);
  const auto& o = std::get<SliceOptions>(node.options);
  const TensorId id = node.outputs[0];
  Operand part{&at(id), x.place, shape_of(id)};
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    if (o.step[axis] < 1) return refuse() << "a slice backwards";
    if (o.step[axis] > 1 && axis + 1 == x.shape.size()) return refuse() << "a slice that leaves out channels";
    part.place.offset += std::int64_t{o.begin[axis]} * x.place.strides[axis];
    part.place.strides[axis] *= o.step[axis];
  }
  if (!same_scale(at(id), *x.tensor)) return refuse() << "a slice that changes its scale";
  return take_view(id, part);
}

Status Lowering::reshape(const Node& node) {
  const Operand x = input(node, 0);
  const TensorId id = node.outputs[0];
  if (!same_scale(at(id), *x.tensor)) return refuse() << "a reshape that changes its scale";
  Operand moved{&at(id), x.place, shape_of(id)};
  if (is_dense(x)) {
    moved.place.strides = dense_strides(moved.shape, size_of(at(id).dtype));
    return take_view(id, moved);
  }
  // With gaps: axes of one element may come and go.
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    if (x.shape[axis] != 1) axes.push_back(axis);
  }
  moved.place.strides.assign(moved.shape.size(), static_cast<std::int64_t>(size_of(at(id).dtype)));
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < moved.shape.size(); ++axis) {
    if (moved.shape[axis] == 1) continue;
    if (next == axes.size() || x.shape[axes[next]] != moved.shape[axis]) return refuse() << "a reshape of a part of a tensor";
    moved.place.strides[axis] = x.place.strides[axes[next++]];
  }
  return take_view(id, moved);
}

}  // namespace runnel::compiler::ethos_u
