// Convolutions, pooling, padding.
#include <algorithm>
#include <cstring>

#include "compiler/import/onnx/builder.h"

namespace runnel::compiler::onnx_source {
namespace {

constexpr std::int64_t kMaxWindow = 1 << 16;  // kernels, strides, dilations, padding

// The window of a convolution or pool along its one or two axes.
struct Window {
  std::vector<std::int64_t> kernel, stride, dilation, before, after;

  [[nodiscard]] std::int64_t extent(std::size_t i) const { return (kernel[i] - 1) * dilation[i] + 1; }
};

Status check_range(const Node& node, std::string_view what, const std::vector<std::int64_t>& values,
                   std::int64_t least) {
  for (const std::int64_t value : values) {
    if (value < least || value > kMaxWindow)
      return node.fail() << what << ' ' << value << ", expected " << least << " to " << kMaxWindow;
  }
  return {};
}

// `size`: of the input along the axes (with padding of an earlier Pad), for automatic padding.
Result<Window> read_window(const Node& node, std::vector<std::int64_t> kernel,
                           const std::vector<std::int64_t>& size) {
  const std::size_t axes = kernel.size();
  Window window;
  window.kernel = std::move(kernel);
  const auto list = [&](std::string_view name, std::size_t count, std::int64_t otherwise) {
    std::vector<std::int64_t> values = node.integers(name);
    if (values.empty()) values.assign(count, otherwise);
    return values;
  };
  window.stride = list("strides", axes, 1);
  window.dilation = list("dilations", axes, 1);
  const std::vector<std::int64_t> pads = list("pads", 2 * axes, 0);
  if (window.stride.size() != axes || window.dilation.size() != axes || pads.size() != 2 * axes) {
    return node.fail() << window.stride.size() << " strides, " << window.dilation.size() << " dilations and "
                       << pads.size() << " pads for a window over " << axes << " axes";
  }
  RUNNEL_TRY(check_range(node, "kernel", window.kernel, 1));
  RUNNEL_TRY(check_range(node, "stride", window.stride, 1));
  RUNNEL_TRY(check_range(node, "dilation", window.dilation, 1));
  RUNNEL_TRY(check_range(node, "padding", pads, 0));
  window.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes));
  window.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(axes), pads.end());
  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t outputs = (size[i] + window.stride[i] - 1) / window.stride[i];
      const std::int64_t total =
          std::max<std::int64_t>(0, (outputs - 1) * window.stride[i] + window.extent(i) - size[i]);
      window.before[i] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      window.after[i] = total - window.before[i];
    }
  } else if (automatic == "VALID") {
    window.before.assign(axes, 0);
    window.after.assign(axes, 0);
  } else if (automatic != "NOTSET" && !automatic.empty()) {
    return node.fail() << "auto_pad \"" << automatic
                       << "\", expected NOTSET, VALID, SAME_UPPER or SAME_LOWER";
  }
  return window;
}

// One axis is the width, two are height and width; ConvOptions and PoolOptions name these the same.
template <class Options>
void set_window(const Window& window, Options& options) {
  const std::size_t width = window.kernel.size() - 1;
  options.stride_width = static_cast<int>(window.stride[width]);
  options.dilation_width = static_cast<int>(window.dilation[width]);
  options.pad_left = static_cast<int>(window.before[width]);
  options.pad_right = static_cast<int>(window.after[width]);
  if (width == 0) return;
  options.stride_height = static_cast<int>(window.stride[0]);
  options.dilation_height = static_cast<int>(window.dilation[0]);
  options.pad_top = static_cast<int>(window.before[0]);
  options.pad_bottom = static_cast<int>(window.after[0]);
}

Status check_rank(const Node& node, std::size_t rank) {
  if (rank == 3 || rank == 4) return {};
  return node.fail(Code::unsupported)
         << "an input of rank " << rank << ", expected 3 (one axis) or 4 (two axes)";
}

