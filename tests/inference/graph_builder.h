// Small graphs for tests, node by node, with random weights from a seed.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/write/writer.h"
#include "inference/host/engine.h"

namespace runnel::test {

class GraphBuilder {
 public:
  explicit GraphBuilder(std::uint32_t seed = 1, DType dtype = DType::int8) : random_(seed), dtype_(dtype) {
    graph_.name = "test";
  }

  using Id = compiler::TensorId;
  struct Window {
    int kernel = 1, stride = 1, dilation = 1, left = 0, right = 0;
    [[nodiscard]] int extent() const { return (kernel - 1) * dilation + 1; }
  };

  Id input(std::vector<std::int32_t> shape, int exponent = -4) {
    const Id id = tensor(std::move(shape), exponent);
    graph_.inputs.push_back(id);
    return id;
  }
  // One-dimensional: x [1, T, C] -> [1, T', channels].
  Id conv(Id x, int channels, const Window& w, int groups = 1, bool relu = false, bool per_channel = false) {
    const auto shape = graph_.tensors[static_cast<std::size_t>(x)].shape;
    const int in = shape.back();
    compiler::ConvOptions options;
    options.stride_width = w.stride;
    options.dilation_width = w.dilation;
    options.pad_left = w.left;
    options.pad_right = w.right;
    options.groups = groups;
    options.activation = relu ? Activation::relu : Activation::none;
    std::vector<std::int32_t> out = shape;
    out[out.size() - 2] = length(shape[shape.size() - 2], w);
    out.back() = channels;
    return add_conv(x, {channels, 1, w.kernel, in / groups}, options, out, per_channel);
  }
  // Two-dimensional: x [1, H, W, C].
  Id conv2d(Id x, int channels, const Window& h, const Window& w, int groups = 1, bool relu = false) {
    const auto shape = graph_.tensors[static_cast<std::size_t>(x)].shape;
    compiler::ConvOptions options;
    options.stride_height = h.stride;
    options.stride_width = w.stride;
    options.dilation_height = h.dilation;
    options.dilation_width = w.dilation;
    options.pad_top = h.left;
    options.pad_bottom = h.right;
    options.pad_left = w.left;
    options.pad_right = w.right;
    options.groups = groups;
    options.activation = relu ? Activation::relu : Activation::none;
    return add_conv(x, {channels, h.kernel, w.kernel, shape.back() / groups}, options,
                    {shape[0], length(shape[1], h), length(shape[2], w), channels}, false);
  }
  Id pool(Id x, bool max, const Window& w, bool count_padding = true) {
    const auto shape = graph_.tensors[static_cast<std::size_t>(x)].shape;
    compiler::PoolOptions options;
    options.kernel_width = w.kernel;
    options.stride_width = w.stride;
    options.dilation_width = w.dilation;
    options.pad_left = w.left;
    options.pad_right = w.right;
    options.count_padding = count_padding;
    const Id y = tensor({shape[0], length(shape[1], w), shape[2]}, -4);
    node(max ? OpCode::max_pool : OpCode::average_pool, {x}, {y}, options);
    return y;
  }
  Id binary(OpCode code, Id a, Id b, Arithmetic arithmetic = Arithmetic::espdl, bool relu = false) {
    const Id y = tensor(graph_.tensors[static_cast<std::size_t>(a)].shape, -4);
    node(code, {a, b}, {y}, compiler::BinaryOptions{relu ? Activation::relu : Activation::none}, arithmetic);
    return y;
  }
  Id slice(Id x, int axis, int begin, int count, int step = 1) {
    const auto shape = graph_.tensors[static_cast<std::size_t>(x)].shape;
    compiler::SliceOptions options{std::vector<std::int32_t>(shape.size(), 0),
                                   std::vector<std::int32_t>(shape.size(), 1)};
    options.begin[static_cast<std::size_t>(axis)] = begin;
    options.step[static_cast<std::size_t>(axis)] = step;
    auto out = shape;
    out[static_cast<std::size_t>(axis)] = count;
    const Id y = tensor(out, exponent(x));
    node(OpCode::slice, {x}, {y}, options);
    return y;
  }
  Id pad(Id x, int axis, int before, int after, int value) {
    const auto shape = graph_.tensors[static_cast<std::size_t>(x)].shape;
    compiler::PadOptions options{std::vector<std::int32_t>(shape.size(), 0),
                                 std::vector<std::int32_t>(shape.size(), 0), PadMode::zero, value};
    options.before[static_cast<std::size_t>(axis)] = before;
    options.after[static_cast<std::size_t>(axis)] = after;
    auto out = shape;
    out[static_cast<std::size_t>(axis)] += before + after;
    const Id y = tensor(out, exponent(x));
    node(OpCode::pad, {x}, {y}, options);
    return y;
  }
  Id concat(std::vector<Id> parts, int axis) {
    auto out = graph_.tensors[static_cast<std::size_t>(parts[0])].shape;
    out[static_cast<std::size_t>(axis)] = 0;
    for (const Id part : parts)
      out[static_cast<std::size_t>(axis)] +=
          graph_.tensors[static_cast<std::size_t>(part)].shape[static_cast<std::size_t>(axis)];
    const Id y = tensor(out, -4);
    node(OpCode::concat, std::move(parts), {y}, compiler::AxisOptions{axis});
    return y;
  }
  Id requantize(Id x, int to) {
    const Id y = tensor(graph_.tensors[static_cast<std::size_t>(x)].shape, to);
    node(OpCode::requantize, {x}, {y}, std::monostate{});
    return y;
  }
  Id relu(Id x) {
    const Id y = tensor(graph_.tensors[static_cast<std::size_t>(x)].shape, exponent(x));
    graph_.tensors[static_cast<std::size_t>(y)].non_negative = true;
    node(OpCode::relu, {x}, {y}, std::monostate{});
    return y;
  }
  Id transpose(Id x, std::vector<std::uint8_t> perm) {
    const auto shape = graph_.tensors[static_cast<std::size_t>(x)].shape;
    std::vector<std::int32_t> out;
    for (const std::uint8_t axis : perm) out.push_back(shape[axis]);
    const Id y = tensor(out, exponent(x));
    node(OpCode::transpose, {x}, {y}, compiler::TransposeOptions{std::move(perm)});
    return y;
  }
  Id reshape(Id x, std::vector<std::int32_t> shape) {
    const Id y = tensor(std::move(shape), exponent(x));
    node(OpCode::reshape, {x}, {y}, std::monostate{});
    return y;
  }
  Id lut(Id x) {
    const std::size_t entries = dtype_ == DType::int8 ? 256 : 257;
    const Id y = tensor(graph_.tensors[static_cast<std::size_t>(x)].shape, -4);
    const Id table = constant({static_cast<std::int32_t>(entries)}, dtype_, {-4}, -1, 127);
    node(OpCode::lut, {x, table}, {y}, compiler::LutOptions{});
    return y;
  }

