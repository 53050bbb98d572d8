// 16x8: values of int16 with weights of 8 bits on the NPU, in both schemes; the CPU's bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/compiler/npu/on_npu.h"

namespace runnel::test {
namespace {

namespace ethos_u = compiler::ethos_u;
using compiler::Graph;
using compiler::Node;
using compiler::Tensor;
using compiler::TensorId;
using kernels::Rounding;
using Shape = std::vector<std::int32_t>;

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto* const begin = reinterpret_cast<const std::byte*>(values.data());
  return {begin, begin + values.size() * sizeof(T)};
}

// Random layers of int16.
class Maker {
 public:
  Maker(bool affine, std::uint32_t seed) : affine_(affine), random_(seed) {}

  Graph make() {
    TensorId x = tensor({1, 1 + of(12), 1 + of(9), 1 + of(20)});
    graph_.inputs = {x};
    graph_.time_axes = {-1};
    const std::int32_t layers = 1 + of(4);
    for (std::int32_t i = 0; i < layers; ++i) x = layer(x);
    graph_.outputs = {x};
    return std::move(graph_);
  }

 private:
  std::int32_t of(std::int32_t count) {
    return static_cast<std::int32_t>(random_() % static_cast<std::uint32_t>(count));
  }
  Tensor& at(TensorId id) { return graph_.tensors[static_cast<std::size_t>(id)]; }
  TensorId tensor(Shape shape) {
    Tensor made;
    made.name = "t" + std::to_string(graph_.tensors.size());
    made.shape = std::move(shape);
    made.dtype = DType::int16;
    if (affine_) {
      made.scales = {std::ldexp(1.0f + static_cast<float>(of(1000)) / 1000.0f, -14)};
      made.zero_points = {0};
    } else {
      made.exponents = {static_cast<std::int8_t>(-14 + of(4))};
    }
    graph_.tensors.push_back(std::move(made));
    return static_cast<TensorId>(graph_.tensors.size()) - 1;
  }
  Node& node(OpCode code, Arithmetic arithmetic, std::vector<TensorId> inputs, TensorId y, Rounding affine) {
    Node made;
    made.name = "n" + std::to_string(graph_.nodes.size());
    made.code = code;
    made.arithmetic = arithmetic;
    made.inputs = std::move(inputs);
    made.outputs = {y};
    made.rounding = affine_ ? affine : Rounding::half_up;
    graph_.nodes.push_back(std::move(made));
    return graph_.nodes.back();
  }
  Activation activation() { return of(2) == 0 ? Activation::none : Activation::relu; }

