// Random graphs with valid and invalid options: each is refused with a sentence or works, and if it can be
// streamed, the stream equals the whole recording.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>

#include "compiler/ir/shapes.h"
#include "compiler/write/writer.h"
#include "inference/host/check.h"
#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/feed.h"

namespace runnel::test {
namespace {

using compiler::Graph;
using compiler::Node;
using compiler::Tensor;
using compiler::TensorId;

class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed) : random_(seed) {
    dtype_ = one_in(4) ? DType::int16 : DType::int8;
    Tensor input = activation();
    input.shape = {1, 20 + below(20), 1 + below(12)};
    if (one_in(4)) input.shape.insert(input.shape.begin() + 2, 1 + below(6));
    add(std::move(input));
    graph.inputs = {0};
    current_ = {0};
    for (int tries = 3 + below(8); tries > 0; --tries) grow();
    // Every tensor without a reader becomes an output.
    for (const TensorId id : current_) {
      bool read = id == 0;
      for (const Node& node : graph.nodes)
        read = read || std::find(node.inputs.begin(), node.inputs.end(), id) != node.inputs.end();
      if (!read) graph.outputs.push_back(id);
    }
  }
  Graph graph;

 private:
  int below(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  bool one_in(int count) { return below(count) == 0; }
  // Mostly small, now and then absurd.
  int small(int most) {
    static constexpr int kAbsurd[] = {0, -1, 255, 65535, 65536, 65537, 1 << 24, 2147483647, -2147483647 - 1};
    return one_in(60) ? kAbsurd[below(static_cast<int>(std::size(kAbsurd)))] : 1 + below(most);
  }
  int padding(int most) {
    const int value = small(most + 1);
    return value == std::numeric_limits<int>::min() ? value : value - 1;
  }

  Tensor activation() {
    Tensor tensor;
    tensor.name = "t" + std::to_string(graph.tensors.size());
    tensor.dtype = dtype_;
    tensor.exponents = {static_cast<std::int8_t>(-4 - below(5))};
    if (one_in(100)) tensor.exponents = {static_cast<std::int8_t>(below(120) - 60)};
    return tensor;
  }
  TensorId add(Tensor tensor) {
    graph.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(graph.tensors.size() - 1);
  }
  TensorId constant(std::vector<std::int32_t> shape, DType dtype) {
    Tensor tensor = activation();
    tensor.dtype = dtype;
    std::size_t bytes = size_of(dtype);
    for (const std::int32_t dim : shape) bytes *= static_cast<std::size_t>(dim);
    tensor.shape = std::move(shape);
    tensor.data.emplace(bytes);
    for (std::byte& byte : *tensor.data) byte = static_cast<std::byte>(random_());
    return add(std::move(tensor));
  }
  const std::vector<std::int32_t>& shape(TensorId id) const {
    return graph.tensors[static_cast<std::size_t>(id)].shape;
  }
  TensorId pick() {
    return one_in(3) ? current_[static_cast<std::size_t>(below(static_cast<int>(current_.size())))]
                     : current_.back();
  }

  // Adds one operator, if its shapes work out.
  void grow() {
    Node node;
    const TensorId x = pick();
    const std::vector<std::int32_t> from = shape(x);
    const auto rank = static_cast<int>(from.size());
    node.name = "n" + std::to_string(graph.nodes.size());
    node.inputs = {x};
    node.rounding = one_in(2) ? kernels::Rounding::half_even : kernels::Rounding::half_up;
    Tensor y = activation();
    const std::size_t tensors_before = graph.tensors.size();
    switch (below(14)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        node.code = OpCode::conv;
        compiler::ConvOptions o{.stride_width = small(2),
                                .dilation_width = small(3),
                                .pad_left = padding(6),
                                .pad_right = padding(6)};
        const std::int32_t channels = from.back(), outputs = one_in(3) ? channels : 1 + below(9);
        if (outputs == channels && one_in(2)) o.groups = channels;
        std::int32_t kernel_height = 1;
        if (rank == 4) {
          // Time is the height here.
          kernel_height = 1 + below(4);
          o.stride_height = small(2);
          o.dilation_height = small(2);
          o.pad_top = padding(4);
          o.pad_bottom = padding(4);
        }
        if (one_in(4)) o.activation = Activation::relu;
        node.inputs.push_back(constant({outputs, kernel_height, 1 + below(5), channels / o.groups}, dtype_));
        node.options = o;
        break;
      }
      case 4:
      case 5: {
        node.code = one_in(2) ? OpCode::average_pool : OpCode::max_pool;
        compiler::PoolOptions o{.kernel_width = small(4),
                                .stride_width = small(3),
                                .dilation_width = small(2),
                                .pad_left = padding(3),
                                .pad_right = padding(3)};
        if (rank == 4) {
          o.kernel_height = small(3);
          o.stride_height = small(2);
          o.pad_top = padding(2);
          o.pad_bottom = padding(2);
        }
        o.count_padding = one_in(2);
        o.global = one_in(12);
        node.options = o;
        break;
      }
      case 6:
      case 7: {
        static constexpr OpCode kCodes[] = {OpCode::add, OpCode::sub, OpCode::mul, OpCode::max, OpCode::min};
        node.code = kCodes[below(5)];
        node.arithmetic = node.code != OpCode::max && node.code != OpCode::min && one_in(3)
                              ? Arithmetic::exact
                              : Arithmetic::espdl;
        const int other = below(3);
        if (other == 0)
          node.inputs.push_back(pick());
        else if (other == 1)
          node.inputs.push_back(constant({from.back()}, dtype_));
        else
          node.inputs.push_back(
              constant(std::vector<std::int32_t>(static_cast<std::size_t>(rank), 1), dtype_));
        if (one_in(2)) std::swap(node.inputs[0], node.inputs[1]);
        node.options = compiler::BinaryOptions{one_in(3) ? Activation::relu : Activation::none};
        break;
      }
      case 8: {
        node.code = OpCode::slice;
        compiler::SliceOptions o;
        y.shape = from;
        for (int axis = 0; axis < rank; ++axis) {
          const int size = from[static_cast<std::size_t>(axis)], begin = one_in(2) ? 0 : below(size),
                    step = one_in(3) ? small(3) : 1;
          o.begin.push_back(begin);
          o.step.push_back(one_in(20) ? -step : step);
          y.shape[static_cast<std::size_t>(axis)] =
              one_in(3) ? small(8) : (size - begin - 1) / std::max(1, step) + 1;
        }
        node.options = o;
        break;
      }
      case 9: {
        node.code = OpCode::concat;
        for (int parts = below(3); parts > 0; --parts) node.inputs.push_back(pick());
        node.options = compiler::AxisOptions{one_in(4) ? padding(3) : rank - 1};
        break;
      }
      case 10: {
        node.code = OpCode::pad;
        compiler::PadOptions o;
        for (int axis = 0; axis < rank; ++axis) {
          o.before.push_back(one_in(2) ? padding(3) : 0);
          o.after.push_back(one_in(2) ? padding(3) : 0);
        }
        o.mode = static_cast<PadMode>(one_in(3) ? below(3) : 0);
        o.value = padding(200);
        node.options = o;
        break;
      }
      case 11: {
        static constexpr OpCode kCodes[] = {OpCode::reduce_mean, OpCode::reduce_sum, OpCode::reduce_max,
                                            OpCode::reduce_min};
        node.code = kCodes[below(4)];
        node.options = compiler::ReduceOptions{{static_cast<std::uint8_t>(one_in(4) ? below(5) : rank - 1)}};
        break;
      }
      case 12: {
        node.code = OpCode::transpose;
        compiler::TransposeOptions o;
        for (int axis = 0; axis < rank; ++axis) o.perm.push_back(static_cast<std::uint8_t>(axis));
        std::swap(o.perm[static_cast<std::size_t>(below(rank))],
                  o.perm[static_cast<std::size_t>(below(rank))]);
        node.options = o;
        break;
      }
      default: {
        const int which = below(4);
        node.code = which == 0   ? OpCode::relu
                    : which == 1 ? OpCode::requantize
                    : which == 2 ? OpCode::lut
                                 : OpCode::reshape;
        if (which == 2) {
          node.inputs.push_back(constant({dtype_ == DType::int8 ? 256 : 2049}, dtype_));
          graph.tensors[static_cast<std::size_t>(node.inputs[1])].exponents = y.exponents;
          node.options = compiler::LutOptions{true};
        } else if (which == 3) {
          y.shape = from;
          if (one_in(2))
            y.shape.insert(y.shape.begin() + below(rank), 1);
          else if (y.shape[0] == 1 && rank > 2)
            y.shape.erase(y.shape.begin());
        }
      }
    }
    node.outputs = {add(std::move(y))};
    const Status status = compiler::infer_node_shapes(graph, node);
    bool fits = status.ok();
    std::int64_t elements = 1;
    for (const std::int32_t dim : shape(node.outputs[0]))
      fits = fits && dim > 0 && (elements *= dim) < 100000;
    if (!fits) {
      failed_with_a_sentence(status);
      graph.tensors.resize(tensors_before);
      return;
    }
    current_.push_back(node.outputs[0]);
    graph.nodes.push_back(std::move(node));
  }

