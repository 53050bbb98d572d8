// A float graph with everything that quantization treats differently, and clips for it.
#pragma once

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/shapes.h"
#include "compiler/quantize/calibrate/clips.h"
#include "compiler/quantize/options.h"

namespace runnel::test {

// x [1, T, 4] -> conv 3 wide, ReLU -> depthwise 3 wide -> pointwise, ReLU -> sum with the first -> sigmoid ->
// dense 3.
class SmallGraph {
 public:
  explicit SmallGraph(int frames = 24, std::uint32_t seed = 1) : random_(seed) {
    using compiler::ConvOptions;
    const int x = tensor("x", {1, frames, 4});
    graph.inputs = {x};
    const int first =
        layer("first", OpCode::conv, x, {6, 1, 3, 4}, conv(1, 2, Activation::relu), {1, frames, 6});
    const int deep =
        layer("deep", OpCode::conv, first, {6, 1, 3, 1}, conv(6, 2, Activation::none), {1, frames, 6});
    const int point =
        layer("point", OpCode::conv, deep, {6, 1, 1, 6}, conv(1, 0, Activation::relu), {1, frames, 6});
    const int sum = tensor("sum", {1, frames, 6});
    node("sum", OpCode::add, {first, point}, sum, compiler::BinaryOptions{});
    const int gate = tensor("gate", {1, frames, 6});
    node("gate", OpCode::sigmoid, {sum}, gate, {});
    const int y = layer("dense", OpCode::fully_connected, gate, {3, 6}, compiler::FullyConnectedOptions{},
                        {1, frames, 3});
    graph.outputs = {y};
  }

  // Normal numbers, every channel with another spread.
  std::vector<compiler::quantizer::Clip> clips(int count) {
    const auto values = static_cast<std::size_t>(graph.tensors[0].shape[1]) * 4;
    std::vector<compiler::quantizer::Clip> all;
    std::normal_distribution<float> normal;
    for (int i = 0; i < count; ++i) {
      std::vector<float> clip(values);
      for (std::size_t k = 0; k < values; ++k) clip[k] = normal(random_) * (k % 4 == 0 ? 3.0f : 0.7f);
      all.push_back({std::move(clip)});
    }
    return all;
  }

  compiler::Graph graph;

 private:
  static compiler::ConvOptions conv(int groups, int pad, Activation activation) {
    compiler::ConvOptions options;
    options.groups = groups;
    options.pad_left = pad;
    options.activation = activation;
    return options;
  }
  int tensor(const std::string& name, std::vector<std::int32_t> shape) {
    compiler::Tensor made;
    made.name = name;
    made.shape = std::move(shape);
    made.dtype = DType::float32;
    graph.tensors.push_back(std::move(made));
    return static_cast<int>(graph.tensors.size()) - 1;
  }
  int constant(const std::string& name, std::vector<std::int32_t> shape, float spread) {
    const int id = tensor(name, std::move(shape));
    std::size_t count = 1;
    for (const std::int32_t dim : graph.tensors.back().shape) count *= static_cast<std::size_t>(dim);
    std::normal_distribution<float> normal(0, spread);
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = normal(random_) * (i * 6 / count == 2 ? 0.1f : 1.0f);  // one weak channel
    graph.tensors.back().data.emplace(count * sizeof(float));
    std::memcpy(graph.tensors.back().data->data(), values.data(), count * sizeof(float));
    return id;
  }
  void node(const std::string& name, OpCode code, std::vector<compiler::TensorId> inputs, int output,
            compiler::Options options) {
    compiler::Node made;
    made.name = name;
    made.code = code;
    made.inputs = std::move(inputs);
    made.outputs = {output};
    made.options = std::move(options);
    graph.nodes.push_back(std::move(made));
  }
  int layer(const std::string& name, OpCode code, int x, std::vector<std::int32_t> weights,
            compiler::Options options, std::vector<std::int32_t> shape) {
    const int w = constant(name + ".w", weights, 0.4f), b = constant(name + ".b", {weights[0]}, 0.3f),
              y = tensor(name, std::move(shape));
    node(name, code, {x, w, b}, y, std::move(options));
    return y;
  }

  std::mt19937 random_;
};

inline compiler::quantizer::Options options_for(const char* target, int threads = 1) {
  compiler::quantizer::Options options;
  options.target = *compiler::quantizer::target_rules(target);
  options.threads = threads;
  return options;
}

}  // namespace runnel::test
