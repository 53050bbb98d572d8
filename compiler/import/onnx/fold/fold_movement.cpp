// Rearranging constants.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "compiler/import/onnx/fold/fold.h"

namespace runnel::compiler::onnx_source {
namespace {

using Inputs = std::vector<const Constant*>;

bool given(const Inputs& inputs, std::size_t position) {
  return position < inputs.size() && inputs[position] != nullptr;
}

Constant with_dims(const Constant& x, Dims dims) { return {x.dtype, std::move(dims), x.data}; }

Result<Constant> slice(const Node& node, const Inputs& inputs) {
  const Constant& x = *inputs[0];
  RUNNEL_ASSIGN(const SliceBox box,
                slice_box(node, x.dims, list_of(node, inputs, 1, "starts"), list_of(node, inputs, 2, "ends"),
                          list_of(node, inputs, 3, "axes"), list_of(node, inputs, 4, "steps")));
  std::vector<std::int64_t> strides = dense_strides(x.dims);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    offset += box.begin[i] * strides[i];
    strides[i] *= box.step[i];
  }
  return strided(x, box.count, offset, strides);
}

Result<Constant> gather(const Node& node, const Inputs& inputs) {
  const Constant &x = *inputs[0], &indices = *inputs[1];
  RUNNEL_ASSIGN(const int axis, axis_of(node, node.integer("axis", 0), x.dims.size()));
  const auto at = static_cast<std::size_t>(axis);
  Constant out{x.dtype, {x.dims.begin(), x.dims.begin() + axis}, {}};
  out.dims.insert(out.dims.end(), indices.dims.begin(), indices.dims.end());
  out.dims.insert(out.dims.end(), x.dims.begin() + axis + 1, x.dims.end());
  RUNNEL_TRY(node.named(checked_count(out.dims).status()));
  std::size_t outer = 1, slice_bytes = size_of(x.dtype);
  for (std::size_t i = 0; i < at; ++i) outer *= static_cast<std::size_t>(x.dims[i]);
  for (std::size_t i = at + 1; i < x.dims.size(); ++i) slice_bytes *= static_cast<std::size_t>(x.dims[i]);
  const auto length = static_cast<std::size_t>(x.dims[at]);
  const std::vector<std::int64_t> picked = integers_of(indices);
  for (std::size_t row = 0; row < outer; ++row) {
    for (std::int64_t index : picked) {
      if (index < 0) index += x.dims[at];
      if (index < 0 || index >= x.dims[at]) return node.fail() << "index " << index << " of " << x.dims[at];
      const auto from = x.data.begin() + static_cast<std::ptrdiff_t>(
                                             (row * length + static_cast<std::size_t>(index)) * slice_bytes);
      out.data.insert(out.data.end(), from, from + static_cast<std::ptrdiff_t>(slice_bytes));
    }
  }
  return out;
}

Result<Constant> gather_elements(const Node& node, const Constant& x, const Constant& indices) {
  RUNNEL_ASSIGN(const std::vector<std::int64_t> places, gathered_places(node, x.dims, indices));
  Constant out{x.dtype, indices.dims, {}};
  const auto size = static_cast<std::ptrdiff_t>(size_of(x.dtype));
  for (const std::int64_t place : places) {
    const auto from = x.data.begin() + static_cast<std::ptrdiff_t>(place) * size;
    out.data.insert(out.data.end(), from, from + size);
  }
  return out;
}

Result<Constant> concat(const Node& node, const Inputs& inputs) {
  const Constant& first = *inputs[0];
  RUNNEL_ASSIGN(const int axis, axis_of(node, node.integer("axis", 0), first.dims.size()));
  const auto at = static_cast<std::size_t>(axis);
  Constant out{first.dtype, first.dims, {}};
  out.dims[at] = 0;
  for (const Constant* part : inputs) {
    if (part == nullptr) return node.fail() << "an absent input";
    bool fits = part->dtype == first.dtype && part->dims.size() == first.dims.size();
    for (std::size_t i = 0; fits && i < part->dims.size(); ++i)
      fits = i == at || part->dims[i] == first.dims[i];
    if (!fits)
      return node.fail() << text_of(first.dims) << " and " << text_of(part->dims) << " do not fit on axis "
                         << axis;
    out.dims[at] += part->dims[at];
  }
  RUNNEL_TRY(node.named(checked_count(out.dims).status()));
  std::size_t outer = 1;
  for (std::size_t i = 0; i < at; ++i) outer *= static_cast<std::size_t>(first.dims[i]);
  for (std::size_t row = 0; row < outer; ++row) {
    for (const Constant* part : inputs) {
      const std::size_t bytes = part->data.size() / outer;
      out.data.insert(out.data.end(), part->data.begin() + static_cast<std::ptrdiff_t>(row * bytes),
                      part->data.begin() + static_cast<std::ptrdiff_t>((row + 1) * bytes));
    }
  }
  return out;
}

Result<std::vector<Constant>> split(const Node& node, const Inputs& inputs) {
  const Constant& x = *inputs[0];
  RUNNEL_ASSIGN(const int axis, axis_of(node, node.integer("axis", 0), x.dims.size()));
  const auto at = static_cast<std::size_t>(axis);
  RUNNEL_ASSIGN(const auto sizes, split_sizes(node, x.dims[at], list_of(node, inputs, 1, "split")));
  const std::vector<std::int64_t> strides = dense_strides(x.dims);
  std::vector<Constant> parts;
  std::int64_t first = 0;
  for (const std::int64_t size : sizes) {
    Dims dims = x.dims;
    dims[at] = size;
    parts.push_back(strided(x, dims, first * strides[at], strides));
    first += size;
  }
  return parts;
}

Result<Constant> transpose(const Node& node, const Constant& x) {
  std::vector<int> perm;
  std::vector<bool> seen(x.dims.size(), false);
  for (const std::int64_t axis : node.integers("perm")) {
    RUNNEL_ASSIGN(const int at, axis_of(node, axis, x.dims.size()));
    if (seen[static_cast<std::size_t>(at)]) return node.fail() << "axis " << at << " twice";
    seen[static_cast<std::size_t>(at)] = true;
    perm.push_back(at);
  }
  if (perm.empty()) {
    for (std::size_t i = x.dims.size(); i-- > 0;) perm.push_back(static_cast<int>(i));
  }
  if (perm.size() != x.dims.size())
    return node.fail() << "an order of " << perm.size() << " axes for rank " << x.dims.size();
  return transposed(x, perm);
}

Result<Constant> constant_of_shape(const Node& node, const Constant& shape) {
  const Dims dims = integers_of(shape);
  const auto count = checked_count(dims);
  if (!count.ok()) return node.named(count.status());
  Constant value = make_reals(DType::float32, {1}, std::vector<double>{0});
  if (const auto* given_value = node.attribute("value"); given_value != nullptr) {
    RUNNEL_ASSIGN(value, read_tensor(given_value->t()));
    if (value.count() != 1) return node.fail() << "a value of " << value.count() << " elements, expected 1";
  }
  return strided(value, dims, 0, std::vector<std::int64_t>(dims.size(), 0));
}

Result<Constant> expand(const Node& node, const Inputs& inputs) {
  const auto dims = broadcast_dims(inputs[0]->dims, integers_of(*inputs[1]));
  if (!dims.ok()) return node.named(dims.status());
  return broadcast_to(*inputs[0], *dims);
}

Result<Constant> tile(const Node& node, const Inputs& inputs) {
  const Constant& x = *inputs[0];
  const std::vector<std::int64_t> repeats = integers_of(*inputs[1]);
  if (repeats.size() != x.dims.size() || 2 * repeats.size() > kMaxAxes)
    return node.fail() << repeats.size() << " repeats for rank " << x.dims.size();
  const std::vector<std::int64_t> from = dense_strides(x.dims);
  Dims wide, dims;
  std::vector<std::int64_t> strides;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    wide.insert(wide.end(), {repeats[i], x.dims[i]});
    strides.insert(strides.end(), {0, from[i]});
  }
  RUNNEL_TRY(node.named(checked_count(wide).status()));
  for (std::size_t i = 0; i < repeats.size(); ++i) dims.push_back(repeats[i] * x.dims[i]);
  return with_dims(strided(x, wide, 0, strides), dims);
}

