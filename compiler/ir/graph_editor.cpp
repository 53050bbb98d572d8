#include "compiler/ir/graph_editor.h"

#include <cstring>
#include <utility>

namespace runnel::compiler {
namespace {

bool is_identity(const std::vector<std::uint8_t>& perm) {
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != i) return false;
  }
  return true;
}

}  // namespace

GraphEditor::GraphEditor(Graph& graph) : graph_(graph), old_(std::move(graph.nodes)) { graph_.nodes.clear(); }

void GraphEditor::add(Node node) { graph_.nodes.push_back(std::move(node)); }

TensorId GraphEditor::like(TensorId like, std::vector<std::int32_t> shape, const char* suffix) {
  Tensor made;
  const Tensor& from = tensor(like);
  made.name = from.name + suffix;
  made.shape = std::move(shape);
  made.dtype = from.dtype;
  made.exponents = from.exponents;
  made.scales = from.scales;
  made.zero_points = from.zero_points;
  made.channel_axis = from.channel_axis;
  made.non_negative = from.non_negative;
  graph_.tensors.push_back(std::move(made));
  return static_cast<TensorId>(graph_.tensors.size()) - 1;
}

TensorId GraphEditor::transpose(TensorId x, const std::vector<std::uint8_t>& perm, const Node& origin,
                                TensorId to) {
  std::vector<std::uint8_t> whole = perm;
  for (const Node& node : graph_.nodes) {
    if (node.code != OpCode::transpose || node.outputs[0] != x) continue;
    const auto& first = std::get<TransposeOptions>(node.options).perm;
    const Tensor &from = tensor(node.inputs[0]), &made = tensor(x);
    if (from.exponents != made.exponents || from.scales != made.scales ||
        from.zero_points != made.zero_points)
      break;
    for (std::size_t i = 0; i < perm.size(); ++i) whole[i] = first[perm[i]];
    x = node.inputs[0];
    break;
  }
  if (is_identity(whole) && to == kAbsent) return x;
  std::vector<std::int32_t> dims;
  for (const std::uint8_t axis : whole) dims.push_back(shape(x)[axis]);
  const TensorId y = to != kAbsent ? to : like(x, dims, "/turned");
  Node node;
  node.name = origin.name + "/turn";
  node.code = OpCode::transpose;
  node.inputs = {x};
  node.outputs = {y};
  node.options = TransposeOptions{std::move(whole)};
  node.rounding = origin.rounding;
  add(std::move(node));
  return y;
}

TensorId GraphEditor::reshape(TensorId x, std::vector<std::int32_t> dims, const Node& origin, TensorId to) {
  if (to == kAbsent && shape(x) == dims) return x;
  const TensorId y = to != kAbsent ? to : like(x, std::move(dims), "/shaped");
  Node node;
  node.name = origin.name + "/shape";
  node.code = OpCode::reshape;
  node.inputs = {x};
  node.outputs = {y};
  node.rounding = origin.rounding;
  add(std::move(node));
  return y;
}

Tensor transposed_constant(const Tensor& tensor, const std::vector<std::uint8_t>& perm) {
  Tensor out = tensor;
  const std::size_t rank = perm.size(), element = size_of(tensor.dtype);
  std::vector<std::size_t> stride(rank, 1), step(rank), at(rank, 0);
  for (std::size_t i = rank; i-- > 1;) stride[i - 1] = stride[i] * static_cast<std::size_t>(tensor.shape[i]);
  for (std::size_t i = 0; i < rank; ++i) {
    out.shape[i] = tensor.shape[perm[i]];
    step[i] = stride[perm[i]];
    if (tensor.channel_axis == perm[i]) out.channel_axis = static_cast<int>(i);
  }
  const std::size_t count = tensor.data->size() / element;
  for (std::size_t n = 0; n < count; ++n) {
    std::size_t from = 0;
    for (std::size_t i = 0; i < rank; ++i) from += at[i] * step[i];
    std::memcpy(out.data->data() + n * element, tensor.data->data() + from * element, element);
    for (std::size_t i = rank; i-- > 0;) {
      if (++at[i] < static_cast<std::size_t>(out.shape[i])) break;
      at[i] = 0;
    }
  }
  return out;
}

}  // namespace runnel::compiler
