// Quantized graphs: integers where there are any, and how far they are from what the specification says (in
// float64).
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/compiler/import/onnx/graph_maker.h"
#include "tests/compiler/import/onnx/reference.h"
#include "tests/support/data.h"

namespace runnel {
namespace {

using ::onnx::TensorProto;
using test::Dims;
using test::Floats;
using test::OnnxMaker;
using test::set;
using testing::HasSubstr;

constexpr int kInt8 = TensorProto::INT8, kUint8 = TensorProto::UINT8, kInt16 = TensorProto::INT16;

struct Scale {
  double step = 1;
  int zero = 0, type = kInt8;
};

// A graph of float operators between QuantizeLinear and DequantizeLinear.
class QdqMaker : public OnnxMaker {
 public:
  QdqMaker() : OnnxMaker(17) {}

  // Random elements in [low, high].
  void integers_of(const std::string& name, const Dims& dims, int type, int low, int high) {
    auto* tensor = model.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) {
      tensor->add_dims(dim);
      count *= dim;
    }
    for (std::int64_t i = 0; i < count; ++i)
      tensor->add_int32_data(std::uniform_int_distribution(low, high)(random_));
  }
  std::string scale(const Scale& scale) {
    const std::string name = "n" + std::to_string(++count_);
    floats(name + ".scale", {}, {static_cast<float>(scale.step)});
    integers_of(name + ".zero", {}, scale.type, scale.zero, scale.zero);
    return name;
  }
  std::string quantize(const std::string& x, const Scale& at) {
    const std::string name = scale(at);
    node("QuantizeLinear", {x, name + ".scale", name + ".zero"}, {name + ".q"});
    return name + ".q";
  }
  std::string dequantize(const std::string& x, const Scale& at) {
    const std::string name = scale(at);
    node("DequantizeLinear", {x, name + ".scale", name + ".zero"}, {name + ".dq"});
    return name + ".dq";
  }
  std::string both(const std::string& x, const Scale& at) { return dequantize(quantize(x, at), at); }
  // An input of the graph, quantized and dequantized.
  std::string start(const std::string& name, const Dims& dims, const Scale& at) {
    input(name, dims);
    shapes.push_back({name, dims});
    return both(name, at);
  }
  // Weights; `axis` >= 0: a scale for each index of it.
  std::string weights(const Dims& dims, const Scale& at, int axis = -1) {
    const std::string name = "w" + std::to_string(++count_);
    const std::int64_t count = axis < 0 ? 1 : dims[static_cast<std::size_t>(axis)];
    Floats scales;
    for (std::int64_t i = 0; i < count; ++i) scales.push_back(static_cast<float>(at.step * (1 << (i % 3))));
    floats(name + ".scale", axis < 0 ? Dims{} : Dims{count}, scales);
    integers_of(name + ".zero", axis < 0 ? Dims{} : Dims{count}, at.type, at.zero, at.zero);
    integers_of(name, dims, at.type, at.type == kUint8 ? 0 : -127, at.type == kUint8 ? 255 : 127);
    auto& made = node("DequantizeLinear", {name, name + ".scale", name + ".zero"}, {name + ".dq"});
    if (axis >= 0) set(made, "axis", std::int64_t{axis});
    return name + ".dq";
  }
  void finish(const std::string& x, const Scale& at) {
    last = at;
    output("y");
    node("Identity", {both(x, at)}, {"y"});
  }

