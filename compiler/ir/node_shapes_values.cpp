// Operators of single elements, choices among them and reductions.
#include <algorithm>

#include "base/checked.h"
#include "compiler/ir/node_shapes.h"
#include "compiler/ir/shapes.h"

namespace runnel::compiler::node_shapes {

std::string text_of(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

std::int64_t elements(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int32_t dim : shape) {
    if (!checked_mul<std::int64_t>(count, dim, count)) return -1;
  }
  return count;
}

Status axis_inside(const Case& at, int axis, const Shape& shape) {
  if (axis < 0 || axis >= static_cast<int>(shape.size()))
    return at.fail() << "axis " << axis << " of a tensor of rank " << shape.size();
  return {};
}

Status same(const Case& at) {
  RUNNEL_TRY(at.operands(1, 1));
  at.output(0) = at.input(0);
  return {};
}

Result<std::vector<std::int64_t>> broadcast(const Case& at, const Shape& a, const Shape& b) {
  std::vector<std::int64_t> dims(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t da = i < a.size() ? a[a.size() - 1 - i] : 1,
                       db = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (da != db && da != 1 && db != 1)
      return at.fail() << "operands of " << text_of(a) << " and " << text_of(b) << " do not fit";
    dims[dims.size() - 1 - i] = da == 1 ? db : da;
  }
  return dims;
}

Status binary(const Case& at) {
  RUNNEL_TRY(at.operands(2, 1));
  RUNNEL_ASSIGN(const auto dims, broadcast(at, at.input(0), at.input(1)));
  return at.set(0, dims);
}

Status along_axis(const Case& at) {
  RUNNEL_TRY(at.operands(1, 1));
  RUNNEL_TRY(axis_inside(at, at.options<AxisOptions>().axis, at.input(0)));
  return same(at);
}

Status lut(const Case& at) {
  RUNNEL_TRY(at.operands(2, 1));
  return same(at);
}

Status prelu(const Case& at) {
  RUNNEL_TRY(at.operands(2, 1));
  RUNNEL_ASSIGN(const auto dims, broadcast(at, at.input(0), at.input(1)));
  if (!std::equal(dims.begin(), dims.end(), at.input(0).begin(), at.input(0).end())) {
    return at.fail() << "slopes of " << text_of(at.input(1)) << " for an input of " << text_of(at.input(0));
  }
  return same(at);
}

Status where(const Case& at) {
  RUNNEL_TRY(at.operands(3, 1));
  RUNNEL_ASSIGN(const auto sides, broadcast(at, at.input(1), at.input(2)));
  RUNNEL_ASSIGN(const auto dims, broadcast(at, at.input(0), Shape(sides.begin(), sides.end())));
  return at.set(0, dims);
}

Status arg_max(const Case& at) {
  RUNNEL_TRY(at.operands(1, 1));
  const int axis = at.options<AxisOptions>().axis;
  RUNNEL_TRY(axis_inside(at, axis, at.input(0)));
  std::vector<std::int64_t> dims(at.input(0).begin(), at.input(0).end());
  dims[static_cast<std::size_t>(axis)] = 1;
  return at.set(0, dims);
}

// k is the caller's, in the shape of the values.
Status top_k(const Case& at) {
  RUNNEL_TRY(at.operands(1, 2));
  const int axis = at.options<TopKOptions>().axis;
  RUNNEL_TRY(axis_inside(at, axis, at.input(0)));
  Shape expected = at.input(0);
  const Shape& values = at.output(0);
  const auto along = static_cast<std::size_t>(axis);
  const std::int32_t k = values.size() == expected.size() ? values[along] : 0;
  if (k < 1 || k > expected[along])
    return at.fail() << k << " of the elements on axis " << axis << " of " << text_of(at.input(0));
  expected[along] = k;
  if (values != expected)
    return at.fail() << "values of " << text_of(values) << ", expected " << text_of(expected);
  at.output(1) = expected;
  return {};
}

Status reduce(const Case& at) {
  RUNNEL_TRY(at.operands(1, 1));
  const auto options = at.options<ReduceOptions>();
  std::vector<std::int64_t> dims(at.input(0).begin(), at.input(0).end());
  if (options.axes.empty()) return at.fail() << "no axes";
  for (const std::uint8_t axis : options.axes) {
    RUNNEL_TRY(axis_inside(at, axis, at.input(0)));
    dims[axis] = 1;
  }
  if (at.node.arithmetic == Arithmetic::espdl || at.node.arithmetic == Arithmetic::tflite)
    return at.set(0, dims);
  RUNNEL_TRY(axis_inside(at, options.time_axis, at.input(0)));
  const std::int32_t frames = at.input(0)[static_cast<std::size_t>(options.time_axis)];
  if (options.hop < 1) return at.fail() << "a hop of " << options.hop << ", expected at least 1";
  dims[static_cast<std::size_t>(options.time_axis)] =
      options.window < 0 ? frames : window_length(frames, options.window, options.hop, options.before, 0);
  return at.set(0, dims);
}

}  // namespace runnel::compiler::node_shapes
