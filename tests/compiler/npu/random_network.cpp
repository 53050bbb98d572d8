#include "tests/compiler/npu/random_network.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

namespace runnel::test {
namespace {

using compiler::Graph;
using compiler::Node;
using compiler::Tensor;
using compiler::TensorId;
using kernels::Rounding;
using Shape = std::vector<std::int32_t>;

class Maker {
 public:
  Maker(const NetworkChoice& choice, std::uint32_t seed) : choice_(choice), random_(seed) {}

  Graph make() {
    const bool flat = of(2) == 0;
    const std::int32_t length = choice_.stream ? 24 + of(16) : 1 + of(20),
                       channels = 1 + of(of(4) == 0 ? 48 : 20);
    const Shape shape = flat ? Shape{1, length, channels} : Shape{1, length, 1 + of(9), channels};
    TensorId x = tensor("x", shape);
    graph_.inputs = {x};
    graph_.time_axes = {choice_.stream ? 1 : -1};
    const std::int32_t layers = 1 + of(5);
    for (std::int32_t i = 0; i < layers; ++i) x = layer(x);
    if (choice_.newest && !choice_.stream && !choice_.affine && of(4) == 0) x = position(x);
    graph_.outputs = {x};
    if (graph_.nodes.empty()) graph_.outputs = {convolution(x)};
    return std::move(graph_);
  }

 private:
  std::int32_t of(std::int32_t count) {
    return static_cast<std::int32_t>(random_() % static_cast<std::uint32_t>(count));
  }
  Tensor& at(TensorId id) { return graph_.tensors[static_cast<std::size_t>(id)]; }
  const Shape& shape(TensorId id) { return at(id).shape; }

  TensorId tensor(const std::string& name, Shape shape) {
    Tensor made;
    made.name = name + std::to_string(graph_.tensors.size());
    made.shape = std::move(shape);
    made.dtype = DType::int8;
    if (choice_.affine) {
      made.scales = {std::ldexp(1.0f + static_cast<float>(of(1000)) / 1000.0f, -6)};
      made.zero_points = {of(3) == 0 ? 0 : of(256) - 128};
    } else {
      made.exponents = {static_cast<std::int8_t>(-7 + of(4))};
    }
    graph_.tensors.push_back(std::move(made));
    return static_cast<TensorId>(graph_.tensors.size()) - 1;
  }
  TensorId like(TensorId x, const std::string& name, Shape shape) {
    Tensor made = at(x);
    made.name = name + std::to_string(graph_.tensors.size());
    made.shape = std::move(shape);
    made.data.reset();
    graph_.tensors.push_back(std::move(made));
    return static_cast<TensorId>(graph_.tensors.size()) - 1;
  }
  Node& node(OpCode code, Arithmetic arithmetic, std::vector<TensorId> inputs, TensorId y) {
    Node made;
    made.name = "n" + std::to_string(graph_.nodes.size());
    made.code = code;
    made.arithmetic = arithmetic;
    made.inputs = std::move(inputs);
    made.outputs = {y};
    made.rounding = choice_.affine ? Rounding::tflite_double : Rounding::half_up;
    graph_.nodes.push_back(std::move(made));
    return graph_.nodes.back();
  }
  template <class T>
  static std::vector<std::byte> bytes_of(const std::vector<T>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }

