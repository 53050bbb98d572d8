#include "compiler/ir/shapes.h"

#include "compiler/ir/node_shapes.h"
#include "compiler/ir/operator_kinds.h"

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
  if (is_pair(node.code)) return binary(at);
  if (is_function(node.code)) return same(at);
  switch (node.code) {
    case OpCode::conv:
      return conv(at);
    case OpCode::fully_connected:
      return fully_connected(at);
    case OpCode::matmul:
      return matmul(at);
    case OpCode::average_pool:
    case OpCode::max_pool:
      return pool(at);
    case OpCode::lut:
      return lut(at);
    case OpCode::relu:
    case OpCode::clip:
    case OpCode::requantize:
    case OpCode::quantize:
    case OpCode::dequantize:
      return same(at);
    case OpCode::prelu:
      return prelu(at);
    case OpCode::reshape:
      return reshape(at);
    case OpCode::transpose:
      return transpose(at);
    case OpCode::slice:
      return slice(at);
    case OpCode::concat:
      return concat(at);
    case OpCode::split:
      return split(at);
    case OpCode::pad:
      return pad(at);
    case OpCode::reduce_mean:
    case OpCode::reduce_sum:
    case OpCode::reduce_max:
    case OpCode::reduce_min:
      return reduce(at);
    case OpCode::softmax:
    case OpCode::log_softmax:
      return along_axis(at);
    // ---- recurrence, normalization, rearrangement
    case OpCode::gru:
    case OpCode::lstm:
      return node.arithmetic >= Arithmetic::stateful_tflite ? sequence_lstm(at) : recurrent(at);
    case OpCode::svdf:
      return svdf(at);
    case OpCode::attention:
      return attention(at);
    case OpCode::layer_norm:
    case OpCode::rms_norm:
    case OpCode::lp_norm:
    case OpCode::scatter_nd:
    case OpCode::reverse_sequence:
      return same(at);
    case OpCode::resize:
    case OpCode::expand:
      return given(at);
    case OpCode::depth_to_space:
      return block(at, true);
    case OpCode::space_to_depth:
      return block(at, false);
    case OpCode::gather:
      return gather(at);
    case OpCode::insert_zeros:
      return insert_zeros(at);
    case OpCode::transposed_conv:
      return transposed_conv(at);
    case OpCode::streaming_cache:
      return streaming_cache(at);
    // Element by element, matrices, choices.
    case OpCode::equal:
    case OpCode::greater:
    case OpCode::greater_or_equal:
    case OpCode::less:
    case OpCode::less_or_equal:
    case OpCode::logical_and:
    case OpCode::logical_or:
    case OpCode::logical_xor:
      return binary(at);
    case OpCode::logical_not:
    case OpCode::cast:
      return same(at);
    case OpCode::where:
      return where(at);
    case OpCode::arg_max:
      return arg_max(at);
    case OpCode::top_k:
      return top_k(at);
    case OpCode::reduce_l1:
    case OpCode::reduce_l2:
    case OpCode::reduce_prod:
    case OpCode::reduce_log_sum:
    case OpCode::reduce_log_sum_exp:
    case OpCode::reduce_sum_square:
      return reduce(at);
    case OpCode::custom:
    case OpCode::delegate:
      return custom(at);
    case OpCode::read_variable:
      return at.node.inputs.empty() ? custom(at) : same(at);
    case OpCode::assign_variable:
      return same(at);
    default:
      break;
  }
  return at.fail() << "operator code " << static_cast<int>(node.code) << " is not known";
}

Status infer_shapes(Graph& graph) {
  for (const Node& node : graph.nodes) RUNNEL_TRY(infer_node_shapes(graph, node));
  return {};
}

}  // namespace runnel::compiler