  void weigh(Node& made, TensorId x, TensorId y, Shape weights, std::int32_t each) {
    const std::int32_t channels = weights[0];
    Tensor w, b;
    w.name = made.name + "w";
    w.shape = std::move(weights);
    w.dtype = DType::int16;
    std::vector<std::int16_t> values(static_cast<std::size_t>(channels) * static_cast<std::size_t>(each));
    for (std::int16_t& value : values) value = static_cast<std::int16_t>(of(255) - 127);
    w.data = bytes_of(values);
    const std::size_t scales = of(2) == 0 ? static_cast<std::size_t>(channels) : 1;
    const int room = 6 + static_cast<int>(std::lround(std::log2(each) / 2)) + of(2);
    for (std::size_t i = 0; i < scales; ++i) {
      if (affine_)
        w.scales.push_back(at(y).scales[0] / at(x).scales[0] *
                           std::ldexp(0.6f + static_cast<float>(of(1000)) / 1000.0f, -room));
      else
        w.exponents.push_back(
            static_cast<std::int8_t>(at(y).exponents[0] - at(x).exponents[0] - room - of(2)));
    }
    if (affine_) w.zero_points.assign(scales, 0);
    w.channel_axis = scales > 1 ? 0 : -1;
    b.name = made.name + "b";
    b.shape = {channels};
    b.dtype = DType::int64;
    std::vector<std::int64_t> biases;
    for (std::int32_t i = 0; i < channels; ++i)
      biases.push_back((std::int64_t{of(1 << 30)} - (1 << 29)) * (of(4) == 0 ? 64 : 1) / 4096);
    b.data = bytes_of(biases);
    if (!affine_) {
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

  TensorId convolution(TensorId x) {
    const Shape in = at(x).shape;
    const std::int32_t rows = 1 + of(std::min(in[1], 4)), columns = 1 + of(std::min(in[2], 4)), kind = of(4);
    const std::int32_t groups = kind == 0 ? in[3] : kind == 1 && in[3] % 2 == 0 ? 2 : 1;
    const std::int32_t outs = kind == 0 ? in[3] : groups * (1 + of(24));
    compiler::ConvOptions options;
    options.pad_top = of(rows);
    options.pad_left = of(columns);
    options.stride_height = 1 + of(3);
    options.stride_width = 1 + of(3);
    options.groups = groups;
    options.activation = activation();
    const TensorId y = tensor({1, (in[1] + options.pad_top - rows) / options.stride_height + 1,
                               (in[2] + options.pad_left - columns) / options.stride_width + 1, outs});
    Node& made = node(OpCode::conv, Arithmetic::espdl, {x}, y, Rounding::single);
    made.options = options;
    weigh(made, x, y, {outs, rows, columns, in[3] / groups}, rows * columns * in[3] / groups);
    return y;
  }
  TensorId dense(TensorId x, std::int32_t channels) {
    Shape out = at(x).shape;
    const std::int32_t depth = out.back();
    out.back() = channels;
    const TensorId y = tensor(out);
    Node& made = node(OpCode::fully_connected, Arithmetic::espdl, {x}, y, Rounding::single);
    made.options = compiler::FullyConnectedOptions{activation()};
    weigh(made, x, y, {channels, depth}, depth);
    return y;
  }
  TensorId pair(TensorId x) {
    static constexpr OpCode kCodes[] = {OpCode::add, OpCode::sub, OpCode::mul};
    const OpCode code = kCodes[of(3)];
    const std::int32_t channels = at(x).shape.back();
    const TensorId other = dense(dense(x, 1 + of(12)), channels), y = tensor(at(x).shape);
    if (!affine_ && code == OpCode::mul)
      at(y).exponents[0] = static_cast<std::int8_t>(at(x).exponents[0] + at(other).exponents[0] + 12 + of(4));
    node(code, affine_ ? Arithmetic::tflite : Arithmetic::exact,
         of(2) == 0 ? std::vector<TensorId>{other, x} : std::vector<TensorId>{x, other}, y,
         Rounding::tflite_double)
        .options = compiler::BinaryOptions{activation()};
    return y;
  }
  TensorId pool(TensorId x) {
    const Shape in = at(x).shape;
    compiler::PoolOptions options;
    options.kernel_height = 1 + of(in[1]);
    options.kernel_width = 1 + of(in[2]);
    options.stride_height = options.stride_width = 1;
    const TensorId y =
        tensor({1, in[1] - options.kernel_height + 1, in[2] - options.kernel_width + 1, in[3]});
    at(y).scales = at(x).scales;
    at(y).exponents = at(x).exponents;
    node(OpCode::max_pool, affine_ ? Arithmetic::tflite : Arithmetic::espdl, {x}, y, Rounding::tflite_double)
        .options = options;
    return y;
  }
  TensorId function(TensorId x) {
    const TensorId y = tensor(at(x).shape);
    if (!affine_) at(y).exponents = at(x).exponents;
    node(OpCode::relu, affine_ ? Arithmetic::tflite : Arithmetic::espdl, {x}, y, Rounding::tflite_double);
    return y;
  }
  TensorId layer(TensorId x) {
    switch (of(7)) {
      case 0:
        return dense(x, 1 + of(30));
      case 1:
        return pair(x);
      case 2:
        return pool(x);
      case 3:
        return function(x);
      default:
        return convolution(x);
    }
  }

  bool affine_;
  std::mt19937 random_;
  Graph graph_;
};

class Wide : public testing::TestWithParam<Generation> {};
INSTANTIATE_TEST_SUITE_P(All, Wide, testing::Values(kU55AndU65, kU85), name_of);

TEST_P(Wide, RandomNetworksGiveTheBytesOfTheCpu) {
  std::int64_t layers = 0, left = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const Graph graph = Maker(seed % 2 == 1, seed).make();
    const char* accelerator = GetParam().of(seed);
    ethos_u::CompiledGraph compiled;
    const Status status =
        compare_whole(graph, npu_options(accelerator, kMemoryModes[seed / 7 % 3]), seed, 1, &compiled);
    if (status.code() == Code::unsupported &&
        status.text().find("no operator can be computed") != std::string_view::npos)
      continue;
    ASSERT_TRUE(status.ok()) << "seed " << seed << ", " << accelerator << ": " << status.text();
    for (const auto& node : compiled.nodes) {
      ++layers;
      if (node.segment < 0) {
        ++left;
        if (node.type != "relu") ADD_FAILURE() << node.type << ": " << node.reason;
      }
    }
  }
  EXPECT_GT(layers, 300);
  EXPECT_LT(left * 5, layers) << left << " of " << layers << " layers stayed on the CPU";
}

}  // namespace
}  // namespace runnel::test
