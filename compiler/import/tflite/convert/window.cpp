// Convolutions, fully connected layers and pools.
#include <algorithm>
#include <cstring>

#include "compiler/import/tflite/builder.h"

namespace runnel::compiler::tflite_source {
namespace {

// Leading and trailing padding: SAME makes as many outputs as strides fit into the input, VALID none.
struct Pads {
  int before = 0, after = 0;
};
Pads pads_of(std::int8_t padding, std::int32_t size, std::int32_t kernel, std::int32_t stride,
             std::int32_t dilation) {
  if (padding != 0 || stride < 1) return {};
  const std::int64_t outputs = (std::int64_t{size} + stride - 1) / stride;
  const std::int64_t total =
      std::max<std::int64_t>(0, (outputs - 1) * stride + (std::int64_t{kernel} - 1) * dilation + 1 - size);
  return {static_cast<int>(total / 2), static_cast<int>(total - total / 2)};
}

Status check_steps(const Operator& op, std::initializer_list<std::int32_t> steps, std::int8_t padding) {
  constexpr std::int32_t kMax = 1 << 16;
  for (const std::int32_t step : steps) {
    if (step < 1 || step > kMax)
      return Builder::fail(op) << "a stride, dilation or kernel of " << step << ", expected 1 to " << kMax;
  }
  if (padding != 0 && padding != 1)
    return Builder::fail(op) << "padding " << static_cast<int>(padding) << ", expected SAME (0) or VALID (1)";
  return {};
}

template <class To, class From>
std::vector<std::byte> widened(const std::vector<std::byte>& data) {
  std::vector<std::byte> out(data.size() / sizeof(From) * sizeof(To));
  for (std::size_t i = 0; i < data.size() / sizeof(From); ++i) {
    From value;
    std::memcpy(&value, data.data() + i * sizeof value, sizeof value);
    const auto wide = static_cast<To>(value);
    std::memcpy(out.data() + i * sizeof wide, &wide, sizeof wide);
  }
  return out;
}

// Weights and bias of one layer as the operators take them.
struct Weighted {
  TensorId weights = kAbsent, bias = kAbsent;
  kernels::Rounding rounding = kernels::Rounding::tflite_double;
  Arithmetic arithmetic = Arithmetic::espdl;
  bool widened = false;  // 8-bit weights whose zero point is not 0: 16 bits hold the differences from it
};

// The 8-bit integers of `from`, as differences from a zero point, in 16 bits.
std::vector<std::byte> differences(const std::vector<std::byte>& from, std::int32_t zero_point) {
  std::vector<std::byte> to(from.size() * sizeof(std::int16_t));
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto value = static_cast<std::int16_t>(static_cast<std::int8_t>(from[i]) - zero_point);
    std::memcpy(to.data() + i * sizeof value, &value, sizeof value);
  }
  return to;
}
// 16-bit activations: weights widened to 16 bits, biases to 64. A 64-bit bias means a 64-bit accumulator,
// which is rounded once.
Result<Weighted> weighted(Builder& builder, const Operator& op, TensorId x, std::vector<std::int32_t> shape,
                          std::int32_t outputs) {
  Weighted layer;
  RUNNEL_ASSIGN(const TensorId weights, builder.operand(op, 1));
  if (!builder.at(weights).data)
    return Builder::fail(op, Code::unsupported) << "weights that are computed at run time";
  compiler::Tensor copy = builder.at(weights);
  copy.shape = std::move(shape);
  if (copy.scales.size() > 1) copy.channel_axis = 0;
  const DType type = builder.at(x).dtype;
  if (type == DType::float32 && copy.dtype == DType::int8)
    layer.arithmetic = Arithmetic::hybrid;  // dynamic range: activations are quantized while running
  if (type == DType::int16 && copy.dtype == DType::int8) {
    copy.dtype = DType::int16;
    copy.data = widened<std::int16_t, std::int8_t>(*copy.data);
  }
  if (type == DType::int8 && copy.dtype == DType::int8 && copy.zero_points.size() == 1 &&
      copy.zero_points[0] != 0) {
    layer.widened = true;
    copy.dtype = DType::int16;
    copy.data = differences(*copy.data, copy.zero_points[0]);
    copy.zero_points = {0};
  }
  layer.weights = builder.add(std::move(copy));
  if (Builder::has(op, 2)) {
    RUNNEL_ASSIGN(const TensorId bias, builder.operand(op, 2));
    compiler::Tensor own = builder.at(bias);
    if (!own.data) return Builder::fail(op, Code::unsupported) << "a bias that is computed at run time";
    own.scales.clear();
    own.zero_points.clear();
    own.channel_axis = -1;
    own.shape = {outputs};
    if (type == DType::int16 && own.dtype == DType::int64) layer.rounding = kernels::Rounding::single;
    if ((type == DType::int16 || layer.widened) && own.dtype == DType::int32) {
      own.dtype = DType::int64;
      own.data = widened<std::int64_t, std::int32_t>(*own.data);
    }
    if (own.data->size() != static_cast<std::size_t>(outputs) * size_of(own.dtype))
      return Builder::fail(op) << "a bias of " << own.data->size() << " bytes for " << outputs << " outputs";
    layer.bias = builder.add(std::move(own));
  }
  return layer;
}

std::vector<TensorId> operands(TensorId x, const Weighted& layer) {
  return layer.bias == kAbsent ? std::vector<TensorId>{x, layer.weights}
                               : std::vector<TensorId>{x, layer.weights, layer.bias};
}

// The layer, from x to y.
Status emit_layer(Builder& builder, const Operator& op, OpCode code, TensorId x, const Weighted& layer,
                  TensorId y, const Options& options) {
  if (!layer.widened)
    return builder.emit(op, code, operands(x, layer), {y}, options, layer.arithmetic, layer.rounding);
  // The same integers in 16 bits and without zero points; the sums and their rounding are those of 8 bits.
  const auto wide = [&](TensorId like) {
    const TensorId id = builder.intermediate(like, op, builder.at(like).shape);
    builder.at(id).dtype = DType::int16;
    builder.at(id).zero_points = {0};
    return id;
  };
  const TensorId from = wide(x), to = wide(y);
  RUNNEL_TRY(builder.emit(op, OpCode::requantize, {x}, {from}, {}, Arithmetic::tflite));
  RUNNEL_TRY(builder.emit(op, code, operands(from, layer), {to}, options, layer.arithmetic, layer.rounding));
  return builder.emit(op, OpCode::requantize, {to}, {y}, {}, Arithmetic::tflite);
}

template <class Table>
Status emit_conv(Builder& builder, const Operator& op, const Table& o, bool depthwise) {
  RUNNEL_TRY(check_steps(op, {o.stride_h(), o.stride_w(), o.dilation_h_factor(), o.dilation_w_factor()},
                         o.padding()));
  RUNNEL_ASSIGN(const TensorId x, builder.operand(op, 0));
  RUNNEL_ASSIGN(const Tensor* const w, builder.input(op, 1));
  const std::vector<std::int32_t> in = builder.at(x).shape, kernel = w->shape;
  if (in.size() != 4 || kernel.size() != 4)
    return Builder::fail(op) << "input rank " << in.size() << ", weights rank " << kernel.size()
                             << ", expected 4 and 4";
  for (const std::int32_t dim : kernel) {
    if (dim < 1) return Builder::fail(op) << "weights with a dimension of " << dim;
  }
  // Depthwise: [1, height, width, outputs] is, for one input channel each, [outputs, height, width, 1]
  // transposed.
  const std::int32_t outputs = depthwise ? kernel[3] : kernel[0], each = depthwise ? 1 : kernel[3];
  if (in[3] % each != 0 || (depthwise && (kernel[0] != 1 || outputs % in[3] != 0)))
    return Builder::fail(op) << "weights for " << each << " channels of an input of " << in[3];
  RUNNEL_ASSIGN(const Weighted layer,
                weighted(builder, op, x, {outputs, kernel[1], kernel[2], each}, outputs));
  if (depthwise) {
    compiler::Tensor& weights = builder.at(layer.weights);
    const std::size_t element = size_of(weights.dtype), count = static_cast<std::size_t>(outputs),
                      positions = weights.data->size() / element / count;
    std::vector<std::byte> turned(weights.data->size());
    for (std::size_t p = 0; p < positions; ++p) {
      for (std::size_t c = 0; c < count; ++c)
        std::memcpy(turned.data() + (c * positions + p) * element,
                    weights.data->data() + (p * count + c) * element, element);
    }
    weights.data = std::move(turned);
  }
  ConvOptions options;
  options.stride_height = o.stride_h();
  options.stride_width = o.stride_w();
  options.dilation_height = o.dilation_h_factor();
  options.dilation_width = o.dilation_w_factor();
  options.groups = in[3] / each;
  const Pads rows = pads_of(o.padding(), in[1], kernel[1], o.stride_h(), o.dilation_h_factor());
  const Pads columns = pads_of(o.padding(), in[2], kernel[2], o.stride_w(), o.dilation_w_factor());
  options.pad_top = rows.before;
  options.pad_bottom = rows.after;
  options.pad_left = columns.before;
  options.pad_right = columns.after;
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  RUNNEL_ASSIGN(const Activated how, activated(builder, op, o.fused_activation_function(), y));
  options.activation = how.clipped ? Activation::none : how.activation;
  RUNNEL_TRY(emit_layer(builder, op, OpCode::conv, x, layer, how.to, options));
  return finish_activated(builder, op, how, y);
}

// The operand with its last two axes transposed where the options say so.
Result<TensorId> turned(Builder& builder, const Operator& op, std::size_t position, bool adjoint) {
  RUNNEL_ASSIGN(const TensorId x, builder.operand(op, position));
  const std::size_t rank = builder.at(x).shape.size();
  if (!adjoint || rank < 2) return x;
  TransposeOptions order;
  for (std::size_t i = 0; i < rank; ++i) order.perm.push_back(static_cast<std::uint8_t>(i));
  std::swap(order.perm[rank - 1], order.perm[rank - 2]);
  const TensorId y = builder.intermediate(x, op);
  RUNNEL_TRY(builder.emit(op, OpCode::transpose, {x}, {y}, order));
  return y;
}

}  // namespace

