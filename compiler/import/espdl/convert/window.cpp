// Conv, AveragePool, MaxPool, GlobalAveragePool, and the StreamingCache before them.
#include <limits>

#include "compiler/espdl/layout.h"
#include "compiler/import/espdl/builder.h"

namespace runnel::compiler::espdl_source {
namespace {

constexpr std::int64_t kMaxWindow = 1 << 24;

// One number per spatial axis (or two, for pads). Errors: invalid_data naming the attribute.
Result<std::vector<int>> spatial(const Node& node, std::string_view key, std::size_t count,
                                 std::int64_t fallback, std::int64_t least) {
  RUNNEL_ASSIGN(const std::vector<std::int64_t> values,
                node.integers(key, std::vector<std::int64_t>(count, fallback)));
  if (values.size() != count)
    return Builder::fail(node) << "attribute \"" << key << "\" has " << values.size() << " entries, expected "
                               << count;
  std::vector<int> result;
  for (const std::int64_t value : values) {
    if (value < least || value > kMaxWindow) {
      return Builder::fail(node) << "attribute \"" << key << "\" is " << value << ", expected " << least
                                 << " to " << kMaxWindow;
    }
    result.push_back(static_cast<int>(value));
  }
  return result;
}

// Stride, dilation and padding of a window over one axis (time) or two (height = time, width).
template <class Options>
Status read_window(const Node& node, std::size_t axes, Options& options) {
  RUNNEL_ASSIGN(const std::string auto_pad, node.text("auto_pad", "NOTSET"));
  if (auto_pad != "NOTSET" && auto_pad != "VALID" && !auto_pad.empty()) {
    return Builder::fail(node, Code::unsupported)
           << "auto_pad \"" << auto_pad << "\", expected explicit pads";
  }
  RUNNEL_ASSIGN(const std::int64_t ceil_mode, node.integer("ceil_mode", 0));
  if (ceil_mode != 0)
    return Builder::fail(node, Code::unsupported) << "ceil_mode: its padding depends on the length";
  RUNNEL_ASSIGN(const auto strides, spatial(node, "strides", axes, 1, 1));
  RUNNEL_ASSIGN(const auto dilations, spatial(node, "dilations", axes, 1, 1));
  RUNNEL_ASSIGN(const auto pads, spatial(node, "pads", 2 * axes, 0, 0));
  options.stride_width = strides[axes - 1];
  options.dilation_width = dilations[axes - 1];
  options.pad_left = pads[axes - 1];
  options.pad_right = pads[2 * axes - 1];
  if (axes == 2) {
    options.stride_height = strides[0];
    options.dilation_height = dilations[0];
    options.pad_top = pads[0];
    options.pad_bottom = pads[2];
  }
  return {};
}

// The cache's frames as left padding. Frames per call must come out as they would without a cache: the cache
// holds between extent - stride and extent - 1 frames.
template <class Options>
Status absorb_cache(const Node& node, const Cache& cache, std::size_t axes, std::int64_t kernel,
                    Options& options, bool as_padding) {
  const bool height = axes == 2 && cache.axis == 1;
  if (!height && cache.axis != static_cast<int>(axes)) {
    return Builder::fail(node, Code::unsupported)
           << "the StreamingCache \"" << cache.node << "\" runs along axis " << cache.axis
           << ", which is not spatial";
  }
  const int before = height ? options.pad_top : options.pad_left,
            after = height ? options.pad_bottom : options.pad_right;
  const std::int64_t stride = height ? options.stride_height : options.stride_width;
  const std::int64_t extent = (kernel - 1) * (height ? options.dilation_height : options.dilation_width) + 1;
  if (before != 0 || after != 0) {
    return Builder::fail(node, Code::unsupported)
           << "padding of " << before << " and " << after << " frames after the StreamingCache \""
           << cache.node << "\", expected none";
  }
  if (cache.frames > extent - 1 || cache.frames < extent - stride) {
    return Builder::fail(node, Code::unsupported)
           << "the StreamingCache \"" << cache.node << "\" keeps " << cache.frames
           << " frames for a window of " << extent << " frames with stride " << stride << ", expected "
           << extent - stride << " to " << extent - 1;
  }
  if (as_padding) (height ? options.pad_top : options.pad_left) = static_cast<int>(cache.frames);
  return {};
}

}  // namespace

Result<Activation> activation_of(const Node& node) {
  RUNNEL_ASSIGN(const std::string name, node.text("activation", "Linear"));
  if (name == "Linear" || name.empty()) return Activation::none;
  if (name == "Relu") return Activation::relu;
  return Builder::fail(node, Code::unsupported) << "activation \"" << name << "\", expected Linear or Relu";
}

Result<TensorId> convert_bias(Builder& builder, const Node& node, DType data, std::int64_t outputs,
                              int input_exponent, const std::vector<std::int8_t>& weight_exponents) {
  if (node.inputs.size() < 3 || node.inputs[2].empty()) return kAbsent;
  RUNNEL_ASSIGN(const Constant* bias, builder.constant(node, 2, true));
  if (bias->count != outputs)
    return Builder::fail(node) << "bias of " << bias->count << " elements, expected " << outputs;
  RUNNEL_ASSIGN(const std::vector<std::int64_t> values, integers_of(*bias));
  if (bias->exponents.size() != weight_exponents.size()) {
    return Builder::fail(node) << "bias with " << bias->exponents.size() << " exponents, expected "
                               << weight_exponents.size() << " as the weights";
  }
  for (std::size_t i = 0; i < weight_exponents.size(); ++i) {
    if (bias->exponents[i] != input_exponent + weight_exponents[i]) {
      return Builder::fail(node) << "bias exponent " << bias->exponents[i] << " (channel " << i
                                 << "), expected " << input_exponent + weight_exponents[i]
                                 << ", the sum of those of input and weights";
    }
  }
  Tensor tensor;
  tensor.name = bias->name;
  tensor.shape = {static_cast<std::int32_t>(outputs)};
  tensor.exponents = bias->exponents;
  tensor.channel_axis = weight_exponents.size() > 1 ? 0 : -1;
  tensor.dtype = data == DType::int16 ? DType::int64 : DType::int32;
  tensor.data.emplace();
  for (const std::int64_t value : values) {
    if (tensor.dtype == DType::int32 && (value < std::numeric_limits<std::int32_t>::min() ||
                                         value > std::numeric_limits<std::int32_t>::max())) {
      return Builder::fail(node) << "bias " << value << " does not fit in 32 bits";
    }
    for (std::size_t byte = 0; byte < size_of(tensor.dtype); ++byte) {
      tensor.data->push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * byte)));
    }
  }
  return builder.add(std::move(tensor));
}