  // Weights, biases, and a scale of the output with which sums fill it about.
  void weigh(Node& made, TensorId x, TensorId y, Shape weights, std::int32_t each) {
    const std::int32_t channels = weights[0];
    Tensor w, b;
    w.name = made.name + "w";
    w.shape = std::move(weights);
    w.dtype = DType::int8;
    std::vector<std::int8_t> values(static_cast<std::size_t>(channels) * static_cast<std::size_t>(each));
    const bool sparse = of(4) == 0;
    for (std::int8_t& value : values)
      value = static_cast<std::int8_t>(sparse && of(3) != 0 ? 0 : of(255) - 127);
    w.data = bytes_of(values);
    const bool per_channel = of(2) == 0;
    const std::size_t scales = per_channel ? static_cast<std::size_t>(channels) : 1;
    const int room = 6 + static_cast<int>(std::lround(std::log2(each) / 2)) + of(2);
    for (std::size_t i = 0; i < scales; ++i) {
      if (choice_.affine)
        w.scales.push_back(at(y).scales[0] / at(x).scales[0] *
                           std::ldexp(0.6f + static_cast<float>(of(1000)) / 1000.0f, -room));
      else
        w.exponents.push_back(
            static_cast<std::int8_t>(at(y).exponents[0] - at(x).exponents[0] - room - of(2)));
    }
    if (choice_.affine) w.zero_points.assign(scales, 0);
    w.channel_axis = scales > 1 ? 0 : -1;
    b.name = made.name + "b";
    b.shape = {channels};
    b.dtype = DType::int32;
    std::vector<std::int32_t> biases;
    for (std::int32_t i = 0; i < channels; ++i) biases.push_back(of(1 << 14) - (1 << 13));
    b.data = bytes_of(biases);
    if (!choice_.affine) {
      for (const std::int8_t exponent : w.exponents)
        b.exponents.push_back(static_cast<std::int8_t>(exponent + at(x).exponents[0]));
      if (b.exponents.size() > 1) b.channel_axis = 0;
    }
    graph_.tensors.push_back(std::move(w));
    made.inputs.push_back(static_cast<TensorId>(graph_.tensors.size()) - 1);
    if (of(4) == 0) return;
    graph_.tensors.push_back(std::move(b));
    made.inputs.push_back(static_cast<TensorId>(graph_.tensors.size()) - 1);
  }

  struct Axis {
    int kernel = 1, stride = 1, dilation = 1, before = 0, after = 0, out = 1;
  };
  // A window that gives at least one output.
  Axis axis(std::int32_t size, bool time, bool gaps) {
    for (;;) {
      Axis a;
      a.kernel = 1 + of(of(3) == 0 ? 9 : 4);
      a.stride = of(3) == 0 ? 1 + of(time && choice_.stream ? 2 : 4) : 1;
      a.dilation = gaps && of(3) == 0 ? 1 + of(5) : 1;
      const int extent = (a.kernel - 1) * a.dilation;
      const int kind = of(3);
      if (kind == 1) a.before = extent;
      if (kind == 2) {
        a.before = extent / 2;
        a.after = extent - a.before;
      }
      const int room = size + a.before + a.after - extent - 1;
      if (room < 0) continue;
      a.out = room / a.stride + 1;
      if (time && choice_.stream && a.out < 8) continue;
      return a;
    }
  }

  Activation activation() {
    const std::int32_t kind = of(choice_.affine ? 4 : 2);
    return kind == 0   ? Activation::none
           : kind == 1 ? Activation::relu
           : kind == 2 ? Activation::relu6
                       : Activation::relu_n1_to_1;
  }

  TensorId convolution(TensorId x) {
    const Shape in = shape(x);
    const bool flat = in.size() == 3;
    const Axis rows = flat ? Axis() : axis(in[1], true, true), columns = axis(in[in.size() - 2], flat, true);
    const std::int32_t channels = in.back(), kind = of(4);
    int groups = 1;
    if (kind == 0) groups = channels;
    if (kind == 1 && channels % 2 == 0) groups = 2;
    const std::int32_t outs = kind == 0 ? channels : groups * (1 + of(of(3) == 0 ? 40 : 12));
    const Shape out = flat ? Shape{1, columns.out, outs} : Shape{1, rows.out, columns.out, outs};
    const TensorId y = tensor("c", out);
    Node& made = node(OpCode::conv, Arithmetic::espdl, {x}, y);
    compiler::ConvOptions options;
    options.stride_height = rows.stride;
    options.stride_width = columns.stride;
    options.dilation_height = rows.dilation;
    options.dilation_width = columns.dilation;
    options.pad_top = rows.before;
    options.pad_bottom = rows.after;
    options.pad_left = columns.before;
    options.pad_right = columns.after;
    options.groups = groups;
    options.activation = activation();
    made.options = options;
    weigh(made, x, y, {outs, rows.kernel, columns.kernel, channels / groups},
          rows.kernel * columns.kernel * channels / groups);
    return y;
  }

  TensorId fully_connected(TensorId x) {
    Shape out = shape(x);
    const std::int32_t channels = out.back();
    out.back() = 1 + of(30);
    const TensorId y = tensor("f", out);
    Node& made = node(OpCode::fully_connected, Arithmetic::espdl, {x}, y);
    made.options = compiler::FullyConnectedOptions{activation()};
    weigh(made, x, y, {out.back(), channels}, channels);
    return y;
  }

