#include "compiler/ir/shapes.h"

#include "compiler/ir/node_shapes.h"
#include "inference/host/operator_traits.h"

namespace runnel::compiler {

std::int64_t window_length(std::int64_t length, std::int64_t extent, std::int64_t stride, std::int64_t before,
                           std::int64_t after) {
  const std::int64_t room = length + before + after - extent;
  return room < 0 ? 0 : room / stride + 1;
}

Status infer_node_shapes(Graph& graph, const Node& node) {
  using namespace node_shapes;
  const Case at{graph, node};
  const auto count = static_cast<TensorId>(graph.tensors.size());
  for (const TensorId id : node.inputs) {
    if (id < kAbsent || id >= count) return at.fail() << "input refers to tensor " << id << " of " << count;
  }
  for (const TensorId id : node.outputs) {
    if (id < 0 || id >= count) return at.fail() << "output refers to tensor " << id << " of " << count;
  }
  switch (traits_of(node.code).shapes) {
    case Shapes::as_input:
      return same(at);
    case Shapes::broadcast:
      return binary(at);
    case Shapes::along_axis:
      return along_axis(at);
    case Shapes::reduce:
      return reduce(at);
    case Shapes::pool:
      return pool(at);
    case Shapes::recurrent:
      return node.arithmetic >= Arithmetic::stateful_tflite ? sequence_lstm(at) : recurrent(at);
    case Shapes::given:
      return given(at);
    case Shapes::outside:
      if (node.code == OpCode::none) break;
      return custom(at);
    case Shapes::conv:
      return conv(at);
    case Shapes::fully_connected:
      return fully_connected(at);
    case Shapes::matmul:
      return matmul(at);
    case Shapes::transposed_conv:
      return transposed_conv(at);
    case Shapes::attention:
      return attention(at);
    case Shapes::lut:
      return lut(at);
    case Shapes::prelu:
      return prelu(at);
    case Shapes::where:
      return where(at);
    case Shapes::arg_max:
      return arg_max(at);
    case Shapes::top_k:
      return top_k(at);
    case Shapes::reshape:
      return reshape(at);
    case Shapes::transpose:
      return transpose(at);
    case Shapes::slice:
      return slice(at);
    case Shapes::concat:
      return concat(at);
    case Shapes::split:
      return split(at);
    case Shapes::pad:
      return pad(at);
    case Shapes::gather:
      return gather(at);
    case Shapes::depth_to_space:
      return block(at, true);
    case Shapes::space_to_depth:
      return block(at, false);
    case Shapes::insert_zeros:
      return insert_zeros(at);
    case Shapes::svdf:
      return svdf(at);
    case Shapes::streaming_cache:
      return streaming_cache(at);
    case Shapes::read_variable:
      return at.node.inputs.empty() ? custom(at) : same(at);
  }
  return at.fail() << "operator code " << static_cast<int>(node.code) << " is not known";
}

Status infer_shapes(Graph& graph) {
  for (const Node& node : graph.nodes) RUNNEL_TRY(infer_node_shapes(graph, node));
  return {};
}

}  // namespace runnel::compiler
