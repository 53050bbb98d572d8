// Operators that rearrange.
#include <algorithm>
#include <cstring>
#include <optional>

#include "compiler/import/onnx/builder.h"
#include "compiler/import/onnx/fold/fold.h"

namespace runnel::compiler::onnx_source {
namespace {

Dims without_ones(const Dims& dims) {
  Dims out;
  for (const std::int64_t dim : dims) {
    if (dim != 1) out.push_back(dim);
  }
  return out;
}

Result<Value> boxed(Builder& builder, const Node& node, const Value& x, const SliceBox& box) {
  if (box.count == x.dims &&
      std::all_of(box.step.begin(), box.step.end(), [](std::int64_t step) { return step == 1; }))
    return x;
  const Perm perm = x.constant != nullptr ? identity_perm(x.rank()) : x.perm;
  RUNNEL_ASSIGN(const TensorId id, builder.stored(node, x, perm));
  SliceOptions options;
  for (const int axis : perm) {
    options.begin.push_back(static_cast<std::int32_t>(box.begin[static_cast<std::size_t>(axis)]));
    options.step.push_back(static_cast<std::int32_t>(box.step[static_cast<std::size_t>(axis)]));
  }
  RUNNEL_ASSIGN(const auto shape, shape_of(node, box.count, perm));
  RUNNEL_ASSIGN(const TensorId y, builder.emit(node, OpCode::slice, {id}, options, shape));
  return builder.computed(y, perm);
}

// The shape that a reshaping operator asks for.
Result<Dims> wanted_dims(const Builder& builder, const Node& node, const Value& x) {
  if (node.op == "Reshape") {
    RUNNEL_ASSIGN(const std::vector<std::int64_t> wanted, builder.integers(node, 1, "shape"));
    return reshaped_dims(node, x.dims, wanted, node.integer("allowzero", 0) != 0);
  }
  if (node.op == "Flatten") {
    const std::int64_t axis = node.integer("axis", 1), rank = static_cast<std::int64_t>(x.rank());
    if (axis < -rank || axis > rank) return node.fail() << "axis " << axis << " of a value of rank " << rank;
    Dims dims = {1, 1};
    for (std::int64_t i = 0; i < rank; ++i)
      dims[i < (axis < 0 ? axis + rank : axis) ? 0 : 1] *= x.dims[static_cast<std::size_t>(i)];
    return dims;
  }
  RUNNEL_ASSIGN(const std::vector<std::int64_t> axes, builder.integers(node, 1, "axes"));
  return node.op == "Squeeze" ? squeezed_dims(node, x.dims, axes) : unsqueezed_dims(node, x.dims, axes);
}

}  // namespace

Result<Value> part_of(Builder& builder, const Node& node, const Value& x, int axis, std::int64_t begin,
                      std::int64_t count) {
  SliceBox box{std::vector<std::int64_t>(x.rank(), 0), std::vector<std::int64_t>(x.rank(), 1), x.dims};
  box.begin[static_cast<std::size_t>(axis)] = begin;
  box.count[static_cast<std::size_t>(axis)] = count;
  return boxed(builder, node, x, box);
}

Result<Value> joined(Builder& builder, const Node& node, const std::vector<Value>& parts, int axis) {
  if (parts.size() == 1) return parts[0];
  RUNNEL_ASSIGN(const Aligned all, aligned(builder, node, parts));
  const int stored = inverse(all.perm)[static_cast<std::size_t>(axis)];
  RUNNEL_ASSIGN(const TensorId y, builder.emit(node, OpCode::concat, all.ids, AxisOptions{stored}));
  return builder.computed(y, all.perm);
}

Status convert_identity(Builder& builder, const Node& node) {
  if (builder.is_read(node, 1)) return node.fail(Code::unsupported) << "a mask as output (a training graph)";
  RUNNEL_ASSIGN(Value x, builder.padded_value(node, 0));
  builder.result(node, std::move(x));
  return {};
}

Status convert_reshape(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  RUNNEL_ASSIGN(const Dims dims, wanted_dims(builder, node, x));
  Value y;
  if (without_ones(dims) == without_ones(x.dims)) {
    RUNNEL_ASSIGN(y, builder.with_ones(node, x, dims));
  } else {
    RUNNEL_ASSIGN(const TensorId id, builder.plain(node, x));
    RUNNEL_ASSIGN(const auto shape, shape_of(node, dims, identity_perm(dims.size())));
    RUNNEL_ASSIGN(const TensorId shaped, builder.emit(node, OpCode::reshape, {id}, {}, shape));
    y = builder.computed(shaped, identity_perm(dims.size()));
  }
  builder.result(node, std::move(y));
  return {};
}

// Nothing moves: the axes get other names.
Status convert_transpose(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  Perm order;
  std::vector<bool> seen(x.rank(), false);
  for (const std::int64_t entry : node.integers("perm")) {
    RUNNEL_ASSIGN(const int axis, axis_of(node, entry, x.rank()));
    if (seen[static_cast<std::size_t>(axis)]) return node.fail() << "axis " << axis << " twice";
    seen[static_cast<std::size_t>(axis)] = true;
    order.push_back(axis);
  }
  if (order.empty()) {
    for (std::size_t i = x.rank(); i-- > 0;) order.push_back(static_cast<int>(i));
  }
  if (order.size() != x.rank())
    return node.fail() << "an order of " << order.size() << " axes for rank " << x.rank();
  Value y = x;
  const Perm fresh = inverse(order);
  for (std::size_t i = 0; i < order.size(); ++i) {
    y.dims[i] = x.dims[static_cast<std::size_t>(order[i])];
    y.perm[i] = fresh[static_cast<std::size_t>(x.perm[i])];
  }
  builder.result(node, std::move(y));
  return {};
}

Status convert_slice(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  RUNNEL_ASSIGN(const auto starts, builder.integers(node, 1, "starts"));
  RUNNEL_ASSIGN(const auto ends, builder.integers(node, 2, "ends"));
  RUNNEL_ASSIGN(const auto axes, builder.integers(node, 3, "axes"));
  RUNNEL_ASSIGN(const auto steps, builder.integers(node, 4, "steps"));
  RUNNEL_ASSIGN(const SliceBox box, slice_box(node, x.dims, starts, ends, axes, steps));
  RUNNEL_ASSIGN(Value y, boxed(builder, node, x, box));
  builder.result(node, std::move(y));
  return {};
}

Status convert_concat(Builder& builder, const Node& node) {
  std::vector<Value> parts;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    RUNNEL_ASSIGN(Value part, builder.value(node, i));
    RUNNEL_ASSIGN(const std::int64_t count, checked_count(part.dims));
    if (count > 0)
      parts.push_back(std::move(part));  // an empty part, as of a state of no frames, adds nothing
  }
  if (parts.empty()) return node.fail() << "nothing to put together";
  RUNNEL_ASSIGN(const int axis, axis_of(node, node.integer("axis", 0), parts[0].rank()));
  RUNNEL_ASSIGN(Value y, joined(builder, node, parts, axis));
  builder.result(node, std::move(y));
  return {};
}