  TensorId pool(TensorId x) {
    const Shape in = shape(x);
    const bool flat = in.size() == 3, max = of(2) == 0;
    Axis rows = flat ? Axis() : axis(in[1], true, false), columns = axis(in[in.size() - 2], flat, false);
    const auto unpadded = [&](Axis& a, std::int32_t size) {
      a.before = a.after = 0;
      a.kernel = std::min(a.kernel, std::max(1, size - 8));
      a.out = (size - a.kernel) / a.stride + 1;
    };
    if (choice_.stream) unpadded(flat ? columns : rows, in[1]);
    if (choice_.stream && (flat ? columns : rows).out < 8) return x;
    const TensorId y =
        like(x, "p", flat ? Shape{1, columns.out, in[2]} : Shape{1, rows.out, columns.out, in[3]});
    compiler::PoolOptions options;
    options.kernel_height = rows.kernel;
    options.kernel_width = columns.kernel;
    options.stride_height = rows.stride;
    options.stride_width = columns.stride;
    options.pad_top = rows.before;
    options.pad_bottom = rows.after;
    options.pad_left = columns.before;
    options.pad_right = columns.after;
    options.count_padding = of(2) == 0;
    if (!max && !choice_.affine) at(y).exponents[0] = static_cast<std::int8_t>(at(y).exponents[0] - of(2));
    node(max ? OpCode::max_pool : OpCode::average_pool,
         choice_.affine ? Arithmetic::tflite : Arithmetic::espdl, {x}, y)
        .options = options;
    return y;
  }

  TensorId pair(TensorId x) {
    const Shape in = shape(x);
    static constexpr OpCode kCodes[] = {OpCode::add, OpCode::sub, OpCode::mul, OpCode::min, OpCode::max};
    const OpCode code = kCodes[of(5)];
    const bool choice = code == OpCode::min || code == OpCode::max;
    TensorId other = x;
    // Itself after a pointwise layer, or a constant that may be broadcast.
    if (of(2) == 0) {
      other = choice ? like(x, "k", Shape(in.size(), 1)) : tensor("k", Shape(in.size(), 1));
      at(other).shape.back() = of(2) == 0 ? 1 : in.back();
      std::vector<std::int8_t> values;
      for (std::int32_t i = 0; i < at(other).shape.back(); ++i)
        values.push_back(static_cast<std::int8_t>(of(256) - 128));
      at(other).data = bytes_of(values);
    } else if (!choice) {
      const TensorId from = fully_connected(x);
      const TensorId back = tensor("r", in);
      Node& made = node(OpCode::fully_connected, Arithmetic::espdl, {from}, back);
      made.options = compiler::FullyConnectedOptions{};
      weigh(made, from, back, {in.back(), shape(from).back()}, shape(from).back());
      other = back;
    }
    const TensorId y = choice ? like(x, "m", in) : tensor("s", in);
    if (!choice_.affine && code == OpCode::mul)
      at(y).exponents[0] = static_cast<std::int8_t>(at(x).exponents[0] + at(other).exponents[0] + 5 + of(4));
    const bool change = of(2) == 0;
    Node& made = node(code,
                      choice_.affine ? Arithmetic::tflite
                      : choice       ? Arithmetic::espdl
                                     : Arithmetic::exact,
                      change ? std::vector<TensorId>{other, x} : std::vector<TensorId>{x, other}, y);
    made.options = compiler::BinaryOptions{activation()};
    return y;
  }

  TensorId function(TensorId x) {
    static constexpr OpCode kPlain[] = {OpCode::sigmoid, OpCode::tanh, OpCode::gelu, OpCode::requantize,
                                        OpCode::relu};
    static constexpr OpCode kAffine[] = {OpCode::hard_swish, OpCode::relu, OpCode::requantize,
                                         OpCode::requantize, OpCode::relu};
    const OpCode code = (choice_.affine ? kAffine : kPlain)[of(5)];
    const TensorId y = tensor("t", shape(x));
    node(code, choice_.affine ? Arithmetic::tflite : Arithmetic::espdl, {x}, y);
    if (code == OpCode::hard_swish || code == OpCode::gelu)
      graph_.nodes.back().options = compiler::FunctionOptions{};
    return y;
  }