Status convert_batch_matmul(Builder& builder, const Operator& op) {
  const auto* const o = op.table->builtin_options_as_BatchMatMul();
  RUNNEL_ASSIGN(const TensorId a, turned(builder, op, 0, o != nullptr && o->adj_x()));
  RUNNEL_ASSIGN(const TensorId b, turned(builder, op, 1, o != nullptr && o->adj_y()));
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  if (!builder.is_float(y) && builder.at(y).dtype != DType::int8)
    return Builder::fail(op, Code::unsupported)
           << "of " << runnel::name_of(builder.at(y).dtype) << ", expected float32 or int8";
  return builder.emit(op, OpCode::matmul, {a, b}, {y}, FullyConnectedOptions{},
                      builder.is_float(y) ? Arithmetic::espdl : Arithmetic::tflite);
}

Status convert_conv(Builder& builder, const Operator& op) {
  const auto* const o = op.table->builtin_options_as_Conv2D();
  return o == nullptr ? Builder::fail(op) << "its options are missing" : emit_conv(builder, op, *o, false);
}

Status convert_depthwise(Builder& builder, const Operator& op) {
  const auto* const o = op.table->builtin_options_as_DepthwiseConv2D();
  return o == nullptr ? Builder::fail(op) << "its options are missing" : emit_conv(builder, op, *o, true);
}

