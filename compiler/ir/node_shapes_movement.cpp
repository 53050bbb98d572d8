// Operators that move data, and those whose shapes the caller gives.
#include <algorithm>

#include "compiler/ir/node_shapes.h"

namespace runnel::compiler::node_shapes {

Status reshape(const Case& at) {
  RUNNEL_TRY(at.operands(1, 1));
  if (elements(at.output(0)) != elements(at.input(0))) {
    return at.fail() << "from " << text_of(at.input(0)) << " to " << text_of(at.output(0))
                     << ", which is another number of elements";
  }
  return {};
}

Status transpose(const Case& at) {
  RUNNEL_TRY(at.operands(1, 1));
  const auto options = at.options<TransposeOptions>();
  const Shape& x = at.input(0);
  std::vector<bool> seen(x.size(), false);
  std::vector<std::int64_t> dims;
  for (const std::uint8_t axis : options.perm) {
    if (axis >= x.size() || seen[axis]) break;
    seen[axis] = true;
    dims.push_back(x[axis]);
  }
  if (dims.size() != x.size() || options.perm.size() != x.size())
    return at.fail() << "its order of axes is no permutation of " << x.size() << " axes";
  return at.set(0, dims);
}

Status slice(const Case& at) {
  RUNNEL_TRY(at.operands(1, 1));
  const auto options = at.options<SliceOptions>();
  const Shape &x = at.input(0), &y = at.output(0);
  if (options.begin.size() != x.size() || options.step.size() != x.size() || y.size() != x.size())
    return at.fail() << "one begin, step and length per axis expected";
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t first = options.begin[i], last = first + std::int64_t{y[i] - 1} * options.step[i];
    if (options.step[i] == 0 || y[i] < 1 || first < 0 || first >= x[i] || last < 0 || last >= x[i]) {
      return at.fail() << "axis " << i << ": " << y[i] << " elements from " << first << " in steps of "
                       << options.step[i] << " of " << x[i];
    }
  }
  return {};
}

Status concat(const Case& at) {
  RUNNEL_TRY(at.operands(at.node.inputs.size(), 1));
  if (at.node.inputs.empty()) return at.fail() << "no inputs";
  const int axis = at.options<AxisOptions>().axis;
  RUNNEL_TRY(axis_inside(at, axis, at.input(0)));
  std::vector<std::int64_t> dims(at.input(0).begin(), at.input(0).end());
  for (std::size_t k = 1; k < at.node.inputs.size(); ++k) {
    const Shape& x = at.input(k);
    bool fits = x.size() == dims.size();
    for (std::size_t i = 0; fits && i < dims.size(); ++i)
      fits = static_cast<int>(i) == axis || dims[i] == x[i];
    if (!fits)
      return at.fail() << "inputs of " << text_of(at.input(0)) << " and " << text_of(x)
                       << " do not fit on axis " << axis;
    dims[static_cast<std::size_t>(axis)] += x[static_cast<std::size_t>(axis)];
  }
  return at.set(0, dims);
}

Status split(const Case& at) {
  RUNNEL_TRY(at.operands(1, at.node.outputs.size()));
  const int axis = at.options<AxisOptions>().axis;
  RUNNEL_TRY(axis_inside(at, axis, at.input(0)));
  std::int64_t total = 0;
  for (std::size_t k = 0; k < at.node.outputs.size(); ++k) {
    Shape expected = at.input(0);
    const Shape& y = at.output(k);
    if (y.size() == expected.size())
      expected[static_cast<std::size_t>(axis)] = y[static_cast<std::size_t>(axis)];
    if (y != expected || y[static_cast<std::size_t>(axis)] < 1)
      return at.fail() << "output " << k << " of " << text_of(y) << " from " << text_of(at.input(0));
    total += y[static_cast<std::size_t>(axis)];
  }
  if (total != at.input(0)[static_cast<std::size_t>(axis)])
    return at.fail() << "parts of " << total << " in all from " << text_of(at.input(0)) << " on axis "
                     << axis;
  return {};
}