  // The largest difference to the reference in steps of the output, over random inputs.
  int steps(double range = 3) {
    std::vector<Floats> inputs;
    std::map<std::string, test::Array> arrays;
    for (const auto& [name, dims] : shapes) {
      std::int64_t count = 1;
      for (const std::int64_t dim : dims) count *= dim;
      Floats values;
      for (std::int64_t i = 0; i < count; ++i)
        values.push_back(static_cast<float>(std::uniform_real_distribution(-range, range)(random_)));
      arrays[name] = {dims, {values.begin(), values.end()}};
      inputs.push_back(values);
    }
    const Floats found = run(inputs)[0];
    const test::Array expected = test::evaluate(model, arrays).at("y");
    if (found.size() != expected.values.size()) return 1 << 20;
    double most = 0;
    std::size_t moving = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      most = std::max(most, std::abs(static_cast<double>(found[i]) - expected.values[i]) / last.step);
      moving += expected.values[i] != expected.values[0] ? 1 : 0;
    }
    EXPECT_GT(moving, 0u) << "a result of one value proves nothing";
    return static_cast<int>(std::nearbyint(most));
  }
  [[nodiscard]] std::vector<OpCode> codes() const {
    const auto imported = import();
    EXPECT_TRUE(imported.ok()) << imported.status().text();
    std::vector<OpCode> out;
    for (const auto& entry : imported->graph.nodes) out.push_back(entry.code);
    return out;
  }
  // Is every operator an integer one, but for the first and last?
  [[nodiscard]] bool in_integers() const {
    const auto imported = import();
    for (const auto& entry : imported->graph.nodes) {
      for (const auto& list : {entry.inputs, entry.outputs}) {
        for (const compiler::TensorId id : list) {
          const bool edge = entry.code == OpCode::quantize || entry.code == OpCode::dequantize;
          if (id >= 0 && !edge &&
              imported->graph.tensors[static_cast<std::size_t>(id)].dtype == DType::float32)
            return false;
        }
      }
    }
    return true;
  }

  std::vector<std::pair<std::string, Dims>> shapes;
  Scale last;

 private:
  int count_ = 0;
  std::mt19937 random_{5};
};

// Two sets of scales: powers of two without zero points, where integers are exact; and any, where a result
// may be one step away.
struct Scales {
  Scale x, z, w, y;
  int most;  // steps of difference
};
const Scales kPowers{{0.03125, 0}, {0.0625, 0}, {0.0078125, 0}, {0.125, 0}, 0};
const Scales kAny{
    {0.0271, 117, kUint8}, {0.0483, 140, kUint8}, {0.0061, 128, kUint8}, {0.0912, 101, kUint8}, 1};

class Qdq : public testing::TestWithParam<const Scales*> {};
INSTANTIATE_TEST_SUITE_P(Powers, Qdq, testing::Values(&kPowers));
INSTANTIATE_TEST_SUITE_P(Any, Qdq, testing::Values(&kAny));

TEST_P(Qdq, Convolution) {
  for (const char* activation : {"", "Relu", "Clip"}) {
    QdqMaker maker;
    const std::string x = maker.start("x", {1, 6, 20}, GetParam()->x),
                      w = maker.weights({8, 3, 5}, GetParam()->w, 0);
    maker.floats("b", {8}, test::ramp(8, -2, 0.5f));
    auto& conv = maker.node("Conv", {x, w, "b"}, {"c"});
    set(conv, "group", std::int64_t{2});
    set(conv, "pads", Dims{4, 0});
    set(conv, "strides", Dims{2});
    std::string y = "c";
    if (std::string(activation) == "Relu") maker.node("Relu", {"c"}, {y = "a"});
    if (std::string(activation) == "Clip") {
      maker.floats("low", {}, {-1}).floats("high", {}, {4});
      maker.node("Clip", {"c", "low", "high"}, {y = "a"});
    }
    maker.finish(y, GetParam()->y);
    EXPECT_LE(maker.steps(), GetParam()->most) << activation;
    EXPECT_TRUE(maker.in_integers()) << activation;
  }
}

TEST_P(Qdq, ProductsSumsAndDifferences) {
  for (const char* op : {"Add", "Sub", "Mul", "Max", "Min"}) {
    QdqMaker maker;
    const std::string a = maker.start("a", {1, 4, 7}, GetParam()->x),
                      b = maker.start("b", {1, 1, 7}, GetParam()->z);
    maker.node(op, {a, b}, {"c"});
    maker.finish("c", GetParam()->y);
    EXPECT_LE(maker.steps(), GetParam()->most) << op;
    EXPECT_TRUE(maker.in_integers()) << op;
  }
}