Status convert_fully_connected(Builder& builder, const Operator& op) {
  const auto* const o = op.table->builtin_options_as_FullyConnected();
  if (o == nullptr) return Builder::fail(op) << "its options are missing";
  if (o->weights_format() != 0) return Builder::fail(op, Code::unsupported) << "shuffled weights";
  RUNNEL_ASSIGN(TensorId x, builder.operand(op, 0));
  RUNNEL_ASSIGN(const Tensor* const w, builder.input(op, 1));
  if (w->shape.size() != 2 || w->shape[0] < 1 || w->shape[1] < 1)
    return Builder::fail(op) << "weights of rank " << w->shape.size() << ", expected 2";
  const std::int32_t outputs = w->shape[0], features = w->shape[1];
  RUNNEL_ASSIGN(const Weighted layer, weighted(builder, op, x, w->shape, outputs));
  std::vector<std::int32_t> in = builder.at(x).shape;
  if (!(o->keep_num_dims() && in.back() == features) && (in.size() != 2 || in[1] != features)) {
    std::int64_t count = 1;
    for (const std::int32_t dim : in) count *= dim;
    if (count % features != 0) return Builder::fail(op) << count << " values for rows of " << features;
    RUNNEL_ASSIGN(x, builder.reshaped(op, x, {static_cast<std::int32_t>(count / features), features}));
  }
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  RUNNEL_ASSIGN(const Activated how, activated(builder, op, o->fused_activation_function(), y));
  const FullyConnectedOptions options{how.clipped ? Activation::none : how.activation};
  RUNNEL_TRY(emit_layer(builder, op, OpCode::fully_connected, x, layer, how.to, options));
  return finish_activated(builder, op, how, y);
}