Status convert_conv(Builder& builder, const Node& node) {
  const Cache* cache = nullptr;
  RUNNEL_ASSIGN(const TensorId input, builder.window_operand(node, cache));
  RUNNEL_ASSIGN(const Constant* weights, builder.constant(node, 1, true));
  const std::size_t rank = weights->dims.size();
  if (rank != 3 && rank != 4)
    return Builder::fail(node, Code::unsupported)
           << "weights of rank " << rank << ", expected 3 (one axis) or 4 (two axes)";
  const std::size_t axes = rank - 2;
  if (builder.at(input).shape.size() != rank) {
    return Builder::fail(node) << "input of rank " << builder.at(input).shape.size() << ", expected " << rank
                               << " as the weights";
  }
  RUNNEL_ASSIGN(const auto kernel, spatial(node, "kernel_shape", axes, 0, 0));
  for (std::size_t i = 0; i < axes; ++i) {
    if (weights->dims[i] < 1 || (kernel[i] != 0 && kernel[i] != weights->dims[i])) {
      return Builder::fail(node) << "kernel_shape " << kernel[i] << " on axis " << i << ", the weights have "
                                 << weights->dims[i];
    }
  }

  ConvOptions options;
  RUNNEL_TRY(read_window(node, axes, options));
  RUNNEL_ASSIGN(options.activation, activation_of(node));
  RUNNEL_ASSIGN(const std::int64_t group, node.integer("group", 1));
  const std::int64_t channels = builder.at(input).shape.back();
  // Labels: kernel sizes, then C, N; depthwise N, C = 1.
  const bool depthwise = group != 1;
  const std::int64_t outputs = weights->dims[rank - (depthwise ? 2 : 1)],
                     inputs = weights->dims[rank - (depthwise ? 1 : 2)];
  if (depthwise && (group != channels || inputs != 1)) {
    return Builder::fail(node, Code::unsupported) << "convolution in " << group << " groups over " << channels
                                                  << " channels, expected 1 group or as many as channels";
  }
  if (outputs < 1 || inputs != (depthwise ? 1 : channels)) {
    return Builder::fail(node) << "weights for " << inputs << " input channels, the input has " << channels;
  }
  options.groups = static_cast<int>(group);
  if (cache != nullptr) {
    RUNNEL_TRY(absorb_cache(node, *cache, axes, weights->dims[axes == 2 && cache->axis == 1 ? 0 : axes - 1],
                            options, true));
  }

  if (weights->exponents.size() != 1 && weights->exponents.size() != static_cast<std::size_t>(outputs)) {
    return Builder::fail(node) << "weights with " << weights->exponents.size() << " exponents, expected 1 or "
                               << outputs;
  }
  RUNNEL_ASSIGN(const WeightLayout layout, parse_weight_layout(weights->layout));
  const std::int64_t height = axes == 2 ? weights->dims[0] : 1, width = weights->dims[axes - 1];
  Tensor tensor;
  tensor.name = weights->name;
  tensor.shape = {static_cast<std::int32_t>(outputs), static_cast<std::int32_t>(height),
                  static_cast<std::int32_t>(width), static_cast<std::int32_t>(inputs)};
  tensor.dtype = weights->dtype;
  tensor.exponents = weights->exponents;
  tensor.channel_axis = weights->exponents.size() > 1 ? 0 : -1;
  tensor.data = unpack_weights(weights->data, size_of(weights->dtype), layout,
                               {outputs, height * width, inputs, depthwise});
  const int input_exponent = builder.at(input).exponents.empty() ? 0 : builder.at(input).exponents[0];
  const TensorId weight = builder.add(std::move(tensor));
  RUNNEL_ASSIGN(const TensorId bias,
                convert_bias(builder, node, weights->dtype, outputs, input_exponent, weights->exponents));
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit(node, OpCode::conv, {input, weight, bias}, {output}, options);
}