  void output(Id x) { graph_.outputs.push_back(x); }
  [[nodiscard]] const std::vector<std::int32_t>& shape(Id x) const {
    return graph_.tensors[static_cast<std::size_t>(x)].shape;
  }
  [[nodiscard]] int exponent(Id x) const {
    const auto& exponents = graph_.tensors[static_cast<std::size_t>(x)].exponents;
    return exponents.empty() ? -4 : exponents[0];
  }
  [[nodiscard]] DType dtype() const { return dtype_; }
  // Of biases: sums before they are rounded.
  [[nodiscard]] DType wide() const {
    return dtype_ == DType::float32 ? DType::float32 : dtype_ == DType::int8 ? DType::int32 : DType::int64;
  }
  [[nodiscard]] compiler::Graph& graph() { return graph_; }
  void rounding(kernels::Rounding rounding) { rounding_ = rounding; }

  // Written, verified and opened; a failure in `status` otherwise.
  Result<std::shared_ptr<const OwnedModel>> build(std::vector<std::string>* refusals = nullptr,
                                                  const compiler::StreamOptions& stream = {}) {
    compiler::WriteOptions options;
    options.stream = stream;
    auto written = compiler::write_model(graph_, options);
    if (!written.ok()) return written.status();
    if (refusals != nullptr) *refusals = written->refusals;
    return OwnedModel::from_bytes(written->bytes);
  }