TEST_P(Qdq, DenseLayers) {
  for (const char* op : {"MatMul", "Gemm"}) {
    QdqMaker maker;
    const std::string x = maker.start("x", {5, 12}, GetParam()->x),
                      w = maker.weights({12, 8}, GetParam()->w, 1);
    maker.node(op, {x, w}, {"c"});
    maker.finish("c", GetParam()->y);
    EXPECT_LE(maker.steps(), GetParam()->most) << op;
    EXPECT_TRUE(maker.in_integers()) << op;
  }
}

TEST_P(Qdq, ConcatenationOfUnequalScales) {
  QdqMaker maker;
  const std::string a = maker.start("a", {1, 4, 7}, GetParam()->x),
                    b = maker.start("b", {1, 2, 7}, GetParam()->z);
  set(maker.node("Concat", {a, b}, {"c"}), "axis", std::int64_t{1});
  maker.finish("c", GetParam()->y);
  EXPECT_EQ(maker.steps(), 0);
  EXPECT_TRUE(maker.in_integers());
}

TEST_P(Qdq, FunctionsAreTables) {
  for (const char* op : {"Relu", "Sigmoid", "Tanh", "LeakyRelu"}) {
    QdqMaker maker;
    const std::string x = maker.start("x", {1, 4, 30}, GetParam()->x);
    maker.node(op, {x}, {"c"});
    maker.finish("c", Scale{GetParam()->y.step / 8, GetParam()->y.zero, GetParam()->y.type});
    EXPECT_EQ(maker.steps(), 0) << op;
    EXPECT_THAT(maker.codes(), testing::ElementsAre(OpCode::quantize, OpCode::lut, OpCode::dequantize)) << op;
  }
}

TEST_P(Qdq, SeveralFunctionsOfOneValueAreOneTable) {  // x * sigmoid(2 x)
  QdqMaker maker;
  const std::string x = maker.start("x", {1, 4, 30}, GetParam()->x);
  maker.floats("two", {1}, {2});
  maker.node("Mul", {x, "two"}, {"d"});
  maker.node("Sigmoid", {"d"}, {"s"});
  maker.node("Mul", {x, "s"}, {"c"});
  maker.finish("c", GetParam()->z);
  EXPECT_EQ(maker.steps(), 0);
  EXPECT_THAT(maker.codes(), testing::ElementsAre(OpCode::quantize, OpCode::lut, OpCode::dequantize));
}

TEST_P(Qdq, Pools) {
  for (const char* op : {"AveragePool", "MaxPool", "GlobalAveragePool"}) {
    QdqMaker maker;
    const std::string x = maker.start("x", {1, 3, 8, 6}, GetParam()->x);
    auto& pool = maker.node(op, {x}, {"c"});
    if (std::string(op) != "GlobalAveragePool") {
      set(pool, "kernel_shape", Dims{3, 2});
      set(pool, "strides", Dims{2, 1});
      set(pool, "pads", Dims{1, 0, 1, 1});
    }
    maker.finish("c", Scale{GetParam()->x.step * 1.0, GetParam()->x.zero, GetParam()->x.type});
    EXPECT_LE(maker.steps(), std::string(op) == "MaxPool" ? 0 : GetParam()->most) << op;
    EXPECT_TRUE(maker.in_integers()) << op;
  }
}

