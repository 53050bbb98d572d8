#include "tests/inference/ops/operator_cases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>

#include "compiler/ir/shapes.h"
#include "inference/host/operator_traits.h"

namespace runnel::test {
namespace {

using compiler::TensorId;
using Shape = std::vector<std::int32_t>;
constexpr int kFrames = kCaseFrames, kChannels = 4;

// One operator with its operands. Scales are powers of two, or scales and zero points where the arithmetic
// has them.
class Case {
 public:
  Case(const OperatorDefinition& definition, DType of)
      : type(of), code_(definition.code), arithmetic_(definition.arithmetic) {
    const ArithmeticFacts* const facts = arithmetic_facts(code_, arithmetic_);
    scaled = facts->types.find("scale") != std::string_view::npos &&
             facts->types.find("also with scales") == std::string_view::npos && of != DType::float32;
    made_.name =
        std::string(definition.name) + " " + name_of(code_, arithmetic_) + " " + std::string(name_of(of));
    graph_.name = made_.name;
  }

  const DType type;
  bool scaled = false;

  TensorId tensor(DType dtype, Shape shape, int exponent = -4) {
    compiler::Tensor made;
    made.name = "t" + std::to_string(graph_.tensors.size());
    made.dtype = dtype;
    made.shape = std::move(shape);
    if (dtype == DType::int8 || dtype == DType::int16) {
      if (scaled) {
        made.scales = {std::ldexp(0.9f, exponent)};
        made.zero_points = {dtype == DType::int8 ? 5 : 0};
      } else {
        made.exponents = {static_cast<std::int8_t>(exponent)};
      }
    }
    graph_.tensors.push_back(std::move(made));
    return static_cast<TensorId>(graph_.tensors.size() - 1);
  }
  compiler::Tensor& at(TensorId id) { return graph_.tensors[static_cast<std::size_t>(id)]; }

  TensorId input(DType dtype, Shape shape) {
    graph_.inputs.push_back(tensor(dtype, std::move(shape)));
    return graph_.inputs.back();
  }
  // The stream: [1, frames, channels] of the type of the case.
  TensorId x(int channels = kChannels) { return input(type, {1, kFrames, channels}); }
  // Random values: integers of at most `largest`, reals of at most 1.
  TensorId constant(DType dtype, Shape shape, int exponent = -6, int largest = 90) {
    const TensorId id = tensor(dtype, std::move(shape), exponent);
    std::size_t count = 1;
    for (const std::int32_t dim : at(id).shape) count *= static_cast<std::size_t>(dim);
    at(id).data.emplace(count * size_of(dtype));
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t value =
          static_cast<std::int64_t>(random_() % (2 * static_cast<unsigned>(largest) + 1)) - largest;
      if (dtype == DType::float32) {
        const float real = static_cast<float>(value) / static_cast<float>(largest);
        std::memcpy(&value, &real, sizeof real);
      }
      std::memcpy(at(id).data->data() + i * size_of(dtype), &value, size_of(dtype));
    }
    return id;
  }
  TensorId weights(Shape shape) {
    const TensorId id = constant(type, std::move(shape), -7, type == DType::int16 ? 2000 : 60);
    if (scaled) at(id).zero_points = {0};
    return id;
  }
  TensorId numbers(DType dtype, const std::vector<std::int32_t>& values) {
    const TensorId id = tensor(dtype, {static_cast<std::int32_t>(values.size())});
    at(id).data.emplace(values.size() * size_of(dtype));
    for (std::size_t i = 0; i < values.size(); ++i)
      std::memcpy(at(id).data->data() + i * size_of(dtype), &values[i],
                  std::min<std::size_t>(4, size_of(dtype)));
    return id;
  }
  [[nodiscard]] DType wide() const {
    return type == DType::float32 ? type : type == DType::int8 ? DType::int32 : DType::int64;
  }