// Constant weights of rank 3 or 4 beside an input of the same rank; one bias per output channel or none.
Result<ConstantPtr> weights_of(const Builder& builder, const Node& node, const Value& x) {
  RUNNEL_TRY(check_rank(node, x.rank()));
  RUNNEL_ASSIGN(const ConstantPtr weights, builder.constant(node, 1));
  if (weights == nullptr) return node.fail() << "input 1 is absent";
  if (weights->dims.size() != x.rank() || weights->dtype != DType::float32 || weights->count() == 0) {
    return node.fail(Code::unsupported) << "weights of " << text_of(weights->dims) << " and type "
                                        << name_of(weights->dtype) << " for an input of " << text_of(x.dims);
  }
  if (const auto kernel = node.integers("kernel_shape");
      !kernel.empty() && kernel != Dims(weights->dims.begin() + 2, weights->dims.end())) {
    return node.fail() << "kernel_shape " << text_of(kernel) << ", the weights have "
                       << text_of(weights->dims);
  }
  return weights;
}

Result<TensorId> bias_of(Builder& builder, const Node& node, std::int64_t outputs) {
  RUNNEL_ASSIGN(const ConstantPtr bias, builder.constant(node, 2));
  if (bias == nullptr) return kAbsent;
  if (bias->count() != outputs || bias->dtype != DType::float32)
    return node.fail() << "a bias of " << bias->count() << " elements, expected " << outputs << " float32";
  return builder.add_constant({bias->dtype, {outputs}, bias->data}, node.name + ".bias");
}

// [M][C/g][k..] as [M][kh][kw][C/g].
TensorId add_kernel(Builder& builder, const Node& node, const Constant& weights) {
  Constant kernel = transposed(weights, channels_last_perm(weights.dims.size()));
  if (kernel.dims.size() == 3) kernel.dims.insert(kernel.dims.begin() + 1, 1);
  return builder.add_constant(kernel, node.name + ".weights");
}

// [C][M/g][k..] of a transposed convolution as [M][C/g][k..] of a convolution, the kernel reversed.
Constant turned_round(const Constant& weights, std::int64_t groups) {
  const std::int64_t channels = weights.dims[0], each = weights.dims[1],
                     taps = weights.count() / (channels * each), in_group = channels / groups;
  Constant out{weights.dtype, weights.dims, std::vector<std::byte>(weights.data.size()), weights.grid};
  out.dims[0] = each * groups;
  out.dims[1] = in_group;
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t m = 0; m < each; ++m) {
      const std::int64_t to = ((c / in_group * each + m) * in_group + c % in_group) * taps,
                         from = (c * each + m) * taps;
      for (std::int64_t tap = 0; tap < taps; ++tap)
        std::memcpy(out.data.data() + 4 * (to + taps - 1 - tap), weights.data.data() + 4 * (from + tap), 4);
    }
  }
  return out;
}

}  // namespace

Status convert_conv(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(Value x, builder.padded_value(node, 0));
  // Leading and trailing zeros along the axes of the window are the window's own padding; anything else is
  // computed first.
  Padding padding;
  if (!x.padding.empty()) padding = x.padding[0];
  bool ours = padding.mode == PadMode::zero && padding.value == 0 && x.constant == nullptr;
  for (std::size_t i = 0; i < padding.before.size(); ++i) {
    ours = ours && (i >= 2 || (padding.before[i] == 0 && padding.after[i] == 0));
  }
  if (!ours || padding.before.empty()) {
    padding = {};
    RUNNEL_ASSIGN(x, builder.value(node, 0));
  }
  RUNNEL_ASSIGN(const ConstantPtr weights, weights_of(builder, node, x));
  const std::int64_t groups = node.integer("group", 1), outputs = weights->dims[0];
  if (groups < 1 || groups > kMaxWindow || x.dims[1] % groups != 0 ||
      weights->dims[1] != x.dims[1] / groups || outputs % groups != 0) {
    return node.fail() << "weights of " << text_of(weights->dims) << " in " << groups
                       << " groups for an input of " << text_of(x.dims);
  }
  std::vector<std::int64_t> size(x.dims.begin() + 2, x.dims.end());
  for (std::size_t i = 0; i < size.size() && !padding.before.empty(); ++i)
    size[i] += padding.before[i + 2] + padding.after[i + 2];
  RUNNEL_ASSIGN(Window window, read_window(node, {weights->dims.begin() + 2, weights->dims.end()}, size));
  for (std::size_t i = 0; i < size.size() && !padding.before.empty(); ++i) {
    window.before[i] += padding.before[i + 2];
    window.after[i] += padding.after[i + 2];
  }
  ConvOptions options;
  options.groups = static_cast<int>(groups);
  set_window(window, options);
  x.padding.clear();
  const Perm perm = channels_last_perm(x.rank());
  RUNNEL_ASSIGN(const TensorId input, builder.stored(node, x, perm));
  const TensorId kernel = add_kernel(builder, node, *weights);
  RUNNEL_ASSIGN(const TensorId bias, bias_of(builder, node, outputs));
  RUNNEL_ASSIGN(const TensorId y, builder.emit(node, OpCode::conv, {input, kernel, bias}, options));
  builder.result(node, y, perm);
  return {};
}