  std::mt19937_64 random_;
  DType dtype_ = DType::int8;
  std::vector<TensorId> current_;  // computed so far
};

TEST(RandomGraphs, AreRefusedOrExact) {
  int written_count = 0, streamed_count = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const Graph graph = RandomGraph(seed).graph;
    if (graph.nodes.empty()) continue;
    const auto written = compiler::write_model(graph);
    if (failed_with_a_sentence(written.status())) continue;
    ++written_count;
    failed_with_a_sentence(feed_model(written->bytes, true));
    if (!written->refusals.empty()) continue;
    const auto model = OwnedModel::from_bytes(written->bytes);
    ASSERT_TRUE(model.ok()) << model.status().text();
    const auto report = check_streaming(*model, 40 + static_cast<std::int64_t>(seed % 7), {},
                                        static_cast<std::uint32_t>(seed));
    if (failed_with_a_sentence(report.status())) continue;
    ++streamed_count;
    for (const Difference& difference : report->differences) {
      ADD_FAILURE() << "seed " << seed << ", " << difference.run << ", tensor " << difference.tensor
                    << ", frame " << difference.frame << ", element " << difference.element << ": "
                    << difference.found << ", expected " << difference.expected;
    }
  }
  EXPECT_GT(written_count, 200);
  EXPECT_GT(streamed_count, 100);
}

}  // namespace
}  // namespace runnel::test
