#include "compiler/passes/transposed.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace runnel::compiler {

std::vector<std::byte> turned_round(const Tensor& weights) {
  const auto taps = static_cast<std::size_t>(weights.shape[1]) * static_cast<std::size_t>(weights.shape[2]);
  const auto outputs = static_cast<std::size_t>(weights.shape[0]);
  const std::vector<std::byte>& from = *weights.data;
  const std::size_t bytes = from.size() / (taps * outputs);
  std::vector<std::byte> to(from.size());
  for (std::size_t n = 0; n < outputs; ++n) {
    for (std::size_t tap = 0; tap < taps; ++tap)
      std::memcpy(to.data() + (n * taps + taps - 1 - tap) * bytes, from.data() + (n * taps + tap) * bytes,
                  bytes);
  }
  return to;
}

namespace {

// z[u] = x[u / s] where s divides u, y[t] = sum of z[t - pad + k d] w[k]: with K = (kernel - 1) d + 1 that is
// tap K - 1 - k d of a transposed convolution whose result is cropped by K - 1 - pad at its start and by
// K - 1 - pad - after at its end.
bool options_of(const InsertZerosOptions& zeros, const ConvOptions& conv, const Tensor& weights,
                TransposedConvOptions& out) {
  if (conv.stride_height != 1 || conv.stride_width != 1) return false;
  out.stride_height = zeros.stride_height;
  out.stride_width = zeros.stride_width;
  out.dilation_height = conv.dilation_height;
  out.dilation_width = conv.dilation_width;
  const int height = (weights.shape[1] - 1) * conv.dilation_height,
            width = (weights.shape[2] - 1) * conv.dilation_width;
  out.crop_top = height - conv.pad_top;
  out.crop_bottom = height - conv.pad_bottom - zeros.after_height;
  out.crop_left = width - conv.pad_left;
  out.crop_right = width - conv.pad_right - zeros.after_width;
  out.groups = conv.groups;
  out.activation = conv.activation;
  return out.crop_top >= 0 && out.crop_left >= 0;
}

}  // namespace

void fold_inserted_zeros(Graph& graph) {
  const auto tensor = [&](TensorId id) -> Tensor& { return graph.tensors[static_cast<std::size_t>(id)]; };
  std::vector<bool> removed(graph.nodes.size(), false);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& spread = graph.nodes[i];
    if (spread.code != OpCode::insert_zeros) continue;
    const auto& zeros = std::get<InsertZerosOptions>(spread.options);
    const TensorId x = spread.inputs[0], z = spread.outputs[0];
    bool fits = tensor(x).exponents == tensor(z).exponents && tensor(x).dtype != DType::float32 &&
                std::find(graph.outputs.begin(), graph.outputs.end(), z) == graph.outputs.end();
    std::vector<std::size_t> readers;
    for (std::size_t k = 0; fits && k < graph.nodes.size(); ++k) {
      const Node& node = graph.nodes[k];
      if (std::find(node.inputs.begin(), node.inputs.end(), z) == node.inputs.end()) continue;
      TransposedConvOptions ignored;
      fits = node.code == OpCode::conv && node.inputs[0] == z && tensor(node.inputs[1]).data &&
             options_of(zeros, std::get<ConvOptions>(node.options), tensor(node.inputs[1]), ignored);
      readers.push_back(k);
    }
    if (!fits || readers.empty()) continue;
    for (const std::size_t k : readers) {
      Node& node = graph.nodes[k];
      TransposedConvOptions options;
      options_of(zeros, std::get<ConvOptions>(node.options), tensor(node.inputs[1]), options);
      std::vector<std::byte> data = turned_round(tensor(node.inputs[1]));
      graph.tensors.push_back(Tensor(tensor(node.inputs[1])));
      graph.tensors.back().data = std::move(data);
      node.code = OpCode::transposed_conv;
      node.inputs[0] = x;
      node.inputs[1] = static_cast<TensorId>(graph.tensors.size() - 1);
      node.options = options;
    }
    removed[i] = true;
  }
  std::size_t i = 0;
  std::erase_if(graph.nodes, [&](const Node&) { return removed[i++]; });
}

}  // namespace runnel::compiler
