// What only moves elements is done by addresses: parts are places inside of wholes.
#include <algorithm>

#include "compiler/npu/lowering.h"

namespace runnel::compiler::ethos_u {
namespace {

constexpr std::int64_t kMaxMoves = 256;

std::size_t axis_of(const Node& node, std::size_t rank) {
  const int axis = std::get<AxisOptions>(node.options).axis;
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<int>(rank) : axis);
}

// Elements in two places, axis by axis.
struct Walk {
  struct Axis {
    std::int64_t size = 1, from = 0, to = 0;  // strides in bytes
  };
  std::vector<Axis> axes;  // the outermost one first

  Walk(const Operand& from, const Operand& to) {
    for (std::size_t i = 0; i < from.shape.size(); ++i) {
      if (from.shape[i] == 1) continue;
      const Axis axis{from.shape[i], from.place.strides[i], to.place.strides[i]};
      const bool follows = !axes.empty() && axes.back().from == axis.size * axis.from &&
                           axes.back().to == axis.size * axis.to &&
                           axes.back().size * axis.size <= npu::kMaxSize;
      if (follows)
        axes.back() = {axes.back().size * axis.size, axis.from, axis.to};
      else
        axes.push_back(axis);
    }
  }
  // The axis that lies side by side in both places, or one of one element.
  Axis take_depth(std::int64_t element) {
    const auto found = std::find_if(axes.begin(), axes.end(), [&](const Axis& axis) {
      return axis.from == element && axis.to == element;
    });
    return found == axes.end() ? Axis{1, element, element} : take(found);
  }
  // Axes that lie side by side, one in the source and another one in the target. False: there are none.
  bool take_turned(std::int64_t element, Axis& source, Axis& target) {
    const auto from =
        std::find_if(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.from == element; });
    if (from == axes.end() || from->to == element) return false;
    if (std::none_of(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.to == element; }))
      return false;
    source = take(from);
    target =
        take(std::find_if(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.to == element; }));
    return true;
  }
  Axis take_longest() {
    const auto found = std::max_element(axes.begin(), axes.end(),
                                        [](const Axis& a, const Axis& b) { return a.size < b.size; });
    return found == axes.end() ? Axis() : take(found);
  }

 private:
  Axis take(std::vector<Axis>::iterator axis) {
    const Axis out = *axis;
    axes.erase(axis);
    return out;
  }
};

bool is_dense(const Operand& operand) {
  const std::vector<std::int64_t> dense = dense_strides(operand.shape, size_of(operand.tensor->dtype));
  for (std::size_t axis = 0; axis < dense.size(); ++axis) {
    if (operand.shape[axis] != 1 && operand.place.strides[axis] != dense[axis]) return false;
  }
  return true;
}

}  // namespace

void Lowering::plan_concatenations(const std::vector<const Node*>& nodes,
                                   const std::function<bool(TensorId)>& taken) {
  // The last one first: its parts may be concatenations, too.
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const Node& node = **it;
    if (node.code == OpCode::reshape) {
      // What is reshaped into a place that is known already is computed there.
      const TensorId x = node.inputs[0];
      const Place* const to = place_of(node.outputs[0]);
      const Tensor& y = at(node.outputs[0]);
      const bool free = to != nullptr && places_.count(x) == 0 && !at(x).data && !taken(x) &&
                        history_of(x) == 0 && same_scale(at(x), y);
      if (free && is_dense({&y, *to, shape_of(node.outputs[0])}))
        places_[x] = {to->buffer, to->offset, dense_strides(shape_of(x), size_of(y.dtype))};
      continue;
    }
    if (node.code != OpCode::concat) continue;
    const Tensor& y = at(node.outputs[0]);
    const Place whole = placed(node.outputs[0]);
    const std::size_t axis = axis_of(node, y.shape.size());
    std::int64_t at_byte = whole.offset;
    for (const TensorId id : node.inputs) {
      const Tensor& part = at(id);
      const bool free =
          places_.count(id) == 0 && !part.data && !taken(id) && history_of(id) == 0 && same_scale(part, y);
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
    const bool there = x.place.buffer == part.place.buffer && x.place.offset == part.place.offset &&
                       x.place.strides == part.place.strides;
    if (!there) RUNNEL_TRY(copy(x, part));
  }
  return {};
}