// Null for operators that are not here.
Result<std::optional<Constant>> single(const Node& node, const Inputs& inputs) {
  const Constant& x = *inputs[0];
  const std::string& op = node.op;
  const auto known = [](Result<Constant> value) -> Result<std::optional<Constant>> {
    if (!value.ok()) return value.status();
    return std::optional(std::move(value).value());
  };
  const auto shaped = [&](Result<Dims> dims) -> Result<std::optional<Constant>> {
    if (!dims.ok()) return dims.status();
    return std::optional(with_dims(x, std::move(dims).value()));
  };
  if (op == "Identity" || op == "Dropout") return std::optional(x);
  if (op == "Shape")
    return known(make_integers(DType::int64, {static_cast<std::int64_t>(x.dims.size())}, x.dims));
  if (op == "Reshape" && given(inputs, 1))
    return shaped(reshaped_dims(node, x.dims, integers_of(*inputs[1]), node.integer("allowzero", 0) != 0));
  if (op == "Squeeze") return shaped(squeezed_dims(node, x.dims, list_of(node, inputs, 1, "axes")));
  if (op == "Unsqueeze") return shaped(unsqueezed_dims(node, x.dims, list_of(node, inputs, 1, "axes")));
  if (op == "Slice") return known(slice(node, inputs));
  if (op == "Gather" && given(inputs, 1)) return known(gather(node, inputs));
  if (op == "GatherElements" && given(inputs, 1)) return known(gather_elements(node, x, *inputs[1]));
  if (op == "Concat") return known(concat(node, inputs));
  if (op == "Transpose") return known(transpose(node, x));
  if (op == "ConstantOfShape") return known(constant_of_shape(node, x));
  if (op == "Expand" && given(inputs, 1)) return known(expand(node, inputs));
  if (op == "Tile" && given(inputs, 1)) return known(tile(node, inputs));
  if (op == "Size") return known(make_integers(DType::int64, {}, std::vector<std::int64_t>{x.count()}));
  return std::optional<Constant>();
}

}  // namespace

Result<std::optional<std::vector<Constant>>> fold_movement(const Node& node, const Inputs& inputs) {
  if (!given(inputs, 0)) return std::optional<std::vector<Constant>>();
  if (node.op == "Split") {
    RUNNEL_ASSIGN(std::vector<Constant> parts, split(node, inputs));
    return std::optional(std::move(parts));
  }
  RUNNEL_ASSIGN(std::optional<Constant> value, single(node, inputs));
  if (!value) return std::optional<std::vector<Constant>>();
  return std::optional(std::vector<Constant>{std::move(*value)});
}

}  // namespace runnel::compiler::onnx_source
