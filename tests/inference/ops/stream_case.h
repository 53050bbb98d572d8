// Small graphs that are run whole and streamed. For tests of operators that know about time.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/write/writer.h"
#include "inference/host/check.h"
#include "inference/host/engine.h"
#include "tests/compiler/run_graph.h"

namespace runnel::test {

template <class T>
Bytes to_bytes(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <class T>
std::vector<T> from_bytes(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

class StreamCase {
 public:
  using Id = compiler::TensorId;
  compiler::Graph graph;
  std::mt19937 random;

  explicit StreamCase(unsigned seed = 1) : random(seed) {}

  [[nodiscard]] int pick(int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  }

  Id tensor(DType dtype, std::vector<std::int32_t> shape, int exponent = 0) {
    compiler::Tensor made;
    made.name = "t" + std::to_string(graph.tensors.size());
    made.dtype = dtype;
    made.shape = std::move(shape);
    if (dtype == DType::int8 || dtype == DType::int16) made.exponents = {static_cast<std::int8_t>(exponent)};
    graph.tensors.push_back(std::move(made));
    return static_cast<Id>(graph.tensors.size() - 1);
  }
  Id input(DType dtype, std::vector<std::int32_t> shape, int exponent = 0) {
    graph.inputs.push_back(tensor(dtype, std::move(shape), exponent));
    return graph.inputs.back();
  }
  template <class T>
  Id constant(DType dtype, std::vector<std::int32_t> shape, const std::vector<T>& values, int exponent = 0) {
    const Id id = tensor(dtype, std::move(shape), exponent);
    graph.tensors[static_cast<std::size_t>(id)].data = to_bytes(values);
    return id;
  }
  // Integers of at most `largest`, or reals of at most 1.
  Id random_constant(DType dtype, std::vector<std::int32_t> shape, int exponent = 0, int largest = 127) {
    const Bytes data = random_values(dtype, elements(shape), largest);
    const Id id = tensor(dtype, std::move(shape), exponent);
    graph.tensors[static_cast<std::size_t>(id)].data = data;
    return id;
  }
  Bytes random_values(DType dtype, std::size_t count, int largest) {
    Bytes data(count * size_of(dtype));
    for (std::size_t i = 0; i < count; ++i) {
      if (dtype == DType::float32) {
        const float value = static_cast<float>(pick(-1000, 1000)) / 1000.0f;
        std::memcpy(data.data() + 4 * i, &value, 4);
      } else {
        const std::int64_t value = pick(-largest, largest);
        std::memcpy(data.data() + i * size_of(dtype), &value, size_of(dtype));
      }
    }
    return data;
  }
  static std::size_t elements(const std::vector<std::int32_t>& shape) {
    std::size_t count = 1;
    for (const std::int32_t dim : shape) count *= static_cast<std::size_t>(dim);
    return count;
  }
  void node(OpCode code, std::vector<Id> inputs, std::vector<Id> outputs, compiler::Options options = {},
            kernels::Rounding rounding = kernels::Rounding::half_up) {
    graph.nodes.push_back({"node" + std::to_string(graph.nodes.size()), code, Arithmetic::espdl,
                           std::move(inputs), std::move(outputs), std::move(options), rounding});
  }
  // A convolution over time of an int8 tensor [1, T, C] to [1, T, N] with as many frames: it looks `ahead`
  // frames ahead.
  Id conv(Id x, int outputs, int behind, int ahead, int exponent) {
    const compiler::Tensor from = graph.tensors[static_cast<std::size_t>(x)];
    const Id weights = random_constant(DType::int8, {outputs, 1, behind + ahead + 1, from.shape[2]}, -7);
    const Id y = tensor(DType::int8, {1, from.shape[1], outputs}, exponent);
    compiler::ConvOptions options;
    options.pad_left = behind;
    options.pad_right = ahead;
    node(OpCode::conv, {x, weights, compiler::kAbsent}, {y}, options);
    return y;
  }
  // [1, T, C] as [T, 1, C].
  Id time_first(Id x) {
    const compiler::Tensor from = graph.tensors[static_cast<std::size_t>(x)];
    const Id y =
        tensor(from.dtype, {from.shape[1], 1, from.shape[2]}, from.exponents.empty() ? 0 : from.exponents[0]);
    node(OpCode::transpose, {x}, {y}, compiler::TransposeOptions{{1, 0, 2}});
    return y;
  }

  [[nodiscard]] std::string refusal(std::vector<int> time_axes = {}) const {
    compiler::WriteOptions options;
    options.time_axes = std::move(time_axes);
    const auto written = compiler::write_model(graph, options);
    if (!written.ok()) return std::string(written.status().text());
    return written->refusals.empty() ? "" : written->refusals[0];
  }
  // Streamed in every way equals whole, for recordings of these lengths.
  void check(const std::vector<std::int64_t>& lengths, const std::string& what,
             std::vector<int> time_axes = {}) const {
    compiler::WriteOptions options;
    options.time_axes = std::move(time_axes);
    const auto written = compiler::write_model(graph, options);
    ASSERT_TRUE(written.ok()) << what << ": " << written.status().text();
    ASSERT_TRUE(written->refusals.empty()) << what << ": " << written->refusals[0];
    const auto model = OwnedModel::from_bytes(written->bytes);
    ASSERT_TRUE(model.ok()) << what << ": " << model.status().text();
    for (const std::int64_t length : lengths) {
      const auto report = check_streaming(*model, length, {}, static_cast<std::uint32_t>(length + 1));
      ASSERT_TRUE(report.ok()) << what << ", " << length << " frames: " << report.status().text();
      if (report->differences.empty()) continue;
      const Difference& first = report->differences[0];
      FAIL() << what << ", " << length << " frames, " << first.run << ": tensor " << first.tensor << " frame "
             << first.frame << " element " << first.element << " is " << first.found << ", expected "
             << first.expected;
    }
  }
  // The outputs of one clip of the reference length.
  [[nodiscard]] std::vector<Bytes> whole(const std::vector<Bytes>& inputs) const {
    const auto runnable = RunnableGraph::make(graph);
    EXPECT_TRUE(runnable.ok()) << runnable.status().text();
    if (!runnable.ok()) return std::vector<Bytes>(graph.outputs.size());
    auto outputs = (*runnable)->whole(inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status().text();
    return outputs.ok() ? std::move(outputs).value() : std::vector<Bytes>(graph.outputs.size());
  }
};

}  // namespace runnel::test