Status convert_pool(Builder& builder, const Operator& op) {
  const auto* const o = op.table->builtin_options_as_Pool2D();
  if (o == nullptr) return Builder::fail(op) << "its options are missing";
  RUNNEL_TRY(
      check_steps(op, {o->stride_h(), o->stride_w(), o->filter_height(), o->filter_width()}, o->padding()));
  RUNNEL_ASSIGN(const TensorId x, builder.operand(op, 0));
  const std::vector<std::int32_t> in = builder.at(x).shape;
  if (in.size() != 4) return Builder::fail(op) << "input rank " << in.size() << ", expected 4";
  PoolOptions options;
  options.kernel_height = o->filter_height();
  options.kernel_width = o->filter_width();
  options.stride_height = o->stride_h();
  options.stride_width = o->stride_w();
  options.count_padding = false;
  const Pads rows = pads_of(o->padding(), in[1], o->filter_height(), o->stride_h(), 1);
  const Pads columns = pads_of(o->padding(), in[2], o->filter_width(), o->stride_w(), 1);
  options.pad_top = rows.before;
  options.pad_bottom = rows.after;
  options.pad_left = columns.before;
  options.pad_right = columns.after;
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  const auto code = op.code == Builtin::MAX_POOL_2D ? OpCode::max_pool : OpCode::average_pool;
  const bool floats = builder.is_float(y);
  RUNNEL_ASSIGN(const Tensor* const source, builder.input(op, 0));
  // The reference's average of uint8 rounds ties up.
  const auto rounding = is_shifted(*source) ? kernels::Rounding::half_up : kernels::Rounding::tflite_double;
  if (o->fused_activation_function() == 0)
    return builder.emit(op, code, {x}, {y}, options, floats ? Arithmetic::espdl : Arithmetic::tflite,
                        rounding);
  const TensorId pooled = builder.intermediate(y, op);
  RUNNEL_TRY(builder.emit(op, code, {x}, {pooled}, options, floats ? Arithmetic::espdl : Arithmetic::tflite,
                          rounding));
  return emit_activation(builder, op, o->fused_activation_function(), pooled, y);
}

}  // namespace runnel::compiler::tflite_source