TEST_P(Qdq, MovementTakesIntegers) {
  QdqMaker maker;
  const std::string x = maker.start("x", {1, 4, 6}, GetParam()->x);
  maker.integers("begin", {1}, {1})
      .integers("end", {1}, {5})
      .integers("axes", {1}, {2})
      .integers("shape", {2}, {4, 4})
      .integers("pads", {4}, {1, 0, 0, 2});
  maker.node("Slice", {x, "begin", "end", "axes"}, {"s"});
  maker.node("Reshape", {"s", "shape"}, {"r"});
  set(maker.node("Transpose", {"r"}, {"t"}), "perm", Dims{1, 0});
  maker.finish("t", GetParam()->x);
  EXPECT_EQ(maker.steps(), 0);
  EXPECT_TRUE(maker.in_integers());
}

// One zero point for weights that is not in the middle: 16 bits hold the differences.
TEST_P(Qdq, WeightsWithZeroPoints) {
  QdqMaker maker;
  const std::string x = maker.start("x", {1, 6, 20}, GetParam()->x),
                    w = maker.weights({5, 6, 3}, Scale{GetParam()->w.step, 37, kUint8});
  maker.floats("b", {5}, test::ramp(5, -2, 0.5f));
  maker.node("Conv", {x, w, "b"}, {"c"});
  maker.finish("c", GetParam()->y);
  EXPECT_LE(maker.steps(0.5), GetParam()->most);
  EXPECT_TRUE(maker.in_integers());
}

TEST(QdqForms, SixteenBits) {
  for (const bool powers : {true, false}) {
    QdqMaker maker;
    const Scale at{powers ? 1.0 / 4096 : 0.000271, 0, kInt16}, to{powers ? 1.0 / 1024 : 0.0012, 0, kInt16};
    const std::string x = maker.start("x", {1, 6, 20}, at),
                      w = maker.weights({5, 6, 3}, Scale{powers ? 1.0 / 128 : 0.0061}, 0);
    maker.node("Conv", {x, w}, {"c"});
    maker.finish("c", to);
    EXPECT_LE(maker.steps(2), powers ? 0 : 1);
    EXPECT_TRUE(maker.in_integers());
  }
}

// Two activations: attention's scores and sums.
TEST_P(Qdq, ProductsOfTwoActivations) {
  QdqMaker maker;
  const std::string a = maker.start("a", {2, 5, 6}, GetParam()->x),
                    b = maker.start("b", {2, 6, 4}, GetParam()->z);
  maker.node("MatMul", {a, b}, {"c"});
  maker.finish("c", {GetParam()->y.step * 2, GetParam()->y.zero, GetParam()->y.type});
  EXPECT_LE(maker.steps(1), GetParam()->most);
  EXPECT_TRUE(maker.in_integers());
}

TEST(QdqForms, SoftmaxThatGivesFractionsOf256) {
  QdqMaker maker;
  const std::string x = maker.start("x", {3, 10}, kAny.x);
  set(maker.node("Softmax", {x}, {"c"}), "axis", std::int64_t{-1});
  maker.finish("c", Scale{1.0 / 256, 0, kUint8});
  EXPECT_LE(maker.steps(), 1);
  EXPECT_TRUE(maker.in_integers());
}

TEST(QdqForms, WhatHasNoIntegerFormStaysFloat) {
  QdqMaker maker;
  const std::string x = maker.start("x", {3, 10}, kAny.x);
  set(maker.node("Softmax", {x}, {"c"}), "axis", std::int64_t{-1});
  maker.finish("c", Scale{1.0 / 255, 0, kUint8});
  EXPECT_EQ(maker.steps(), 0);
  EXPECT_THAT(maker.codes(), testing::ElementsAre(OpCode::quantize, OpCode::dequantize, OpCode::softmax,
                                                  OpCode::quantize, OpCode::dequantize));
}

