// Attention over a window and layer normalization in fixed point on the NPU: the CPU's bytes, whole and
// streamed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "compiler/npu/words.h"
#include "kernels/affine_softmax.h"
#include "tests/compiler/npu/on_npu.h"

namespace runnel::test {
namespace {

namespace ethos_u = compiler::ethos_u;
using compiler::Graph;
using compiler::Node;
using compiler::Tensor;
using compiler::TensorId;
using Shape = std::vector<std::int32_t>;

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto* const begin = reinterpret_cast<const std::byte*>(values.data());
  return {begin, begin + values.size() * sizeof(T)};
}

struct Attends {
  std::int32_t frames = 12, heads = 2, key_size = 8, value_size = 8;
  int left = 4, right = 0, chunk = 1;
  int bias_heads = 0;   // 0: no table of biases
  float sharpness = 1;  // factor of scores
  bool affine = true;
};

class Transformer : public testing::Test {
 protected:
  explicit Transformer(std::uint32_t seed = 1) : random_(seed) {}

  TensorId tensor(Shape shape, double scale, std::int32_t zero_point = 0, DType dtype = DType::int8) {
    Tensor made;
    made.name = "t" + std::to_string(graph_.tensors.size());
    made.shape = std::move(shape);
    made.dtype = dtype;
    if (affine_) {
      made.scales = {static_cast<float>(scale)};
      made.zero_points = {zero_point};
    } else {
      made.exponents = {static_cast<std::int8_t>(std::lround(std::log2(scale)))};
    }
    graph_.tensors.push_back(std::move(made));
    return static_cast<TensorId>(graph_.tensors.size()) - 1;
  }
  Tensor& at(TensorId id) { return graph_.tensors[static_cast<std::size_t>(id)]; }
  template <class T>
  TensorId constant(Shape shape, const std::vector<T>& values, DType dtype, double scale = 0) {
    const TensorId id = tensor(std::move(shape), scale == 0 ? 1 : scale, 0, dtype);
    at(id).data = bytes_of(values);
    if (scale == 0) {
      at(id).scales.clear();
      at(id).zero_points.clear();
      at(id).exponents.clear();
    }
    return id;
  }
  std::int32_t of(std::int32_t count) {
    return static_cast<std::int32_t>(random_() % static_cast<std::uint32_t>(count));
  }
  Node& node(OpCode code, Arithmetic arithmetic, std::vector<TensorId> inputs, TensorId y) {
    Node made;
    made.name = "n" + std::to_string(graph_.nodes.size());
    made.code = code;
    made.arithmetic = arithmetic;
    made.inputs = std::move(inputs);
    made.outputs = {y};
    made.rounding = affine_ ? kernels::Rounding::tflite_double : kernels::Rounding::half_up;
    graph_.nodes.push_back(std::move(made));
    return graph_.nodes.back();
  }

  TensorId dense(TensorId x, std::int32_t channels) {
    Shape shape = at(x).shape;
    const std::int32_t depth = shape.back();
    shape.back() = channels;
    const TensorId y = tensor(shape, 0.05, of(40) - 20);
    std::vector<std::int8_t> weights(static_cast<std::size_t>(channels * depth));
    for (std::int8_t& weight : weights) weight = static_cast<std::int8_t>(of(255) - 127);
    const TensorId w = constant({channels, depth}, weights, DType::int8, affine_ ? 0.004 : 1.0 / 256);
    node(OpCode::fully_connected, Arithmetic::espdl, {x, w}, y).options = compiler::FullyConnectedOptions{};
    return y;
  }
  TensorId split_heads(TensorId x, std::int32_t heads) {
    Shape shape = at(x).shape;
    shape.back() /= heads;
    shape.insert(shape.end() - 1, heads);
    const TensorId y = tensor(shape, 1);
    const std::string name = at(y).name;
    Tensor like = at(x);
    like.shape = shape;
    like.name = name;
    at(y) = like;
    node(OpCode::reshape, Arithmetic::espdl, {x}, y);
    return y;
  }