Status pad(const Case& at) {
  RUNNEL_TRY(at.operands(1, 1));
  const auto options = at.options<PadOptions>();
  const Shape& x = at.input(0);
  if (options.before.size() != x.size() || options.after.size() != x.size())
    return at.fail() << "one padding in front and after per axis expected";
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (options.before[i] < 0 || options.after[i] < 0) return at.fail() << "negative padding on axis " << i;
    if (options.mode == PadMode::reflect && (options.before[i] >= x[i] || options.after[i] >= x[i])) {
      return at.fail() << "reflecting " << std::max(options.before[i], options.after[i]) << " elements of "
                       << x[i] << " on axis " << i;
    }
    dims.push_back(std::int64_t{x[i]} + options.before[i] + options.after[i]);
  }
  return at.set(0, dims);
}

Status block(const Case& at, bool to_space) {
  RUNNEL_TRY(at.operands(1, 1));
  const std::int64_t size = at.options<BlockOptions>().size;
  const Shape& x = at.input(0);
  if (x.size() != 4 || size < 1 || size > 4096 || (to_space && x[3] % (size * size) != 0))
    return at.fail() << "blocks of " << size << " for an input of " << text_of(x);
  if (to_space) return at.set(0, {x[0], x[1] * size, x[2] * size, x[3] / (size * size)});
  return at.set(0, {x[0], x[1] / size, x[2] / size, x[3] * size * size});
}

Status gather(const Case& at) {
  RUNNEL_TRY(at.operands(2, 1));
  const int axis = at.options<AxisOptions>().axis;
  RUNNEL_TRY(axis_inside(at, axis, at.input(0)));
  std::vector<std::int64_t> dims(at.input(0).begin(), at.input(0).end());
  dims.erase(dims.begin() + axis);
  dims.insert(dims.begin() + axis, at.input(1).begin(), at.input(1).end());
  return at.set(0, dims);
}

// Resize and expand: the output's shape is given.
Status given(const Case& at) {
  RUNNEL_TRY(at.operands(1, 1));
  const Shape y = at.output(0);
  return at.set(0, {y.begin(), y.end()});
}

Status insert_zeros(const Case& at) {
  RUNNEL_TRY(at.operands(1, 1));
  const auto options = at.options<InsertZerosOptions>();
  const Shape& x = at.input(0);
  if (x.size() != 3 && x.size() != 4)
    return at.fail() << "input of " << text_of(x) << ", expected rank 3 or 4";
  std::vector<std::int64_t> dims(x.begin(), x.end());
  const std::size_t width = x.size() - 2;
  dims[width] = (dims[width] - 1) * options.stride_width + 1 + options.after_width;
  if (width == 2) dims[1] = (dims[1] - 1) * options.stride_height + 1 + options.after_height;
  return at.set(0, dims);
}

Status streaming_cache(const Case& at) {
  RUNNEL_TRY(at.operands(1, 1));
  const auto options = at.options<StreamingCacheOptions>();
  const Shape& x = at.input(0);
  if (options.axis < 0 || static_cast<std::size_t>(options.axis) >= x.size())
    return at.fail() << "axis " << options.axis << " of " << text_of(x);
  std::vector<std::int64_t> dims(x.begin(), x.end());
  dims[static_cast<std::size_t>(options.axis)] += options.frames;
  return at.set(0, dims);
}

// Only the application or back end knows: what the caller put there.
Status custom(const Case& at) {
  for (std::size_t i = 0; i < at.node.outputs.size(); ++i) {
    for (const std::int32_t dim : at.output(i)) {
      if (dim <= 0)
        return at.fail() << "output " << i << " was stated to be " << text_of(at.output(i))
                         << ", expected dimensions of 1 or more";
    }
  }
  return {};
}

}  // namespace runnel::compiler::node_shapes