  // The operator, with `outputs` tensors of its type; shapes follow from the inputs.
  Case& node(std::vector<TensorId> inputs, compiler::Options options = {}, DType result = DType::none,
             int outputs = 1) {
    compiler::Node node;
    node.name = "the operator";
    node.code = code_;
    node.arithmetic = arithmetic_;
    node.inputs = std::move(inputs);
    node.options = std::move(options);
    if (scaled) node.rounding = kernels::Rounding::tflite_double;
    for (int i = 0; i < outputs; ++i)
      node.outputs.push_back(tensor(result == DType::none ? type : result, {}));
    graph_.outputs = node.outputs;
    graph_.nodes.push_back(std::move(node));
    return *this;
  }
  TensorId output(int position = 0) { return graph_.outputs[static_cast<std::size_t>(position)]; }
  // Its scale, where the operator wants a certain one.
  Case& result_scale(int exponent, float scale, std::int32_t zero) {
    compiler::Tensor& y = at(output());
    if (scaled) {
      y.scales = {scale};
      y.zero_points = {zero};
    } else if (!y.exponents.empty()) {
      y.exponents = {static_cast<std::int8_t>(exponent)};
    }
    return *this;
  }
  Case& result_like(TensorId from) {
    at(output()).scales = at(from).scales;
    at(output()).zero_points = at(from).zero_points;
    at(output()).exponents = at(from).exponents;
    return *this;
  }
  Case& result_shape(Shape shape) {
    at(output()).shape = std::move(shape);
    return *this;
  }
  Case& in_steps() {
    made_.steps = true;
    return *this;
  }

  OperatorCase done() {
    const Status shapes = compiler::infer_shapes(graph_);
    EXPECT_TRUE(shapes.ok()) << made_.name << ": " << shapes.text();
    made_.graph = std::move(graph_);
    return std::move(made_);
  }

