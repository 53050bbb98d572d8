// Products, written: Conv, InsertZeros and Conv for transposed convolutions, Gemm, MatMul.
#include <algorithm>
#include <limits>

#include "compiler/espdl/layout.h"
#include "compiler/passes/transposed.h"
#include "compiler/write/espdl/lowering.h"

namespace runnel::compiler::espdl_source {
namespace {

int alignment(const Tensor& weights) { return weights.dtype == DType::int8 ? 16 : 8; }

WeightLayout layout_for(EspdlTarget target, const Tensor& weights, bool depthwise) {
  if (target == EspdlTarget::c)
    return {depthwise ? WeightLayout::Order::channels_innermost : WeightLayout::Order::plain, 1};
  return {WeightLayout::Order::blocked, alignment(weights)};
}

// What holds for all weights: integers of 8 or 16 bits, one exponent or one per output.
bool check_weights(Lowering& to, const compiler::Node& node) {
  const Tensor& weights = to.input(node, 1);
  const Tensor &x = to.input(node, 0), &y = to.output(node);
  bool fits = true;
  const auto refuse = [&](const std::string& why) {
    to.refuse(node, why);
    fits = false;
  };
  if (!weights.data) refuse("weights that are computed, expected a constant");
  if (!is_quantized(weights.dtype) || x.dtype != weights.dtype || y.dtype != weights.dtype) {
    refuse(std::string("weights of ") + std::string(name_of(weights.dtype)) + " between " +
           std::string(name_of(x.dtype)) + " and " + std::string(name_of(y.dtype)) +
           ", expected int8 or int16 for all three");
    return false;
  }
  const std::size_t outputs = static_cast<std::size_t>(weights.shape[0]);
  if (weights.exponents.size() != 1 && (weights.exponents.size() != outputs || weights.channel_axis != 0)) {
    refuse(std::to_string(weights.exponents.size()) + " exponents of its weights, expected 1 or " +
           std::to_string(outputs));
  } else if (weights.exponents.size() > 1 && to.target() != EspdlTarget::esp32p4) {
    refuse("one exponent of its weights per output channel, which only esp32p4 has");
  }
  if (fits) {
    const int most = *std::max_element(weights.exponents.begin(), weights.exponents.end());
    const int shift = exponent_of(y) - exponent_of(x) - most;
    if (shift < 0)
      to.notes.push_back("node \"" + node.name + "\": its sums are shifted left by " +
                         std::to_string(-shift) + " bits, which ESP-DL's exporter complains of");
  }
  return fits;
}

// Bits that a bias has in the target's accumulators.
int bias_bits(EspdlTarget target, DType data) {
  if (data == DType::int8) return target == EspdlTarget::esp32s3 ? 20 : 32;
  return target == EspdlTarget::c ? 64 : 40;
}

std::string bias_of(Lowering& to, const compiler::Node& node) {
  if (!Lowering::has(node, 2)) return {};
  const Tensor &bias = to.input(node, 2), &weights = to.input(node, 1);
  const DType expected = weights.dtype == DType::int8 ? DType::int32 : DType::int64;
  if (!bias.data || bias.dtype != expected) {
    to.refuse(node, std::string("a bias of ") + std::string(name_of(bias.dtype)) +
                        (bias.data ? "" : " that is computed") + ", expected a constant of " +
                        std::string(name_of(expected)));
    return {};
  }
  bool sums = bias.exponents.size() == weights.exponents.size();
  for (std::size_t i = 0; sums && i < bias.exponents.size(); ++i)
    sums = bias.exponents[i] == exponent_of(to.input(node, 0)) + weights.exponents[i];
  if (!sums) to.refuse(node, "exponents of its bias that are not the sums of those of input and weights");
  Constant constant = to.constant_of(bias);
  constant.dims = {constant.count};
  const int bits = bias_bits(to.target(), weights.dtype);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() >> (64 - bits);
  const auto values = integers_of(constant);
  for (std::size_t i = 0; values.ok() && i < values->size(); ++i) {
    if ((*values)[i] <= most && (*values)[i] >= -most - 1) continue;
    to.refuse(node, "a bias of " + std::to_string((*values)[i]) + " (channel " + std::to_string(i) +
                        "), which does not fit the " + std::to_string(bits) + " bits of the target");
    break;
  }
  return to.constant(std::move(constant));
}

std::string text_of(Lowering& to, const compiler::Node& node, Activation activation) {
  if (activation == Activation::none) return "Linear";
  if (activation != Activation::relu)
    to.refuse(node, std::string("activation ") + name_of(activation) + ", expected none or relu");
  return "Relu";
}

// Weights [N][kh][kw][C / groups] as the file has them.
std::string conv_weights(Lowering& to, const Tensor& weights, int axes, bool depthwise) {
  const std::int64_t outputs = weights.shape[0], height = weights.shape[1], width = weights.shape[2],
                     inputs = weights.shape[3];
  const WeightSize size{outputs, height * width, inputs, depthwise};
  const WeightLayout layout = layout_for(to.target(), weights, depthwise);
  Constant constant = to.constant_of(weights, layout_name(layout, size, axes));
  constant.data = pack_weights(*weights.data, size_of(weights.dtype), layout, size);
  constant.dims = axes == 2 ? std::vector<std::int64_t>{height, width} : std::vector<std::int64_t>{width};
  constant.dims.push_back(depthwise ? outputs : inputs);
  constant.dims.push_back(depthwise ? inputs : outputs);
  return to.constant(std::move(constant));
}

struct Window {
  std::vector<std::int64_t> strides, dilations, before, after;
};

void write_conv(Lowering& to, const compiler::Node& node, const std::string& x, const Tensor& weights,
                const Window& window, int groups, Activation activation) {
  const int axes = static_cast<int>(to.output(node).shape.size()) - 2;
  const std::int64_t channels = to.input(node, 0).shape.back();
  if (groups != 1 && (groups != channels || weights.shape[3] != 1)) {
    to.refuse(node, std::to_string(groups) + " groups over " + std::to_string(channels) +
                        " channels, expected 1 group or as many as channels");
    return;
  }
  const std::string w = conv_weights(to, weights, axes, groups != 1), b = bias_of(to, node);
  const std::string kind = text_of(to, node, activation);
  Node& out = to.add(node, "Conv", {x, w, b});
  std::vector<std::int64_t> pads = window.before, kernel = {weights.shape[2]};
  if (axes == 2) kernel.insert(kernel.begin(), weights.shape[1]);
  pads.insert(pads.end(), window.after.begin(), window.after.end());
  out.attributes["activation"] = kind;
  out.attributes["dilations"] = window.dilations;
  out.attributes["group"] = static_cast<std::int64_t>(groups);
  out.attributes["kernel_shape"] = kernel;
  out.attributes["pads"] = pads;
  out.attributes["strides"] = window.strides;
}

// [height, width] or [width].
bool check_rank(Lowering& to, const compiler::Node& node) {
  const std::size_t rank = to.input(node, 0).shape.size();
  if (rank == 3 || rank == 4) return true;
  to.refuse(node, "an input of rank " + std::to_string(rank) + ", expected 3 (one axis) or 4 (two axes)");
  return false;
}

}  // namespace

void lower_conv(Lowering& to, const compiler::Node& node) {
  const auto& o = std::get<ConvOptions>(node.options);
  if (!check_rank(to, node) || !check_weights(to, node)) return;
  const int axes = static_cast<int>(to.input(node, 0).shape.size()) - 2;
  const Window window{spatial(axes, o.stride_height, o.stride_width),
                      spatial(axes, o.dilation_height, o.dilation_width),
                      spatial(axes, o.pad_top, o.pad_left), spatial(axes, o.pad_bottom, o.pad_right)};
  write_conv(to, node, to.operand(node, 0), to.input(node, 1), window, o.groups, o.activation);
}

// As exporters decompose them: zeros between the frames, then a convolution with the kernel reversed.
void lower_transposed_conv(Lowering& to, const compiler::Node& node) {
  const auto& o = std::get<TransposedConvOptions>(node.options);
  if (!check_rank(to, node) || !check_weights(to, node)) return;
  const Tensor& x = to.input(node, 0);
  const int axes = static_cast<int>(x.shape.size()) - 2;
  Tensor weights = to.input(node, 1);
  const int height = (weights.shape[1] - 1) * o.dilation_height,
            width = (weights.shape[2] - 1) * o.dilation_width;
  const Window window{spatial(axes, 1, 1), spatial(axes, o.dilation_height, o.dilation_width),
                      spatial(axes, height - o.crop_top, width - o.crop_left),
                      spatial(axes, height - o.crop_bottom, width - o.crop_right)};
  for (const auto* pads : {&window.before, &window.after}) {
    for (const std::int64_t pad : *pads) {
      if (pad >= 0) continue;
      to.refuse(node, "a crop of more than its kernel");
      return;
    }
  }
  weights.data = turned_round(weights);
  const std::vector<std::int64_t> strides = spatial(axes, o.stride_height, o.stride_width);
  std::vector<std::int64_t> shape = wide(x.shape);
  for (std::size_t i = 0; i < strides.size(); ++i) shape[i + 1] = (shape[i + 1] - 1) * strides[i] + 1;
  const std::string zeros = to.value(node.name + "/zeros", x, shape);
  Node& spread = to.add_between(node, "InsertZeros", {to.operand(node, 0)}, zeros, x.dtype, "/zeros");
  spread.attributes["output_padding"] = std::vector<std::int64_t>(strides.size(), 0);
  spread.attributes["stride"] = strides;
  write_conv(to, node, zeros, weights, window, o.groups, o.activation);
}

void lower_fully_connected(Lowering& to, const compiler::Node& node) {
  if (!check_weights(to, node)) return;
  const Tensor& weights = to.input(node, 1);
  const std::int64_t outputs = weights.shape[0], inputs = weights.shape[1];
  const std::string b = bias_of(to, node);
  const Activation activation = std::get<FullyConnectedOptions>(node.options).activation;
  const std::string kind = text_of(to, node, activation);
  // MatMul has neither a bias nor exponents per channel.
  const bool gemm = to.input(node, 0).shape.size() == 2 || !b.empty() || weights.exponents.size() > 1;
  const WeightLayout layout = layout_for(to.target(), weights, false);
  const WeightSize size{outputs, 1, inputs, false};
  Constant constant = to.constant_of(weights, layout_name(layout, size, 2));
  constant.data = pack_weights(*weights.data, size_of(weights.dtype), layout, size);
  constant.dims = {inputs, outputs};
  if (gemm) constant.dims.insert(constant.dims.begin(), {1, 1});
  const std::string w = to.constant(std::move(constant));
  Node& out = to.add(node, gemm ? "Gemm" : "MatMul", {to.operand(node, 0), w, b});
  out.attributes["activation"] = kind;
  if (!gemm) return;
  out.attributes["alpha"] = 1.0f;
  out.attributes["beta"] = 1.0f;
  out.attributes["transB"] = std::int64_t{0};
}

}  // namespace runnel::compiler::espdl_source