  TensorId attention(const Attends& how, TensorId q, TensorId k, TensorId v) {
    const TensorId y = tensor({1, how.frames, how.heads, how.value_size}, 0.04, -7);
    std::vector<TensorId> inputs{q, k, v};
    if (how.bias_heads > 0) {
      const int rows = how.left + 2 * how.chunk - 1 + how.right;
      std::vector<std::int32_t> bias(static_cast<std::size_t>(rows * how.bias_heads));
      for (std::int32_t& value : bias) value = of(40000) - 20000;
      inputs.push_back(constant({how.bias_heads, rows}, bias, DType::int32));
    }
    compiler::AttentionOptions options;
    options.left = how.left;
    options.right = how.right;
    options.chunk = how.chunk;
    options.real_scale = how.sharpness / std::sqrt(static_cast<float>(how.key_size));
    node(OpCode::attention, Arithmetic::fixed_point, inputs, y).options = options;
    return y;
  }
  // From one stream: its projections, their attention, and another projection.
  void attending(const Attends& how) {
    affine_ = how.affine;
    const TensorId x = tensor({1, how.frames, 16}, 0.05, 3);
    const TensorId q = split_heads(dense(x, how.heads * how.key_size), how.heads),
                   k = split_heads(dense(x, how.heads * how.key_size), how.heads),
                   v = split_heads(dense(x, how.heads * how.value_size), how.heads);
    const TensorId a = attention(how, q, k, v), flat = tensor({1, how.frames, how.heads * how.value_size}, 1);
    const std::string name = at(flat).name;
    Tensor like = at(a);
    like.shape = at(flat).shape;
    like.name = name;
    at(flat) = like;
    node(OpCode::reshape, Arithmetic::espdl, {a}, flat);
    graph_.inputs = {x};
    graph_.time_axes = {1};
    graph_.outputs = {dense(flat, 12)};
  }
  TensorId layer_norm(TensorId x, std::size_t axis, float epsilon, bool offset, DType to = DType::int8) {
    const Shape shape = at(x).shape;
    const TensorId y = tensor(shape, to == DType::int8 ? 0.03 : 0.0002, to == DType::int8 ? 11 : 0, to);
    std::int32_t count = 1;
    for (std::size_t i = axis; i < shape.size(); ++i) count *= shape[i];
    std::vector<std::int16_t> gains(static_cast<std::size_t>(count));
    std::vector<std::int32_t> offsets(static_cast<std::size_t>(count));
    for (std::int16_t& gain : gains) gain = static_cast<std::int16_t>(of(65536) - 32768);
    for (std::int32_t& one : offsets) one = of(40000) - 20000;
    std::vector<TensorId> inputs{x, constant({count}, gains, DType::int16, affine_ ? 0.00005 : 1.0 / 16384)};
    if (offset) inputs.push_back(constant({count}, offsets, DType::int32));
    node(OpCode::layer_norm, Arithmetic::fixed_point, inputs, y).options =
        compiler::NormOptions{static_cast<int>(axis), epsilon};
    return y;
  }

  // On every accelerator of the generation, without a node on the CPU.
  void compare(const Generation& generation, int rounds = 2) {
    for (const char* accelerator : generation.accelerators) {
      ethos_u::CompiledGraph made;
      const Status status = compare_whole(graph_, npu_options(accelerator), 5, rounds, &made);
      ASSERT_TRUE(status.ok()) << accelerator << ": " << status.text();
      for (const auto& one : made.nodes) EXPECT_GE(one.segment, 0) << one.name << ": " << one.reason;
    }
  }
  void compare_stream(const char* accelerator, int block, std::int64_t frames) {
    auto options = npu_options(accelerator);
    options.block = block;
    const auto compiled = ethos_u::compile(graph_, options);
    ASSERT_TRUE(compiled.ok()) << compiled.status().text();
    for (const auto& one : compiled->nodes) EXPECT_GE(one.segment, 0) << one.name << ": " << one.reason;
    const Status status = compare_streamed(graph_, options, frames, 7);
    EXPECT_TRUE(status.ok()) << accelerator << ": " << status.text();
  }

