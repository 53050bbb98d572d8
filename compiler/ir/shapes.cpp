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
    case fb::OpCode::conv:
      return conv(at);
    case fb::OpCode::fully_connected:
      return fully_connected(at);
    case fb::OpCode::matmul:
      return matmul(at);
    case fb::OpCode::average_pool:
    case fb::OpCode::max_pool:
      return pool(at);
    case fb::OpCode::lut:
      return lut(at);
    case fb::OpCode::relu:
    case fb::OpCode::clip:
    case fb::OpCode::requantize:
    case fb::OpCode::quantize:
    case fb::OpCode::dequantize:
      return same(at);
    case fb::OpCode::prelu:
      return prelu(at);
    case fb::OpCode::reshape:
      return reshape(at);
    case fb::OpCode::transpose:
      return transpose(at);
    case fb::OpCode::slice:
      return slice(at);
    case fb::OpCode::concat:
      return concat(at);
    case fb::OpCode::split:
      return split(at);
    case fb::OpCode::pad:
      return pad(at);
    case fb::OpCode::reduce_mean:
    case fb::OpCode::reduce_sum:
    case fb::OpCode::reduce_max:
    case fb::OpCode::reduce_min:
      return reduce(at);
    case fb::OpCode::softmax:
    case fb::OpCode::log_softmax:
      return along_axis(at);
    // ---- recurrence, normalization, rearrangement
    case fb::OpCode::gru:
    case fb::OpCode::lstm:
      return node.version >= 3 ? sequence_lstm(at) : recurrent(at);
    case fb::OpCode::svdf:
      return svdf(at);
    case fb::OpCode::attention:
      return attention(at);
    case fb::OpCode::layer_norm:
    case fb::OpCode::rms_norm:
    case fb::OpCode::lp_norm:
    case fb::OpCode::scatter_nd:
    case fb::OpCode::reverse_sequence:
      return same(at);
    case fb::OpCode::resize:
    case fb::OpCode::expand:
      return given(at);
    case fb::OpCode::depth_to_space:
      return block(at, true);
    case fb::OpCode::space_to_depth:
      return block(at, false);
    case fb::OpCode::gather:
      return gather(at);
    case fb::OpCode::insert_zeros:
      return insert_zeros(at);
    case fb::OpCode::transposed_conv:
      return transposed_conv(at);
    case fb::OpCode::streaming_cache:
      return streaming_cache(at);
    // Element by element, matrices, choices.
    case fb::OpCode::equal:
    case fb::OpCode::greater:
    case fb::OpCode::greater_or_equal:
    case fb::OpCode::less:
    case fb::OpCode::less_or_equal:
    case fb::OpCode::logical_and:
    case fb::OpCode::logical_or:
    case fb::OpCode::logical_xor:
      return binary(at);
    case fb::OpCode::logical_not:
    case fb::OpCode::cast:
      return same(at);
    case fb::OpCode::where:
      return where(at);
    case fb::OpCode::arg_max:
      return arg_max(at);
    case fb::OpCode::top_k:
      return top_k(at);
    case fb::OpCode::reduce_l1:
    case fb::OpCode::reduce_l2:
    case fb::OpCode::reduce_prod:
    case fb::OpCode::reduce_log_sum:
    case fb::OpCode::reduce_log_sum_exp:
    case fb::OpCode::reduce_sum_square:
      return reduce(at);
    case fb::OpCode::custom:
    case fb::OpCode::delegate:
      return custom(at);
    case fb::OpCode::read_variable:
      return at.node.inputs.empty() ? custom(at) : same(at);
    case fb::OpCode::assign_variable:
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