Status convert_split(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  RUNNEL_ASSIGN(const int axis, axis_of(node, node.integer("axis", 0), x.rank()));
  RUNNEL_ASSIGN(const auto asked, builder.integers(node, 1, "split"));
  RUNNEL_ASSIGN(const auto sizes, split_sizes(node, x.dims[static_cast<std::size_t>(axis)], asked));
  RUNNEL_ASSIGN(const TensorId id, builder.stored(node, x, x.perm));
  std::vector<std::vector<std::int32_t>> shapes;
  for (const std::int64_t size : sizes) {
    Dims dims = x.dims;
    dims[static_cast<std::size_t>(axis)] = size;
    RUNNEL_ASSIGN(auto shape, shape_of(node, dims, x.perm));
    shapes.push_back(std::move(shape));
  }
  const std::vector<DType> types(sizes.size(), DType::none);
  RUNNEL_ASSIGN(
      const auto parts,
      builder.emit_all(node, OpCode::split, {id},
                       AxisOptions{inverse(x.perm)[static_cast<std::size_t>(axis)]}, shapes, types));
  for (std::size_t i = 0; i < parts.size(); ++i) builder.result(node, parts[i], x.perm, i);
  return {};
}

Status convert_gather(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  RUNNEL_ASSIGN(const Value indices, builder.value(node, 1));
  RUNNEL_ASSIGN(const int axis, axis_of(node, node.integer("axis", 0), x.rank()));
  const std::int64_t size = x.dims[static_cast<std::size_t>(axis)];
  Value y;
  if (indices.constant != nullptr && indices.constant->count() == 1) {  // one index is a slice
    std::int64_t index = integers_of(*indices.constant)[0];
    if (index < 0) index += size;
    if (index < 0 || index >= size) return node.fail() << "index " << index << " of " << size;
    RUNNEL_ASSIGN(y, part_of(builder, node, x, axis, index, 1));
    Dims dims = x.dims;
    dims.erase(dims.begin() + axis);
    dims.insert(dims.begin() + axis, indices.dims.begin(), indices.dims.end());
    RUNNEL_ASSIGN(y, builder.with_ones(node, y, dims));
  } else {
    RUNNEL_ASSIGN(const TensorId from, builder.plain(node, x));
    RUNNEL_ASSIGN(const TensorId which, builder.plain(node, indices));
    RUNNEL_ASSIGN(const TensorId picked,
                  builder.emit(node, OpCode::gather, {from, which}, AxisOptions{axis}));
    y = builder.computed(picked, identity_perm(builder.at(picked).shape.size()));
  }
  builder.result(node, std::move(y));
  return {};
}

