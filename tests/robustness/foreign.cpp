#include "tests/robustness/foreign.h"

#include <cstdlib>

#include "tests/compiler/import/tflite/tiny_tflite.h"
#ifdef RUNNEL_HAVE_ONNX
#include "tests/compiler/import/onnx/graph_maker.h"
#endif

namespace runnel::test {

#ifdef RUNNEL_HAVE_ONNX
namespace {

std::vector<std::byte> float_onnx() {
  OnnxMaker maker;
  maker.input("x", {1, 2, 0})
      .output("y")
      .floats("w", {4, 2, 3}, ramp(24, -1, 0.1f))
      .floats("b", {4}, {1, 2, 3, 4})
      .floats("m", {4, 3}, ramp(12, -0.5f, 0.1f));
  maker.integers("shape", {3}, {0, -1, 4})
      .integers("begin", {1}, {1})
      .integers("end", {1}, {1000})
      .integers("axis", {1}, {1});
  set(maker.node("Conv", {"x", "w", "b"}, {"c"}), "pads", Dims{2, 0});
  maker.node("Relu", {"c"}, {"r"});
  set(maker.node("Transpose", {"r"}, {"t"}), "perm", Dims{0, 2, 1});
  maker.node("Slice", {"t", "begin", "end", "axis"}, {"s"});
  maker.node("MatMul", {"s", "m"}, {"p"});
  set(maker.node("Softmax", {"p"}, {"q"}), "axis", std::int64_t{-1});
  set(maker.node("Concat", {"q", "p"}, {"y"}), "axis", std::int64_t{2});
  return maker.bytes();
}

std::vector<std::byte> quantized_onnx() {
  OnnxMaker maker;
  maker.input("x", {1, 2, 12}).output("y").floats("s", {}, {0.05f}).floats("ws", {3}, {0.01f, 0.02f, 0.04f});
  const auto integers = [&](const char* name, const Dims& dims, int type, int value) {
    auto* tensor = maker.model.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) tensor->add_dims(dim), count *= dim;
    for (std::int64_t i = 0; i < count; ++i) tensor->add_int32_data(value + static_cast<int>(i) % 5);
  };
  integers("z", {}, ::onnx::TensorProto::UINT8, 120);
  integers("wz", {3}, ::onnx::TensorProto::INT8, 0);
  maker.model.mutable_graph()
      ->mutable_initializer(maker.model.graph().initializer_size() - 1)
      ->set_int32_data(1, 0);
  maker.model.mutable_graph()
      ->mutable_initializer(maker.model.graph().initializer_size() - 1)
      ->set_int32_data(2, 0);
  integers("w", {3, 2, 3}, ::onnx::TensorProto::INT8, -2);
  const auto both = [&](const std::string& x) {
    maker.node("QuantizeLinear", {x, "s", "z"}, {x + ".q"});
    maker.node("DequantizeLinear", {x + ".q", "s", "z"}, {x + ".d"});
    return x + ".d";
  };
  const std::string x = both("x");
  set(maker.node("DequantizeLinear", {"w", "ws", "wz"}, {"wf"}), "axis", std::int64_t{0});
  maker.node("Conv", {x, "wf"}, {"c"});
  const std::string c = both("c");
  maker.node("Sigmoid", {c}, {"g"});
  const std::string g = both("g");
  maker.node("Add", {c, g}, {"a"});
  maker.node("Identity", {both("a")}, {"y"});
  return maker.bytes();
}

// Attention with a relative shift, a bias by distance and a mask, a swoosh, and a counter as state.
std::vector<std::byte> attention_onnx() {
  constexpr std::int64_t kFrames = 6;
  OnnxMaker maker;
  maker.input("x", {1, kFrames, 4})
      .input("seen", {1}, ::onnx::TensorProto::INT64)
      .output("y")
      .output("new_seen");
  Floats bias, mask;
  std::vector<std::int64_t> shifted;
  for (int i = 0; i < kFrames; ++i) {
    for (int j = 0; j < kFrames; ++j) {
      bias.push_back(-0.25f * static_cast<float>(std::abs(i - j)));
      mask.push_back(j > i || j < i - 3 ? -1e9f : 0.0f);
      shifted.push_back(kFrames - 1 - i + j);
    }
  }
  maker.floats("w", {4, 4}, ramp(16, -1, 0.13f)).floats("r", {4, 2 * kFrames - 1}, ramp(44, -0.5f, 0.02f));
  maker.floats("bias", {1, kFrames, kFrames}, bias).floats("mask", {kFrames, kFrames}, mask);
  maker.floats("a", {}, {4}).floats("b", {}, {0.08f}).floats("c", {}, {0.035f}).floats("one", {}, {1});
  maker.integers("shifted", {1, kFrames, kFrames}, shifted).integers("step", {1}, {kFrames});
  maker.node("MatMul", {"x", "w"}, {"q"});
  set(maker.node("Transpose", {"q"}, {"k"}), "perm", Dims{0, 2, 1});
  maker.node("MatMul", {"q", "k"}, {"content"});
  maker.node("MatMul", {"q", "r"}, {"places"});
  set(maker.node("GatherElements", {"places", "shifted"}, {"moved"}), "axis", std::int64_t{2});
  maker.node("Add", {"content", "moved"}, {"s0"});
  maker.node("Add", {"s0", "bias"}, {"s1"});
  maker.node("Add", {"s1", "mask"}, {"s2"});
  set(maker.node("Softmax", {"s2"}, {"p"}), "axis", std::int64_t{-1});
  maker.node("MatMul", {"p", "x"}, {"z"});
  maker.node("Sub", {"z", "a"}, {"t"});
  maker.node("Exp", {"t"}, {"e"});
  maker.node("Add", {"e", "one"}, {"sum"});
  maker.node("Log", {"sum"}, {"log"});
  maker.node("Mul", {"z", "b"}, {"slope"});
  maker.node("Sub", {"log", "slope"}, {"d"});
  maker.node("Sub", {"d", "c"}, {"y"});
  maker.node("Add", {"seen", "step"}, {"new_seen"});
  return maker.bytes();
}

}  // namespace