 private:
  OpCode code_;
  Arithmetic arithmetic_;
  compiler::Graph graph_;
  OperatorCase made_;
  std::mt19937 random_{7};
};

// ---- by family

OperatorCase pair_case(Case c) {
  const TensorId a = c.x(), b = c.x();
  return c.node({a, b}, compiler::BinaryOptions{Activation::relu}).result_like(a).done();
}
OperatorCase broadcast_pair_case(Case c) {
  const TensorId a = c.x(), b = c.constant(c.type, {kChannels}, -4);
  return c.node({a, b}, compiler::BinaryOptions{}).result_like(a).done();
}
OperatorCase comparison_case(Case c) {
  const TensorId a = c.x(), b = c.x();
  return c.node({a, b}, {}, DType::boolean).done();
}
OperatorCase logic_case(Case c) {
  const TensorId a = c.input(DType::boolean, {1, kFrames, kChannels}),
                 b = c.input(DType::boolean, {1, kFrames, kChannels});
  return c.node({a, b}, {}, DType::boolean).done();
}
OperatorCase function_case(Case c, OpCode code) {
  const bool symmetric = code == OpCode::tanh, wide = c.type == DType::int16,
             fraction = code == OpCode::sigmoid || symmetric;
  c.node({c.x()}, compiler::FunctionOptions{0.25f, 0.5f});
  if (!fraction) return c.done();
  return c
      .result_scale(-7,
                    wide        ? 1.0f / 32768
                    : symmetric ? 1.0f / 128
                                : 1.0f / 256,
                    wide || symmetric ? 0 : -128)
      .done();
}
OperatorCase reduction_case(Case c, OpCode code, Arithmetic arithmetic) {
  compiler::ReduceOptions options;
  const bool windows = arithmetic == Arithmetic::windows || arithmetic == Arithmetic::tflite_windows ||
                       arithmetic == Arithmetic::pool_windows ||
                       arithmetic == Arithmetic::tflite_pool_windows;
  options.axes = {static_cast<std::uint8_t>(windows ? 1 : 2)};
  if (windows) {
    options.window = 5;
    options.hop = 1;
    options.before = 4;
    options.time_axis = 1;
  }
  const TensorId x = c.x();
  c.node({x}, options);
  if (code == OpCode::reduce_l1) return c.result_scale(-1, 0, 0).done();
  if (code == OpCode::reduce_sum_square) return c.result_scale(c.type == DType::int8 ? 1 : 9, 0, 0).done();
  return c.result_like(x).done();
}
OperatorCase pool_case(Case c) {
  compiler::PoolOptions options;
  options.kernel_width = 3;
  options.pad_left = 2;
  const TensorId x = c.x();
  return c.node({x}, options).result_like(x).done();
}

// ---- one operator each

OperatorCase conv_case(Case c, Arithmetic arithmetic) {
  const bool hybrid = arithmetic == Arithmetic::hybrid;
  const TensorId x = hybrid ? c.input(c.type, {1, 1, kFrames, kChannels}) : c.x();
  TensorId w = c.weights({3, 1, 3, kChannels});
  if (hybrid) {
    w = c.constant(DType::int8, {3, 1, 3, kChannels});
    c.at(w).exponents.clear();
    c.at(w).scales = {0.01f};
    c.at(w).zero_points = {0};
  }
  TensorId bias = c.constant(c.wide(), {3}, 0, 900);
  std::vector<TensorId> inputs = {x, w, bias};
  if (arithmetic == Arithmetic::multipliers) {
    inputs.push_back(c.numbers(DType::int32, {1 << 30, 1300000000, 2000000000}));
    inputs.push_back(c.numbers(DType::int32, {6, 7, 8}));
  }
  compiler::ConvOptions options;
  options.pad_left = 1;
  options.pad_right = 1;
  return c.node(std::move(inputs), options).done();
}
OperatorCase fully_connected_case(Case c, Arithmetic arithmetic) {
  const TensorId x = c.x();
  TensorId w = c.weights({3, kChannels});
  if (arithmetic == Arithmetic::hybrid) {
    w = c.constant(DType::int8, {3, kChannels});
    c.at(w).exponents.clear();
    c.at(w).scales = {0.01f};
    c.at(w).zero_points = {0};
  }
  std::vector<TensorId> inputs = {x, w, c.constant(c.wide(), {3}, 0, 900)};
  if (arithmetic == Arithmetic::multipliers) {
    inputs.push_back(c.numbers(DType::int32, {1300000000}));
    inputs.push_back(c.numbers(DType::int32, {6}));
  }
  return c.node(std::move(inputs), compiler::FullyConnectedOptions{}).done();
}
OperatorCase transposed_conv_case(Case c) {
  compiler::TransposedConvOptions options;
  options.stride_width = 2;
  const TensorId x = c.x(), w = c.weights({3, 1, 4, kChannels});
  return c.node({x, w, c.constant(c.wide(), {3}, 0, 900)}, options).done();
}
OperatorCase attention_case(Case c) {
  const bool tables = c.type == DType::float32;  // of a bias and of a product for each distance
  const auto stream = [&](int more) { return c.input(c.type, {1, kFrames, 1, kChannels + more}); };
  const TensorId q = stream(tables ? 2 : 0), k = stream(0), v = stream(0);
  compiler::AttentionOptions options;
  options.left = 4;
  options.chunk = 2;
  options.score_exponent = -4;
  options.weight_exponent = c.type == DType::int16 ? -15 : -7;
  options.real_scale = 0.5f;
  if (!tables) return c.node({q, k, v}, options).done();
  const TensorId bias = c.constant(c.type, {1, 7}), distances = c.constant(c.type, {7, 1, 2});
  return c.node({q, k, v, bias, distances}, options).done();
}
// Bytes have scales and zero points, int16 has powers of two.
OperatorCase fixed_attention_case(Case c) {
  c.scaled = c.type == DType::int8;
  const auto stream = [&](int more) { return c.input(c.type, {1, kFrames, 1, kChannels + more}); };
  const TensorId q = stream(2), k = stream(0), v = stream(0);
  const TensorId bias = c.constant(DType::int32, {1, 7}, 0, 30000), distances = c.constant(c.type, {7, 1, 2});
  if (c.scaled) c.at(distances).zero_points = {0};
  compiler::AttentionOptions options;
  options.left = 4;
  options.chunk = 2;
  options.real_scale = c.type == DType::int8 ? 0.5f : 0.01f;
  return c.node({q, k, v, bias, distances}, options).done();
}
OperatorCase lut_case(Case c) {
  const TensorId x = c.x(), table = c.constant(c.type, {c.type == DType::int8 ? 256 : 257}, -4, 127);
  return c.node({x, table}, compiler::LutOptions{}).done();
}
OperatorCase prelu_case(Case c) {
  const TensorId x = c.x(), slopes = c.constant(c.type, {kChannels});
  return c.node({x, slopes}).done();
}
OperatorCase where_case(Case c) {
  const TensorId condition = c.input(DType::boolean, {1, kFrames, kChannels}), a = c.x(),
                 b = c.constant(c.type, {kChannels});
  return c.node({condition, a, b}).done();
}
OperatorCase top_k_case(Case c) {
  const TensorId x = c.x();
  c.node({x}, compiler::TopKOptions{2, false}, DType::none, 2);
  c.at(c.output(0)).shape = {1, kFrames, 2};
  c.at(c.output(1)) = [&] {
    compiler::Tensor indices;
    indices.name = "indices";
    indices.dtype = DType::int32;
    indices.shape = {1, kFrames, 2};
    return indices;
  }();
  return c.done();
}
OperatorCase slice_case(Case c) {
  const TensorId x = c.x();
  return c.node({x}, compiler::SliceOptions{{0, 2, 1}, {1, 1, 1}}).result_shape({1, kFrames - 2, 2}).done();
}
OperatorCase pad_case(Case c) {
  const TensorId x = c.x();
  return c.node({x}, compiler::PadOptions{{0, 2, 1}, {0, 1, 0}, PadMode::zero, 3, 0.5f}).done();
}
OperatorCase split_case(Case c) {
  const TensorId x = c.x();
  c.node({x}, compiler::AxisOptions{2}, DType::none, 2);
  c.at(c.output(0)).shape = {1, kFrames, 1};
  c.at(c.output(1)).shape = {1, kFrames, kChannels - 1};
  return c.done();
}
OperatorCase gather_case(Case c) {
  const TensorId x = c.x();
  return c.node({x, c.numbers(DType::int32, {3, 0, 3})}, compiler::AxisOptions{2}).done();
}
OperatorCase scatter_case(Case c) {
  const TensorId x = c.x(), indices = c.numbers(DType::int32, {0, 3, 2}),
                 updates = c.constant(c.type, {1, 1}, -4);
  c.at(indices).shape = {1, 3};
  c.at(updates).shape = {1};
  c.at(updates).data->resize(size_of(c.type));
  return c.node({x, indices, updates}, compiler::ScatterOptions{}).done();
}
OperatorCase reverse_case(Case c) {
  const TensorId x = c.input(c.type, {1, kFrames, 3, 2});
  return c.node({x, c.numbers(DType::int32, {1, 2})}, compiler::ReverseOptions{2, 3}).done();
}
OperatorCase block_case(Case c) {
  const TensorId x = c.input(c.type, {1, kFrames, 2, 4});
  return c.node({x}, compiler::BlockOptions{2, false}).done();
}
OperatorCase insert_zeros_case(Case c) {
  compiler::InsertZerosOptions options;
  options.stride_width = 2;
  options.after_width = 1;
  return c.node({c.x()}, options).done();
}
OperatorCase norm_case(Case c, OpCode code) {
  compiler::NormOptions options;
  options.axis = 2;
  options.epsilon = 1e-5f;
  std::vector<TensorId> inputs = {c.x()};
  if (code != OpCode::lp_norm) inputs.push_back(c.constant(DType::float32, {kChannels}));
  return c.node(std::move(inputs), options).done();
}
OperatorCase fixed_norm_case(Case c) {
  c.scaled = c.type == DType::int8;
  compiler::NormOptions options;
  options.axis = 2;
  options.epsilon = 1e-5f;
  const TensorId x = c.x(), gain = c.constant(DType::int16, {kChannels}, -13, 9000);
  return c.node({x, gain, c.constant(DType::int32, {kChannels}, 0, 9000)}, options).done();
}
OperatorCase softmax_case(Case c) {
  c.node({c.x()}, compiler::AxisOptions{2});
  return c
      .result_scale(c.type == DType::int16 ? -15 : -7, c.type == DType::int16 ? 1.0f / 32768 : 1.0f / 256,
                    c.type == DType::int16 ? 0 : -128)
      .done();
}
OperatorCase recurrent_case(Case c, OpCode code) {
  constexpr int kHidden = 3;
  const int rows = (code == OpCode::lstm ? 4 : 3) * kHidden, bits = c.type == DType::int16 ? -14 : -6;
  const int largest = c.type == DType::int16 ? 20000 : 127;
  const DType bias = c.type == DType::float32 ? DType::float32 : DType::int16;
  const TensorId x = c.input(c.type, {kFrames, 1, kChannels});
  std::vector<TensorId> inputs = {x, c.constant(c.type, {1, rows, kChannels}, bits, largest),
                                  c.constant(c.type, {1, rows, kHidden}, bits, largest),
                                  c.constant(bias, {1, 2 * rows}, -9, 700), compiler::kAbsent};
  if (code == OpCode::lstm) inputs.push_back(compiler::kAbsent);
  compiler::RecurrentOptions options;
  options.gate_exponent = c.type == DType::float32 ? 0 : -9;
  return c.node(std::move(inputs), options).result_scale(c.type == DType::int16 ? -14 : -7, 0, 0).done();
}

// ---- state from call to call

OperatorCase sequence_lstm_case(Case c, Arithmetic arithmetic) {
  constexpr int kUnits = 3;
  const bool floats = c.type == DType::float32;
  c.scaled = !floats && arithmetic == Arithmetic::stateful_tflite;
  const TensorId x = c.input(c.type, {1, 2, kChannels});
  std::vector<TensorId> inputs = {x};
  for (const int columns : {kChannels, kChannels, kChannels, kChannels, kUnits, kUnits, kUnits, kUnits})
    inputs.push_back(c.weights({kUnits, columns}));
  for (int gate = 0; gate < 4; ++gate)
    inputs.push_back(c.constant(floats ? DType::float32 : DType::int32, {kUnits}, 0, 900));
  compiler::SequenceLstmOptions options;
  options.cell_clip = 2;
  options.cell_exponent = floats ? 0 : -11;
  return c.node(std::move(inputs), options).in_steps().done();
}
OperatorCase svdf_case(Case c, Arithmetic arithmetic) {
  const bool floats = c.type == DType::float32;
  c.scaled = !floats && arithmetic != Arithmetic::shifts;
  const TensorId x = c.input(c.type, {1, kChannels}), features = c.weights({4, kChannels}),
                 time = c.weights({4, 5});
  compiler::SvdfOptions options;
  options.rank = 2;
  options.state_dtype = c.type;
  options.state_scale = floats ? 0 : 0.0625f;
  return c.node({x, features, time, c.constant(floats ? DType::float32 : DType::int32, {2}, 0, 90)}, options)
      .in_steps()
      .done();
}
OperatorCase cache_case(Case c) {
  const TensorId x = c.input(c.type, {1, 2, kChannels});
  return c.node({x}, compiler::StreamingCacheOptions{3, 1}).in_steps().done();
}

// A value read before it is assigned: y is x of the call before.
OperatorCase variable_case(const OperatorDefinition& definition, DType type) {
  Case c(definition, type);
  const TensorId x = c.input(type, {1, 2, kChannels});
  c.node({x}, compiler::VariableOptions{0});
  OperatorCase made = c.in_steps().done();
  compiler::Graph& graph = made.graph;
  compiler::Tensor held = graph.tensors[static_cast<std::size_t>(x)];
  held.name = "held";
  graph.tensors.push_back(held);
  graph.tensors[static_cast<std::size_t>(graph.outputs[0])].shape = held.shape;
  compiler::Node read;
  read.name = "read";
  read.code = OpCode::read_variable;
  read.outputs = {static_cast<TensorId>(graph.tensors.size() - 1)};
  read.options = compiler::VariableOptions{0};
  compiler::Node assign = graph.nodes[0];
  assign.name = "assign";
  assign.code = OpCode::assign_variable;
  graph.nodes = {read, assign};
  graph.outputs.push_back(read.outputs[0]);
  return made;
}

OperatorCase special_case(const OperatorDefinition& definition, DType type) {
  Case c(definition, type);
  const Arithmetic arithmetic = definition.arithmetic;
  switch (definition.code) {
    case OpCode::conv:
      return conv_case(std::move(c), arithmetic);
    case OpCode::fully_connected:
      return fully_connected_case(std::move(c), arithmetic);
    case OpCode::matmul: {
      const TensorId x = c.x();
      return c.node({x, c.constant(type, {kChannels, 3})}, compiler::FullyConnectedOptions{}).done();
    }
    case OpCode::transposed_conv:
      return transposed_conv_case(std::move(c));
    case OpCode::attention:
      return arithmetic == Arithmetic::fixed_point ? fixed_attention_case(std::move(c))
                                                   : attention_case(std::move(c));
    case OpCode::lut:
      return lut_case(std::move(c));
    case OpCode::clip:
      return c.node({c.x()}, compiler::ClipOptions{-9, 40, -0.5f, 0.4f}).done();
    case OpCode::quantize: {
      const TensorId x = c.input(DType::float32, {1, kFrames, kChannels});
      return c.node({x}).done();
    }
    case OpCode::dequantize:
      return c.node({c.x()}, {}, DType::float32).done();
    case OpCode::cast: {
      const TensorId x = c.input(DType::float32, {1, kFrames, kChannels});
      return c.node({x}, {}, DType::int32).done();
    }
    case OpCode::logical_not:
      return c.node({c.input(DType::boolean, {1, kFrames, kChannels})}, {}, DType::boolean).done();
    case OpCode::prelu:
      return prelu_case(std::move(c));
    case OpCode::where:
      return where_case(std::move(c));
    case OpCode::arg_max:
      return c.node({c.x()}, compiler::AxisOptions{2}, DType::int32).done();
    case OpCode::top_k:
      return top_k_case(std::move(c));
    case OpCode::reshape:
      return c.node({c.x()}).result_shape({1, kFrames, 2, 2}).done();
    case OpCode::transpose:
      return c.node({c.input(type, {1, kFrames, 2, 3})}, compiler::TransposeOptions{{0, 1, 3, 2}}).done();
    case OpCode::slice:
      return slice_case(std::move(c));
    case OpCode::concat: {
      const TensorId a = c.x(), b = c.x();
      return c.node({a, b}, compiler::AxisOptions{2}).done();
    }
    case OpCode::split:
      return split_case(std::move(c));
    case OpCode::pad:
      return pad_case(std::move(c));
    case OpCode::expand:
      return c.node({c.x(1)}).result_shape({1, kFrames, 3}).done();
    case OpCode::gather:
      return gather_case(std::move(c));
    case OpCode::scatter_nd:
      return scatter_case(std::move(c));
    case OpCode::reverse_sequence:
      return reverse_case(std::move(c));
    case OpCode::depth_to_space:
    case OpCode::space_to_depth:
      return block_case(std::move(c));
    case OpCode::insert_zeros:
      return insert_zeros_case(std::move(c));
    case OpCode::resize:
      return c.node({c.x()}, compiler::ResizeOptions{}).result_shape({1, 2 * kFrames, kChannels}).done();
    case OpCode::softmax:
    case OpCode::log_softmax:
      return softmax_case(std::move(c));
    case OpCode::layer_norm:
    case OpCode::rms_norm:
    case OpCode::lp_norm:
      return arithmetic == Arithmetic::fixed_point ? fixed_norm_case(std::move(c))
                                                   : norm_case(std::move(c), definition.code);
    case OpCode::gru:
      return recurrent_case(std::move(c), definition.code);
    case OpCode::lstm:
      return arithmetic == Arithmetic::espdl ? recurrent_case(std::move(c), definition.code)
                                             : sequence_lstm_case(std::move(c), arithmetic);
    case OpCode::svdf:
      return svdf_case(std::move(c), arithmetic);
    case OpCode::streaming_cache:
      return cache_case(std::move(c));
    case OpCode::read_variable:
    case OpCode::assign_variable:
      return variable_case(definition, type);
    default:
      return {};
  }
}

// The types of activations that the row names.
std::vector<DType> types_of(OpCode code, const ArithmeticFacts& facts) {
  // The state of a recurrence may have a type of its own.
  const std::string_view listed = facts.types.substr(0, facts.types.find(", state"));
  const auto names = [&](std::string_view word) { return listed.find(word) != std::string_view::npos; };
  if (names("bool") && !names("i8") && !names("any")) return {DType::boolean};
  if (names("any plain number") || names("weights i8")) return {DType::float32};
  std::vector<DType> types;
  if (names("i8") || names("any")) types.push_back(DType::int8);
  if (names("i16") || names("any")) types.push_back(DType::int16);
  // Between floats and integers: the type of the integers.
  const bool converts = code == OpCode::quantize || code == OpCode::dequantize;
  if ((names("f32") || names("any")) && !converts) types.push_back(DType::float32);
  return types;
}

}  // namespace