namespace {

// Places of a relative shift: in blocks of `rows` rows of `columns`, row i of the result takes `count`
// elements from column `first` - i on.
struct Shift {
  std::int64_t rows = 0, first = 0;
};
std::optional<Shift> shift_of(const std::vector<std::int64_t>& places, std::int64_t columns,
                              std::int64_t count) {
  const std::int64_t all = static_cast<std::int64_t>(places.size()) / count;
  const auto column = [&](std::int64_t row) {
    return places[static_cast<std::size_t>(row * count)] - row * columns;
  };
  Shift shift{all, column(0)};
  for (std::int64_t row = 0; row < all; ++row) {
    const std::int64_t from = places[static_cast<std::size_t>(row * count)];
    for (std::int64_t i = 1; i < count; ++i) {
      if (places[static_cast<std::size_t>(row * count + i)] != from + i) return std::nullopt;
    }
    if (column(row) == shift.first - row % shift.rows) continue;
    if (shift.rows < all || column(row) != shift.first) return std::nullopt;
    shift.rows = row;  // a new block
  }
  const bool inside = shift.rows > 1 && all % shift.rows == 0 && shift.first >= 0 &&
                      shift.first <= shift.rows && count < columns;
  return inside ? std::optional(shift) : std::nullopt;
}

}  // namespace

