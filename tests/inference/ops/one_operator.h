// A graph of one operator, run through the writer, the reader and the executor. For tests of operators.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "tests/compiler/run_graph.h"

namespace runnel::test {

using Dims = std::vector<std::int32_t>;

inline std::size_t elements_of(const Dims& shape) {
  std::size_t count = 1;
  for (const std::int32_t dim : shape) count *= static_cast<std::size_t>(dim);
  return count;
}

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>)
    return DType::float32;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return DType::int8;
  else if constexpr (std::is_same_v<T, std::int16_t>)
    return DType::int16;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return DType::int32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return DType::int64;
  else if constexpr (std::is_same_v<T, bool>)
    return DType::boolean;
}

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes;
  for (const T value : values) {
    const std::size_t at = bytes.size();
    bytes.resize(at + sizeof(T));
    std::memcpy(bytes.data() + at, &value, sizeof(T));
  }
  return bytes;
}

template <class T>
std::vector<T> values_of(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}
inline std::vector<bool> truths_of(const Bytes& bytes) {
  std::vector<bool> values;
  for (const std::byte value : bytes) values.push_back(value != std::byte{0});
  return values;
}

// Uniform values; the same on every machine.
template <class T>
std::vector<T> random_values(std::size_t count, double low, double high, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = low + (high - low) * (static_cast<double>(generator()) / 4294967295.0);
    values.push_back(static_cast<T>(std::is_same_v<T, float> ? value : std::floor(value)));
  }
  return values;
}
// The whole range of an integer type, both ends included.
template <class T>
std::vector<T> random_integers(std::size_t count, unsigned seed) {
  auto values = random_values<T>(count, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), seed);
  if (count > 1) {
    values[0] = std::numeric_limits<T>::min();
    values[count - 1] = std::numeric_limits<T>::max();
  }
  return values;
}

// What rounding to integers means, said once more: floor(x + 1/2), or to nearest with ties to even.
inline double rounded(double value, kernels::Rounding rounding) {
  return rounding == kernels::Rounding::half_even ? std::nearbyint(value) : std::floor(value + 0.5);
}
template <class T>
T saturated(double value) {
  if (value != value) return 0;
  return static_cast<T>(std::min<double>(std::numeric_limits<T>::max(),
                                         std::max<double>(std::numeric_limits<T>::min(), value)));
}

class OneOperator {
 public:
  compiler::Graph graph;

  compiler::TensorId tensor(DType dtype, Dims shape, int exponent = 0) {
    compiler::Tensor made;
    made.name = "t" + std::to_string(graph.tensors.size());
    made.dtype = dtype;
    made.shape = std::move(shape);
    if (dtype == DType::int8 || dtype == DType::int16) made.exponents = {static_cast<std::int8_t>(exponent)};
    graph.tensors.push_back(std::move(made));
    return static_cast<compiler::TensorId>(graph.tensors.size() - 1);
  }
  template <class T>
  compiler::TensorId input(Dims shape, int exponent = 0) {
    const compiler::TensorId id = tensor(dtype_of<T>(), std::move(shape), exponent);
    graph.inputs.push_back(id);
    return id;
  }
  template <class T>
  compiler::TensorId constant(const std::vector<T>& values, Dims shape, int exponent = 0) {
    const compiler::TensorId id = tensor(dtype_of<T>(), std::move(shape), exponent);
    graph.tensors[static_cast<std::size_t>(id)].data = bytes_of(values);
    return id;
  }
  template <class T>
  compiler::TensorId output(Dims shape, int exponent = 0) {
    const compiler::TensorId id = tensor(dtype_of<T>(), std::move(shape), exponent);
    graph.outputs.push_back(id);
    return id;
  }
  void node(OpCode code, std::vector<compiler::TensorId> inputs, std::vector<compiler::TensorId> outputs,
            compiler::Options options = {}, Arithmetic arithmetic = Arithmetic::espdl,
            kernels::Rounding rounding = kernels::Rounding::half_up) {
    graph.nodes.push_back({"the operator", code, arithmetic, std::move(inputs), std::move(outputs),
                           std::move(options), rounding});
  }

  // Outputs of the whole clip. Where the graph streams, blocks of several sizes must give the same bytes.
  std::vector<Bytes> run(const std::vector<Bytes>& inputs, bool must_stream = true) const {
    const auto runnable = RunnableGraph::make(graph);
    EXPECT_TRUE(runnable.ok()) << runnable.status().text();
    if (!runnable.ok()) return std::vector<Bytes>(graph.outputs.size());
    const auto whole = (*runnable)->whole(inputs);
    EXPECT_TRUE(whole.ok()) << whole.status().text();
    if (!whole.ok()) return std::vector<Bytes>(graph.outputs.size());
    const auto& refusals = (*runnable)->written().refusals;
    EXPECT_TRUE(!must_stream || (*runnable)->streams())
        << (refusals.empty() ? "it has no plan" : refusals[0]);
    if (!(*runnable)->streams()) return *whole;
    // Blocks of such outputs are not simply one after another.
    const Model& model = (*runnable)->model();
    for (const std::int32_t y : model.outputs()) {
      if (model.tensor(y).shape.product(0, (*runnable)->time_axis(y)) != 1) return *whole;
    }
    for (const std::int64_t block : {1, 2, 3, 7}) {
      if (block % (*runnable)->block_multiple() != 0) continue;
      const auto streamed = (*runnable)->streamed(inputs, block);
      EXPECT_TRUE(streamed.ok()) << streamed.status().text();
      if (streamed.ok()) {
        EXPECT_TRUE(*streamed == *whole) << "in blocks of " << block;
      }
    }
    return *whole;
  }

  // Why the graph is refused; empty when it is not.
  [[nodiscard]] std::string refusal() const {
    const auto runnable = RunnableGraph::make(graph);
    return runnable.ok() ? std::string() : std::string(runnable.status().text());
  }
  // Why it cannot be streamed; empty when it can.
  [[nodiscard]] std::string streaming_refusal() const {
    const auto runnable = RunnableGraph::make(graph);
    EXPECT_TRUE(runnable.ok()) << runnable.status().text();
    if (!runnable.ok() || (*runnable)->written().refusals.empty()) return {};
    return (*runnable)->written().refusals[0];
  }
};

}  // namespace runnel::test