  // Channels in two parts, one of them through a layer, and together again.
  TensorId parts(TensorId x) {
    const Shape in = shape(x);
    if (in.back() < 2) return x;
    const std::int32_t first = 1 + of(in.back() - 1);
    Shape left = in, right = in;
    left.back() = first;
    right.back() = in.back() - first;
    const TensorId a = like(x, "a", left), b = like(x, "b", right);
    Node& split = node(OpCode::split, Arithmetic::espdl, {x}, a);
    split.outputs.push_back(b);
    split.options = compiler::AxisOptions{static_cast<int>(in.size()) - 1};
    TensorId c = like(x, "d", left);
    Node& made = node(OpCode::fully_connected, Arithmetic::espdl, {a}, c);
    made.options = compiler::FullyConnectedOptions{};
    weigh(made, a, c, {first, first}, first);
    const TensorId y = like(x, "e", in);
    Node& joined = node(OpCode::concat, Arithmetic::espdl, {c, b}, y);
    joined.options = compiler::AxisOptions{static_cast<int>(in.size()) - 1};
    return y;
  }

  // Fractions of 256 along the last axis.
  TensorId softmax(TensorId x) {
    const TensorId y = tensor("q", shape(x));
    at(y).scales = {1.0f / 256};
    at(y).zero_points = {-128};
    node(OpCode::softmax, Arithmetic::tflite, {x}, y).options =
        compiler::FunctionOptions{of(2) == 0 ? 1.0f : 0.5f + static_cast<float>(of(30)) / 10.0f};
    return y;
  }

  // Sums or means over channels, or over some of the other axes.
  TensorId reduce(TensorId x) {
    Shape out = shape(x);
    const auto last = static_cast<std::uint8_t>(out.size() - 1);
    compiler::ReduceOptions options;
    if (of(3) == 0)
      options.axes = {last};
    else if (last == 2)
      options.axes = {1};
    else
      options.axes = of(2) == 0 ? std::vector<std::uint8_t>{1, 2}
                                : std::vector<std::uint8_t>{static_cast<std::uint8_t>(1 + of(2))};
    std::int32_t count = 1;
    for (const std::uint8_t axis : options.axes) {
      count *= out[axis];
      out[axis] = 1;
    }
    const TensorId y = tensor("u", out);
    const bool mean = choice_.affine && of(2) == 0;
    if (choice_.affine)
      at(y).scales[0] = at(x).scales[0] * (mean ? 1.0f : static_cast<float>(count)) *
                        (0.5f + static_cast<float>(of(100)) / 100.0f);
    else
      at(y).exponents[0] = static_cast<std::int8_t>(
          at(x).exponents[0] + std::bit_width(static_cast<std::uint32_t>(count)) - of(2));
    node(mean ? OpCode::reduce_mean : OpCode::reduce_sum,
         choice_.affine ? Arithmetic::tflite : Arithmetic::espdl, {x}, y)
        .options = options;
    return y;
  }

  // Two axes change places, or all of them move on.
  TensorId transpose(TensorId x) {
    const Shape in = shape(x);
    std::vector<std::uint8_t> perm(in.size());
    for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<std::uint8_t>(i);
    if (of(3) == 0)
      std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
    else
      std::swap(perm[1], perm[of(2) == 0 ? 2 : perm.size() - 1]);
    Shape out(in.size());
    for (std::size_t i = 0; i < perm.size(); ++i) out[i] = in[perm[i]];
    const TensorId y = like(x, "v", out);
    node(OpCode::transpose, Arithmetic::espdl, {x}, y).options = compiler::TransposeOptions{perm};
    return y;
  }

  TensorId pad(TensorId x) {
    Shape out = shape(x);
    compiler::PadOptions options;
    for (std::size_t i = 0; i < out.size(); ++i) {
      options.before.push_back(i == 0 ? 0 : of(3));
      options.after.push_back(i == 0 ? 0 : of(3));
      out[i] += options.before.back() + options.after.back();
    }
    options.value = of(256) - 128;
    const TensorId y = like(x, "w", out);
    node(OpCode::pad, Arithmetic::espdl, {x}, y).options = options;
    return y;
  }