std::vector<OperatorCase> operator_cases(const OperatorDefinition& definition) {
  const ArithmeticFacts* const facts = arithmetic_facts(definition.code, definition.arithmetic);
  if (facts == nullptr) return {};
  std::vector<OperatorCase> cases;
  for (const DType type : types_of(definition.code, *facts)) {
    const auto add = [&](OperatorCase made) {
      if (!made.graph.nodes.empty()) cases.push_back(std::move(made));
    };
    switch (traits_of(definition.code).family) {
      case Family::pair:
        add(pair_case({definition, type}));
        add(broadcast_pair_case({definition, type}));
        break;
      case Family::comparison:
        add(comparison_case({definition, type}));
        break;
      case Family::logic:
        add(logic_case({definition, type}));
        break;
      case Family::function:
        add(function_case({definition, type}, definition.code));
        break;
      case Family::reduction:
        add(reduction_case({definition, type}, definition.code, definition.arithmetic));
        break;
      case Family::pool:
        add(pool_case({definition, type}));
        break;
      default: {
        OperatorCase special = special_case(definition, type);
        if (special.graph.nodes.empty() && traits_of(definition.code).family == Family::element) {
          Case c(definition, type);
          special = c.node({c.x()}).done();
        }
        add(std::move(special));
        break;
      }
    }
  }
  return cases;
}

}  // namespace runnel::test
