#include "npu/host/layers.h"

#include <algorithm>
#include <cstdlib>

namespace runnel::npu {
namespace {

// Compares with the channels from `first` on; stops when more than `most` values differ.
Layer compare(std::span<const std::int32_t> output, std::size_t depth, const LayerTensor& tensor,
              std::size_t first, std::size_t most) {
  Layer layer;
  layer.first_channel = first;
  for (std::size_t position = 0; position < output.size() / depth; ++position) {
    const std::int32_t *a = output.data() + position * depth,
                       *b = tensor.values.data() + position * tensor.channels + first;
    for (std::size_t i = 0; i < depth; ++i) {
      if (a[i] == b[i]) continue;
      layer.largest = std::max(layer.largest, std::abs(std::int64_t{a[i]} - b[i]));
      if (++layer.differing > most) return layer;
    }
  }
  return layer;
}

}  // namespace

Layer nearest_layer(const Operation& op, std::span<const std::int32_t> output,
                    std::span<const LayerTensor> tensors) {
  const auto depth = static_cast<std::size_t>(op.ofm.depth);
  Layer best;
  if (output.empty() || depth == 0) return best;
  std::size_t most = output.size();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const LayerTensor& tensor = tensors[i];
    if (tensor.channels < depth || tensor.values.size() / tensor.channels != output.size() / depth) continue;
    for (std::size_t first = 0; first + depth <= tensor.channels; ++first) {
      Layer layer = compare(output, depth, tensor, first, most);
      if (best.tensor >= 0 && layer.differing >= best.differing) continue;
      layer.tensor = static_cast<int>(i);
      best = layer;
      most = best.differing;
      if (most == 0) return best;
    }
  }
  return best;
}

}  // namespace runnel::npu
