#include "pipeline/nodes/stft/stft_node.h"

#include "features/parameters.h"

namespace runnel::pipeline {
features::StftOptions StftNode::options() const noexcept {
  return {.n_fft = n_fft,
          .win_length = win_length,
          .hop_length = hop_length,
          .window_type = static_cast<features::WindowType>(features::choice_index(kStftWindows, window_type)),
          .center = center,
          .pad_mode = static_cast<features::Padding>(features::choice_index(kStftPads, pad_mode))};
}

Status StftNode::prepare_pairs(NodeContext& context, std::size_t values) noexcept {
  if (!pairs) return {};
  frame_ = context.memory.array<float>(values);
  return frame_ == nullptr ? out_of_memory("a spectrum") : Status();
}

}  // namespace runnel::pipeline
