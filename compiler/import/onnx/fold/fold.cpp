#include "compiler/import/onnx/fold/fold.h"

#include <algorithm>

namespace runnel::compiler::onnx_source {
namespace {

Result<Constant> constant_node(const Node& node) {
  if (const auto* tensor = node.attribute("value"); tensor != nullptr && tensor->has_t()) {
    auto read = read_tensor(tensor->t());
    if (!read.ok()) return node.named(read.status());
    return read;
  }
  if (const auto* value = node.attribute("value_float"); value != nullptr)
    return make_reals(DType::float32, {}, std::vector<double>{value->f()});
  if (const auto* value = node.attribute("value_int"); value != nullptr)
    return make_integers(DType::int64, {}, std::vector<std::int64_t>{value->i()});
  if (const auto* value = node.attribute("value_floats"); value != nullptr) {
    return make_reals(DType::float32, {value->floats_size()},
                      std::vector<double>(value->floats().begin(), value->floats().end()));
  }
  if (const auto* value = node.attribute("value_ints"); value != nullptr) {
    return make_integers(DType::int64, {value->ints_size()},
                         std::vector<std::int64_t>(value->ints().begin(), value->ints().end()));
  }
  return node.fail(Code::unsupported) << "a constant that is neither a tensor nor numbers";
}

}  // namespace

std::vector<std::int64_t> list_of(const Node& node, const std::vector<const Constant*>& inputs,
                                  std::size_t position, std::string_view attribute) {
  if (position < inputs.size() && inputs[position] != nullptr) return integers_of(*inputs[position]);
  return node.integers(attribute);
}

Result<SliceBox> slice_box(const Node& node, const Dims& dims, const std::vector<std::int64_t>& starts,
                           const std::vector<std::int64_t>& ends, const std::vector<std::int64_t>& axes,
                           const std::vector<std::int64_t>& steps) {
  if (starts.size() != ends.size() || (!axes.empty() && axes.size() != starts.size()) ||
      (!steps.empty() && steps.size() != starts.size()) || starts.size() > dims.size()) {
    return node.fail() << starts.size() << " starts, " << ends.size() << " ends, " << axes.size()
                       << " axes and " << steps.size() << " steps for rank " << dims.size();
  }
  SliceBox box{std::vector<std::int64_t>(dims.size(), 0), std::vector<std::int64_t>(dims.size(), 1), dims};
  for (std::size_t i = 0; i < starts.size(); ++i) {
    RUNNEL_ASSIGN(const int axis,
                  axis_of(node, axes.empty() ? static_cast<std::int64_t>(i) : axes[i], dims.size()));
    const auto at = static_cast<std::size_t>(axis);
    const std::int64_t size = dims[at], step = steps.empty() ? 1 : steps[i];
    if (step == 0 || step < -kMaxElements) return node.fail() << "step " << step << " on axis " << axis;
    const auto from_end = [size](std::int64_t value) {
      return value < 0 ? std::max<std::int64_t>(value, -size - 1) + size : std::min(value, size);
    };
    const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    const std::int64_t begin =
        std::clamp(from_end(starts[i]), step > 0 ? 0 : std::min<std::int64_t>(0, high), high);
    const std::int64_t end = std::clamp(from_end(ends[i]), low, size);
    const std::int64_t span = step > 0 ? end - begin : begin - end,
                       stride = std::min(step > 0 ? step : -step, kMaxElements);
    box.begin[at] = begin;
    box.step[at] = step > 0 ? stride : -stride;
    box.count[at] = span <= 0 ? 0 : (span - 1) / stride + 1;
  }
  return box;
}

Result<Dims> reshaped_dims(const Node& node, const Dims& from, const std::vector<std::int64_t>& wanted,
                           bool zero_is_zero) {
  RUNNEL_ASSIGN(const std::int64_t total, checked_count(from));
  Dims dims = wanted;
  std::int64_t known = 1;
  int open = -1;
  if (dims.size() > kMaxAxes) return node.fail() << "to rank " << dims.size();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !zero_is_zero) {
      if (i >= from.size()) return node.fail() << "keeps axis " << i << " of " << text_of(from);
      dims[i] = from[i];
    }
    if (dims[i] == -1 && open < 0) {
      open = static_cast<int>(i);
      continue;
    }
    if (dims[i] < 0 || dims[i] > kMaxElements || (dims[i] > 0 && known > kMaxElements / dims[i]))
      return node.fail() << "to the shape " << text_of(wanted);
    known *= dims[i];
  }
  if (open >= 0) dims[static_cast<std::size_t>(open)] = known == 0 ? 0 : total / known;
  RUNNEL_ASSIGN(const std::int64_t count, checked_count(dims));
  if (count != total)
    return node.fail() << "from " << text_of(from) << " to " << text_of(wanted)
                       << ", which is another number of elements";
  return dims;
}

