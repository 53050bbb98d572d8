#include "compiler/write/tflite/builtins.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/elementwise/affine.h"

namespace runnel::compiler::tflite_source {
namespace {

using flatbuffers::FlatBufferBuilder;
using tflite::BuiltinOptions;

enum : std::int8_t { kSame = 0, kValid = 1 };

// Whether pads of one axis are those that TensorFlow Lite computes for SAME
// (import/tflite/convert/window.cpp).
bool is_same(int before, int after, std::int32_t size, std::int32_t kernel, int stride, int dilation) {
  const std::int64_t outputs = (std::int64_t{size} + stride - 1) / stride;
  const std::int64_t total =
      std::max<std::int64_t>(0, (outputs - 1) * stride + (std::int64_t{kernel} - 1) * dilation + 1 - size);
  return before == total / 2 && after == total - total / 2;
}

// One node on its way to operators.
class Conversion {
 public:
  Conversion(Draft& draft, const Graph& graph, const Node& node)
      : draft_(draft), graph_(graph), node_(node) {}

  Status run() {
    switch (node_.code) {
      case OpCode::conv:
        return conv();
      case OpCode::fully_connected:
        return fully_connected();
      case OpCode::average_pool:
      case OpCode::max_pool:
        return pool();
      case OpCode::add:
        return arithmetic(Builtin::ADD, BuiltinOptions::Add);
      case OpCode::sub:
        return arithmetic(Builtin::SUB, BuiltinOptions::Sub);
      case OpCode::mul:
        return arithmetic(Builtin::MUL, BuiltinOptions::Mul);
      case OpCode::div:
        if (!floats()) return refuse() << "of integers";
        return arithmetic(Builtin::DIV, BuiltinOptions::Div);
      case OpCode::max:
        return plain_pair(Builtin::MAXIMUM);
      case OpCode::min:
        return plain_pair(Builtin::MINIMUM);
      case OpCode::softmax:
        return softmax();
      case OpCode::matmul:
        return matmul();
      case OpCode::reduce_mean:
        return reduce(Builtin::MEAN);
      case OpCode::reduce_sum:
        return reduce(Builtin::SUM);
      case OpCode::reduce_max:
        return reduce(Builtin::REDUCE_MAX);
      case OpCode::reduce_min:
        return reduce(Builtin::REDUCE_MIN);
      case OpCode::relu:
        return function(Builtin::RELU);
      case OpCode::sigmoid:
        return function(Builtin::LOGISTIC);
      case OpCode::tanh:
        return function(Builtin::TANH);
      case OpCode::hard_swish:
        return function(Builtin::HARD_SWISH);
      case OpCode::exp:
        return float_function(Builtin::EXP);
      case OpCode::log:
        return float_function(Builtin::LOG);
      case OpCode::sqrt:
        return float_function(Builtin::SQRT);
      case OpCode::abs:
        return float_function(Builtin::ABS);
      case OpCode::neg:
        return float_function(Builtin::NEG);
      case OpCode::leaky_relu:
        return leaky_relu();
      case OpCode::clip:
        return clip();
      case OpCode::quantize:
      case OpCode::requantize:
        return scale(Builtin::QUANTIZE);
      case OpCode::dequantize:
        return scale(Builtin::DEQUANTIZE);
      case OpCode::reshape:
        return reshape();
      case OpCode::transpose:
        return transpose();
      case OpCode::pad:
        return pad();
      case OpCode::slice:
        return slice();
      case OpCode::concat:
        return concat();
      case OpCode::split:
        return split();
      default:
        return refuse() << "TensorFlow Lite has no such operator, or none with the same results";
    }
  }