// Zeros between the elements, then a convolution of stride 1 with the kernel reversed.
Status convert_transposed_conv(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  RUNNEL_ASSIGN(const ConstantPtr weights, weights_of(builder, node, x));
  const std::int64_t groups = node.integer("group", 1);
  if (groups < 1 || groups > kMaxWindow || weights->dims[0] != x.dims[1] || x.dims[1] % groups != 0) {
    return node.fail() << "weights of " << text_of(weights->dims) << " in " << groups
                       << " groups for an input of " << text_of(x.dims);
  }
  const std::size_t axes = x.rank() - 2;
  const std::string automatic = node.text("auto_pad", "NOTSET");
  if ((automatic != "NOTSET" && automatic != "VALID" && !automatic.empty()) ||
      !node.integers("output_shape").empty()) {
    return node.fail(Code::unsupported)
           << "auto_pad \"" << automatic << "\" or an output_shape, expected padding in numbers";
  }
  RUNNEL_ASSIGN(Window window, read_window(node, {weights->dims.begin() + 2, weights->dims.end()},
                                           {x.dims.begin() + 2, x.dims.end()}));
  std::vector<std::int64_t> more = node.integers("output_padding");
  if (more.empty()) more.assign(axes, 0);
  if (more.size() != axes)
    return node.fail() << "output_padding for " << more.size() << " axes, expected " << axes;
  RUNNEL_TRY(check_range(node, "output_padding", more, 0));
  for (std::size_t i = 0; i < axes; ++i) {
    window.before[i] = window.extent(i) - 1 - window.before[i];
    window.after[i] = window.extent(i) - 1 - window.after[i] + more[i];
    if (window.before[i] < 0 || window.after[i] < 0)
      return node.fail(Code::unsupported) << "padding of more than the kernel";
  }
  const Perm perm = channels_last_perm(x.rank());
  RUNNEL_ASSIGN(TensorId input, builder.stored(node, x, perm));
  if (std::any_of(window.stride.begin(), window.stride.end(),
                  [](std::int64_t stride) { return stride != 1; })) {
    InsertZerosOptions zeros;
    zeros.stride_width = static_cast<int>(window.stride[axes - 1]);
    if (axes == 2) zeros.stride_height = static_cast<int>(window.stride[0]);
    RUNNEL_ASSIGN(input, builder.emit(node, OpCode::insert_zeros, {input}, zeros));
  }
  window.stride.assign(axes, 1);
  ConvOptions options;
  options.groups = static_cast<int>(groups);
  set_window(window, options);
  const TensorId kernel = add_kernel(builder, node, turned_round(*weights, groups));
  RUNNEL_ASSIGN(const TensorId bias, bias_of(builder, node, weights->dims[1] * groups));
  RUNNEL_ASSIGN(const TensorId y, builder.emit(node, OpCode::conv, {input, kernel, bias}, options));
  builder.result(node, y, perm);
  return {};
}