Result<Dims> squeezed_dims(const Node& node, const Dims& dims, const std::vector<std::int64_t>& axes) {
  std::vector<bool> gone(dims.size(), false);
  for (std::size_t i = 0; axes.empty() && i < dims.size(); ++i) gone[i] = dims[i] == 1;
  for (const std::int64_t axis : axes) {
    RUNNEL_ASSIGN(const int at, axis_of(node, axis, dims.size()));
    if (dims[static_cast<std::size_t>(at)] != 1)
      return node.fail() << "axis " << at << " of " << text_of(dims) << " is not 1";
    gone[static_cast<std::size_t>(at)] = true;
  }
  Dims out;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!gone[i]) out.push_back(dims[i]);
  }
  return out;
}

Result<Dims> unsqueezed_dims(const Node& node, const Dims& dims, const std::vector<std::int64_t>& axes) {
  const std::size_t rank = dims.size() + axes.size();
  if (rank > kMaxAxes) return node.fail() << "to rank " << rank;
  std::vector<bool> fresh(rank, false);
  for (const std::int64_t axis : axes) {
    RUNNEL_ASSIGN(const int at, axis_of(node, axis, rank));
    if (fresh[static_cast<std::size_t>(at)]) return node.fail() << "axis " << at << " twice";
    fresh[static_cast<std::size_t>(at)] = true;
  }
  Dims out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) out.push_back(fresh[i] ? 1 : dims[next++]);
  return out;
}

Result<std::vector<std::int64_t>> split_sizes(const Node& node, std::int64_t size,
                                              const std::vector<std::int64_t>& asked) {
  std::vector<std::int64_t> sizes = asked;
  if (sizes.empty()) {
    const auto parts = static_cast<std::int64_t>(node.outputs.size());
    const std::int64_t each = (size + parts - 1) / parts;
    for (std::int64_t i = 0; i < parts; ++i) sizes.push_back(std::min(each, size - std::min(size, each * i)));
  }
  std::int64_t sum = 0;
  for (const std::int64_t part : sizes) {
    if (part < 0 || part > size) return node.fail() << "a part of " << part << " of " << size;
    sum += part;
  }
  if (sizes.size() != node.outputs.size() || sum != size)
    return node.fail() << "parts of " << sum << " elements in " << node.outputs.size() << " outputs from "
                       << size;
  return sizes;
}

Result<std::vector<std::int64_t>> gathered_places(const Node& node, const Dims& dims,
                                                  const Constant& indices) {
  RUNNEL_ASSIGN(const int axis, axis_of(node, node.integer("axis", 0), dims.size()));
  bool fits = indices.dims.size() == dims.size() && !is_real(indices.dtype);
  for (std::size_t i = 0; fits && i < dims.size(); ++i)
    fits = static_cast<int>(i) == axis || indices.dims[i] <= dims[i];
  if (!fits)
    return node.fail() << "indices of " << text_of(indices.dims) << " for an input of " << text_of(dims);
  const std::int64_t size = dims[static_cast<std::size_t>(axis)];
  const std::vector<std::int64_t> from = dense_strides(dims), own = dense_strides(indices.dims);
  std::vector<std::int64_t> places = integers_of(indices);
  for (std::size_t k = 0; k < places.size(); ++k) {
    std::int64_t index = places[k];
    if (index < 0) index += size;
    if (index < 0 || index >= size) return node.fail() << "index " << places[k] << " of " << size;
    std::int64_t place = index * from[static_cast<std::size_t>(axis)], rest = static_cast<std::int64_t>(k);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (static_cast<int>(i) != axis) place += rest / own[i] * from[i];
      rest %= own[i];
    }
    places[k] = place;
  }
  return places;
}

Result<std::optional<std::vector<Constant>>> fold(const Node& node,
                                                  const std::vector<const Constant*>& inputs) {
  if (node.op == "Constant") {
    RUNNEL_ASSIGN(Constant value, constant_node(node));
    return std::optional(std::vector<Constant>{std::move(value)});
  }
  RUNNEL_ASSIGN(std::optional<Constant> value, fold_arithmetic(node, inputs));
  if (value) return std::optional(std::vector<Constant>{std::move(*value)});
  RUNNEL_ASSIGN(value, fold_quantized(node, inputs));
  if (value) return std::optional(std::vector<Constant>{std::move(*value)});
  return fold_movement(node, inputs);
}

}  // namespace runnel::compiler::onnx_source