  // Of each of all elements along an axis, which is the largest.
  TensorId position(TensorId x) {
    Shape out = shape(x);
    const auto axis = static_cast<std::size_t>(1 + of(static_cast<std::int32_t>(out.size()) - 1));
    out[axis] = 1;
    const TensorId y = tensor("i", out);
    at(y).dtype = DType::int32;
    at(y).scales.clear();
    at(y).zero_points.clear();
    at(y).exponents.clear();
    node(OpCode::arg_max, Arithmetic::espdl, {x}, y).options = compiler::AxisOptions{static_cast<int>(axis)};
    return y;
  }

  // Rows times rows, or columns times columns.
  TensorId product(TensorId x) {
    const Shape in = shape(x);
    const std::size_t rank = in.size();
    Shape turned = in, out = in;
    std::swap(turned[rank - 2], turned[rank - 1]);
    const TensorId other = like(x, "z", turned);
    std::vector<std::uint8_t> perm(rank);
    for (std::size_t i = 0; i < rank; ++i) perm[i] = static_cast<std::uint8_t>(i);
    std::swap(perm[rank - 2], perm[rank - 1]);
    node(OpCode::transpose, Arithmetic::espdl, {x}, other).options = compiler::TransposeOptions{perm};
    const bool rows = of(2) == 0;
    out[rank - 2] = out[rank - 1] = in[rows ? rank - 2 : rank - 1];
    const TensorId y = tensor("o", out);
    if (choice_.affine)
      at(y).scales[0] = at(x).scales[0] * at(x).scales[0] * static_cast<float>(8 + of(64));
    else
      at(y).exponents[0] = static_cast<std::int8_t>(std::clamp(2 * at(x).exponents[0] + 5 + of(6), -20, 20));
    node(OpCode::matmul, choice_.affine ? Arithmetic::tflite : Arithmetic::espdl,
         rows ? std::vector<TensorId>{x, other} : std::vector<TensorId>{other, x}, y)
        .options = compiler::FullyConnectedOptions{activation()};
    return y;
  }

  TensorId extreme(TensorId x) {
    Shape out = shape(x);
    const auto last = static_cast<std::int32_t>(out.size()) - 1;
    const std::int32_t first = 1 + of(last), count = 1 + of(last - first + 1);
    compiler::ReduceOptions options;
    for (std::int32_t axis = first; axis < first + count; ++axis) {
      options.axes.push_back(static_cast<std::uint8_t>(axis));
      out[static_cast<std::size_t>(axis)] = 1;
    }
    const TensorId y = like(x, "g", out);
    node(of(2) == 0 ? OpCode::reduce_max : OpCode::reduce_min,
         choice_.affine ? Arithmetic::tflite : Arithmetic::espdl, {x}, y)
        .options = options;
    return y;
  }

  TensorId resize(TensorId x) {
    Shape out = shape(x);
    if (compiler::element_count(out) > 4000) return x;
    const bool linear = of(2) == 0;
    const auto larger = [&](std::int32_t size) { return linear ? size << of(3) : 1 + of(3 * size); };
    out[out.size() - 2] = larger(out[out.size() - 2]);
    if (out.size() == 4) out[1] = larger(out[1]);
    const TensorId y = linear ? tensor("j", out) : like(x, "j", out);
    compiler::ResizeOptions options;
    options.mode = linear ? ResizeMode::linear : ResizeMode::nearest;
    options.coordinates = static_cast<ResizeCoordinates>(linear ? of(2) : 0);
    node(OpCode::resize, Arithmetic::espdl, {x}, y).options = options;
    return y;
  }

  // Of channels, in fixed point.
  TensorId layer_norm(TensorId x) {
    const TensorId y = tensor("l", shape(x));
    const std::int32_t count = shape(x).back();
    Tensor gain, offset;
    gain.name = at(y).name + "g";
    offset.name = at(y).name + "b";
    gain.shape = offset.shape = {count};
    gain.dtype = DType::int16;
    offset.dtype = DType::int32;
    if (choice_.affine) {
      gain.scales = {1.0f / 20000};
      gain.zero_points = {0};
    } else {
      gain.exponents = {-14};
    }
    std::vector<std::int16_t> gains;
    std::vector<std::int32_t> offsets;
    for (std::int32_t i = 0; i < count; ++i) {
      gains.push_back(static_cast<std::int16_t>(of(65536) - 32768));
      offsets.push_back(of(40000) - 20000);
    }
    gain.data = bytes_of(gains);
    offset.data = bytes_of(offsets);
    Node& made = node(OpCode::layer_norm, Arithmetic::fixed_point, {x}, y);
    made.options = compiler::NormOptions{static_cast<int>(shape(x).size()) - 1, of(3) == 0 ? 0.0f : 1e-5f};
    graph_.tensors.push_back(std::move(gain));
    made.inputs.push_back(static_cast<TensorId>(graph_.tensors.size()) - 1);
    if (of(4) == 0) return y;
    graph_.tensors.push_back(std::move(offset));
    made.inputs.push_back(static_cast<TensorId>(graph_.tensors.size()) - 1);
    return y;
  }