  static std::int32_t length(int frames, const Window& w) {
    const int room = frames + w.left + w.right - w.extent();
    return room < 0 ? 0 : room / w.stride + 1;
  }
  Id tensor(std::vector<std::int32_t> shape, int exponent) {
    compiler::Tensor t;
    t.name = "t" + std::to_string(graph_.tensors.size());
    t.shape = std::move(shape);
    t.dtype = dtype_;
    if (dtype_ != DType::float32) t.exponents = {static_cast<std::int8_t>(exponent)};
    graph_.tensors.push_back(std::move(t));
    return static_cast<Id>(graph_.tensors.size()) - 1;
  }
  Id constant(std::vector<std::int32_t> shape, DType dtype, std::vector<std::int8_t> exponents,
              int channel_axis, int range) {
    compiler::Tensor t;
    t.name = "c" + std::to_string(graph_.tensors.size());
    t.shape = std::move(shape);
    t.dtype = dtype;
    if (dtype != DType::float32) t.exponents = std::move(exponents);
    t.channel_axis = channel_axis;
    std::size_t count = 1;
    for (const std::int32_t dim : t.shape) count *= static_cast<std::size_t>(dim);
    t.data.emplace(count * size_of(dtype));
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t value = uniform(-range, range);
      if (dtype == DType::float32) {
        const float real = static_cast<float>(value) / 128;
        std::memcpy(&value, &real, sizeof real);
      }
      std::memcpy(t.data->data() + i * size_of(dtype), &value, size_of(dtype));
    }
    graph_.tensors.push_back(std::move(t));
    return static_cast<Id>(graph_.tensors.size()) - 1;
  }
  void node(OpCode code, std::vector<Id> inputs, std::vector<Id> outputs, compiler::Options options,
            Arithmetic arithmetic = Arithmetic::espdl) {
    compiler::Node n;
    n.name = std::string(name_of(code)) + std::to_string(graph_.nodes.size());
    n.code = code;
    n.arithmetic = arithmetic;
    n.inputs = std::move(inputs);
    n.outputs = std::move(outputs);
    n.options = std::move(options);
    n.rounding = rounding_;
    graph_.nodes.push_back(std::move(n));
  }

 private:
  int uniform(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }
  Id add_conv(Id x, std::vector<std::int32_t> weights, const compiler::ConvOptions& options,
              std::vector<std::int32_t> out, bool per_channel) {
    const int channels = weights[0];
    std::vector<std::int8_t> exponents = {-7}, bias_exponents = {static_cast<std::int8_t>(exponent(x) - 7)};
    if (per_channel) {
      exponents.clear();
      bias_exponents.clear();
      for (int i = 0; i < channels; ++i) {
        exponents.push_back(static_cast<std::int8_t>(uniform(-9, -5)));
        bias_exponents.push_back(static_cast<std::int8_t>(exponent(x) + exponents.back()));
      }
    }
    const Id w = constant(std::move(weights), dtype_, exponents, per_channel ? 0 : -1,
                          dtype_ == DType::int16 ? 2000 : 60);
    const Id bias = constant({channels}, wide(), bias_exponents, per_channel ? 0 : -1, 900);
    const Id y = tensor(std::move(out), dtype_ == DType::int16 ? exponent(x) : -4);
    graph_.tensors[static_cast<std::size_t>(y)].non_negative = options.activation == Activation::relu;
    node(OpCode::conv, {x, w, bias}, {y}, options);
    return y;
  }
  std::mt19937 random_;
  DType dtype_;
  kernels::Rounding rounding_ = kernels::Rounding::half_up;
  compiler::Graph graph_;
};

}  // namespace runnel::test