// Height, width and channels are axes of one operation; further axes are operations of their own.
Status Lowering::move(const Operand& from, const Operand& to) {
  const auto element = static_cast<std::int64_t>(size_of(from.tensor->dtype));
  Walk walk(from, to);
  // Columns of the source become channels of the target on the way out, where there are registers for it.
  Walk::Axis depth, width;
  const bool turned = newest() && walk.take_turned(element, depth, width);
  if (!turned) depth = walk.take_depth(element);
  const Walk::Axis height = walk.take_longest();
  if (!turned) width = walk.take_longest();
  std::int64_t moves = 1;
  for (const Walk::Axis& axis : walk.axes) moves *= axis.size;
  if (moves > kMaxMoves)
    return refuse() << "a copy that takes " << moves << " operations, expected at most " << kMaxMoves;
  const Dims shape{static_cast<std::int32_t>(height.size), static_cast<std::int32_t>(width.size),
                   static_cast<std::int32_t>(depth.size)};
  for (std::int64_t i = 0; i < moves; ++i) {
    Operand source{
        from.tensor, {from.place.buffer, from.place.offset, {height.from, width.from, element}}, shape};
    Operand target{to.tensor, {to.place.buffer, to.place.offset, {height.to, width.to, element}}, shape};
    if (turned) target.place.strides = {height.to, depth.to, element};
    std::int64_t rest = i;
    for (const Walk::Axis& axis : walk.axes) {
      source.place.offset += rest % axis.size * axis.from;
      target.place.offset += rest % axis.size * axis.to;
      rest /= axis.size;
    }
    npu::Step step;
    RUNNEL_ASSIGN(step.op.ifm, spatial(source));
    RUNNEL_ASSIGN(step.op.ofm, spatial(target));
    if (turned) {
      step.op.u85.transpose = npu::u85::Transpose::hcw;
      step.op.ofm.width0 = step.op.ofm.depth;
    }
    step.op.kind = npu::OperationKind::pool;
    step.op.mode = static_cast<std::uint8_t>(npu::PoolMode::max);
    set_limits(step.op, to, Activation::none);
    step.op.ifm.zero_point = step.op.ofm.zero_point = 0;
    step.ifm = from.place.buffer;
    step.ofm = to.place.buffer;
    program_.add(std::move(step));
  }
  return {};
}

// Whatever is there, limited to the value.
Status Lowering::fill(const Operand& place, std::int32_t value) {
  npu::Step step;
  npu::Operation& op = step.op;
  std::vector<npu::FeatureMap> maps;
  RUNNEL_TRY(flatten({&place}, maps));
  op.kind = npu::OperationKind::elementwise;
  op.mode = static_cast<std::uint8_t>(npu::ElementwiseMode::min);
  op.ifm = op.ofm = maps[0];
  op.ifm.zero_point = op.ofm.zero_point = 0;
  op.has_ifm2 = op.scalar = true;
  op.ifm2_scalar = value;
  op.ifm2.element = op.ifm.element;
  op.ifm2.is_signed = true;
  op.opa_scale = op.opb_scale = op.ofm_scale = {1, 0};
  op.activation.low = op.activation.high = value;
  step.ifm = step.ofm = place.place.buffer;
  program_.add(std::move(step));
  return {};
}

// A view becomes the tensor's place, or what is in it is copied to the place that the tensor has.
Status Lowering::take_view(TensorId id, const Operand& view) {
  // Frames that are masked are written once more, which what they are a part of may not be.
  const bool masked = form_ != nullptr && form_->masked(id);
  if (place_of(id) == nullptr && history_of(id) == 0 && !masked) {
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
    if (next == axes.size() || x.shape[axes[next]] != moved.shape[axis])
      return refuse() << "a reshape of a part of a tensor";
    moved.place.strides[axis] = x.place.strides[axes[next++]];
  }
  return take_view(id, moved);
}

bool Lowering::read_by_windows(TensorId id) const {
  return std::all_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& node) {
    const bool window =
        node.code == OpCode::conv || node.code == OpCode::average_pool || node.code == OpCode::max_pool;
    return window || std::count(node.inputs.begin(), node.inputs.end(), id) == 0;
  });
}

Status Lowering::transpose(const Node& node) {
  const Operand x = input(node, 0);
  const TensorId id = node.outputs[0];
  if (!same_scale(at(id), *x.tensor)) return refuse() << "a transposition that changes its scale";
  const auto& perm = std::get<TransposeOptions>(node.options).perm;
  Operand moved{&at(id), x.place, shape_of(id)};
  for (std::size_t axis = 0; axis < perm.size(); ++axis)
    moved.place.strides[axis] = x.place.strides[perm[axis]];
  // Windows read rows and columns in any order; others want to have axes after each other.
  if (perm.back() + std::size_t{1} == perm.size() && read_by_windows(id)) return take_view(id, moved);
  return copy(moved, output(node));
}

Status Lowering::pad(const Node& node) {
  const Operand x = input(node, 0), y = output(node);
  const auto& o = std::get<PadOptions>(node.options);
  if (o.mode != PadMode::zero) return refuse() << "padding by elements of the input";
  if (!same_scale(*x.tensor, *y.tensor)) return refuse() << "padding that changes its scale";
  // For each axis its leading and trailing padding, over the inside of the axes before it.
  Operand inside = y;
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    const std::int64_t stride = y.place.strides[axis];
    for (const bool front : {true, false}) {
      Operand border = inside;
      border.shape[axis] = front ? o.before[axis] : o.after[axis];
      if (!front) border.place.offset += (o.before[axis] + x.shape[axis]) * stride;
      if (border.shape[axis] > 0) RUNNEL_TRY(fill(border, o.value));
    }
    inside.shape[axis] = x.shape[axis];
    inside.place.offset += o.before[axis] * stride;
  }
  return copy(x, inside);
}

}  // namespace runnel::compiler::ethos_u