  // Queries, keys and values are layers of one sequence.
  TensorId attention(TensorId x) {
    const Shape in = shape(x);
    if (in.size() != 3) return layer_norm(x);
    const std::int32_t heads = 1 + of(3), key_size = 1 + of(12), value_size = 1 + of(12);
    const auto part = [&](std::int32_t size) {
      const TensorId flat = tensor("f", {1, in[1], heads * size});
      Node& made = node(OpCode::fully_connected, Arithmetic::espdl, {x}, flat);
      made.options = compiler::FullyConnectedOptions{};
      weigh(made, x, flat, {heads * size, in[2]}, in[2]);
      const TensorId y = like(flat, "h", {1, in[1], heads, size});
      node(OpCode::reshape, Arithmetic::espdl, {flat}, y);
      return y;
    };
    const TensorId q = part(key_size), k = part(key_size), v = part(value_size),
                   y = tensor("a", {1, in[1], heads, value_size});
    compiler::AttentionOptions options;
    options.left = of(12);
    options.right = of(3) == 0 ? of(4) : 0;
    options.chunk = of(3) == 0 ? 1 + of(4) : 1;
    options.real_scale = static_cast<float>(1 + of(300)) / 100.0f;
    Node& made = node(OpCode::attention, Arithmetic::fixed_point, {q, k, v}, y);
    made.options = options;
    if (of(2) == 0) {
      Tensor bias;
      bias.name = at(y).name + "b";
      bias.dtype = DType::int32;
      bias.shape = {of(2) == 0 ? 1 : heads, options.left + 2 * options.chunk - 1 + options.right};
      std::vector<std::int32_t> values;
      for (std::int32_t i = 0; i < bias.shape[0] * bias.shape[1]; ++i) values.push_back(of(60000) - 30000);
      bias.data = bytes_of(values);
      graph_.tensors.push_back(std::move(bias));
      made.inputs.push_back(static_cast<TensorId>(graph_.tensors.size()) - 1);
    }
    const TensorId flat = like(y, "h", {1, in[1], heads * value_size});
    node(OpCode::reshape, Arithmetic::espdl, {y}, flat);
    return flat;
  }

  TensorId newest_layer(TensorId x) {
    // Resizing has power-of-two scales.
    switch (of(choice_.affine ? 2 : 3)) {
      case 0:
        return product(x);
      case 1:
        return extreme(x);
      default:
        return resize(x);
    }
  }

  // What is for whole clips here.
  TensorId whole_layer(TensorId x) {
    switch (of(3)) {
      case 0:
        return reduce(x);
      case 1:
        return transpose(x);
      default:
        return pad(x);
    }
  }

  TensorId layer(TensorId x) {
    if (choice_.transformers && of(8) == 0) return choice_.newest ? attention(x) : layer_norm(x);
    if (choice_.affine && of(10) == 0) return softmax(x);
    if (choice_.newest && !choice_.stream && of(4) == 0) return newest_layer(x);
    if (!choice_.stream && of(6) == 0) return whole_layer(x);
    switch (of(8)) {
      case 0:
      case 1:
      case 2:
        return convolution(x);
      case 3:
        return fully_connected(x);
      case 4:
        return pool(x);
      case 5:
        return pair(x);
      case 6:
        return function(x);
      default:
        return parts(x);
    }
  }

  NetworkChoice choice_;
  std::mt19937 random_;
  Graph graph_;
};

}  // namespace

Graph random_network(const NetworkChoice& choice, std::uint32_t seed) { return Maker(choice, seed).make(); }

}  // namespace runnel::test