 private:
  [[nodiscard]] Status refuse() const {
    return Status(Code::unsupported) << "\"" << node_.name << "\" (" << name_of(node_.code) << "): ";
  }
  [[nodiscard]] const Tensor& tensor(TensorId id) const {
    return graph_.tensors[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] const Tensor& in(std::size_t i = 0) const { return tensor(node_.inputs[i]); }
  [[nodiscard]] const Tensor& out(std::size_t i = 0) const { return tensor(node_.outputs[i]); }
  std::int32_t input(std::size_t i = 0) { return draft_.tensor(graph_, node_.inputs[i]); }
  std::int32_t output(std::size_t i = 0) { return draft_.tensor(graph_, node_.outputs[i]); }
  [[nodiscard]] bool floats() const { return out().dtype == DType::float32; }
  // Float32, or integers in TensorFlow Lite's arithmetic.
  [[nodiscard]] Status check_arithmetic() const {
    const bool known = floats() ? in().dtype == DType::float32 && node_.arithmetic == Arithmetic::espdl
                                : node_.arithmetic == Arithmetic::tflite;
    return known ? Status() : refuse() << "in an arithmetic that TensorFlow Lite does not have";
  }
  // Operators of 8 bits are of newer versions than those of float32.
  [[nodiscard]] int version(int integers) const { return in().dtype == DType::float32 ? 1 : integers; }
  template <class Make>
  void emit(Builtin code, int version, std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs,
            BuiltinOptions type, Make make) {
    DraftOperator op;
    op.code = code;
    op.version = version;
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    op.type = type;
    op.options = [make](FlatBufferBuilder& to) { return make(to).Union(); };
    draft_.operators.push_back(std::move(op));
  }
  void emit(Builtin code, int version, std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs) {
    DraftOperator op;
    op.code = code;
    op.version = version;
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    draft_.operators.push_back(std::move(op));
  }
  static std::int8_t fused(Activation activation) {
    switch (activation) {
      case Activation::relu:
        return static_cast<std::int8_t>(FusedActivation::relu);
      case Activation::relu6:
        return static_cast<std::int8_t>(FusedActivation::relu6);
      case Activation::relu_n1_to_1:
        return static_cast<std::int8_t>(FusedActivation::relu_n1_to_1);
      default:
        return static_cast<std::int8_t>(FusedActivation::none);
    }
  }

  // Weights and bias of a layer, with the scales that the format wants of them.
  struct Layer {
    std::int32_t weights = -1, bias = -1;
  };
  Result<Layer> layer(Tensor weights, int channel_axis) {
    const bool ints = !floats();
    const bool bytes =
        in().dtype == DType::int8 && weights.dtype == DType::int8 && out().dtype == DType::int8;
    const bool rounds = node_.arithmetic == Arithmetic::espdl &&
                        node_.rounding == kernels::Rounding::tflite_double && !in().scales.empty() &&
                        !weights.scales.empty() && !out().scales.empty();
    if (ints ? !bytes || !rounds
             : in().dtype != DType::float32 || weights.dtype != DType::float32 ||
                   node_.arithmetic != Arithmetic::espdl)
      return refuse() << "in an arithmetic or with types that are not written as TensorFlow Lite's";
    if (!weights.data) return refuse() << "weights that are computed";
    weights.channel_axis = channel_axis;
    const std::vector<float> scales = weights.scales;
    Layer made;
    made.weights = draft_.add(std::move(weights));
    if (node_.inputs.size() > 2 && node_.inputs[2] != kAbsent) {
      Tensor bias = in(2);
      if (!bias.data || (ints && bias.dtype != DType::int32))
        return refuse() << "a bias that is computed, or wide";
      bias.scales.clear();
      bias.exponents.clear();
      if (ints) {
        for (const float scale : scales) bias.scales.push_back(in().scales[0] * scale);
      }
      bias.zero_points.assign(bias.scales.size(), 0);
      bias.channel_axis = 0;
      made.bias = draft_.add(std::move(bias));
    }
    return made;
  }

  Status conv() {
    const auto& o = std::get<ConvOptions>(node_.options);
    const Tensor& kernel = in(1);
    if (in().shape.size() != 4 || kernel.shape.size() != 4) return refuse() << "along one axis";
    const std::int32_t channels = in().shape[3], outputs = kernel.shape[0], each = kernel.shape[3];
    const bool depthwise = o.groups == channels && each == 1 && channels > 1;
    Tensor weights = kernel;
    if (depthwise) {
      // [outputs, height, width, 1] as [1, height, width, outputs].
      const std::size_t element = size_of(weights.dtype), count = static_cast<std::size_t>(outputs),
                        positions = weights.data ? weights.data->size() / element / count : 0;
      std::vector<std::byte> turned(positions * count * element);
      for (std::size_t c = 0; c < count; ++c) {
        for (std::size_t p = 0; p < positions; ++p)
          std::memcpy(turned.data() + (p * count + c) * element,
                      kernel.data->data() + (c * positions + p) * element, element);
      }
      if (weights.data) weights.data = std::move(turned);
      weights.shape = {1, kernel.shape[1], kernel.shape[2], outputs};
    }
    RUNNEL_ASSIGN(const Layer made, layer(std::move(weights), depthwise ? 3 : 0));
    std::int32_t x = input();
    std::int8_t padding = kValid;
    if (o.pad_top + o.pad_bottom + o.pad_left + o.pad_right > 0) {
      padding = kSame;
      if (!is_same(o.pad_top, o.pad_bottom, in().shape[1], kernel.shape[1], o.stride_height,
                   o.dilation_height) ||
          !is_same(o.pad_left, o.pad_right, in().shape[2], kernel.shape[2], o.stride_width,
                   o.dilation_width)) {
        // Other borders are an operator of their own.
        padding = kValid;
        Tensor padded = in();
        padded.name = node_.name + "/padded";
        padded.shape[1] += o.pad_top + o.pad_bottom;
        padded.shape[2] += o.pad_left + o.pad_right;
        const std::int32_t to = draft_.add(std::move(padded));
        add_pad(x, to, {0, o.pad_top, o.pad_left, 0}, {0, o.pad_bottom, o.pad_right, 0});
        x = to;
      }
    }
    std::vector<std::int32_t> inputs = {x, made.weights, made.bias};
    if (made.bias < 0) inputs.pop_back();
    const std::int8_t activation = fused(o.activation);
    if (depthwise) {
      const std::int32_t times = outputs / channels;
      emit(Builtin::DEPTHWISE_CONV_2D, version(3), inputs, {output()}, BuiltinOptions::DepthwiseConv2D,
           [=, o = o](FlatBufferBuilder& to) {
             return tflite::CreateDepthwiseConv2DOptions(to, padding, o.stride_width, o.stride_height, times,
                                                         activation, o.dilation_width, o.dilation_height);
           });
    } else {
      emit(Builtin::CONV_2D, version(3), inputs, {output()}, BuiltinOptions::Conv2D,
           [=, o = o](FlatBufferBuilder& to) {
             return tflite::CreateConv2DOptions(to, padding, o.stride_width, o.stride_height, activation,
                                                o.dilation_width, o.dilation_height);
           });
    }
    return {};
  }

  Status fully_connected() {
    const auto& o = std::get<FullyConnectedOptions>(node_.options);
    RUNNEL_ASSIGN(const Layer made, layer(in(1), 0));
    std::vector<std::int32_t> inputs = {input(), made.weights, made.bias};
    if (made.bias < 0) inputs.pop_back();
    const std::int8_t activation = fused(o.activation);
    const bool keep = in().shape.size() != 2;
    emit(Builtin::FULLY_CONNECTED, version(4), inputs, {output()}, BuiltinOptions::FullyConnected,
         [=](FlatBufferBuilder& to) { return tflite::CreateFullyConnectedOptions(to, activation, 0, keep); });
    return {};
  }

  Status pool() {
    const auto& o = std::get<PoolOptions>(node_.options);
    RUNNEL_TRY(check_arithmetic());
    if (in().shape.size() != 4 || o.global || o.dilation_height != 1 || o.dilation_width != 1 ||
        (node_.code == OpCode::average_pool && o.count_padding &&
         o.pad_top + o.pad_bottom + o.pad_left + o.pad_right > 0) ||
        (!floats() && node_.rounding != kernels::Rounding::tflite_double))
      return refuse() << "with a window or rounding that TensorFlow Lite does not have";
    std::int8_t padding = kValid;
    if (o.pad_top + o.pad_bottom + o.pad_left + o.pad_right > 0) {
      padding = kSame;
      if (!is_same(o.pad_top, o.pad_bottom, in().shape[1], o.kernel_height, o.stride_height, 1) ||
          !is_same(o.pad_left, o.pad_right, in().shape[2], o.kernel_width, o.stride_width, 1))
        return refuse() << "with padding that is neither SAME nor VALID";
    }
    emit(node_.code == OpCode::max_pool ? Builtin::MAX_POOL_2D : Builtin::AVERAGE_POOL_2D, version(2),
         {input()}, {output()}, BuiltinOptions::Pool2D, [=, o = o](FlatBufferBuilder& to) {
           return tflite::CreatePool2DOptions(to, padding, o.stride_width, o.stride_height, o.kernel_width,
                                              o.kernel_height);
         });
    return {};
  }

  Status arithmetic(Builtin code, BuiltinOptions type) {
    RUNNEL_TRY(check_arithmetic());
    const auto* const o = std::get_if<BinaryOptions>(&node_.options);
    const std::int8_t activation = fused(o == nullptr ? Activation::none : o->activation);
    emit(code, version(2), {input(0), input(1)}, {output()}, type,
         [=](FlatBufferBuilder& to) { return tflite::CreateArithmeticOptions(to, activation); });
    return {};
  }
  Status plain_pair(Builtin code) {
    RUNNEL_TRY(check_arithmetic());
    if (const auto* const o = std::get_if<BinaryOptions>(&node_.options);
        o != nullptr && o->activation != Activation::none)
      return refuse() << "with an activation";
    emit(code, version(2), {input(0), input(1)}, {output()});
    return {};
  }

  Status softmax() {
    RUNNEL_TRY(check_arithmetic());
    float beta = 1;
    if (const auto* const o = std::get_if<FunctionOptions>(&node_.options); o != nullptr) beta = o->alpha;
    if (const auto* const o = std::get_if<AxisOptions>(&node_.options);
        o != nullptr && o->axis != static_cast<int>(in().shape.size()) - 1)
      return refuse() << "along axis " << o->axis << ", expected the last one";
    emit(Builtin::SOFTMAX, version(2), {input()}, {output()}, BuiltinOptions::Softmax,
         [=](FlatBufferBuilder& to) { return tflite::CreateSoftmaxOptions(to, beta); });
    return {};
  }

  Status matmul() {
    RUNNEL_TRY(check_arithmetic());
    emit(Builtin::BATCH_MATMUL, version(2), {input(0), input(1)}, {output()}, BuiltinOptions::BatchMatMul,
         [](FlatBufferBuilder& to) { return tflite::CreateBatchMatMulOptions(to); });
    return {};
  }

  Status reduce(Builtin code) {
    RUNNEL_TRY(check_arithmetic());
    const auto& o = std::get<ReduceOptions>(node_.options);
    const std::int32_t axes =
        draft_.integers(node_.name + "/axes", std::vector<std::int32_t>(o.axes.begin(), o.axes.end()));
    const bool keep = in().shape.size() == out().shape.size();
    emit(code, version(2), {input(), axes}, {output()}, BuiltinOptions::Reducer,
         [=](FlatBufferBuilder& to) { return tflite::CreateReducerOptions(to, keep); });
    return {};
  }

  Status function(Builtin code) {
    RUNNEL_TRY(check_arithmetic());
    emit(code, version(2), {input()}, {output()});
    return {};
  }
  Status float_function(Builtin code) {
    if (!floats()) return refuse() << "of integers";
    return function(code);
  }
  Status leaky_relu() {
    RUNNEL_TRY(check_arithmetic());
    const float alpha = std::get<FunctionOptions>(node_.options).alpha;
    emit(Builtin::LEAKY_RELU, version(2), {input()}, {output()}, BuiltinOptions::LeakyRelu,
         [=](FlatBufferBuilder& to) { return tflite::CreateLeakyReluOptions(to, alpha); });
    return {};
  }
  Status clip() {
    RUNNEL_TRY(check_arithmetic());
    const auto& o = std::get<ClipOptions>(node_.options);
    struct Known {
      Builtin code;
      float low, high;
    };
    for (const Known& known : {Known{Builtin::RELU6, 0, 6}, Known{Builtin::RELU_N1_TO_1, -1, 1}}) {
      const auto integer = [&](float value) {
        return kernels::to_integer(value, in().scales[0], in().zero_points[0]);
      };
      const bool same =
          floats() ? o.low_value == known.low && o.high_value == known.high
                   : in().scales.size() == 1 && o.low == integer(known.low) && o.high == integer(known.high);
      if (same) return function(known.code);
    }
    return refuse() << "to other limits than those of RELU6 and RELU_N1_TO_1";
  }

  Status scale(Builtin code) {
    if (node_.arithmetic != Arithmetic::tflite || node_.rounding == kernels::Rounding::half_even)
      return refuse() << "with other rounding than TensorFlow Lite's";
    emit(code, code == Builtin::DEQUANTIZE ? 2 : 1, {input()}, {output()});
    return {};
  }

  Status reshape() {
    const std::vector<std::int32_t> shape = out().shape;
    const std::int32_t wanted = draft_.integers(node_.name + "/shape", shape);
    emit(Builtin::RESHAPE, 1, {input(), wanted}, {output()}, BuiltinOptions::Reshape,
         [=](FlatBufferBuilder& to) { return tflite::CreateReshapeOptions(to, to.CreateVector(shape)); });
    return {};
  }
  Status transpose() {
    const auto& perm = std::get<TransposeOptions>(node_.options).perm;
    const std::int32_t order =
        draft_.integers(node_.name + "/order", std::vector<std::int32_t>(perm.begin(), perm.end()));
    emit(Builtin::TRANSPOSE, version(2), {input(), order}, {output()});
    return {};
  }
  void add_pad(std::int32_t x, std::int32_t y, const std::vector<std::int32_t>& before,
               const std::vector<std::int32_t>& after) {
    std::vector<std::int32_t> pads;
    for (std::size_t i = 0; i < before.size(); ++i) pads.insert(pads.end(), {before[i], after[i]});
    const std::int32_t counts = draft_.integers(node_.name + "/pads", pads);
    draft_.tensors[static_cast<std::size_t>(counts)].tensor.shape = {static_cast<std::int32_t>(before.size()),
                                                                     2};
    emit(Builtin::PAD, version(2), {x, counts}, {y});
  }
  Status pad() {
    const auto& o = std::get<PadOptions>(node_.options);
    const std::int32_t zero = in().zero_points.empty() ? 0 : in().zero_points[0];
    if (o.mode != PadMode::zero || (floats() ? o.real_value != 0 : o.value != zero))
      return refuse() << "with something else than zeros";
    add_pad(input(), output(), o.before, o.after);
    return {};
  }
  Status slice() {
    const auto& o = std::get<SliceOptions>(node_.options);
    std::vector<std::int32_t> end = o.begin;
    for (std::size_t i = 0; i < end.size(); ++i) {
      if (o.step[i] < 1) return refuse() << "a step of " << o.step[i];
      end[i] += (out().shape[i] - 1) * o.step[i] + 1;
    }
    const std::int32_t from = draft_.integers(node_.name + "/begin", o.begin),
                       to = draft_.integers(node_.name + "/end", end),
                       steps = draft_.integers(node_.name + "/steps", o.step);
    emit(Builtin::STRIDED_SLICE, version(2), {input(), from, to, steps}, {output()},
         BuiltinOptions::StridedSlice,
         [](FlatBufferBuilder& builder) { return tflite::CreateStridedSliceOptions(builder); });
    return {};
  }
  Status concat() {
    const int axis = std::get<AxisOptions>(node_.options).axis;
    std::vector<std::int32_t> parts;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) parts.push_back(input(i));
    emit(Builtin::CONCATENATION, version(2), parts, {output()}, BuiltinOptions::Concatenation,
         [=](FlatBufferBuilder& to) { return tflite::CreateConcatenationOptions(to, axis); });
    return {};
  }
  Status split() {
    const int axis = std::get<AxisOptions>(node_.options).axis;
    std::vector<std::int32_t> parts, sizes;
    for (std::size_t i = 0; i < node_.outputs.size(); ++i) {
      parts.push_back(output(i));
      sizes.push_back(out(i).shape[static_cast<std::size_t>(axis)]);
    }
    const auto count = static_cast<std::int32_t>(parts.size());
    const std::int32_t lengths = draft_.integers(node_.name + "/sizes", sizes),
                       along = draft_.integers(node_.name + "/axis", {axis});
    draft_.tensors[static_cast<std::size_t>(along)].tensor.shape = {};
    emit(Builtin::SPLIT_V, version(2), {input(), lengths, along}, parts, BuiltinOptions::SplitV,
         [=](FlatBufferBuilder& to) { return tflite::CreateSplitOptions(to, count); });
    return {};
  }

  Draft& draft_;
  const Graph& graph_;
  const Node& node_;
};

}  // namespace

Status add_builtin(Draft& draft, const Graph& graph, const Node& node) {
  return Conversion(draft, graph, node).run();
}

void add_copy(Draft& draft, std::int32_t from, std::int32_t to) {
  const std::vector<std::int32_t> shape = draft.tensors[static_cast<std::size_t>(to)].tensor.shape;
  const std::int32_t wanted =
      draft.integers(draft.tensors[static_cast<std::size_t>(to)].tensor.name + "/shape", shape);
  DraftOperator op;
  op.code = Builtin::RESHAPE;
  op.inputs = {from, wanted};
  op.outputs = {to};
  op.type = BuiltinOptions::Reshape;
  op.options = [shape](FlatBufferBuilder& builder) {
    return tflite::CreateReshapeOptions(builder, builder.CreateVector(shape)).Union();
  };
  draft.operators.push_back(std::move(op));
}

}  // namespace runnel::compiler::tflite_source
