#include "tests/compiler/import/espdl/graph_maker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/ir/shapes.h"
#include "compiler/passes/non_negative.h"

namespace runnel::test {

using compiler::TensorId;

std::int64_t GraphMaker::next(std::int64_t range) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return static_cast<std::int64_t>(random_ % static_cast<std::uint64_t>(2 * range + 1)) - range;
}

TensorId GraphMaker::tensor(const std::string& name, std::vector<std::int32_t> shape, DType type,
                            std::vector<std::int8_t> exponents) {
  compiler::Tensor out;
  out.name = name;
  out.shape = std::move(shape);
  out.dtype = type;
  out.exponents = std::move(exponents);
  graph_.tensors.push_back(std::move(out));
  return static_cast<TensorId>(graph_.tensors.size() - 1);
}

TensorId GraphMaker::emit(const std::string& name, OpCode code, std::vector<TensorId> inputs, TensorId output,
                          compiler::Options options, Arithmetic arithmetic) {
  compiler::Node node;
  node.name = name;
  node.code = code;
  node.arithmetic = arithmetic;
  node.inputs = std::move(inputs);
  node.outputs = {output};
  node.options = std::move(options);
  node.rounding = rounding_;
  const Status shaped = compiler::infer_node_shapes(graph_, node);
  EXPECT_TRUE(shaped.ok()) << shaped.text();
  compiler::mark_non_negative(graph_, node);
  graph_.nodes.push_back(std::move(node));
  return output;
}

TensorId GraphMaker::input(std::vector<std::int32_t> shape, int exponent) {
  const TensorId id = tensor("x" + std::to_string(graph_.inputs.size()), std::move(shape), type_,
                             {static_cast<std::int8_t>(exponent)});
  graph_.inputs.push_back(id);
  return id;
}

TensorId GraphMaker::weights(const std::string& name, std::vector<std::int32_t> shape, bool per_channel) {
  const int base = type_ == DType::int8 ? -6 : -14;
  std::vector<std::int8_t> exponents(per_channel ? static_cast<std::size_t>(shape[0]) : 1,
                                     static_cast<std::int8_t>(base));
  for (std::size_t i = 0; per_channel && i < exponents.size(); ++i)
    exponents[i] = static_cast<std::int8_t>(base - static_cast<int>(i % 3));
  const TensorId id = constant(name + ".weight", std::move(shape), base);
  at(id).exponents = std::move(exponents);
  at(id).channel_axis = per_channel ? 0 : -1;
  return id;
}

TensorId GraphMaker::constant(const std::string& name, std::vector<std::int32_t> shape, int exponent) {
  std::size_t count = 1;
  for (const std::int32_t dim : shape) count *= static_cast<std::size_t>(dim);
  const TensorId id = tensor(name, std::move(shape), type_, {static_cast<std::int8_t>(exponent)});
  at(id).data.emplace();
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t value = next(type_ == DType::int8 ? 127 : 32767);
    for (std::size_t byte = 0; byte < size_of(type_); ++byte)
      at(id).data->push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * byte)));
  }
  return id;
}

TensorId GraphMaker::bias(const std::string& name, TensorId x, TensorId weights) {
  std::vector<std::int8_t> exponents = at(weights).exponents;
  for (std::int8_t& exponent : exponents) exponent = static_cast<std::int8_t>(exponent + at(x).exponents[0]);
  const DType type = type_ == DType::int8 ? DType::int32 : DType::int64;
  const TensorId id = tensor(name + ".bias", {at(weights).shape[0]}, type, std::move(exponents));
  at(id).channel_axis = at(weights).channel_axis;
  at(id).data.emplace();
  for (std::int32_t i = 0; i < at(weights).shape[0]; ++i) {
    const std::int64_t value = next(5000);
    for (std::size_t byte = 0; byte < size_of(type); ++byte)
      at(id).data->push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * byte)));
  }
  return id;
}