TEST(QdqForms, PowersOfTwoShiftAndOthersMultiply) {
  for (const Scales* scales : {&kPowers, &kAny}) {
    QdqMaker maker;
    const std::string x = maker.start("x", {1, 6, 20}, scales->x), w = maker.weights({5, 6, 3}, scales->w);
    maker.node("Conv", {x, w}, {"c"});
    maker.finish("c", scales->y);
    const auto imported = maker.import();
    ASSERT_TRUE(imported.ok());
    for (const auto& entry : imported->graph.nodes) {
      if (entry.code != OpCode::conv) continue;
      const compiler::Tensor& y = imported->graph.tensors[static_cast<std::size_t>(entry.outputs[0])];
      EXPECT_EQ(y.dtype, DType::int8);
      EXPECT_EQ(y.exponents.empty(), scales == &kAny);
      EXPECT_EQ(entry.rounding,
                scales == &kAny ? kernels::Rounding::tflite_double : kernels::Rounding::half_even);
    }
  }
}

// As dynamic quantization leaves a layer: scale and zero point from the input, a product of integers, one
// scale for it.
TEST(QdqForms, ScalesThatAreComputedWhileRunning) {
  QdqMaker maker;
  maker.input("x", {2, 6}).output("y");
  maker.integers_of("w", {6, 3}, kInt8, -127, 127);
  maker.integers_of("wz", {}, kInt8, 0, 0);
  maker.floats("ws", {}, {0.011f});
  maker.node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"});
  maker.node("MatMulInteger", {"q", "w", "z", "wz"}, {"p"});
  set(maker.node("Cast", {"p"}, {"f"}), "to", std::int64_t{TensorProto::FLOAT});
  maker.node("Mul", {"s", "ws"}, {"both"});
  maker.node("Mul", {"f", "both"}, {"y"});
  const auto& weights = maker.model.graph().initializer(0);
  for (const Floats& x : {Floats{0.3f, -1.7f, 2.2f, 0.01f, -0.4f, 1.1f, 0.9f, -0.2f, 0, 2.0f, -1.3f, 0.6f},
                          Floats{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, Floats(12, 0)}) {
    const auto found = maker.run({x});
    ASSERT_EQ(found.size(), 1u);
    const float high = std::max(0.0f, *std::max_element(x.begin(), x.end())),
                low = std::min(0.0f, *std::min_element(x.begin(), x.end())), scale = (high - low) / 255;
    const float zero = scale > 0 ? std::nearbyint(-low / scale) : 0;
    for (std::size_t row = 0; row < 2; ++row) {
      for (int n = 0; n < 3; ++n) {
        float sum = 0;
        for (std::size_t k = 0; k < 6; ++k) {
          const float q =
              scale > 0 ? std::clamp(std::nearbyint(x[row * 6 + k] / scale) + zero, 0.0f, 255.0f) : 0;
          sum += (q - zero) * static_cast<float>(weights.int32_data(static_cast<int>(k) * 3 + n));
        }
        EXPECT_NEAR(found[0][row * 3 + static_cast<std::size_t>(n)], sum * scale * 0.011f,
                    1e-4f * std::abs(sum * scale * 0.011f) + 1e-6f);
      }
    }
  }
}

// Inputs and outputs of integers keep their type and numbers.
TEST(QdqForms, OperatorsOnIntegers) {
  QdqMaker maker;
  maker.input("x", {1, 2, 5}, kUint8).output("y");
  const std::string x = maker.scale(kAny.x), w = maker.scale(kAny.w), y = maker.scale(kAny.y);
  maker.integers_of("w", {3, 2, 2}, kUint8, 0, 255);
  maker.node("QLinearConv",
             {"x", x + ".scale", x + ".zero", "w", w + ".scale", w + ".zero", y + ".scale", y + ".zero"},
             {"y"});
  const auto imported = maker.import();
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  const auto runnable = test::RunnableGraph::make(imported->graph);
  ASSERT_TRUE(runnable.ok()) << runnable.status().text();
  const std::vector<int> values{0, 255, 117, 13, 200, 90, 3, 140, 77, 250};
  test::Bytes input;
  for (const int value : values) input.push_back(static_cast<std::byte>(value));
  const auto outputs = (*runnable)->whole({input});
  ASSERT_TRUE(outputs.ok());
  // The same with the reference's float operators.
  auto plain = maker.model;
  auto* graph = plain.mutable_graph();
  graph->clear_node();
  const auto add = [&](const char* op, const std::vector<std::string>& in, const char* out) {
    auto* made = graph->add_node();
    made->set_op_type(op);
    for (const std::string& name : in) made->add_input(name);
    made->add_output(out);
  };
  add("DequantizeLinear", {"x", x + ".scale", x + ".zero"}, "xf");
  add("DequantizeLinear", {"w", w + ".scale", w + ".zero"}, "wf");
  add("Conv", {"xf", "wf"}, "yf");
  add("QuantizeLinear", {"yf", y + ".scale", y + ".zero"}, "y");
  const test::Array expected =
      test::evaluate(plain, {{"x", {{1, 2, 5}, {values.begin(), values.end()}}}}).at("y");
  ASSERT_EQ((*outputs)[0].size(), expected.values.size());
  for (std::size_t i = 0; i < expected.values.size(); ++i)
    EXPECT_NEAR(static_cast<double>(std::to_integer<int>((*outputs)[0][i])), expected.values[i], 1) << i;
}

TEST(QdqForms, RefusalsNameTheReason) {
  QdqMaker twice;
  const std::string q = (twice.input("x", {1, 4}), twice.quantize("x", {0.5, 0}));
  twice.output("y");
  twice.node("Identity", {twice.dequantize(q, {0.25, 0})}, {"y"});
  EXPECT_THAT(std::string(twice.import().status().text()), HasSubstr("with scale 0.25"));
  QdqMaker many;
  many.input("x", {1, 4}).output("y").floats("s", {4}, {1, 2, 3, 4});
  many.integers_of("z", {4}, kInt8, 0, 0);
  many.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  many.node("DequantizeLinear", {"q", "s", "z"}, {"y"});
  EXPECT_THAT(std::string(many.import().status().text()),
              HasSubstr("activations with 4 scales, expected one for the whole tensor"));
  QdqMaker wide;
  wide.input("x", {1, 4}).output("y");
  wide.node("Identity", {wide.both("x", {0.5, 0, TensorProto::UINT16})}, {"y"});
  EXPECT_THAT(std::string(wide.import().status().text()),
              HasSubstr("activations of uint16, expected int8, uint8, int16 or int32"));
}

// Public quantized networks: the exact form gives the integers of the reference, the others stay near.
TEST(QdqModels, AgreeWithTheReference) {
  RUNNEL_NEEDS_DATA();
  struct Network {
    const char* file;
    Dims dims;
    bool exact;
  };
  for (const Network& network :
       {Network{"M1_s8sym_T100", {1, 40, 100}, true}, Network{"M2_s8sym", {1, 1, 49, 10}, true},
        Network{"M1_u8_T100", {1, 40, 100}, false}, Network{"M2_u8", {1, 1, 49, 10}, false},
        Network{"M2_s8relu128", {1, 1, 49, 10}, false}}) {
    const auto file = test::read_file(test::data_folder() / "peers" / (std::string(network.file) + ".onnx"));
    QdqMaker maker;
    ASSERT_TRUE(maker.model.ParseFromArray(file.data(), static_cast<int>(file.size())));
    maker.shapes = {{"x", network.dims}};
    const auto& initializers = maker.model.graph().initializer();
    // The last scale of the file is that of the output.
    const auto& nodes = maker.model.graph().node();
    const std::string scale = nodes[nodes.size() - 2].input(1);
    for (const auto& tensor : initializers) {
      if (tensor.name() == scale)
        maker.last.step = static_cast<double>(*reinterpret_cast<const float*>(tensor.raw_data().data()));
    }
    const int steps = maker.steps();
    RecordProperty(network.file, steps);
    EXPECT_LE(steps, network.exact ? 0 : 2) << network.file;
    EXPECT_TRUE(maker.in_integers()) << network.file;
  }
}

}  // namespace
}  // namespace runnel