// A relative shift is a slice between two shapes: element (i, a - i + j) of rows of N is element (i, j) of
// rows of N - 1 that start a elements later. All others pick from the elements in one row.
Status convert_gather_elements(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  RUNNEL_ASSIGN(const ConstantPtr indices, builder.constant(node, 1));
  if (indices == nullptr) return node.fail() << "input 1 is absent";
  RUNNEL_ASSIGN(const std::vector<std::int64_t> places, gathered_places(node, x.dims, *indices));
  RUNNEL_ASSIGN(const std::int64_t elements, checked_count(x.dims));
  if (places.empty()) return node.fail(Code::unsupported) << "no elements";
  const auto shaped = [&](const Value& value, const Dims& dims) -> Result<Value> {
    RUNNEL_ASSIGN(const TensorId id, builder.plain(node, value));
    RUNNEL_ASSIGN(const auto shape, shape_of(node, dims, identity_perm(dims.size())));
    RUNNEL_ASSIGN(const TensorId y, builder.emit(node, OpCode::reshape, {id}, {}, shape));
    return builder.computed(y, identity_perm(dims.size()));
  };
  const std::int64_t columns = x.dims.back(), count = indices->dims.back();
  Value y;
  if (const auto shift = shift_of(places, columns, count);
      shift && elements / columns == static_cast<std::int64_t>(places.size()) / count) {
    const std::int64_t blocks = elements / columns / shift->rows, used = shift->rows * (columns - 1);
    RUNNEL_ASSIGN(y, shaped(x, {blocks, shift->rows * columns}));
    RUNNEL_ASSIGN(y, part_of(builder, node, y, 1, shift->first, used));
    RUNNEL_ASSIGN(y, shaped(y, {blocks, shift->rows, columns - 1}));
    RUNNEL_ASSIGN(y, part_of(builder, node, y, 2, 0, count));
  } else {
    RUNNEL_ASSIGN(const Value row, shaped(x, {elements}));
    RUNNEL_ASSIGN(
        const TensorId which,
        builder.plain(node, constant_value(make_integers(
                                DType::int32, {static_cast<std::int64_t>(places.size())}, places))));
    RUNNEL_ASSIGN(const TensorId picked, builder.emit(node, OpCode::gather, {row.id, which}, AxisOptions{0}));
    y = builder.computed(picked, identity_perm(1));
  }
  RUNNEL_ASSIGN(y, shaped(y, indices->dims));
  builder.result(node, std::move(y));
  return {};
}

Status convert_scatter(Builder& builder, const Node& node) {
  std::vector<TensorId> inputs;
  for (std::size_t i = 0; i < 3; ++i) {
    RUNNEL_ASSIGN(const Value value, builder.value(node, i));
    RUNNEL_ASSIGN(const TensorId id, builder.plain(node, value));
    inputs.push_back(id);
  }
  ScatterOptions options;
  const std::string reduction = node.text("reduction", "none");
  if (reduction == "add")
    options.reduction = ScatterReduction::add;
  else if (reduction == "mul")
    options.reduction = ScatterReduction::mul;
  else if (reduction == "max")
    options.reduction = ScatterReduction::max;
  else if (reduction == "min")
    options.reduction = ScatterReduction::min;
  else if (reduction != "none")
    return node.fail() << "reduction \"" << reduction << "\", expected none, add, mul, max or min";
  RUNNEL_ASSIGN(const TensorId y, builder.emit(node, OpCode::scatter_nd, inputs, options));
  builder.result(node, y, identity_perm(builder.at(y).shape.size()));
  return {};
}

Status convert_expand(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(Value x, builder.value(node, 0));
  RUNNEL_ASSIGN(const auto wanted, builder.integers(node, 1, "shape"));
  const auto dims = broadcast_dims(x.dims, wanted);
  if (!dims.ok()) return node.named(dims.status());
  RUNNEL_ASSIGN(x, builder.widened(node, x, dims->size()));
  if (x.dims != *dims) {
    const Perm perm = x.constant != nullptr ? identity_perm(x.rank()) : x.perm;
    RUNNEL_ASSIGN(const TensorId id, builder.stored(node, x, perm));
    RUNNEL_ASSIGN(const auto shape, shape_of(node, *dims, perm));
    RUNNEL_ASSIGN(const TensorId y, builder.emit(node, OpCode::expand, {id}, {}, shape));
    x = builder.computed(y, perm);
  }
  builder.result(node, std::move(x));
  return {};
}

}  // namespace runnel::compiler::onnx_source