Status convert_pool(Builder& builder, const Node& node) {
  const bool largest = node.op == "MaxPool", global = node.op == "GlobalAveragePool";
  const Cache* cache = nullptr;
  TensorId input = kAbsent;
  if (global) {
    RUNNEL_ASSIGN(input, builder.operand(node, 0));
  } else {
    RUNNEL_ASSIGN(input, builder.window_operand(node, cache));
  }
  const std::size_t rank = builder.at(input).shape.size();
  if (rank != 3 && rank != 4)
    return Builder::fail(node, Code::unsupported)
           << "input of rank " << rank << ", expected 3 (one axis) or 4 (two axes)";
  const std::size_t axes = rank - 2;
  PoolOptions options;
  if (global) {
    options.global = true;
  } else {
    RUNNEL_TRY(read_window(node, axes, options));
    RUNNEL_ASSIGN(const auto kernel, spatial(node, "kernel_shape", axes, 0, 1));
    options.kernel_width = kernel[axes - 1];
    options.kernel_height = axes == 2 ? kernel[0] : 1;
    // ESP-DL and its quantizer ignore count_include_pad: every window is divided by the kernel's size.
    options.count_padding = true;
    if (cache != nullptr) {
      // The cache starts with zeros, which are data for a maximum, unlike padding; where nothing is negative
      // it is the same.
      const bool as_padding = !largest || builder.at(input).non_negative;
      RUNNEL_TRY(absorb_cache(node, *cache, axes, kernel[axes == 2 && cache->axis == 1 ? 0 : axes - 1],
                              options, as_padding));
      if (!as_padding) {
        PadOptions pad;
        pad.before.assign(rank, 0);
        pad.after.assign(rank, 0);
        pad.before[static_cast<std::size_t>(cache->axis)] = static_cast<std::int32_t>(cache->frames);
        const TensorId padded = builder.intermediate(input, node.name);
        RUNNEL_TRY(builder.emit(node, OpCode::pad, {input}, {padded}, pad));
        input = padded;
      }
    }
  }
  RUNNEL_ASSIGN(const TensorId output, builder.output(node));
  return builder.emit(node, largest ? OpCode::max_pool : OpCode::average_pool, {input}, {output}, options);
}

Status convert_cache(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
  RUNNEL_ASSIGN(const std::int64_t window, node.integer("window_size", 1));
  RUNNEL_ASSIGN(const std::int64_t frame_axis, node.integer("frame_axis", 1));
  if (window < 1 || window > kMaxWindow)
    return Builder::fail(node) << "window_size " << window << ", expected 1 to " << kMaxWindow;
  RUNNEL_ASSIGN(const int axis, normalize_axis(node, frame_axis, builder.at(input).shape.size()));
  RUNNEL_ASSIGN(const Value* value, builder.value_of_output(node, 0));
  if (value->dtype != builder.at(input).dtype || value->exponents != builder.at(input).exponents) {
    return Builder::fail(node) << "type or exponent of its output differ from those of its input";
  }
  if (window == 1) {
    builder.rename(node.outputs[0], input);
    return {};
  }
  if (builder.cache_form() == CacheForm::explicit_operators) {
    RUNNEL_ASSIGN(const TensorId output, builder.output(node));
    return builder.emit(node, OpCode::streaming_cache, {input}, {output},
                        StreamingCacheOptions{static_cast<int>(window - 1), axis});
  }
  builder.add_cache(node.outputs[0], {node.name, node.inputs[0], window - 1, axis});
  return {};
}

}  // namespace runnel::compiler::espdl_source