  bool affine_ = true;
  std::mt19937 random_;
  Graph graph_;
};

TEST(TableOfSegments, HasTheFunctionAtEveryArgument) {
  for (const auto& function :
       {kernels::exp_from_table, kernels::one_over_one_plus_from_table, kernels::one_over_root_from_table}) {
    const auto table = ethos_u::table_of_segments(function);
    ASSERT_TRUE(table.has_value());
    for (std::int32_t v = -32768; v < 32768; ++v) {
      std::uint32_t word = 0;
      std::memcpy(&word, table->data() + 4 * ((v >> 7) + 256), sizeof word);
      const std::int32_t base = static_cast<std::int16_t>(word & 0xffff),
                         slope = static_cast<std::int16_t>(word >> 16);
      ASSERT_EQ(base + ((slope * (v & 127) + 64) >> 7), function(static_cast<std::int16_t>(v))) << v;
    }
  }
  EXPECT_FALSE(ethos_u::table_of_segments([](std::int16_t v) { return static_cast<std::int16_t>(v * v); }));
}

TEST_F(Transformer, LayerNormalizationOfAnyRows) {
  struct Case {
    Shape shape;
    std::size_t axis;
    float epsilon;
    bool offset, affine;
    DType to;
  };
  for (const Case& c : {Case{{1, 9, 24}, 2, 1e-5f, true, true, DType::int8},
                        Case{{1, 9, 24}, 2, 0.0f, false, true, DType::int8},
                        Case{{1, 3, 5, 7}, 3, 1e-3f, true, true, DType::int8},
                        Case{{1, 4, 6, 10}, 2, 1e-5f, true, true, DType::int8},
                        Case{{1, 1, 256}, 2, 1e-5f, true, true, DType::int8},
                        Case{{1, 6, 33}, 2, 1e-5f, true, false, DType::int8},
                        Case{{1, 6, 40}, 2, 10.0f, false, true, DType::int16}}) {
    graph_ = {};
    affine_ = c.affine;
    const TensorId x = tensor(c.shape, 0.05, -9);
    graph_.inputs = {x};
    graph_.time_axes = {-1};
    graph_.outputs = {layer_norm(x, c.axis, c.epsilon, c.offset, c.to)};
    compare(kU85, 3);
    compare(kU55AndU65, 3);
  }
}

TEST_F(Transformer, LayerNormalizationOfMoreThanFitsStaysOnTheCpu) {
  const TensorId x = tensor({1, 2, 257}, 0.05, -9);
  graph_.inputs = {x};
  graph_.time_axes = {-1};
  graph_.outputs = {layer_norm(x, 2, 1e-5f, true)};
  const auto made = ethos_u::compile(graph_, npu_options("ethos-u85-256"));
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().text().find("257 elements that are normalized together"), std::string_view::npos)
      << made.status().text();
}

TEST_F(Transformer, AttentionOverAnyWindow) {
  for (const Attends& how :
       {Attends{}, Attends{.frames = 30, .left = 7, .right = 3},
        Attends{.frames = 5, .left = 100, .right = 100},
        Attends{.frames = 24, .left = 8, .right = 2, .chunk = 4, .bias_heads = 2},
        Attends{.frames = 23, .left = 5, .chunk = 3, .bias_heads = 1, .sharpness = 9},
        Attends{.frames = 150, .heads = 1, .key_size = 20, .value_size = 3, .left = 16},
        Attends{.frames = 20, .heads = 3, .key_size = 5, .value_size = 7, .left = 6, .affine = false},
        Attends{.frames = 1, .left = 0}}) {
    graph_ = {};
    attending(how);
    compare(kU85);
  }
}

TEST_F(Transformer, AttentionInStreams) {
  for (const Attends& how :
       {Attends{.frames = 30}, Attends{.frames = 30, .left = 7, .right = 3, .bias_heads = 2},
        Attends{.frames = 30, .heads = 3, .key_size = 5, .left = 6, .bias_heads = 1, .sharpness = 5},
        Attends{.frames = 30, .left = 0, .right = 0}}) {
    graph_ = {};
    attending(how);
    for (const int block : {1, 4}) compare_stream("ethos-u85-256", block, 41);
  }
}

// The attention is left to the CPU, and what is around it is then more than one stream in and out.
TEST_F(Transformer, ChunksOfAStreamAreRefused) {
  attending({.frames = 30, .left = 6, .chunk = 2});
  auto options = npu_options("ethos-u85-256");
  options.block = 2;
  const auto compiled = ethos_u::compile(graph_, options);
  ASSERT_FALSE(compiled.ok());
  EXPECT_NE(compiled.status().text().find("expected one stream in and one out"), std::string_view::npos)
      << compiled.status().text();
}

}  // namespace
}  // namespace runnel::test