std::vector<ForeignFile> onnx_originals() {
  return {{"float.onnx", float_onnx()},
          {"quantized.onnx", quantized_onnx()},
          {"attention.onnx", attention_onnx()}};
}
#else
std::vector<ForeignFile> onnx_originals() { return {}; }
#endif

namespace {

// Convolution, sum, average, dense layer and softmax.
std::vector<std::byte> small_tflite(bool quantized) {
  using tflite::BuiltinOptions;
  TinyTflite model;
  const Type type = quantized ? kInt8 : kFloat;
  const float s = quantized ? 0.05f : 0.0f;
  const auto constant = [&](std::vector<std::int32_t> shape, std::size_t count) {
    if (!quantized) return model.tensor(kFloat, std::move(shape), 0, 0, std::vector<float>(count, 0.25f));
    return model.tensor(kInt8, std::move(shape), 0.01f, 0, std::vector<std::int8_t>(count, 3));
  };
  const int x = model.tensor(type, {1, 4, 4, 2}, s, -3), w = constant({3, 2, 2, 2}, 24),
            c = model.tensor(type, {1, 4, 4, 3}, s, 5);
  model.op(Builtin::CONV_2D, {x, w, -1}, {c}, BuiltinOptions::Conv2D,
           tflite::CreateConv2DOptions(model.builder(), 0, 1, 1, 1));
  const int a = model.tensor(type, {1, 4, 4, 3}, s, 7);
  model.op(Builtin::ADD, {c, c}, {a}, BuiltinOptions::Add, tflite::CreateArithmeticOptions(model.builder()));
  const int p = model.tensor(type, {1, 2, 2, 3}, s, 7);
  model.op(Builtin::AVERAGE_POOL_2D, {a}, {p}, BuiltinOptions::Pool2D,
           tflite::CreatePool2DOptions(model.builder(), 1, 2, 2, 2, 2));
  const int dense = constant({4, 12}, 48), f = model.tensor(type, {1, 4}, s, 0),
            y = model.tensor(type, {1, 4}, quantized ? 1.0f / 256 : 0, -128);
  model.op(Builtin::FULLY_CONNECTED, {p, dense, -1}, {f}, BuiltinOptions::FullyConnected,
           tflite::CreateFullyConnectedOptions(model.builder()));
  model.op(Builtin::SOFTMAX, {f}, {y}, BuiltinOptions::Softmax,
           tflite::CreateSoftmaxOptions(model.builder(), 1));
  return model.file({x}, {y});
}

}  // namespace

std::vector<ForeignFile> tflite_originals() {
  return {{"float.tflite", small_tflite(false)}, {"quantized.tflite", small_tflite(true)}};
}

}  // namespace runnel::test