Status convert_pool(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  RUNNEL_TRY(check_rank(node, x.rank()));
  if (builder.is_read(node, 1)) return node.fail(Code::unsupported) << "indices of the largest elements";
  const std::size_t axes = x.rank() - 2;
  const std::vector<std::int64_t> kernel = node.integers("kernel_shape"),
                                  size(x.dims.begin() + 2, x.dims.end());
  if (kernel.size() != axes)
    return node.fail() << "kernel_shape " << text_of(kernel) << " for an input of " << text_of(x.dims);
  RUNNEL_ASSIGN(Window window, read_window(node, kernel, size));
  PoolOptions options;
  options.count_padding = node.integer("count_include_pad", 0) != 0;
  if (node.integer("ceil_mode", 0) != 0) {
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t room = size[i] + window.before[i] + window.after[i] - window.extent(i),
                         stride = window.stride[i];
      // A window that would begin in the padding after does not count.
      std::int64_t outputs = (std::max<std::int64_t>(room, 0) + stride - 1) / stride + 1;
      if ((outputs - 1) * stride >= size[i] + window.before[i]) --outputs;
      const std::int64_t missing = std::max<std::int64_t>(0, (outputs - 1) * stride - room);
      if (missing > 0 && options.count_padding && node.op == "AveragePool")
        return node.fail(Code::unsupported) << "ceil_mode together with count_include_pad";
      window.after[i] += missing;
    }
  }
  set_window(window, options);
  options.kernel_width = static_cast<int>(kernel[axes - 1]);
  if (axes == 2) options.kernel_height = static_cast<int>(kernel[0]);
  const Perm perm = channels_last_perm(x.rank());
  RUNNEL_ASSIGN(const TensorId input, builder.stored(node, x, perm));
  RUNNEL_ASSIGN(
      const TensorId y,
      builder.emit(node, node.op == "MaxPool" ? OpCode::max_pool : OpCode::average_pool, {input}, options));
  builder.result(node, y, perm);
  return {};
}

Status convert_global_pool(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  if (x.rank() < 3) return node.fail() << "an input of rank " << x.rank() << ", expected at least 3";
  const Perm perm = channels_last_perm(x.rank());
  RUNNEL_ASSIGN(const TensorId input, builder.stored(node, x, perm));
  ReduceOptions options;
  for (std::size_t i = 1; i + 1 < x.rank(); ++i) options.axes.push_back(static_cast<std::uint8_t>(i));
  RUNNEL_ASSIGN(const TensorId y,
                builder.emit(node, node.op == "GlobalMaxPool" ? OpCode::reduce_max : OpCode::reduce_mean,
                             {input}, options));
  builder.result(node, y, perm);
  return {};
}

Status convert_pad(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(Value x, builder.value(node, 0));
  RUNNEL_ASSIGN(const std::vector<std::int64_t> pads, builder.integers(node, 1, "pads"));
  RUNNEL_ASSIGN(const ConstantPtr value, builder.constant(node, 2));
  RUNNEL_ASSIGN(std::vector<std::int64_t> axes, builder.integers(node, 3, "axes"));
  if (axes.empty()) {
    for (std::size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (pads.size() != 2 * axes.size())
    return node.fail() << pads.size() << " pads for " << axes.size() << " axes";
  Padding padding{std::vector<std::int64_t>(x.rank(), 0), std::vector<std::int64_t>(x.rank(), 0)};
  const std::string mode = node.text("mode", "constant");
  if (mode == "reflect")
    padding.mode = PadMode::reflect;
  else if (mode == "edge")
    padding.mode = PadMode::edge;
  else if (mode != "constant")
    return node.fail(Code::unsupported) << "mode \"" << mode << "\", expected constant, reflect or edge";
  if (value != nullptr && value->count() != 1)
    return node.fail() << "a value of " << value->count() << " elements, expected 1";
  padding.value = value != nullptr ? static_cast<float>(reals_of(*value)[0]) : node.real("value", 0);
  bool any = false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    RUNNEL_ASSIGN(const int axis, axis_of(node, axes[i], x.rank()));
    const std::int64_t before = pads[i], after = pads[i + axes.size()],
                       size = x.dims[static_cast<std::size_t>(axis)];
    if (before > kMaxWindow || after > kMaxWindow)
      return node.fail() << "padding of " << std::max(before, after) << ", expected at most " << kMaxWindow;
    // Less than nothing is a slice.
    const std::int64_t cut_before = std::max<std::int64_t>(0, -before),
                       cut_after = std::max<std::int64_t>(0, -after);
    if (before < -size || after < -size || cut_before + cut_after >= size)
      return node.fail() << "cuts " << cut_before << " and " << cut_after << " of " << size << " elements";
    if (cut_before + cut_after > 0) {
      RUNNEL_ASSIGN(x, part_of(builder, node, x, axis, cut_before, size - cut_before - cut_after));
    }
    padding.before[static_cast<std::size_t>(axis)] = std::max<std::int64_t>(0, before);
    padding.after[static_cast<std::size_t>(axis)] = std::max<std::int64_t>(0, after);
    any = any || before > 0 || after > 0;
  }
  if (any) x.padding = {padding};
  builder.result(node, std::move(x));
  return {};
}

}  // namespace runnel::compiler::onnx_source
