#include "compiler/shapes.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/checked.h"

namespace runnel::compiler {
namespace {

using Shape = std::vector<std::int32_t>;

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

// One node on its way: operands, and the start of every error.
struct Case {
  Graph& graph;
  const Node& node;

  [[nodiscard]] Status fail() const {
    return Status(Code::invalid_data) << "node \"" << node.name << "\" (" << fb::EnumNameOpCode(node.code) << "): ";
  }
  [[nodiscard]] bool has(std::size_t position) const { return position < node.inputs.size() && node.inputs[position] != kAbsent; }
  [[nodiscard]] const Shape& input(std::size_t position) const {
    return graph.tensors[static_cast<std::size_t>(node.inputs[position])].shape;
  }
  [[nodiscard]] Shape& output(std::size_t position) const { return graph.tensors[static_cast<std::size_t>(node.outputs[position])].shape; }
  template <class T>
  [[nodiscard]] T options() const {
    const T* given = std::get_if<T>(&node.options);
    return given == nullptr ? T{} : *given;
  }

  [[nodiscard]] Status operands(std::size_t inputs, std::size_t outputs) const {
    for (std::size_t i = 0; i < inputs; ++i) {
      if (!has(i)) return fail() << "input " << i << " is absent";
    }
    if (node.outputs.size() != outputs) return fail() << node.outputs.size() << " outputs, expected " << outputs;
    return {};
  }
  [[nodiscard]] Status set(std::size_t position, const std::vector<std::int64_t>& dims) const {
    Shape shape;
    for (const std::int64_t dim : dims) {
      if (dim <= 0 || dim > std::numeric_limits<std::int32_t>::max()) {
        return fail() << "dimension " << shape.size() << " of output " << position << " would be " << dim << " for an input of " << text_of(input(0));
      }
      shape.push_back(static_cast<std::int32_t>(dim));
    }
    output(position) = std::move(shape);
    return {};
  }
};

Status axis_inside(const Case& at, int axis, const Shape& shape) {
  if (axis < 0 || axis >= static_cast<int>(shape.size())) return at.fail() << "axis " << axis << " of a tensor of rank " << shape.size();
  return {};
}

Status same(const Case& at) {
  RUNNEL_TRY(at.operands(1, 1));
  at.output(0) = at.input(0);
  return {};
}

// The two spatial axes of [.., height, width, C]; rank 3 (or a 1-D window) has height 1 and time as width.
struct Plane {
  std::int64_t height = 1, width = 1, channels = 1;
  bool two_dimensional = false;
};

Result<Plane> plane_of(const Case& at, bool one_dimensional) {
  const Shape& x = at.input(0);
  Plane plane;
  plane.two_dimensional = !one_dimensional;
  const std::size_t least = one_dimensional ? 2 : 3;
  if (x.size() < least) return at.fail() << "input of rank " << x.size() << ", expected at least " << least;
  plane.channels = x[x.size() - 1];
  plane.width = x[x.size() - 2];
  if (!one_dimensional) plane.height = x[x.size() - 3];
  return plane;
}

template <class Window>
Status check_window(const Case& at, const Window& window) {
  for (const int value : {window.stride_height, window.stride_width, window.dilation_height, window.dilation_width}) {
    if (value < 1) return at.fail() << "stride or dilation " << value << ", expected at least 1";
  }
  for (const int pad : {window.pad_top, window.pad_left, window.pad_bottom, window.pad_right}) {
    if (pad < 0) return at.fail() << "padding " << pad << ", expected at least 0";
  }
  return {};
}

template <class Window>
Status set_window(const Case& at, const Window& window, const Plane& plane, std::int64_t kernel_height, std::int64_t kernel_width,
                  std::int64_t channels) {
  const auto extent = [](std::int64_t kernel, std::int64_t dilation) { return (kernel - 1) * dilation + 1; };
  std::vector<std::int64_t> dims(at.input(0).begin(), at.input(0).end());
  const std::size_t rank = dims.size();
  dims[rank - 1] = channels;
  dims[rank - 2] = window_length(plane.width, extent(kernel_width, window.dilation_width), window.stride_width, window.pad_left, window.pad_right);
  if (plane.two_dimensional) {
    dims[rank - 3] = window_length(plane.height, extent(kernel_height, window.dilation_height), window.stride_height, window.pad_top, window.pad_bottom);
  }
  return at.set(0, dims);
}

// A 2-D weight tensor always has four dimensions; whether the input has a height is told by its rank: [1, T, C] has none.
Status conv(const Case& at) {
  RUNNEL_TRY(at.operands(2, 1));
  const auto options = at.options<ConvOptions>();
  RUNNEL_TRY(check_window(at, options));
  const Shape& weights = at.input(1);
  if (weights.size() != 4) return at.fail() << "weights of rank " << weights.size() << ", expected 4";
  RUNNEL_ASSIGN(const Plane plane, plane_of(at, at.input(0).size() < 4));
  if (!plane.two_dimensional && (weights[1] != 1 || options.pad_top != 0 || options.pad_bottom != 0)) {
    return at.fail() << "a kernel or padding in height for an input of " << text_of(at.input(0));
  }
  if (options.groups < 1 || weights[0] % options.groups != 0 || std::int64_t{weights[3]} * options.groups != plane.channels) {
    return at.fail() << "weights of " << text_of(weights) << " in " << options.groups << " groups for an input of " << text_of(at.input(0));
  }
  if (at.has(2) && elements(at.input(2)) != weights[0]) return at.fail() << "bias of " << text_of(at.input(2)) << " for " << weights[0] << " outputs";
  return set_window(at, options, plane, weights[1], weights[2], weights[0]);
}

Status fully_connected(const Case& at) {
  RUNNEL_TRY(at.operands(2, 1));
  const Shape &x = at.input(0), &weights = at.input(1);
  if (weights.size() != 2 || x.empty() || x.back() != weights[1]) {
    return at.fail() << "weights of " << text_of(weights) << " for an input of " << text_of(x) << ", expected [outputs, " << (x.empty() ? 0 : x.back()) << "]";
  }
  if (at.has(2) && elements(at.input(2)) != weights[0]) return at.fail() << "bias of " << text_of(at.input(2)) << " for " << weights[0] << " outputs";
  std::vector<std::int64_t> dims(x.begin(), x.end());
  dims.back() = weights[0];
  return at.set(0, dims);
}

Result<std::vector<std::int64_t>> broadcast(const Case& at, const Shape& a, const Shape& b) {
  std::vector<std::int64_t> dims(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t da = i < a.size() ? a[a.size() - 1 - i] : 1, db = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (da != db && da != 1 && db != 1) return at.fail() << "operands of " << text_of(a) << " and " << text_of(b) << " do not fit";
    dims[dims.size() - 1 - i] = da == 1 ? db : da;
  }
  return dims;
}

Status binary(const Case& at) {
  RUNNEL_TRY(at.operands(2, 1));
  RUNNEL_ASSIGN(const auto dims, broadcast(at, at.input(0), at.input(1)));
  return at.set(0, dims);
}

Status matmul(const Case& at) {
  RUNNEL_TRY(at.operands(2, 1));
  const Shape &a = at.input(0), &b = at.input(1);
  if (a.size() < 2 || b.size() < 2 || a.back() != b[b.size() - 2]) return at.fail() << "operands of " << text_of(a) << " and " << text_of(b) << " do not fit";
  RUNNEL_ASSIGN(auto dims, broadcast(at, Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2)));
  dims.push_back(a[a.size() - 2]);
  dims.push_back(b.back());
  return at.set(0, dims);
}

Status pool(const Case& at) {
  RUNNEL_TRY(at.operands(1, 1));
  const auto options = at.options<PoolOptions>();
  RUNNEL_TRY(check_window(at, options));
  RUNNEL_ASSIGN(const Plane plane, plane_of(at, at.input(0).size() < 4));
  if (options.global) {
    std::vector<std::int64_t> dims(at.input(0).begin(), at.input(0).end());
    dims[dims.size() - 2] = 1;
    if (plane.two_dimensional) dims[dims.size() - 3] = 1;
    return at.set(0, dims);
  }
  if (options.kernel_height < 1 || options.kernel_width < 1 || (!plane.two_dimensional && options.kernel_height != 1)) {
    return at.fail() << "kernel of " << options.kernel_height << " x " << options.kernel_width << " for an input of " << text_of(at.input(0));
  }
  return set_window(at, options, plane, options.kernel_height, options.kernel_width, plane.channels);
}

Status reshape(const Case& at) {
  RUNNEL_TRY(at.operands(1, 1));
  if (elements(at.output(0)) != elements(at.input(0))) {
    return at.fail() << "from " << text_of(at.input(0)) << " to " << text_of(at.output(0)) << ", which is another number of elements";
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
  if (dims.size() != x.size() || options.perm.size() != x.size()) return at.fail() << "its order of axes is no permutation of " << x.size() << " axes";
  return at.set(0, dims);
}

Status slice(const Case& at) {
  RUNNEL_TRY(at.operands(1, 1));
  const auto options = at.options<SliceOptions>();
  const Shape &x = at.input(0), &y = at.output(0);
  if (options.begin.size() != x.size() || options.step.size() != x.size() || y.size() != x.size()) return at.fail() << "one begin, step and length per axis expected";
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t first = options.begin[i], last = first + std::int64_t{y[i] - 1} * options.step[i];
    if (options.step[i] == 0 || y[i] < 1 || first < 0 || first >= x[i] || last < 0 || last >= x[i]) {
      return at.fail() << "axis " << i << ": " << y[i] << " elements from " << first << " in steps of " << options.step[i] << " of " << x[i];
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
    for (std::size_t i = 0; fits && i < dims.size(); ++i) fits = static_cast<int>(i) == axis || dims[i] == x[i];
    if (!fits) return at.fail() << "inputs of " << text_of(at.input(0)) << " and " << text_of(x) << " do not fit on axis " << axis;
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
    if (y.size() == expected.size()) expected[static_cast<std::size_t>(axis)] = y[static_cast<std::size_t>(axis)];
    if (y != expected || y[static_cast<std::size_t>(axis)] < 1) return at.fail() << "output " << k << " of " << text_of(y) << " from " << text_of(at.input(0));
    total += y[static_cast<std::size_t>(axis)];
  }
  if (total != at.input(0)[static_cast<std::size_t>(axis)]) return at.fail() << "parts of " << total << " in all from " << text_of(at.input(0)) << " on axis " << axis;
  return {};
}

Status pad(const Case& at) {
  RUNNEL_TRY(at.operands(1, 1));
  const auto options = at.options<PadOptions>();
  const Shape& x = at.input(0);
  if (options.before.size() != x.size() || options.after.size() != x.size()) return at.fail() << "one padding in front and behind per axis expected";
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (options.before[i] < 0 || options.after[i] < 0) return at.fail() << "negative padding on axis " << i;
    if (options.mode == fb::PadMode::reflect && (options.before[i] >= x[i] || options.after[i] >= x[i])) {
      return at.fail() << "reflecting " << std::max(options.before[i], options.after[i]) << " elements of " << x[i] << " on axis " << i;
    }
    dims.push_back(std::int64_t{x[i]} + options.before[i] + options.after[i]);
  }
  return at.set(0, dims);
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
  if (at.node.version == 1 || at.node.version == 3) return at.set(0, dims);
  RUNNEL_TRY(axis_inside(at, options.time_axis, at.input(0)));
  const std::int32_t frames = at.input(0)[static_cast<std::size_t>(options.time_axis)];
  if (options.hop < 1) return at.fail() << "a hop of " << options.hop << ", expected at least 1";
  dims[static_cast<std::size_t>(options.time_axis)] = options.window < 0 ? frames : window_length(frames, options.window, options.hop, options.before, 0);
  return at.set(0, dims);
}

// The values, in the shape of the queries.
Status attention(const Case& at) {
  RUNNEL_TRY(at.operands(3, 1));
  if (at.input(0).size() != 4 || at.input(1) != at.input(0) || at.input(2).size() != 4) {
    return at.fail() << "operands of " << text_of(at.input(0)) << ", " << text_of(at.input(1)) << " and " << text_of(at.input(2)) << ", expected [1, time, heads, channels]";
  }
  at.output(0) = at.input(2);
  return {};
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
  if (k < 1 || k > expected[along]) return at.fail() << k << " of the elements on axis " << axis << " of " << text_of(at.input(0));
  expected[along] = k;
  if (values != expected) return at.fail() << "values of " << text_of(values) << ", expected " << text_of(expected);
  at.output(1) = expected;
  return {};
}

// ---- recurrence, normalization, rearrangement

Status recurrent(const Case& at) {
  const auto options = at.options<RecurrentOptions>();
  std::size_t outputs = 0;
  for (const int which : {1, 2, 4}) outputs += (options.outputs & which) != 0 ? 1 : 0;
  RUNNEL_TRY(at.operands(3, outputs));
  const Shape &x = at.input(0), &hidden = at.input(2);
  if (x.size() != 3 || x[1] != 1) return at.fail() << "input of " << text_of(x) << ", expected [time, 1, features]";
  if (hidden.size() != 3) return at.fail() << "hidden weights of " << text_of(hidden) << ", expected rank 3";
  const std::int64_t directions = options.direction == fb::Direction::bidirectional ? 2 : 1;
  std::size_t position = 0;
  if ((options.outputs & 1) != 0) RUNNEL_TRY(at.set(position++, {x[0], directions, 1, hidden[2]}));
  for (; position < outputs; ++position) RUNNEL_TRY(at.set(position, {directions, 1, hidden[2]}));
  return {};
}

Status sequence_lstm(const Case& at) {
  RUNNEL_TRY(at.operands(13, 1));
  const Shape &x = at.input(0), &weights = at.input(5);
  if (x.size() != 3 || weights.size() != 2) return at.fail() << "input of " << text_of(x) << " and hidden weights of " << text_of(weights) << ", expected rank 3 and 2";
  return at.set(0, {x[0], x[1], weights[0]});
}

Status svdf(const Case& at) {
  RUNNEL_TRY(at.operands(3, 1));
  const Shape &x = at.input(0), &weights = at.input(1);
  const int rank = at.options<SvdfOptions>().rank;
  if (x.size() != 2 || weights.size() != 2 || rank < 1 || weights[0] % rank != 0) {
    return at.fail() << "weights of " << text_of(weights) << " in rank " << rank << " for an input of " << text_of(x);
  }
  return at.set(0, {x[0], weights[0] / rank});
}

Status block(const Case& at, bool to_space) {
  RUNNEL_TRY(at.operands(1, 1));
  const std::int64_t size = at.options<BlockOptions>().size;
  const Shape& x = at.input(0);
  if (x.size() != 4 || size < 1 || size > 4096 || (to_space && x[3] % (size * size) != 0)) return at.fail() << "blocks of " << size << " for an input of " << text_of(x);
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
// Only the application or back end knows: what the caller put there.
Status custom(const Case& at) {
  for (std::size_t i = 0; i < at.node.outputs.size(); ++i) {
    for (const std::int32_t dim : at.output(i)) {
      if (dim <= 0) return at.fail() << "output " << i << " was stated to be " << text_of(at.output(i)) << ", expected dimensions of 1 or more";
    }
  }
  return {};
}

Status given(const Case& at) {
  RUNNEL_TRY(at.operands(1, 1));
  const Shape y = at.output(0);
  return at.set(0, {y.begin(), y.end()});
}

Status insert_zeros(const Case& at) {
  RUNNEL_TRY(at.operands(1, 1));
  const auto options = at.options<InsertZerosOptions>();
  const Shape& x = at.input(0);
  if (x.size() != 3 && x.size() != 4) return at.fail() << "input of " << text_of(x) << ", expected rank 3 or 4";
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
  if (options.axis < 0 || static_cast<std::size_t>(options.axis) >= x.size()) return at.fail() << "axis " << options.axis << " of " << text_of(x);
  std::vector<std::int64_t> dims(x.begin(), x.end());
  dims[static_cast<std::size_t>(options.axis)] += options.frames;
  return at.set(0, dims);
}

Status transposed_conv(const Case& at) {
  RUNNEL_TRY(at.operands(2, 1));
  const auto options = at.options<TransposedConvOptions>();
  const Shape &x = at.input(0), &weights = at.input(1);
  if ((x.size() != 3 && x.size() != 4) || weights.size() != 4) return at.fail() << "weights of " << text_of(weights) << " for an input of " << text_of(x);
  const auto grown = [](std::int64_t size, std::int64_t stride, std::int64_t kernel, std::int64_t dilation, std::int64_t crops) {
    return (size - 1) * stride + (kernel - 1) * dilation + 1 - crops;
  };
  std::vector<std::int64_t> dims(x.begin(), x.end());
  const std::size_t width = x.size() - 2;
  dims[width] = grown(dims[width], options.stride_width, weights[2], options.dilation_width, std::int64_t{options.crop_left} + options.crop_right);
  if (width == 2) dims[1] = grown(dims[1], options.stride_height, weights[1], options.dilation_height, std::int64_t{options.crop_top} + options.crop_bottom);
  dims[width + 1] = weights[0];
  return at.set(0, dims);
}

}  // namespace

std::int64_t window_length(std::int64_t length, std::int64_t extent, std::int64_t stride, std::int64_t before, std::int64_t after) {
  const std::int64_t room = length + before + after - extent;
  return room < 0 ? 0 : room / stride + 1;
}

Status infer_node_shapes(Graph& graph, const Node& node) {
  const Case at{graph, node};
  const auto count = static_cast<TensorId>(graph.tensors.size());
  for (const TensorId id : node.inputs) {
    if (id < kAbsent || id >= count) return at.fail() << "input refers to tensor " << id << " of " << count;
  }
  for (const TensorId id : node.outputs) {
    if (id < 0 || id >= count) return at.fail() << "output refers to tensor " << id << " of " << count;
  }
  switch (node.code) {
    case fb::OpCode::conv: return conv(at);
    case fb::OpCode::fully_connected: return fully_connected(at);
    case fb::OpCode::matmul: return matmul(at);
    case fb::OpCode::add:
    case fb::OpCode::sub:
    case fb::OpCode::mul:
    case fb::OpCode::div:
    case fb::OpCode::max:
    case fb::OpCode::min:
    case fb::OpCode::squared_difference: return binary(at);
    case fb::OpCode::average_pool:
    case fb::OpCode::max_pool: return pool(at);
    case fb::OpCode::lut: return lut(at);
    case fb::OpCode::relu:
    case fb::OpCode::clip:
    case fb::OpCode::requantize:
    case fb::OpCode::quantize:
    case fb::OpCode::dequantize: return same(at);
    case fb::OpCode::prelu: return prelu(at);
    case fb::OpCode::reshape: return reshape(at);
    case fb::OpCode::transpose: return transpose(at);
    case fb::OpCode::slice: return slice(at);
    case fb::OpCode::concat: return concat(at);
    case fb::OpCode::split: return split(at);
    case fb::OpCode::pad: return pad(at);
    case fb::OpCode::reduce_mean:
    case fb::OpCode::reduce_sum:
    case fb::OpCode::reduce_max:
    case fb::OpCode::reduce_min: return reduce(at);
    case fb::OpCode::softmax:
    case fb::OpCode::log_softmax: return along_axis(at);
    // ---- recurrence, normalization, rearrangement
    case fb::OpCode::gru:
    case fb::OpCode::lstm: return node.version == 3 ? sequence_lstm(at) : recurrent(at);
    case fb::OpCode::svdf: return svdf(at);
    case fb::OpCode::attention: return attention(at);
    case fb::OpCode::layer_norm:
    case fb::OpCode::rms_norm:
    case fb::OpCode::lp_norm:
    case fb::OpCode::scatter_nd:
    case fb::OpCode::reverse_sequence: return same(at);
    case fb::OpCode::resize:
    case fb::OpCode::expand: return given(at);
    case fb::OpCode::depth_to_space: return block(at, true);
    case fb::OpCode::space_to_depth: return block(at, false);
    case fb::OpCode::gather: return gather(at);
    case fb::OpCode::insert_zeros: return insert_zeros(at);
    case fb::OpCode::transposed_conv: return transposed_conv(at);
    case fb::OpCode::streaming_cache: return streaming_cache(at);
    // Element by element, matrices, choices.
    case fb::OpCode::mod:
    case fb::OpCode::pow:
    case fb::OpCode::equal:
    case fb::OpCode::greater:
    case fb::OpCode::greater_or_equal:
    case fb::OpCode::less:
    case fb::OpCode::less_or_equal:
    case fb::OpCode::logical_and:
    case fb::OpCode::logical_or:
    case fb::OpCode::logical_xor: return binary(at);
    case fb::OpCode::abs:
    case fb::OpCode::neg:
    case fb::OpCode::exp:
    case fb::OpCode::log:
    case fb::OpCode::sqrt:
    case fb::OpCode::sigmoid:
    case fb::OpCode::tanh:
    case fb::OpCode::swish:
    case fb::OpCode::hard_sigmoid:
    case fb::OpCode::hard_swish:
    case fb::OpCode::gelu:
    case fb::OpCode::elu:
    case fb::OpCode::leaky_relu:
    case fb::OpCode::mish:
    case fb::OpCode::softplus:
    case fb::OpCode::erf:
    case fb::OpCode::logical_not:
    case fb::OpCode::cast: return same(at);
    case fb::OpCode::where: return where(at);
    case fb::OpCode::arg_max: return arg_max(at);
    case fb::OpCode::top_k: return top_k(at);
    case fb::OpCode::reduce_l1:
    case fb::OpCode::reduce_l2:
    case fb::OpCode::reduce_prod:
    case fb::OpCode::reduce_log_sum:
    case fb::OpCode::reduce_log_sum_exp:
    case fb::OpCode::reduce_sum_square: return reduce(at);
    case fb::OpCode::custom:
    case fb::OpCode::delegate: return custom(at);
    case fb::OpCode::read_variable: return at.node.inputs.empty() ? custom(at) : same(at);
    case fb::OpCode::assign_variable: return same(at);
    case fb::OpCode::none: break;
  }
  return at.fail() << "operator code " << static_cast<int>(node.code) << " is not known";
}

Status infer_shapes(Graph& graph) {
  for (const Node& node : graph.nodes) RUNNEL_TRY(infer_node_shapes(graph, node));
  return {};
}

}  // namespace runnel::compiler