TensorId GraphMaker::conv(const std::string& name, TensorId x, int outputs, int kernel,
                          compiler::ConvOptions options, bool per_channel) {
  const std::int32_t channels = at(x).shape.back();
  const bool two = at(x).shape.size() == 4;
  const TensorId w = weights(name, {outputs, two ? kernel : 1, kernel, channels / options.groups},
                             per_channel),
                 b = bias(name, x, w);
  const TensorId y = tensor(name + "_out", {}, type_,
                            {static_cast<std::int8_t>(at(x).exponents[0] + (type_ == DType::int8 ? 0 : 2))});
  return emit(name, OpCode::conv, {x, w, b}, y, options);
}

TensorId GraphMaker::fully_connected(const std::string& name, TensorId x, int outputs, bool per_channel) {
  const TensorId w = weights(name, {outputs, at(x).shape.back()}, per_channel), b = bias(name, x, w);
  const TensorId y = tensor(name + "_out", {}, type_,
                            {static_cast<std::int8_t>(at(x).exponents[0] + (type_ == DType::int8 ? 0 : 2))});
  return emit(name, OpCode::fully_connected, {x, w, b}, y, compiler::FullyConnectedOptions{});
}

TensorId GraphMaker::matmul(const std::string& name, TensorId left, TensorId right) {
  const TensorId y =
      tensor(name + "_out", {}, type_,
             {static_cast<std::int8_t>(at(left).exponents[0] + (type_ == DType::int8 ? 0 : 2))});
  return emit(name, OpCode::matmul, {left, right}, y, compiler::FullyConnectedOptions{});
}

TensorId GraphMaker::add(const std::string& name, TensorId a, TensorId b) {
  if (at(a).exponents != at(b).exponents) {
    const TensorId scaled = tensor(name + "_scaled", {}, type_, at(a).exponents);
    b = emit(name + "_requantize", OpCode::requantize, {b}, scaled, {});
  }
  return emit(name, OpCode::add, {a, b}, tensor(name + "_out", {}, type_, at(a).exponents),
              compiler::BinaryOptions{});
}

TensorId GraphMaker::lut(const std::string& name, TensorId x, bool linear) {
  const std::int32_t entries = type_ == DType::int8 ? 256 : 257;
  const TensorId table = tensor(name + "_table", {entries}, type_, {-7}),
                 y = tensor(name + "_out", {}, type_, {-7});
  at(table).data.emplace();
  for (std::int32_t i = 0; i < entries; ++i) {
    const std::int64_t value = type_ == DType::int8 ? (i - 128) / 2 + 3 : (i - 128) * 100;
    for (std::size_t byte = 0; byte < size_of(type_); ++byte)
      at(table).data->push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * byte)));
  }
  return emit(name, OpCode::lut, {x, table}, y, compiler::LutOptions{linear});
}

TensorId GraphMaker::slice(const std::string& name, TensorId x, int axis, int frames) {
  compiler::SliceOptions options;
  options.begin.assign(at(x).shape.size(), 0);
  options.step.assign(at(x).shape.size(), 1);
  options.begin[static_cast<std::size_t>(axis)] = frames;
  std::vector<std::int32_t> shape = at(x).shape;
  shape[static_cast<std::size_t>(axis)] -= frames;
  return emit(name, OpCode::slice, {x}, tensor(name + "_out", std::move(shape), type_, at(x).exponents),
              options);
}

TensorId GraphMaker::node(const std::string& name, OpCode code, std::vector<TensorId> inputs,
                          compiler::Options options, Arithmetic arithmetic) {
  const TensorId y = tensor(name + "_out", at(inputs[0]).shape, type_, at(inputs[0]).exponents);
  return emit(name, code, std::move(inputs), y, std::move(options), arithmetic);
}

compiler::Graph GraphMaker::graph(std::vector<TensorId> outputs) {
  compiler::Graph out = graph_;
  out.name = "made";
  out.outputs = std::move(outputs);
  return out;
}

}  // namespace runnel::test
